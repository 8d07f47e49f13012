"""A .npz graph file, or a user's tables, as a folder of parts, without ever holding more than one of them.

The file is read from beginning to end, a block at a time: once to count the edges of nodes, once to sort edges by the
part that owns their row, once for features. In memory are one part, and of the whole graph labels, splits and a few
numbers for each node. The result is the same, to the bit, as dividing the graph in memory.
"""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch_geometric.data import Data

from glognn.data.layout import ENCODED, GRAPH, SHARDS
from glognn.data.splits import RANDOM_SPLITS, random_splits
from glognn.data.table_graph import KeptTables, TableOptions, kept_classes
from glognn.data.table_stream import stream_tables
from glognn.distributed.partition import Partition, balanced, contiguous
from glognn.distributed.shards import PartContent, Shards, write_parts
from glognn.errors import InputError, about
from glognn.graph.adjacency import EdgeCounts, check_edges
from glognn.graph.config import GraphConfig
from glognn.graph.graph import SET_NAMES, SPARSE_BELOW, Graph, prepare_features
from glognn.graph.sparse import SparseMatrix
from glognn.storage import write_json

AT_ONCE = 2**20
"""Rows of an array that are read at a time."""
Array = npt.NDArray[Any]
_INT32 = np.iinfo(np.int32).max


