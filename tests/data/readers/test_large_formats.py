"""The six large datasets, read from small files in their published formats, checked value by value."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from scipy.io import savemat

from glognn.data.catalog import DATASETS
from glognn.data.readers.raw import quantile_labels
from glognn.data.sources import load_dataset
from glognn.errors import DataWarning
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph
from glognn.graph.graph import Graph
from tests.conftest import MIRROR


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    (tmp_path / "mirror" / "linkx" / "splits").mkdir(parents=True)
    return tmp_path / "mirror"


def write_splits(mirror: Path, stem: str, num_nodes: int, *, as_lists: bool = False) -> list[dict[str, np.ndarray]]:
    """Five splits as LINKX publishes them: a pickled object array of dicts."""
    generator = np.random.default_rng(0)
    splits = []
    for _ in range(5):
        order = generator.permutation(num_nodes)
        parts = np.split(order, [num_nodes // 2, 3 * num_nodes // 4])
        splits.append(dict(zip(("train", "valid", "test"), parts, strict=True)))
    stored = [{k: v.tolist() for k, v in split.items()} for split in splits] if as_lists else splits
    np.save(mirror / "linkx" / "splits" / f"{stem}-splits.npy", np.array(stored, dtype=object), allow_pickle=True)
    return splits


def assert_splits(data, splits: list[dict[str, np.ndarray]]) -> None:
    for ours, theirs in (("train", "train"), ("val", "valid"), ("test", "test")):
        mask = data[f"{ours}_mask"]
        for number, split in enumerate(splits):
            assert set(mask[:, number].nonzero().view(-1).tolist()) == set(split[theirs].tolist())


def prepared(name: str, mirror: Path) -> Graph:
    """As ``glognn train --dataset name`` prepares it."""
    [config] = resolve([], None, {}, name, None)
    return load_graph(config, mirror).graph


def test_penn94(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glognn.data.entry._checksums", dict)
    (mirror / "linkx" / "facebook100").mkdir()
    adjacency = sp.csc_matrix(np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=float))
    info = np.array(
        [  # status, gender, major, second major, dorm, year, high school
            [1, 2, 10, 0, 5, 2006, 7],
            [2, 1, 30, 0, 5, 2007, 7],
            [1, 0, 10, 4, 0, 2006, 9],
            [5, 1, 20, 0, 5, 2005, 0],
        ],
        dtype=np.int32,
    )
    savemat(mirror / "linkx/facebook100/Penn94.mat", {"A": adjacency, "local_info": info})
    splits = write_splits(mirror, "fb100-Penn94", 4)
    data = load_dataset("penn94", mirror=mirror)
    assert data.y.tolist() == [1, 0, -1, 0]  # gender - 1; missing gender is unlabelled
    one_hot = [  # status 1 2 5 | major 10 20 30 | second 0 4 | dorm 0 5 | year 2005 2006 2007 | school 0 7 9
        [1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1, 0],
        [1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1],
        [0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0],
    ]
    assert data.x.tolist() == one_hot
    assert sorted(map(tuple, data.edge_index.T.tolist())) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    labelled = [{name: nodes[nodes != 2] for name, nodes in split.items()} for split in splits]
    assert_splits(data, labelled)  # the unlabelled node is left out


def write_mat(path: Path, **content: object) -> None:
    savemat(path, content)


EDGES = np.array([[0, 1, 2, 2, 4, 1], [1, 2, 0, 3, 4, 2]])


def test_genius(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.arange(60.0).reshape(5, 12)
    write_mat(mirror / "linkx/genius.mat", edge_index=EDGES, node_feat=x, label=np.array([[0], [1], [0], [1], [1]]))
    splits = write_splits(mirror, "genius", 5, as_lists=True)
    data = load_dataset("genius", mirror=mirror)
    assert torch.equal(data.x, torch.from_numpy(x).float())
    assert torch.equal(data.edge_index, torch.from_numpy(EDGES))  # published direction, repetitions and all
    assert data.y.tolist() == [0, 1, 0, 1, 1]
    assert_splits(data, splits)
    dense = prepared("genius", mirror).adjacency.matrix.to_scipy().toarray()
    wanted = np.zeros((5, 5))
    wanted[EDGES[0], EDGES[1]] = 1
    assert np.array_equal(dense, np.maximum(wanted, wanted.T))  # symmetrised, repeated edges merged, loop kept
    [config] = resolve([], None, {}, "genius", None)
    assert config.training.metric == "roc_auc"


def test_pokec_without_its_splits(mirror: Path) -> None:
    labels = np.arange(40) % 2
    labels[3] = -1
    x = np.random.default_rng(0).normal(size=(40, 65))
    edges = np.array([np.arange(39), np.arange(1, 40)])
    write_mat(mirror / "linkx/pokec.mat", edge_index=edges, node_feat=x, label=labels[None], num_nodes=40)
    with pytest.warns(DataWarning, match="random 50/25/25 splits .seed 0. stand in.*pokec-splits.npy"):
        data = load_dataset("pokec", mirror=mirror)
    assert data.y.tolist() == labels.tolist()
    assert data.train_mask.shape == (40, 5)
    assert not data.train_mask[3].any()
    [config] = resolve([], None, {}, "pokec", None)
    with pytest.warns(DataWarning):
        loaded = load_graph(config, mirror)
    assert loaded.facts["splits_origin"].startswith("random 50/25/25, stratified, seed 0 (the published splits are not")
    assert loaded.graph.adjacency.matrix.nnz == 2 * 39
    assert set(loaded.facts["files"]) == {"linkx/pokec.mat"}


def test_snap_patents(mirror: Path) -> None:
    years = np.array([1990, 1995, 1990, 2001, 1970])
    x = sp.csc_array(np.random.default_rng(0).random((5, 269)) * (np.arange(5 * 269).reshape(5, 269) % 20 == 0))
    write_mat(mirror / "linkx/snap_patents.mat", edge_index=EDGES, node_feat=x, years=years[None], num_nodes=5)
    splits = write_splits(mirror, "snap-patents", 5)
    data = load_dataset("snap-patents", mirror=mirror)
    assert np.allclose(data.x.numpy(), x.toarray())
    sparse = load_dataset("snap-patents", mirror=mirror, sparse_features=True).x
    assert sparse.is_sparse_csr
    assert torch.equal(sparse.to_dense(), data.x)
    # quantiles of the years: 1970 | 1990 | 1990 | 1995 | 2001; 20 % 1986, 40 % 1990, 60 % 1992, 80 % 1996.2
    assert data.y.tolist() == [2, 3, 2, 4, 0]
    assert_splits(data, splits)
    wanted = np.zeros((5, 5))
    wanted[EDGES[0], EDGES[1]] = 1
    assert np.array_equal(prepared("snap-patents", mirror).adjacency.matrix.to_scipy().toarray(), wanted)  # directed


def test_quantile_rule() -> None:
    assert quantile_labels(np.arange(10)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    # a value equal to a quantile opens the class above it; classes may stay empty
    assert quantile_labels(np.array([5, 5, 5, 5, 9])).tolist() == [3, 3, 3, 3, 4]


def twitch_tables(mirror: Path, order: list[int]) -> pd.DataFrame:
    nodes = pd.DataFrame(
        {
            "views": [100, 7, 50, 9],
            "mature": [1, 0, 1, 0],
            "life_time": [10, 20, 30, 40],
            "created_at": ["2016-02-16", "2017-01-01", "2015-12-31", "2016-02-16"],
            "updated_at": ["2018-10-12"] * 4,
            "numeric_id": [0, 1, 2, 3],
            "dead_account": [0, 0, 1, 0],
            "language": ["EN", "OTHER", "EN", "FR"],
            "affiliate": [1, 0, 1, 1],
        }
    )
    nodes.iloc[order].to_csv(mirror / "linkx/twitch-gamer_feat.csv", index=False)
    edges = pd.DataFrame({"numeric_id_1": [0, 1, 2], "numeric_id_2": [1, 2, 3]})
    edges.to_csv(mirror / "linkx/twitch-gamer_edges.csv", index=False)
    return nodes


def test_twitch_gamers(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glognn.data.entry._checksums", dict)
    twitch_tables(mirror, [0, 1, 2, 3])
    splits = write_splits(mirror, "twitch-gamer", 4)
    data = load_dataset("twitch-gamers", mirror=mirror)
    assert data.y.tolist() == [1, 0, 1, 0]
    raw = np.array(
        [  # views, life time, created, updated, dead, language, affiliate
            [100, 10, 20160216, 20181012, 0, 0, 1],
            [7, 20, 20170101, 20181012, 0, 1, 0],
            [50, 30, 20151231, 20181012, 1, 0, 1],
            [9, 40, 20160216, 20181012, 0, 2, 1],
        ],
        dtype=float,
    )
    assert np.array_equal(data.x.numpy(), raw)
    assert_splits(data, splits)
    graph = prepared("twitch-gamers", mirror)
    spread = raw.std(axis=0, ddof=1)
    spread[3] = 1  # a column that never changes becomes 0
    assert np.allclose(graph.x.numpy(), (raw - raw.mean(axis=0)) / spread, atol=1e-6)
    assert graph.adjacency.matrix.nnz == 6


def test_twitch_gamers_in_another_order_of_rows(mirror: Path) -> None:
    twitch_tables(mirror, [2, 0, 3, 1])
    with pytest.warns(DataWarning, match="twitch-gamer-splits"):
        data = load_dataset("twitch-gamers", mirror=mirror)
    assert data.y.tolist() == [1, 0, 1, 0]
    assert data.x[:, 0].tolist() == [100, 7, 50, 9]
    assert data.x[:, 5].tolist() == [0, 2, 0, 1]  # EN first, FR second, OTHER last in the file


def write_arxiv(mirror: Path, edges: np.ndarray, features: np.ndarray, years: bytes) -> None:
    folder = mirror / "ogbn-arxiv"
    folder.mkdir()
    for name, table in (("edge", edges), ("node-feat", features)):
        pd.DataFrame(table).to_csv(folder / f"{name}.csv.gz", header=False, index=False)
    (folder / "node_year.csv.gz").write_bytes(years)


def test_arxiv_year(mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glognn.data.entry._checksums", dict)
    features = np.random.default_rng(0).normal(size=(5, 128)).astype(np.float32)
    write_arxiv(mirror, EDGES.T, features, gzip.compress(b"2013\n2015\n2014\n1990\n2020\n"))
    splits = write_splits(mirror, "arxiv-year", 5)
    data = load_dataset("arxiv-year", mirror=mirror)
    assert data.y.tolist() == [1, 3, 2, 0, 4]
    assert torch.equal(data.edge_index, torch.from_numpy(EDGES))
    assert np.allclose(data.x.numpy(), features)
    assert_splits(data, splits)
    wanted = np.zeros((5, 5))
    wanted[EDGES[0], EDGES[1]] = 1
    assert np.array_equal(prepared("arxiv-year", mirror).adjacency.matrix.to_scipy().toarray(), wanted)


@pytest.mark.real_data
def test_arxiv_years_of_all_papers(mirror: Path) -> None:
    """The real years and edges (features are not on this machine) against the verified labels."""
    from tests.conftest import REAL_DATA

    with np.load(REAL_DATA / "arxiv_year_nofeat.npz") as wanted:
        edges, labels = wanted["edge_index"], wanted["node_labels"]
    years = (MIRROR / "ogbn-arxiv" / "node_year.csv.gz").read_bytes()
    write_arxiv(mirror, edges.T, np.zeros((len(labels), 1), np.int8), years)
    with pytest.warns(DataWarning, match="arxiv-year-splits"):
        data = load_dataset("arxiv-year", mirror=mirror)
    assert np.array_equal(data.y.numpy(), labels)
    assert np.array_equal(data.edge_index.numpy(), edges)
    expected = DATASETS["arxiv-year"].expected
    assert (data.num_nodes, data.edge_index.shape[1]) == (expected.nodes, expected.edges)
    same = data.y[data.edge_index[0]] == data.y[data.edge_index[1]]
    assert round(float(same.double().mean()), 2) == expected.homophily
