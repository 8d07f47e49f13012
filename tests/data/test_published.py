"""The real published files: equal to the verified arrays, to the paper's table and to PyTorch Geometric's loaders."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch_geometric import datasets as pyg
from torch_geometric.data import Data
from torch_geometric.utils import coalesce, remove_self_loops, to_undirected

from glognn.data.catalog import DATASETS
from glognn.data.fetch import fetch
from glognn.data.sources import find_source, load_dataset, load_source
from glognn.data.statistics import differences, measure
from glognn.errors import DataWarning
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph
from glognn.graph.graph import SET_NAMES
from tests.conftest import MIRROR, REAL_DATA

pytestmark = pytest.mark.real_data

PAPER = {  # the paper's table: homophily, nodes, edges, features, classes
    "texas": (0.11, 183, 295, 1703, 5),
    "wisconsin": (0.21, 251, 466, 1703, 5),
    "cornell": (0.30, 183, 280, 1703, 5),
    "actor": (0.22, 7600, 26752, 931, 5),
    "squirrel": (0.22, 5201, 198493, 2089, 5),
    "chameleon": (0.23, 2277, 31421, 2325, 5),
    "cora": (0.81, 2708, 5278, 1433, 6),
    "citeseer": (0.74, 3327, 4676, 3703, 7),
    "pubmed": (0.80, 19717, 44327, 500, 3),
}
CORRECTED = {"actor": {"features": 932}, "cora": {"classes": 7}, "citeseer": {"classes": 6}}
"""Where the paper's table is wrong about its own files: see the traps of these datasets."""

VERIFIED = {name: name for name in PAPER} | {
    "cornell-corrected": "cornell_corrected",
    "deezer-europe": "deezer_europe",
    "reed98": "fb100_Reed98",
    "amherst41": "fb100_Amherst41",
    "twitch-explicit-de": "twitch_DE",
    "minesweeper": "minesweeper",
}


def load(name: str, **options: str) -> Data:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return load_dataset(name, mirror=MIRROR, **options)


def to_scipy(x: torch.Tensor) -> sp.csr_array:
    if x.layout == torch.strided:
        return sp.csr_array(x.numpy())
    parts = (x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy())
    return sp.csr_array(parts, shape=tuple(x.shape))


@pytest.mark.parametrize("name", PAPER)
def test_equals_the_papers_table(name: str) -> None:
    homophily, nodes, edges, features, classes = PAPER[name]
    wanted = {"nodes": nodes, "features": features, "classes": classes} | CORRECTED.get(name, {})
    found = measure(load(name))
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.edges_undirected == edges
    assert round(found.homophily.edge_with_loops, 2) == homophily
    assert differences(found, DATASETS[name].expected) == []


@pytest.mark.parametrize("name", VERIFIED)
def test_equals_the_verified_arrays_element_for_element(name: str) -> None:
    """Nodes without a label count as class 0 there, as in geom-gcn's code, except in the facebook graphs."""
    facebook = VERIFIED[name].startswith("fb100")
    data = load(name) if facebook else load(name, unlabelled="first_class")
    with np.load(REAL_DATA / f"{VERIFIED[name]}.npz") as file:
        wanted = dict(file)
    assert np.array_equal(data.y.numpy(), wanted["node_labels"])
    edges, given = data.edge_index.numpy(), wanted["edge_index"]
    if name == "deezer-europe":  # stored in both directions in the published file, once in the verified one
        edges = edges[:, edges[0] < edges[1]]
        edges, given = edges[:, np.lexsort(edges)], given[:, np.lexsort(given)]
    assert np.array_equal(edges, given)
    if "train_masks" in wanted:
        for each in SET_NAMES:
            assert np.array_equal(data[f"{each}_mask"].numpy(), wanted[f"{each}_masks"].T)
    x = to_scipy(data.x)
    if "node_features" in wanted:
        assert np.array_equal(x.toarray(), wanted["node_features"])
    elif "feat_data" in wanted:
        parts = (wanted["feat_data"], wanted["feat_indices"], wanted["feat_indptr"])
        other = sp.csr_array(parts, shape=tuple(wanted["feat_shape"]))
        assert x.shape == other.shape
        assert (x != other).nnz == 0
    else:
        columns = np.delete(wanted["local_info"], 1, axis=1)
        blocks = [(column[:, None] == np.unique(column)).astype(float) for column in columns.T]
        assert np.array_equal(x.toarray(), np.hstack(blocks))


