"""A graph as a folder of parts, each in Arrow files that are mapped into memory: a rank reads its own and nothing else.

``shards.json`` says what the graph is and where parts begin. ``part-00000/nodes.arrow`` has a row for each node of a
part: its number in the graph, its label, the set it is in of each split, the number of its entries, its features where
these are dense; ``edges.arrow`` has the place and, unless all are 1, the weight of what each entry leads to;
``features.arrow`` the columns and values of sparse features. The graph is as it was prepared (symmetric, normalised
features); how is in ``shards.json``, with size and sha256 of every file, by which a rank refuses what is not as it was
written. Folders of earlier versions have none, and are read as they are.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
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
from glognn.errors import InputError, about
from glognn.graph.adjacency import Adjacency, EdgeCounts
from glognn.graph.config import GraphConfig
from glognn.graph.graph import SET_NAMES, Graph
from glognn.graph.sparse import SparseMatrix
from glognn.records import FILE, Form, check_version, misfit, read_record
from glognn.storage import difference, measure_files, write_atomically, write_json

if TYPE_CHECKING:
    from torch_geometric.data import Data

SHARDS = "shards.json"
SCHEMA_VERSION = 1
_MOST = 2**40
"""Of anything that is counted."""
_FORM: Form = {
    "schema_version": int,
    "method": str,
    "starts": [int],
    "ordered": bool,
    "sizes": [{each.name: int for each in fields(PartSizes)}],
    "graph": dict,
    "edge_counts": {each.name: int for each in fields(EdgeCounts)},
    "num_classes": int,
    "class_names": [str],
    "num_splits": int,
    "num_features": (int, type(None)),
    "sparse_features": bool,
    "symmetric": bool,
    "weighted": bool,
    "dtype": {"float32", "float64"},
    "fingerprints": {"float32": str, "float64": str},
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
        found = cls(folder, record)
        if wrong := misfit(record, _FORM) or found._contradiction():
            raise InputError(f"'{folder / SHARDS}' is damaged: {wrong}.")
        with about(f"'{folder / SHARDS}' is damaged"):
            GraphConfig.from_mapping(record["graph"])
        return found

    def _contradiction(self) -> str:
        """What of a record of the right form cannot be, in words."""
        record, starts = self.record, self.record["starts"]
        if len(starts) < 2 or starts[0] != 0 or starts != sorted(starts) or starts[-1] > _MOST:
            return f"starts must grow from 0, not {starts!r:.60}"
        if len(record["sizes"]) != self.parts:
            return f"sizes must be of {self.parts} parts, not {len(record['sizes'])}"
        if not 0 <= record["num_classes"] <= _MOST or len(record["class_names"]) not in (0, record["num_classes"]):
            return f"num_classes and class_names do not fit: {record['num_classes']} and {len(record['class_names'])}"
        for name in ("num_splits", "num_features"):
            if not 0 <= (record[name] or 0) <= _MOST:
                return f"{name} must be in the range [0, {_MOST}], not {record[name]}"
        if "files" in record:
            names = [name for part in range(self.parts) for name in self._files(part)]
            return misfit(record, {"files": dict.fromkeys(names, FILE)})
        return ""

    def _files(self, part: int) -> list[str]:
        """The files of a part."""
        names = ("nodes", "edges", "features") if self.record["sparse_features"] else ("nodes", "edges")
        return [f"{_name(part)}/{name}.arrow" for name in names]

    @property
    def starts(self) -> IntArray:
        return np.array(self.record["starts"], dtype=np.int64)

    @property
    def parts(self) -> int:
        return len(self.record["starts"]) - 1

    @property
    def sizes(self) -> list[PartSizes]:
        return [_picked(PartSizes, each) for each in self.record["sizes"]]

    @property
    def edge_counts(self) -> EdgeCounts:
        found: EdgeCounts = _picked(EdgeCounts, self.record["edge_counts"])
        return found

    @property
    def config(self) -> GraphConfig:
        return GraphConfig.from_mapping(self.record["graph"])

    def fingerprint(self, dtype: torch.dtype) -> str:
        """That of the whole graph in a precision."""
        return str(self.record["fingerprints"][str(dtype).removeprefix("torch.")])

    def read_checked(self, part: int) -> PartContent:
        """One part, refused where a file of it is not as it was written: they are read once more, at about 1 GB/s."""
        recorded = self.record.get("files", {})
        for name in self._files(part) if recorded else ():
            if wrong := difference(self.folder / name, recorded[name]):
                raise InputError(
                    f"'{self.folder / name}' {wrong}: put it back from a copy, or divide the graph again with 'glognn "
                    "shard'."
                )
        return self.read(part)

    def read(self, part: int) -> PartContent:
        """One part; its arrays are views of its files."""
        record, place, count = self.record, self.folder / _name(part), int(self.starts[-1])
        path = place / "nodes.arrow"
        nodes, held = _mapped(path), int(self.starts[part + 1] - self.starts[part])
        if nodes.num_rows != held:
            raise InputError(f"'{path}' is damaged: it must have {held:,} nodes. It has {nodes.num_rows:,}.")
        sets = [_places(nodes, f"split_{split}", path, 0, len(SET_NAMES)) for split in range(record["num_splits"])]
        rows = _places(nodes, "entries", path, 0, _MOST)
        x: Any = None
        if record["sparse_features"]:
            width, lengths = record["num_features"] or 0, _places(nodes, "features", path, 0, _MOST)
            inside = place / "features.arrow"
            features = _mapped(inside, _total(lengths))
            starts = np.concatenate([[0], np.cumsum(lengths)])
            columns = _places(features, "column", inside, 0, width - 1)
            x = sp.csr_array((_values(features, "value", inside), columns, starts), shape=(rows.size, width))
        elif record["num_features"] is not None:
            x = _vectors(nodes, "x", record["num_features"], path)
        y = _places(nodes, "y", path, -1, record["num_classes"] - 1)
        if any((each[y < 0] != 0).any() for each in sets):
            raise InputError(f"'{path}' is damaged: nodes without a label must be in no set.")
        inside = place / "edges.arrow"
        edges = _mapped(inside, _total(rows))
        return PartContent(
            nodes=_places(nodes, "node", path, 0, count - 1),
            y=y,
            sets=np.stack(sets, axis=1) if sets else np.zeros((rows.size, 0), np.uint8),
            rows=rows,
            columns=_places(edges, "place", inside, 0, count - 1),
            weights=_values(edges, "weight", inside) if record["weighted"] else None,
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
        content = _joined([self.read_checked(part) for part in range(bounds[ranks.rank], bounds[ranks.rank + 1])])
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
            edge_counts=self.edge_counts,
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
        content = _joined([self.read_checked(part) for part in range(self.parts)])
        dtype = dtype or getattr(torch, self.record["dtype"])
        weights = np.ones(content.columns.size) if content.weights is None else content.weights
        pointers, count = np.concatenate([[0], np.cumsum(content.rows)]), content.rows.size
        back = np.argsort(content.nodes)
        if not np.array_equal(content.nodes[back], np.arange(count)):
            raise InputError(f"The parts of '{self.folder}' are damaged: every node must be in one of them.")
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
            edge_counts=self.edge_counts,
            config=self.config,
        )


def _picked(kind: type[Any], content: dict[str, int]) -> Any:
    """A record of counts; others beside them say nothing."""
    return kind(**{each.name: content[each.name] for each in fields(kind)})


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
    shards = Shards(folder, record)
    for part in range(shards.parts):
        record.setdefault("files", {}).update(measure_files(folder, shards._files(part)))
    write_json(folder / SHARDS, record)
    return shards


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


def _mapped(path: Path, rows: int | None = None) -> Any:
    """The table of a file, which must have as many rows as there are to be, where that is known."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        table.validate()  # Arrow itself believes places in memory that a file gives, wherever they lead
    except FileNotFoundError:
        raise InputError(f"The shards are not whole: there is no file '{path}'.") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"'{path}' is damaged: {' '.join(str(error).split())}.") from None
    if rows is not None and table.num_rows != rows:
        raise InputError(f"'{path}' is damaged: it must have {rows:,} rows. It has {table.num_rows:,}.")
    return table


