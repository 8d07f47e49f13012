"""A user's tables as a graph file, without ever holding all of them: of the nodes a group of columns at a time, of the
edges a block of rows.

In memory are ids, labels and splits of all nodes, and one group of columns. The files are those that
:class:`~glognn.data.table_graph.KeptTables` saves of the same tables in memory.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from glognn.data.arrow import IntArray
from glognn.data.edge_tables import stream_relations
from glognn.data.encoding import Column, Encoding
from glognn.data.layout import ENCODED, GRAPH
from glognn.data.table_graph import (
    KeptTables,
    NodeColumns,
    TableOptions,
    add_splits,
    edge_options,
    read_facts,
    read_nodes,
    table_of_degrees,
)
from glognn.data.tables import read_table
from glognn.graph.graph import SET_NAMES

_ROWS = 1 << 16
"""Of features that are put together at a time."""


def stream_tables(options: TableOptions, folder: Path, groups: int) -> KeptTables:
    """Write ``graph.npz``, ``nodes.parquet`` and ``tables.json`` of tables.

    Args:
        options: Tables and columns.
        folder: Where the files go.
        groups: In how many groups the columns of nodes are read; a text file is gone through once for each.
    """
    columns = NodeColumns.of(options)
    apart = [name for name in columns.names if name in columns.apart and name not in columns.dropped]
    table = read_table(options.node_table, apart, ids=[columns.id], text=[columns.label], dialect=options.dialect)
    ids, classes, y = read_nodes(table, columns, options)
    data = Data(y=torch.from_numpy(y), num_nodes=len(ids))
    origin = add_splits(data, table, options)
    del table
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        sorted_edges = _EdgeFiles(Path(place), len(ids))
        try:
            edges = stream_relations(options.edge_tables, ids, sorted_edges.add, **edge_options(options))
        finally:
            sorted_edges.close()
        encoding, blocks = _encode(columns, options, Path(place), groups, sorted_edges.degrees)
        _write(folder / GRAPH, data, sorted_edges, blocks)
    kept = KeptTables(
        ids, columns.id, columns.label, edges.columns, classes, encoding,
        read_facts(options, columns.dropped, y, len(classes), edges, origin),
    )  # fmt: skip
    kept.save_names(folder)
    return kept


class _EdgeFiles:
    """Ends and weights of edges in files, and how many lead out of each node and into it."""

    def __init__(self, place: Path, num_nodes: int) -> None:
        self.paths = [place / name for name in ("sources", "targets", "weights")]
        self._files = [path.open("wb") for path in self.paths]
        self.count, self.weighted = 0, False
        self.degrees = np.zeros((2, num_nodes), dtype=np.int64)

    def add(self, index: IntArray, weight: Any) -> None:
        for side, file in enumerate(self._files[:2]):
            file.write(index[side].astype(np.int64).tobytes())
            self.degrees[side] += np.bincount(index[side], minlength=self.degrees.shape[1])
        if weight is not None:
            self._files[2].write(weight.astype(np.float64).tobytes())
            self.weighted = True
        self.count += index.shape[1]

    def close(self) -> None:
        for file in self._files:
            file.close()


def _encode(
    columns: NodeColumns, options: TableOptions, place: Path, groups: int, degrees: IntArray
) -> tuple[Encoding, list[Path]]:
    """Learn how columns become features, and write those of each group to a file."""
    nodes, features = options.node_table, columns.features
    size = -(-len(features) // max(1, min(groups, len(features))))
    found, dropped, paths = list[Column](), dict[str, str](), list[Path]()

    def keep(encoding: Encoding, table: Any) -> None:
        found.extend(encoding.columns)
        dropped.update(encoding.dropped)
        if encoding.num_features:
            paths.append(place / f"features-{len(paths)}.npy")
            np.save(paths[-1], encoding.encode(table, str(nodes)))

    for first in range(0, len(features), max(size, 1)):
        names = features[first : first + size]
        categories = [name for name in columns.categories if name in names]
        table = read_table(nodes, names, text=categories, dialect=options.dialect)
        keep(Encoding.learn(table, names, str(nodes), categories=categories, rare=options.rare_share), table)
        del table
    if not found:
        table = table_of_degrees(list(degrees))
        keep(Encoding.of_edges(table), table)
    return Encoding(tuple(found), dropped), paths


def _write(path: Path, data: Data, edges: _EdgeFiles, blocks: list[Path]) -> None:
    """A graph file in the layout of :mod:`glognn.data.npz`, array by array, as it is and not compressed."""
    with zipfile.ZipFile(path, "w") as archive:
        with _member(archive, "edge_index", (2, edges.count), np.int64) as out:
            for part in edges.paths[:2]:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, out)
        _whole(archive, "node_labels", data.y.numpy())
        if edges.weighted:
            with _member(archive, "edge_weight", (edges.count,), np.float64) as out, edges.paths[2].open("rb") as file:
                shutil.copyfileobj(file, out)
        if blocks:
            parts = [np.load(each, mmap_mode="r") for each in blocks]
            width = sum(part.shape[1] for part in parts)
            with _member(archive, "node_features", (data.num_nodes, width), np.float32) as out:
                for first in range(0, data.num_nodes, _ROWS):
                    out.write(np.hstack([part[first : first + _ROWS] for part in parts]).tobytes())
            _whole(archive, ENCODED, np.array(True))
        for name in SET_NAMES:
            _whole(archive, f"{name}_masks", np.ascontiguousarray(data[f"{name}_mask"].numpy().T))


def _member(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], kind: Any) -> Any:
    """A place for an array, after its head."""
    out = _entry(archive, name)
    head = {"descr": np.lib.format.dtype_to_descr(np.dtype(kind)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(out, head)
    return out


def _whole(archive: zipfile.ZipFile, name: str, array: Any) -> None:
    with _entry(archive, name) as out:
        np.lib.format.write_array(out, array, allow_pickle=False)


def _entry(archive: zipfile.ZipFile, name: str) -> Any:
    return archive.open(f"{name}.npy", "w", force_zip64=True)  # of more than 2 GiB, too