def test_citeseers_fifteen_nodes_are_left_out_unless_asked_for() -> None:
    data, as_published = load("citeseer"), load("citeseer", unlabelled="first_class")
    unknown = data.y == -1
    assert int(unknown.sum()) == 15
    assert as_published.y[unknown].eq(0).all()
    for name in SET_NAMES:
        assert not data[f"{name}_mask"][unknown].any()
        assert torch.equal(data[f"{name}_mask"][~unknown], as_published[f"{name}_mask"][~unknown])
    counted = sum(int(as_published[f"{name}_mask"][unknown].sum()) for name in SET_NAMES)
    assert counted == 140
    [config] = resolve([], None, {}, "citeseer", None)
    assert load_graph(config, MIRROR).graph.num_classes == 6
    [other] = resolve([], None, {"unlabelled": "first_class"}, "citeseer", None)
    assert torch.equal(load_graph(other, MIRROR).graph.y, as_published.y)


def test_cornell_warns_once_and_says_why() -> None:
    with pytest.warns(DataWarning, match="copy of texas's.*cornell-corrected is the right graph"):
        load_dataset("cornell", mirror=MIRROR)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_dataset("cornell", mirror=MIRROR)
        load_dataset("cornell-corrected", mirror=MIRROR)


def test_published_values_of_other_measures() -> None:
    """Platonov et al. 2023, table 1: adjusted homophily and label informativeness, to two decimals."""
    for name, adjusted, informativeness in (
        ("cora", 0.77, 0.59),
        ("citeseer", 0.67, 0.45),
        ("pubmed", 0.69, 0.41),
        ("minesweeper", 0.01, 0.00),
        ("actor", 0.00, 0.00),
    ):
        found = measure(load(name)).homophily
        assert round(found.adjusted, 2) == adjusted, name
        assert round(found.label_informativeness, 2) == informativeness, name


# PyTorch Geometric's classes read the same published files; the differences are theirs and listed here.


def place(name: str, folder: Path, names: dict[str, str] | None = None) -> None:
    """Put the published files of a dataset where PyTorch Geometric looks for its raw files."""
    folder.mkdir(parents=True)
    for file in DATASETS[name].all_files:
        source = fetch(file, MIRROR)
        shutil.copy(source, folder / (names or {}).get(source.name, source.name))


def edge_set(edge_index: torch.Tensor) -> set[tuple[int, int]]:
    return set(map(tuple, edge_index.T.tolist()))


def masks(data: Data) -> list[torch.Tensor]:
    return [data.train_mask, data.val_mask, data.test_mask]


@pytest.mark.parametrize("name", ["texas", "wisconsin", "cornell"])
def test_against_pyg_webkb(name: str, tmp_path: Path) -> None:
    place(name, tmp_path / name / "raw")
    theirs, ours = pyg.WebKB(str(tmp_path), name)[0], load(name)
    assert torch.equal(theirs.x, ours.x)
    assert torch.equal(theirs.y, ours.y)
    assert edge_set(theirs.edge_index) == edge_set(ours.edge_index)
    assert all(torch.equal(a, b) for a, b in zip(masks(theirs), masks(ours), strict=True))


@pytest.mark.parametrize("name", ["squirrel", "chameleon"])
def test_against_pyg_wikipedia(name: str, tmp_path: Path) -> None:
    place(name, tmp_path / name / "geom_gcn" / "raw")
    theirs, ours = pyg.WikipediaNetwork(str(tmp_path), name, geom_gcn_preprocess=True)[0], load(name)
    assert torch.equal(theirs.x, ours.x)
    assert torch.equal(theirs.y, ours.y)
    assert edge_set(theirs.edge_index) == edge_set(ours.edge_index)
    assert all(torch.equal(a.bool(), b) for a, b in zip(masks(theirs), masks(ours), strict=True))