class _Stream:
    """An array in a .npz file, read from its beginning on."""

    def __init__(self, path: Path, name: str) -> None:
        self._archive = zipfile.ZipFile(path)
        self._file = self._archive.open(f"{name}.npy")
        version = np.lib.format.read_magic(self._file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        self.shape, turned, self.dtype = read(self._file)
        self.by_rows = not turned or len(self.shape) < 2
        self._width = self.shape[1:]
        if name == "edge_index":
            self._width = ()

    def take(self, count: int) -> Array:
        """The next rows; of edges, which are stored sources first, the next numbers."""
        size = count * int(np.prod(self._width, dtype=np.int64)) * self.dtype.itemsize
        raw = self._file.read(size)
        return np.frombuffer(bytearray(raw), dtype=self.dtype).reshape(count, *self._width)

    def blocks(self, count: int) -> Iterator[Array]:
        """The next rows, a block at a time."""
        for first in range(0, count, AT_ONCE):
            yield self.take(min(AT_ONCE, count - first))

    def close(self) -> None:
        self._file.close()
        self._archive.close()


def can_stream(path: Path, method: str, config: GraphConfig) -> bool:
    """Whether a file can be divided so."""
    if path.suffix != ".npz":
        return False
    with zipfile.ZipFile(path) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    of_tables = "feat_shape" not in names and (ENCODED in names or "node_features" not in names)
    if not _by_parts(method, config, of_tables=of_tables) or not {"edge_index", "node_labels"} <= names:
        return False
    streams = [_Stream(path, name) for name in ("edge_index", "node_features") if name in names]
    for stream in streams:
        stream.close()
    return all(stream.by_rows for stream in streams)


def _by_parts(method: str, config: GraphConfig, *, of_tables: bool) -> bool:
    """Whether a part needs no other: METIS wants the whole graph, and some normalisations all features; 'auto' but
    for features of tables, or none."""
    return method != "metis" and config.feature_normalization in ("none", "row", "length", *["auto"] * of_tables)


def stream_npz(
    path: Path, parts: int, method: str, folder: Path, config: GraphConfig, dtype: torch.dtype = torch.float32
) -> Shards:
    """Divide a graph file; what was in the folder is replaced."""
    with about(f"'{path}'"), tempfile.TemporaryDirectory(dir=_made(folder)) as place:
        return _Division(path, parts, method, folder, config, dtype, Path(place)).write()


def stream_tables_to_parts(
    options: TableOptions,
    parts: int,
    method: str,
    folder: Path,
    config: GraphConfig,
    dtype: torch.dtype = torch.float32,
) -> tuple[KeptTables, Shards]:
    """Divide the graph of a user's tables, in the memory of one part; beside the parts lie the ids of nodes, in their
    order (``nodes.parquet``), and how columns became features (``tables.json``).
    """
    if not _by_parts(method, config, of_tables=True):
        raise InputError(
            f"Tables are divided part by part, which --partition {method} with --feature-normalization "
            f"{config.feature_normalization} cannot be: take balanced or contiguous, and none, row, length or auto."
        )
    with tempfile.TemporaryDirectory(dir=_made(folder)) as place:
        kept = stream_tables(options, Path(place), parts)
        shards = stream_npz(Path(place, GRAPH), parts, method, folder, config, dtype)
    kept.save_names(folder)
    record = shards.record | {"facts": shards.record["facts"] | {"dataset": str(folder)}}
    write_json(folder / SHARDS, record)
    return kept, Shards(folder, record)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class _Division:
    def __init__(
        self,
        path: Path,
        parts: int,
        method: str,
        folder: Path,
        config: GraphConfig,
        dtype: torch.dtype,
        place: Path,
    ) -> None:
        self.path, self.folder, self.config, self.dtype, self.place = path, folder, config, dtype, place
        with zipfile.ZipFile(path) as archive:
            self.names = {name.removesuffix(".npy") for name in archive.namelist()}
        self.frame = self._frame()
        self.class_names = self._class_names()
        self.num_nodes = self.frame.num_nodes
        if not 1 <= parts <= self.num_nodes:
            raise InputError(
                f"The number of parts must be in the range [1, {self.num_nodes}] (the nodes). Got {parts} instead."
            )
        edges = _Stream(path, "edge_index")
        self.num_edges = int(edges.shape[1]) if len(edges.shape) == 2 else -1
        if len(edges.shape) != 2 or edges.shape[0] != 2:
            raise InputError(f"edge_index must have shape (2, edges). Got {edges.shape} instead.")
        edges.close()
        self.weighted = "edge_weight" in self.names
        self.partition = self._divide(parts, method)
        self.features, self.sparse = self._features()
        if config.feature_normalization == "auto":
            self.config = replace(config, feature_normalization=self._fitting())
        self.counts = dict.fromkeys(("merged", "kept", "removed", "one_way", "entries", "same", "known", "loops"), 0)
        self.alone = np.ones(self.num_nodes, dtype=bool)
        self.all_ones = True

    def _read(self, name: str) -> Array:
        with zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as file:
            whole: Array = np.lib.format.read_array(file, allow_pickle=False)
            return whole

    def _frame(self) -> Graph:
        """Labels and splits, checked as those of any graph."""
        y = torch.from_numpy(self._read("node_labels").reshape(-1))
        data = Data(edge_index=torch.empty(2, 0, dtype=torch.int64), y=y, num_nodes=len(y))
        for name in SET_NAMES:
            if f"{name}_masks" in self.names:
                mask = torch.from_numpy(self._read(f"{name}_masks"))
                data[f"{name}_mask"] = mask.T if mask.dim() == 2 else mask.view(-1, 1)
        frame = Graph.from_data(data, replace(self.config, feature_normalization="none"), dtype=self.dtype)
        self.given_splits = frame.num_splits > 0
        return frame if frame.num_splits else frame.with_masks(random_splits(frame.y))

    def _class_names(self) -> list[str]:
        classes, count = kept_classes(self.path), self.frame.num_classes
        if classes is None:
            return []
        if len(classes) != count:
            raise InputError(f"The tables beside it must name the graph's {count} classes. Got {len(classes)} instead.")
        return [str(name) for name in classes.names]

    def _edges(self) -> Iterator[tuple[Array, Array, Array | None]]:
        """Sources, targets and weights, a block at a time, checked."""
        sources, targets = _Stream(self.path, "edge_index"), _Stream(self.path, "edge_index")
        weights = _Stream(self.path, "edge_weight") if self.weighted else None
        for _ in targets.blocks(self.num_edges):
            pass
        for source in sources.blocks(self.num_edges):
            target = targets.take(len(source))
            weight = None if weights is None else weights.take(len(source)).astype(np.float64)
            ends = torch.from_numpy(np.stack([source, target]))
            check_edges(ends, None if weight is None else torch.from_numpy(weight), self.num_nodes)
            yield source.astype(np.int64), target.astype(np.int64), weight
        for stream in (sources, targets, *([weights] if weights else [])):
            stream.close()

    def _divide(self, parts: int, method: str) -> Partition:
        if method == "contiguous":
            return contiguous(self.num_nodes, parts)
        if method != "balanced":
            raise InputError(f"The partition must be contiguous or balanced to be streamed. Got {method!r} instead.")
        degrees = np.zeros(self.num_nodes, dtype=np.int64)
        for source, target, _ in self._edges():
            degrees += np.bincount(source, minlength=self.num_nodes)
            if not self.config.directed:
                degrees += np.bincount(target, minlength=self.num_nodes)
        return balanced(degrees, parts)

    def _features(self) -> tuple[int | None, bool]:
        """How many there are, and whether they are stored sparse."""
        if "feat_shape" in self.names:
            return int(self._read("feat_shape")[1]), True
        if "node_features" not in self.names:
            return None, False
        stream = _Stream(self.path, "node_features")
        if stream.shape[0] != self.num_nodes:
            raise InputError(f"x must have one row per node ({self.num_nodes}). Got {stream.shape[0]} instead.")
        nonzeros = sum(int(np.count_nonzero(block)) for block in stream.blocks(self.num_nodes))
        width = int(stream.shape[1])
        stream.close()
        return width, nonzeros < SPARSE_BELOW * self.num_nodes * width

    def _fitting(self) -> str:
        """What 'auto' is for features of tables, each of which has its scale, or for none, as in memory."""
        if not self.sparse:
            return "none"
        stream = _Stream(self.path, "node_features")
        negative = any(bool((block < 0).any()) for block in stream.blocks(self.num_nodes))
        stream.close()
        return "none" if negative else "length"

    def write(self) -> Shards:
        self._sort_edges()
        shards = write_parts(self._contents(), self.partition, self.folder, self._record({}, False))
        if not self.all_ones:
            shards = write_parts(self._contents(), self.partition, self.folder, self._record({}, True))
        fingerprints = {name: self._fingerprint(shards, np.dtype(name)) for name in ("float32", "float64")}
        facts = self._facts(fingerprints[str(self.dtype).removeprefix("torch.")])
        record = shards.record | {"fingerprints": fingerprints, "facts": facts, "edge_counts": self._edge_counts()}
        write_json(self.folder / SHARDS, record)
        return Shards(self.folder, record)

    def _sort_edges(self) -> None:
        """Each edge, and unless directed its reverse, into the file of the part that owns its row."""
        parts = self.partition.parts
        files = [(self.place / str(part)).open("wb") for part in range(parts)]
        try:
            for source, target, weight in self._edges():
                values = np.ones(len(source)) if weight is None else weight
                ways = [(source, target, 0)] + ([] if self.config.directed else [(target, source, 1)])
                for rows, columns, way in ways:
                    owner = np.searchsorted(self.partition.starts, rows, side="right") - 1
                    order = np.argsort(owner, kind="stable")
                    bounds = np.searchsorted(owner[order], np.arange(parts + 1))
                    lines = np.empty(len(rows), dtype=_LINE)
                    lines["row"], lines["column"], lines["weight"], lines["way"] = rows, columns, values, way
                    lines = lines[order]
                    for part, file in enumerate(files):
                        file.write(lines[bounds[part] : bounds[part + 1]].tobytes())
        finally:
            for file in files:
                file.close()

    def _rows(self, part: int) -> sp.csr_array:
        """A part's rows of the adjacency, as one process would make them."""
        lines = np.fromfile(self.place / str(part), dtype=_LINE)
        first, last = int(self.partition.starts[part]), int(self.partition.starts[part + 1])
        ways = []
        for way in (0,) if self.config.directed else (0, 1):
            chosen = lines[lines["way"] == way]
            places = (chosen["row"] - first, chosen["column"])
            matrix = sp.coo_array((chosen["weight"], places), shape=(last - first, self.num_nodes)).tocsr()
            matrix.sum_duplicates()
            if way == 0:
                self.counts["merged"] += len(chosen) - matrix.nnz
            if self.weighted:
                matrix.eliminate_zeros()
            else:
                matrix.data[:] = 1.0
            rows = np.repeat(np.arange(first, last), np.diff(matrix.indptr))
            loops = int(np.count_nonzero(rows == matrix.indices))
            if self.config.self_loops == "remove" and loops:
                matrix.data[rows == matrix.indices] = 0.0
                matrix.eliminate_zeros()
            if way == 0:
                self.counts["kept" if self.config.self_loops == "keep" else "removed"] += loops
                self.counts["one_way"] += matrix.nnz
            ways.append(matrix)
        joined = ways[0] if len(ways) == 1 else sp.csr_array(ways[0].maximum(ways[1]))
        joined.sort_indices()
        return sp.csr_array(joined)

    def _contents(self) -> Iterator[PartContent]:
        self.counts = dict.fromkeys(self.counts, 0)
        x, y = self._feature_blocks(), self.frame.y.numpy()
        sets = np.zeros((self.num_nodes, self.frame.num_splits), dtype=np.uint8)
        for place, name in enumerate(SET_NAMES):
            sets[self.frame.masks[name].numpy()] = place + 1
        weighted = not self.all_ones
        for part in range(self.partition.parts):
            nodes, rows = self.partition.nodes(part), self._rows(part)
            data = rows.data.astype(str(self.dtype).removeprefix("torch."))
            self.all_ones = self.all_ones and bool((data == 1).all())
            self._count(rows, nodes, y)
            yield PartContent(
                nodes=nodes,
                y=y[nodes],
                sets=sets[nodes],
                rows=np.diff(rows.indptr).astype(np.int64),
                columns=rows.indices.astype(np.int64),
                weights=data if weighted else None,
                x=None if x is None else x(len(nodes)),
            )

    def _count(self, rows: sp.csr_array, nodes: npt.NDArray[np.int64], y: npt.NDArray[np.int64]) -> None:
        ends = np.repeat(nodes, np.diff(rows.indptr))
        others = ends != rows.indices
        known = (y[ends] >= 0) & (y[rows.indices] >= 0)
        self.counts["entries"] += rows.nnz
        self.counts["loops"] += int(np.count_nonzero(known & ~others))
        self.counts["known"] += int(np.count_nonzero(known & others))
        self.counts["same"] += int(np.count_nonzero(known & others & (y[ends] == y[rows.indices])))
        self.alone[ends[others]] = False
        self.alone[rows.indices[others]] = False

    def _feature_blocks(self) -> Callable[[int], Any] | None:
        """Takes the features of the next so many nodes, prepared."""
        if self.features is None:
            return None
        if "feat_shape" in self.names:
            pointers = self._read("feat_indptr").astype(np.int64)
            columns, values = _Stream(self.path, "feat_indices"), _Stream(self.path, "feat_data")
            done = [0]

            def take(count: int) -> Any:
                first, done[0] = done[0], done[0] + count
                own = pointers[first : first + count + 1] - pointers[first]
                parts = (values.take(int(own[-1])), columns.take(int(own[-1])), own)
                csr = sp.csr_array(parts, shape=(count, self.features or 0))
                return self._prepared(SparseMatrix.from_scipy(csr, self.dtype).csr, count)

            return take
        stream = _Stream(self.path, "node_features")
        return lambda count: self._prepared(torch.from_numpy(stream.take(count)), count)

    def _prepared(self, x: torch.Tensor, count: int) -> Any:
        if self.sparse and x.layout == torch.strided:
            x = SparseMatrix.from_torch(x).csr
        made = prepare_features(x, count, self.config.feature_normalization, self.dtype)
        if isinstance(made, SparseMatrix):
            return made.to_scipy() if self.sparse else made.to_scipy().toarray()
        assert made is not None
        return made.numpy()

    def _edge_counts(self) -> dict[str, int]:
        counts = self.counts
        found = EdgeCounts(
            given=self.num_edges,
            duplicates_merged=counts["merged"],
            self_loops_kept=counts["kept"],
            self_loops_removed=counts["removed"],
            reverse_added=counts["entries"] - counts["one_way"],
        )
        return asdict(found)

    def _record(self, facts: dict[str, Any], weighted: bool) -> dict[str, Any]:
        return {
            "graph": self.config.as_dict(),
            "edge_counts": {},
            "num_classes": self.frame.num_classes,
            "class_names": self.class_names,
            "num_splits": self.frame.num_splits,
            "num_features": self.features,
            "sparse_features": self.sparse,
            "symmetric": not self.config.directed,
            "weighted": weighted,
            "dtype": str(self.dtype).removeprefix("torch."),
            "fingerprints": {},
            "facts": facts,
        }

    def _facts(self, fingerprint: str) -> dict[str, Any]:
        counts, frame = self.counts, self.frame
        ways = 1 if self.config.directed else 2
        origin = "given with the graph" if self.given_splits else f"{RANDOM_SPLITS} (the graph brings none)"
        same, known = (counts[name] / ways + counts["loops"] for name in ("same", "known"))
        return {
            "dataset": str(self.path.resolve()),
            "kind": "file",
            "files": {},
            "fingerprint": fingerprint,
            "num_nodes": self.num_nodes,
            "num_entries": counts["entries"],
            "num_isolated": int(np.count_nonzero(self.alone)),
            "num_features": self.features or 0,
            "feature_normalization": self.config.feature_normalization,
            "num_classes": frame.num_classes,
            "num_labelled": int((frame.y >= 0).sum()),
            "edge_homophily": same / known if known else None,
            "edges": self._edge_counts(),
            "num_splits": frame.num_splits,
            "splits_origin": origin,
        }

    def _fingerprint(self, shards: Shards, kind: np.dtype[Any]) -> str:
        """That of :meth:`Graph.fingerprint`, from the parts in turn."""
        digest = hashlib.sha256()

        def add(kind: Any, count: int, blocks: Iterator[Array]) -> None:
            digest.update(f"{np.dtype(kind)}{(count,)}".encode())
            for block in blocks:
                digest.update(np.ascontiguousarray(block.astype(kind, copy=False)).data)

        def each() -> Iterator[PartContent]:
            return (shards.read(part) for part in range(shards.parts))

        def matrix(rows: Callable[[PartContent], sp.csr_array], entries: int, width: int) -> None:
            index = np.int32 if max(entries, self.num_nodes, width) <= _INT32 else np.int64

            def pointers() -> Iterator[Array]:
                total = 0
                yield np.zeros(1, np.int64)
                for content in each():
                    found = np.cumsum(np.diff(rows(content).indptr)) + total
                    total = int(found[-1]) if found.size else total
                    yield found

            add(index, self.num_nodes + 1, pointers())
            add(index, entries, (rows(content).indices for content in each()))
            add(kind, entries, (rows(content).data for content in each()))

        def adjacency(content: PartContent) -> sp.csr_array:
            values = np.ones(content.columns.size) if content.weights is None else content.weights
            starts = np.concatenate([[0], np.cumsum(content.rows)])
            return sp.csr_array((values, content.columns, starts), shape=(content.rows.size, self.num_nodes))

        matrix(adjacency, self.counts["entries"], self.num_nodes)
        if self.features is not None:

            def features(content: PartContent) -> sp.csr_array:
                x: Any = content.x
                return sp.csr_array(x)

            matrix(features, sum(features(content).nnz for content in each()), self.features)
        for array in (self.frame.y.numpy(), *(self.frame.masks[name].numpy() for name in SET_NAMES)):
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]


_LINE = np.dtype([("row", np.int64), ("column", np.int64), ("weight", np.float64), ("way", np.int8)])