def _column(table: Any, name: str, path: Path, *, whole: bool) -> Any:
    """A column of whole numbers or of fractions, none missing; a view of the file where that is of one piece."""
    kind = _kind(table, name)
    fits = kind is not None and (pa.types.is_integer(kind) if whole else pa.types.is_floating(kind))
    if not fits or table.column(name).null_count:
        words = "whole numbers" if whole else "fractions"
        raise InputError(f"'{path}' is damaged: it must have a column '{name}' of {words}, none of them missing.")
    return _pieces(table.column(name).chunks, kind)


def _kind(table: Any, name: str) -> Any:
    """The type of a column; none where there is none, or several."""
    places = table.schema.get_all_field_indices(name)
    return table.schema.field(places[0]).type if len(places) == 1 else None


def _pieces(chunks: Sequence[Any], kind: Any) -> Any:
    arrays = [chunk.to_numpy(zero_copy_only=True) for chunk in chunks]
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, kind.to_pandas_dtype()), *arrays])


def _places(table: Any, name: str, path: Path, low: int, high: int) -> Any:
    """A column of whole numbers in a range, which others are found by."""
    found = _column(table, name, path, whole=True)
    if found.size and not low <= int(found.min()) <= int(found.max()) <= high:
        raise InputError(f"'{path}' is damaged: '{name}' must be in the range [{low}, {high}].")
    return found


def _values(table: Any, name: str, path: Path) -> Any:
    return _finite(_column(table, name, path, whole=False), name, path)


def _vectors(table: Any, name: str, width: int, path: Path) -> Any:
    """A column of rows of fractions, rows x width."""
    kind = _kind(table, name)
    if (
        kind is None
        or not pa.types.is_fixed_size_list(kind)
        or (kind.list_size, pa.types.is_floating(kind.value_type)) != (width, True)
    ):
        raise InputError(f"'{path}' is damaged: it must have a column '{name}' of {width:,} fractions in each row.")
    chunks = [chunk.flatten() for chunk in table.column(name).chunks]
    if sum(map(len, chunks)) != table.num_rows * width or any(chunk.null_count for chunk in chunks):
        raise InputError(f"'{path}' is damaged: '{name}' must have no missing values.")
    return _finite(_pieces(chunks, kind.value_type).reshape(table.num_rows, width), name, path)


def _finite(found: Any, name: str, path: Path) -> Any:
    if not np.isfinite(found).all():
        raise InputError(f"'{path}' is damaged: '{name}' holds numbers that are not finite.")
    return found


def _total(lengths: Any) -> int:
    """A sum that does not wrap round."""
    return int(lengths.sum(dtype=np.float64))


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
