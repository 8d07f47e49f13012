"""A graph as a folder of parts, each in Arrow files that are mapped into memory: a rank reads its own and nothing else.

``shards.json`` says what the graph is and where parts begin. ``part-00000/nodes.arrow`` has a row for each node of a
part: its number in the graph, its label, the set it is in of each split, the number of its entries, its features where
these are dense; ``edges.arrow`` has the place and, unless all are 1, the weight of what each entry leads to;
``features.arrow`` the columns and values of sparse features. The graph is as it was prepared (symmetric, normalised
features); how is in ``shards.json``.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
import torch
from torch import Tensor

from glognn.distributed.part import Part, PartAdjacency, count_labels
from glognn.distributed.partition import IntArray, Partition, PartSizes, part_sizes
from glognn.distributed.ranks import Ranks
from glognn.distributed.rows import PartRows
from glognn.errors import InputError
from glognn.graph.adjacency import Adjacency, EdgeCounts
from glognn.graph.config import GraphConfig
from glognn.graph.graph import SET_NAMES, Graph
from glognn.graph.sparse import SparseMatrix
from glognn.records import Form, check_version, misfit, read_record
from glognn.storage import write_atomically, write_json

if TYPE_CHECKING:
    from torch_geometric.data import Data

SHARDS = "shards.json"
SCHEMA_VERSION = 1
_FORM: Form = {
    "schema_version": int,
    "method": str,
    "starts": [int],
    "ordered": bool,
    "sizes": [dict],
    "graph": dict,
    "edge_counts": dict,
    "num_classes": int,
    "class_names": [str],
    "num_splits": int,
    "num_features": (int, type(None)),
    "sparse_features": bool,
    "symmetric": bool,
    "weighted": bool,
    "dtype": str,
    "fingerprints": dict,
    "facts": dict,
}


@dataclass(frozen=True)
class PartContent:
    """What is in the files of one part; ``columns`` are places of nodes, ``rows`` of each node how many it has."""

    nodes: IntArray
    y: npt.NDArray[np.int64]
    sets: npt.NDArray[np.uint8]
    """nodes x splits: 0, or the place of the set in ``SET_NAMES`` plus 1."""
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    weights: npt.NDArray[Any] | None
    x: npt.NDArray[Any] | sp.csr_array | None


@dataclass(frozen=True)
class Shards:
    """A folder of parts."""

    folder: Path
    record: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Shards:
        try:
            record = read_record(folder / SHARDS, {})
        except FileNotFoundError:
            raise InputError(f"'{folder}' holds no shards: it has no {SHARDS}.") from None
        check_version(folder / SHARDS, record, SCHEMA_VERSION)
        if wrong := misfit(record, _FORM):
            raise InputError(f"'{folder / SHARDS}' is damaged: {wrong}.")
        return cls(folder, record)

    @property
    def starts(self) -> IntArray:
        return np.array(self.record["starts"], dtype=np.int64)

    @property
    def parts(self) -> int:
        return len(self.record["starts"]) - 1

    @property
    def sizes(self) -> list[PartSizes]:
        return [PartSizes(**each) for each in self.record["sizes"]]

    @property
    def config(self) -> GraphConfig:
        return GraphConfig.from_mapping(self.record["graph"])

    def fingerprint(self, dtype: torch.dtype) -> str:
        """That of the whole graph in a precision."""
        return str(self.record["fingerprints"][str(dtype).removeprefix("torch.")])

    def read(self, part: int) -> PartContent:
        """One part; its arrays are views of its files."""
        record, place = self.record, self.folder / _name(part)
        nodes, edges = _mapped(place / "nodes.arrow"), _mapped(place / "edges.arrow")
        sets = [_column(nodes, f"split_{split}") for split in range(record["num_splits"])]
        rows = _column(nodes, "entries")
        x: Any = None
        if record["sparse_features"]:
            features = _mapped(place / "features.arrow")
            starts = np.concatenate([[0], np.cumsum(_column(nodes, "features"))])
            shape = (rows.size, record["num_features"])
            x = sp.csr_array((_column(features, "value"), _column(features, "column"), starts), shape=shape)
        elif record["num_features"] is not None:
            x = _list_column(nodes, "x").reshape(rows.size, record["num_features"])
        return PartContent(
            nodes=_column(nodes, "node"),
            y=_column(nodes, "y"),
            sets=np.stack(sets, axis=1) if sets else np.zeros((rows.size, 0), np.uint8),
            rows=rows,
            columns=_column(edges, "place"),
            weights=_column(edges, "weight") if record["weighted"] else None,
            x=x,
        )

    def read_for(self, ranks: Ranks, dtype: torch.dtype | None = None) -> Part:
        """The parts of one rank as one; ranks are at most as many as parts."""
        if ranks.size > self.parts:
            raise InputError(
                f"'{self.folder}' has {self.parts} parts, too few for {ranks.size} ranks: make shards with --parts "
                f"{ranks.size} or more."
            )
        bounds = np.linspace(0, self.parts, ranks.size + 1).round().astype(int)
        content = _joined([self.read(part) for part in range(bounds[ranks.rank], bounds[ranks.rank + 1])])
        starts = self.starts[bounds]
        dtype = dtype or getattr(torch, self.record["dtype"])
        x = _features(content.x, dtype)
        weights = np.ones(content.columns.size) if content.weights is None else content.weights.astype(np.float64)
        pointers = np.concatenate([[0], np.cumsum(content.rows)])
        csr = sp.csr_array((weights, content.columns, pointers), shape=(content.rows.size, int(starts[-1])))
        rows = PartRows(csr, starts, ranks)
        y = torch.from_numpy(content.y.copy())
        masks = {name: torch.from_numpy(content.sets == place + 1) for place, name in enumerate(SET_NAMES)}
        return Part(
            x=x,
            adjacency=PartAdjacency.of(rows, dtype, symmetric=self.record["symmetric"], features=x),
            y=y,
            masks=masks,
            num_classes=self.record["num_classes"],
            class_names=tuple(self.record["class_names"]),
            edge_counts=EdgeCounts(**self.record["edge_counts"]),
            config=self.config,
            ranks=ranks,
            nodes=torch.from_numpy(content.nodes.copy()),
            starts=starts,
            labels=count_labels(y, masks, self.record["num_classes"], ranks),
            whole_fingerprint=self.fingerprint(dtype),
        )

    def data(self) -> Data:
        """The prepared graph as a PyTorch Geometric ``Data``, in one process."""
        from torch_geometric.data import Data

        graph = self.whole()
        matrix = graph.adjacency.matrix
        data = Data(
            x=graph.x.csr if isinstance(graph.x, SparseMatrix) else graph.x,
            edge_index=torch.stack(matrix.entries()),
            y=graph.y,
            num_nodes=graph.num_nodes,
            **({f"{name}_mask": mask for name, mask in graph.masks.items()} if graph.num_splits else {}),
        )
        if self.record["weighted"]:
            data.edge_weight = matrix.csr.values()
        return data

    def whole(self, dtype: torch.dtype | None = None) -> Graph:
        """The graph as it was before it was divided, in one process."""
        content = _joined([self.read(part) for part in range(self.parts)])
        dtype = dtype or getattr(torch, self.record["dtype"])
        weights = np.ones(content.columns.size) if content.weights is None else content.weights
        pointers, count = np.concatenate([[0], np.cumsum(content.rows)]), content.rows.size
        back = np.argsort(content.nodes)
        csr = sp.csr_array((weights, content.nodes[content.columns], pointers), shape=(count, count))[back]
        csr.sort_indices()
        x = content.x if content.x is None else content.x[back]
        sets = content.sets[back]
        return Graph(
            x=_features(x, dtype),
            adjacency=Adjacency(SparseMatrix.from_scipy(sp.csr_array(csr), dtype, symmetric=self.record["symmetric"])),
            y=torch.from_numpy(content.y[back]),
            masks={name: torch.from_numpy(sets == place + 1) for place, name in enumerate(SET_NAMES)},
            num_classes=self.record["num_classes"],
            class_names=tuple(self.record["class_names"]),
            edge_counts=EdgeCounts(**self.record["edge_counts"]),
            config=self.config,
        )


def _features(x: Any, dtype: torch.dtype) -> Tensor | SparseMatrix | None:
    if x is None:
        return None
    if not isinstance(x, np.ndarray):
        return SparseMatrix.from_scipy(sp.csr_array(x, copy=True), dtype)
    with warnings.catch_warnings():  # torch does not know that nobody writes to features
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.from_numpy(x).to(dtype)


def write_graph(graph: Graph, partition: Partition, folder: Path, facts: dict[str, Any]) -> Shards:
    """Divide a graph that is in memory; what was in the folder is replaced."""
    matrix, places = graph.adjacency.matrix.to_scipy(), partition.places()
    x = graph.x.to_scipy() if isinstance(graph.x, SparseMatrix) else None if graph.x is None else graph.x.numpy()
    sets = np.zeros((graph.num_nodes, graph.num_splits), dtype=np.uint8)
    for place, name in enumerate(SET_NAMES):
        sets[graph.masks[name].numpy()] = place + 1
    weighted = bool((matrix.data != 1).any())

    def contents() -> Iterator[PartContent]:
        for part in range(partition.parts):
            nodes = partition.nodes(part)
            rows = sp.csr_array(matrix[nodes]) if partition.order is not None else matrix[nodes[0] : nodes[-1] + 1]
            if places is not None:
                rows = sp.csr_array((rows.data, places[rows.indices], rows.indptr), shape=rows.shape)
                rows.sort_indices()
            yield PartContent(
                nodes=nodes,
                y=graph.y.numpy()[nodes],
                sets=sets[nodes],
                rows=np.diff(rows.indptr).astype(np.int64),
                columns=rows.indices.astype(np.int64),
                weights=rows.data if weighted else None,
                x=None if x is None else x[nodes],
            )

    record = {
        "graph": graph.config.as_dict(),
        "edge_counts": asdict(graph.edge_counts),
        "num_classes": graph.num_classes,
        "class_names": list(graph.class_names),
        "num_splits": graph.num_splits,
        "num_features": None if graph.x is None else graph.num_features,
        "sparse_features": isinstance(graph.x, SparseMatrix),
        "symmetric": graph.adjacency.matrix.is_symmetric,
        "weighted": weighted,
        "dtype": str(graph.adjacency.matrix.dtype).removeprefix("torch."),
        "fingerprints": {name: graph.to(dtype=getattr(torch, name)).fingerprint() for name in ("float32", "float64")},
        "facts": facts,
    }
    return write_parts(contents(), partition, folder, record)


def write_parts(contents: Iterator[PartContent], partition: Partition, folder: Path, record: dict[str, Any]) -> Shards:
    """Write parts as they come, and ``shards.json`` when all are there."""
    (folder / SHARDS).unlink(missing_ok=True)
    for old in folder.glob("part-*"):
        shutil.rmtree(old)
    sizes = []
    for part, content in enumerate(contents):
        write_part(folder, part, content)
        sizes.append(asdict(part_sizes(content.columns, content.rows.size, int(partition.starts[part]))))
    record = record | {
        "schema_version": SCHEMA_VERSION,
        "method": partition.method,
        "starts": partition.starts.tolist(),
        "ordered": partition.order is None,
        "sizes": sizes,
    }
    write_json(folder / SHARDS, record)
    return Shards(folder, record)


def write_part(folder: Path, part: int, content: PartContent) -> None:
    """Write the Arrow files of one part."""
    place = folder / _name(part)
    columns: dict[str, Any] = {"node": content.nodes, "y": content.y, "entries": content.rows}
    columns |= {f"split_{split}": content.sets[:, split].copy() for split in range(content.sets.shape[1])}
    if isinstance(content.x, np.ndarray):
        columns["x"] = pa.FixedSizeListArray.from_arrays(
            pa.array(np.ascontiguousarray(content.x).ravel()), content.x.shape[1]
        )
    elif content.x is not None:
        columns["features"] = np.diff(content.x.indptr).astype(np.int64)
        _write(place / "features.arrow", {"column": content.x.indices, "value": content.x.data})
    _write(place / "nodes.arrow", columns)
    _write(
        place / "edges.arrow",
        {"place": content.columns} | ({} if content.weights is None else {"weight": content.weights}),
    )


def _name(part: int) -> str:
    return f"part-{part:05d}"


def _write(path: Path, columns: dict[str, Any]) -> None:
    table = pa.table(columns)

    def write(temporary: Path) -> None:
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)

    write_atomically(path, write)


def _mapped(path: Path) -> Any:
    try:
        return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except FileNotFoundError:
        raise InputError(f"The shards are not whole: there is no file '{path}'.") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"'{path}' is damaged: {' '.join(str(error).split())}.") from None


def _column(table: Any, name: str) -> Any:
    chunks = table.column(name).chunks
    arrays = [chunk.to_numpy(zero_copy_only=True) for chunk in chunks]
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else table.column(name).to_numpy()


def _list_column(table: Any, name: str) -> Any:
    arrays = [chunk.flatten().to_numpy(zero_copy_only=True) for chunk in table.column(name).chunks]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.empty(0, np.float32)


def _joined(contents: Sequence[PartContent]) -> PartContent:
    if len(contents) == 1:
        return contents[0]

    def joined(name: str) -> Any:
        values = [getattr(content, name) for content in contents]
        if values[0] is None:
            return None
        return np.concatenate(values) if isinstance(values[0], np.ndarray) else sp.csr_array(sp.vstack(values, "csr"))

    names = ("nodes", "y", "sets", "rows", "columns", "weights", "x")
    return PartContent(**{name: joined(name) for name in names})