def test_against_pyg_actor(tmp_path: Path) -> None:
    place("actor", tmp_path / "raw")
    theirs, ours = pyg.Actor(str(tmp_path))[0], load("actor")
    assert torch.equal(theirs.x, ours.x)
    assert torch.equal(theirs.y, ours.y)
    assert edge_set(theirs.edge_index) == edge_set(ours.edge_index)
    assert all(torch.equal(a, b) for a, b in zip(masks(theirs), masks(ours), strict=True))


@pytest.mark.parametrize("name", ["cora", "citeseer", "pubmed"])
def test_against_pyg_planetoid(name: str, tmp_path: Path) -> None:
    """Theirs have no self-loops and every edge in both directions, and take nodes without a label for class 0."""
    place(name, tmp_path / name / "geom-gcn" / "raw")
    for part in ("x", "y"):
        shutil.copy(MIRROR / "geom-gcn/data" / f"ind.{name}.{part}", tmp_path / name / "geom-gcn" / "raw")
    theirs, ours = pyg.Planetoid(str(tmp_path), name, split="geom-gcn")[0], load(name, unlabelled="first_class")
    assert torch.equal(theirs.x, ours.x)
    assert torch.equal(theirs.y, ours.y)
    assert torch.equal(coalesce(theirs.edge_index), to_undirected(remove_self_loops(ours.edge_index)[0]))
    assert all(torch.equal(a, b) for a, b in zip(masks(theirs), masks(ours), strict=True))


@pytest.mark.parametrize("name", ["reed98", "amherst41"])
def test_against_pyg_facebook(name: str, tmp_path: Path) -> None:
    """The reader of penn94 on real files. Theirs numbers the one-hot columns alike."""
    folder = tmp_path / name / "raw"
    folder.mkdir(parents=True)
    shutil.copy(MIRROR / next(iter(DATASETS[name].files.values())).path, folder / "data.mat")
    theirs, ours = pyg.LINKXDataset(str(tmp_path), name)[0], load(name)
    assert torch.equal(theirs.x, ours.x)
    assert torch.equal(theirs.y, ours.y)
    assert edge_set(theirs.edge_index) == edge_set(ours.edge_index)


def test_against_pyg_heterophilous(tmp_path: Path) -> None:
    """Theirs makes the graph symmetric."""
    place("minesweeper", tmp_path / "minesweeper" / "raw")
    theirs, ours = pyg.HeterophilousGraphDataset(str(tmp_path), "Minesweeper")[0], load("minesweeper")
    assert torch.equal(theirs.x, ours.x)
    assert torch.equal(theirs.y, ours.y)
    assert torch.equal(coalesce(theirs.edge_index), to_undirected(ours.edge_index))
    assert all(torch.equal(a, b) for a, b in zip(masks(theirs), masks(ours), strict=True))


def test_pytorch_geometric_layers_take_a_dataset_as_it_is() -> None:
    from torch_geometric.nn import GCNConv

    data = load("texas")
    assert GCNConv(data.num_features, 5)(data.x, data.edge_index).shape == (183, 5)
    assert load("deezer-europe").x.is_sparse_csr  # too wide to be dense


def test_the_record_says_how_the_graph_was_prepared() -> None:
    [config] = resolve([], "published:squirrel", {}, None, "3")
    assert (config.dataset, config.splits, config.graph.feature_normalization) == ("squirrel", "3", "row")
    facts = load_graph(config, MIRROR).facts
    assert facts["kind"] == "published"
    assert facts["splits_origin"].startswith("10 published splits of geom-gcn")
    assert len(facts["files"]) == 12
    assert all(DATASETS["squirrel"].all_files[n].sha256 in facts["files"].values() for n in range(12))
    [bare] = resolve([], None, {"feature_normalization": "none", "directed": True}, "squirrel", None)
    assert (bare.graph.feature_normalization, bare.graph.directed) == ("none", True)


def test_loading_twice_gives_the_same_content() -> None:
    first, second = (measure(load_source(find_source("wisconsin"), mirror=MIRROR).data) for _ in range(2))
    assert first.fingerprint == second.fingerprint == DATASETS["wisconsin"].expected.fingerprint
