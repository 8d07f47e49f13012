"""Every published dataset as one declarative entry. Imports no torch.

An entry says where its files are published and under which path they lie in the cache or in a mirror, which reader and
splits belong to them, how the graph is prepared unless asked otherwise (the paper's choices), and what must be found in
it. The checksums of the files are in ``checksums.sha256``, which ``sha256sum -c`` reads as well; they were taken from
the published files, for ogbn-arxiv and heterophilous-graphs also from public records of them. A file without one is
remembered as first downloaded.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from glognn.data.entry import Dataset, Expected, PublishedFile, Twin
from glognn.errors import InputError
from glognn.graph.config import GraphConfig
from glognn.settings import suggest

GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
GEOM_GCN_WIKIPEDIA = (
    "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/f1fc0d14b3b019c562737240d06ec83b07d16a8f"
)
GEOM_GCN_ORIGINAL = "https://raw.githubusercontent.com/bingzhewei/geom-gcn/master"
LINKX = "https://raw.githubusercontent.com/CUAI/Non-Homophily-Large-Scale/master/data"
HETEROPHILOUS = (
    "https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/"
    "a431395582e929d88271309716bea4fe24ce6318/data"
)
OGB_ARXIV = "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
SNAP_TWITCH_GAMERS = "https://snap.stanford.edu/data/twitch_gamers.zip"

PEI = "Pei et al., Geom-GCN: Geometric Graph Convolutional Networks, ICLR 2020"
LIM = "Lim et al., Large Scale Learning on Non-Homophilous Graphs, NeurIPS 2021"
PLATONOV = (
    "Platonov et al., A Critical Look at the Evaluation of GNNs under Heterophily: Are We Really Making Progress?, "
    "ICLR 2023"
)
YANG = "Yang et al., Revisiting Semi-Supervised Learning with Graph Embeddings, ICML 2016"
ROZEMBERCZKI = "Rozemberczki et al., Multi-Scale Attributed Node Embedding, Journal of Complex Networks 2021"
TRAUD = "Traud et al., Social Structure of Facebook Networks, Physica A 2012"

SMALL = GraphConfig(feature_normalization="row")
PLAIN = GraphConfig()
DIRECTED = GraphConfig(directed=True)
STANDARD = GraphConfig(feature_normalization="standard")

_GEOM_GCN_RULE = "10 published splits of geom-gcn, about 48/32/20 % of the nodes"
_WIKIPEDIA_TRAP = "Many nodes are copies of others (same features, class and links) and leak between the sets; see {}."


def _geom_gcn_splits(stem: str, base: str = GEOM_GCN) -> tuple[PublishedFile, ...]:
    names = [f"splits/{stem}_split_0.6_0.2_{number}.npz" for number in range(10)]
    return tuple(PublishedFile(f"geom-gcn/{name}", f"{base}/{name}") for name in names)


def _geom_gcn(
    name: str,
    what: str,
    expected: Expected,
    *,
    stem: str = "",
    folder: str = "geom-gcn",
    base: str = GEOM_GCN,
    group: str = "small",
    listed: bool = False,
    **facts: Any,
) -> Dataset:
    stem = stem or name

    def file(which: str) -> PublishedFile:
        path = f"new_data/{stem}/out1_{which}.txt"
        return PublishedFile(f"{folder}/{path}", f"{base}/{path}")

    split_base = GEOM_GCN_WIKIPEDIA if base == GEOM_GCN_WIKIPEDIA else GEOM_GCN
    return Dataset(
        name=name,
        group=group,
        what=what,
        reader="geom_gcn",
        files={"edges": file("graph_edges"), "nodes": file("node_feature_label")},
        options={"num_features": expected.features, "listed": listed},
        splits=_geom_gcn_splits(stem, split_base),
        splits_reader="geom_gcn",
        splits_rule=_GEOM_GCN_RULE,
        graph=SMALL,
        expected=expected,
        citation=PEI,
        **facts,
    )


def _planetoid(name: str, what: str, expected: Expected, **facts: Any) -> Dataset:
    parts = ("allx", "ally", "tx", "ty", "graph", "test.index")
    paths = {part: f"data/ind.{name}.{part}" for part in parts}
    return Dataset(
        name=name,
        group="small",
        what=what,
        reader="planetoid",
        files={part: PublishedFile(f"geom-gcn/{path}", f"{GEOM_GCN}/{path}") for part, path in paths.items()},
        splits=_geom_gcn_splits(name),
        splits_reader="geom_gcn",
        splits_rule=_GEOM_GCN_RULE,
        graph=SMALL,
        expected=expected,
        citation=f"{YANG}; splits: {PEI}",
        **facts,
    )


def _linkx_splits(stem: str, url: str | None = "", note: str = "") -> dict[str, Any]:
    path = f"splits/{stem}-splits.npy"
    return {
        "splits": (PublishedFile(f"linkx/{path}", f"{LINKX}/{path}" if url == "" else url, note=note),),
        "splits_reader": "linkx_splits",
        "splits_rule": "5 published splits of LINKX, 50/25/25 % of the labelled nodes; random where the file is gone",
        "splits_optional": True,
    }


def _facebook(name: str, stem: str, expected: Expected, group: str = "beyond", **facts: Any) -> Dataset:
    return Dataset(
        name=name,
        group=group,
        what=f"friendships of students at one university ({stem}); classes: gender as given",
        reader="facebook100",
        files={
            "graph": PublishedFile(f"linkx/facebook100/{stem}.mat", f"{LINKX}/facebook100/{quote(stem)}.mat"),
        },
        **_linkx_splits(f"fb100-{stem}"),
        graph=PLAIN,
        expected=expected,
        citation=f"{TRAUD}; {LIM}",
        licence="Facebook profiles of 2005, published for research; no licence is stated.",
        **facts,
    )


def _twitch_explicit(language: str, expected: Expected) -> Dataset:
    def file(which: str) -> PublishedFile:
        name = f"musae_{language}_{which}"
        return PublishedFile(f"linkx/twitch-{language}/{name}", f"{LINKX}/twitch/{language}/{name}")

    return Dataset(
        name=f"twitch-explicit-{language.lower()}",
        group="beyond",
        what=f"friendships of Twitch streamers ({language}); classes: whether the stream is for adults",
        reader="musae",
        files={"edges": file("edges.csv"), "nodes": file("target.csv"), "features": file("features.json")},
        **_linkx_splits(f"twitch-e-{language}"),
        graph=PLAIN,
        expected=expected,
        citation=f"{ROZEMBERCZKI}; {LIM}",
        traps=("All languages have 3170 feature columns here; the LINKX code drops those empty in a language.",),
    )


def _heterophilous(name: str, what: str, expected: Expected, *, metric: str = "accuracy", **facts: Any) -> Dataset:
    file = f"{name.replace('-', '_')}.npz"
    return Dataset(
        name=name,
        group="beyond",
        what=what,
        reader="heterophilous",
        files={"graph": PublishedFile(f"heterophilous-graphs/{file}", f"{HETEROPHILOUS}/{file}")},
        splits_rule=facts.pop("splits_rule", "10 published splits in the file, 50/25/25 % of the nodes"),
        metric=metric,
        graph=PLAIN,
        expected=expected,
        citation=PLATONOV,
        licence="The repository is under the MIT licence.",
        **facts,
    )


def _drive(path: str, key: str) -> PublishedFile:
    note = f"It was a Google Drive file (id {key}), which users report as gone; copies go from hand to hand."
    return PublishedFile(path, None, note=note)


_WEB = "web pages of a university's computer science department and their links; classes: kind of person or page"

_ENTRIES = [
    _geom_gcn(
        "texas",
        _WEB,
        Expected(nodes=183, edges=295, features=1703, classes=5, homophily=0.11, fingerprint="11f52221bb0a9896"),
    ),
    _geom_gcn(
        "wisconsin",
        _WEB,
        Expected(nodes=251, edges=466, features=1703, classes=5, homophily=0.21, fingerprint="e0bbe30d8a8d8cd4"),
    ),
    _geom_gcn(
        "cornell",
        _WEB,
        Expected(nodes=183, edges=280, features=1703, classes=5, homophily=0.30, fingerprint="2d9c38ec0955e312"),
        traps=("Its feature and label file is byte for byte the one of texas; cornell-corrected is the right graph.",),
        warning="cornell: the published feature and label file is a copy of texas's. It is loaded as published, "
        "because the paper's numbers were measured on it; cornell-corrected is the right graph.",
    ),
    _geom_gcn(
        "actor",
        "actors and their common appearances on Wikipedia pages; classes: kind of actor",
        Expected(nodes=7600, edges=26752, features=932, classes=5, homophily=0.22, fingerprint="0f1cd5d324fea0d7"),
        stem="film",
        listed=True,
        traps=("The file says 931 features, but their numbers reach 931, so there are 932.",),
    ),
    _geom_gcn(
        "squirrel",
        "Wikipedia pages about squirrels and their links; classes: monthly traffic",
        Expected(nodes=5201, edges=198493, features=2089, classes=5, homophily=0.22, fingerprint="317a43aeebc8afaa"),
        base=GEOM_GCN_WIKIPEDIA,
        traps=(_WIKIPEDIA_TRAP.format("squirrel-filtered"),),
    ),
    _geom_gcn(
        "chameleon",
        "Wikipedia pages about chameleons and their links; classes: monthly traffic",
        Expected(nodes=2277, edges=31421, features=2325, classes=5, homophily=0.23, fingerprint="c450eb29ea50cc9f"),
        base=GEOM_GCN_WIKIPEDIA,
        traps=(_WIKIPEDIA_TRAP.format("chameleon-filtered"),),
    ),
    _planetoid(
        "cora",
        "papers on machine learning and their citations; classes: topic",
        Expected(nodes=2708, edges=5278, features=1433, classes=7, homophily=0.81, fingerprint="ef152dd7037036b6"),
        traps=(
            "The paper's table swaps the class counts of cora (7) and citeseer (6).",
            "The splits leave 223 nodes in no set.",
        ),
    ),
    _planetoid(
        "citeseer",
        "papers on computer science and their citations; classes: topic",
        Expected(nodes=3327, edges=4676, features=3703, classes=6, homophily=0.74, fingerprint="5ec1139a645fec23"),
        traps=(
            "The paper's table swaps the class counts of cora (7) and citeseer (6).",
            "15 nodes have neither features nor a label. geom-gcn's code takes them for class 0 and the splits hold "
            "them; like the authors' code we leave them out unless --unlabelled first_class is given.",
            "124 self-loops are in the files and in the paper's counts; PyTorch Geometric drops them.",
            "Splits 4 and 5 leave 1,207 nodes in no set.",
        ),
    ),
    _planetoid(
        "pubmed",
        "papers on diabetes and their citations; classes: kind of diabetes",
        Expected(nodes=19717, edges=44327, features=500, classes=3, homophily=0.80, fingerprint="4a1c0208a31d6f29"),
        traps=("3 self-loops are in the files and in the paper's counts; PyTorch Geometric drops them.",),
    ),
    _facebook(
        "penn94",
        "Penn94",
        Expected(nodes=41554, edges=1362229, features=4814, classes=2, homophily=0.47),
        group="large",
        traps=(
            "2,739 nodes have no gender given and are in no set.",
            "The paper's table counts 5 features: the columns before one-hot encoding.",
        ),
        twin=Twin(directed_edges=2724458, undirected_edges=1362229, homophily=0.47, ones_per_row=6),
    ),
    Dataset(
        name="pokec",
        group="large",
        what="friendships in a Slovak social network; classes: gender as given",
        reader="linkx_mat",
        files={"graph": _drive("linkx/pokec.mat", "1dNs5E7BrWJbgcHeQ_zuy5Ozp2tRCWG0y")},
        **_linkx_splits("pokec", None, "It was a Google Drive file (id 1ZhpAiyTNc0cE_hhgyiqxnkKREHK7MK-_)."),
        graph=PLAIN,
        expected=Expected(nodes=1632803, edges=30622564, features=65, classes=2, homophily=0.44, counted="given"),
        citation=f"Takac and Zabovsky, Data Analysis in Public Social Networks, 2012; {LIM}",
        traps=("The paper counts the directed edges of the file; made symmetric they are 44,603,928 entries.",),
        twin=Twin(directed_edges=30622564, undirected_edges=22301964, homophily=0.44),
    ),
    Dataset(
        name="arxiv-year",
        group="large",
        what="computer science papers on arXiv and their citations; classes: year, in 5 even quantiles",
        reader="ogb_arxiv",
        files={
            which: PublishedFile(f"ogbn-arxiv/{name}", OGB_ARXIV, f"arxiv/raw/{name}")
            for which, name in (
                ("edges", "edge.csv.gz"),
                ("features", "node-feat.csv.gz"),
                ("years", "node_year.csv.gz"),
            )
        },
        **_linkx_splits("arxiv-year"),
        graph=DIRECTED,
        expected=Expected(nodes=169343, edges=1166243, features=128, classes=5, homophily=0.22, counted="given"),
        citation=f"Hu et al., Open Graph Benchmark, NeurIPS 2020; {LIM}",
        licence="ogbn-arxiv is under ODC-BY.",
        traps=("Used as a directed graph; the classes are not the subjects of ogbn-arxiv.",),
        twin=Twin(directed_edges=1166243, undirected_edges=1157799, homophily=0.22),
    ),
    Dataset(
        name="snap-patents",
        group="large",
        what="US patents and their citations; classes: year granted, in 5 even quantiles",
        reader="linkx_mat",
        files={"graph": _drive("linkx/snap_patents.mat", "1ldh23TSY1PwXia6dU0MYcpyEgX-w3Hia")},
        options={"label": "years"},
        **_linkx_splits("snap-patents", None, "It was a Google Drive file (id 12xbBRqd8mtG_XkNLH8dRRNZJvVM4Pw-N)."),
        graph=DIRECTED,
        expected=Expected(nodes=2923922, edges=13975788, features=269, classes=5, homophily=0.07, counted="given"),
        citation=f"Leskovec et al., Graphs over Time, KDD 2005; {LIM}",
        traps=("Used as a directed graph.",),
        twin=Twin(directed_edges=13975788, undirected_edges=13975788, homophily=0.07, ones_per_row=8),
    ),
    Dataset(
        name="genius",
        group="large",
        what="users of genius.com and who follows whom; classes: whether the account is marked as gone",
        reader="linkx_mat",
        files={"graph": PublishedFile("linkx/genius.mat", f"{LINKX}/genius.mat")},
        **_linkx_splits("genius"),
        metric="roc_auc",
        graph=PLAIN,
        expected=Expected(nodes=421961, edges=984979, features=12, classes=2, homophily=0.61, counted="given"),
        citation=LIM,
        traps=("The score is ROC-AUC: four of five nodes are in one class.",),
        twin=Twin(directed_edges=984979, undirected_edges=922868, homophily=0.61, class_shares=(0.8, 0.2)),
    ),
    Dataset(
        name="twitch-gamers",
        group="large",
        what="Twitch users who follow each other; classes: whether the stream is for adults",
        reader="twitch_gamers",
        files={
            "edges": PublishedFile("linkx/twitch-gamer_edges.csv", SNAP_TWITCH_GAMERS, "large_twitch_edges.csv"),
            "nodes": PublishedFile("linkx/twitch-gamer_feat.csv", SNAP_TWITCH_GAMERS, "large_twitch_features.csv"),
        },
        **_linkx_splits("twitch-gamer"),
        graph=STANDARD,
        expected=Expected(nodes=168114, edges=6797557, features=7, classes=2, homophily=0.54),
        citation=f"Rozemberczki and Sarkar, Twitch Gamers, 2021; {LIM}",
        traps=("LINKX's copies on Google Drive are gone; these are the same tables as SNAP publishes them.",),
        twin=Twin(directed_edges=6797557, undirected_edges=6797557, homophily=0.54),
    ),
    _geom_gcn(
        "cornell-corrected",
        _WEB,
        Expected(nodes=183, edges=280, features=1703, classes=5, homophily=0.13, fingerprint="b904942a0032ba06"),
        stem="cornell",
        folder="geom-gcn-original",
        base=GEOM_GCN_ORIGINAL,
        group="beyond",
        traps=("The right files for cornell; numbers published for cornell are not about this graph.",),
    ),
    _facebook("reed98", "Reed98", Expected(nodes=962, edges=18812, features=745, classes=2, homophily=0.52)),
    _facebook("amherst41", "Amherst41", Expected(nodes=2235, edges=90954, features=1193, classes=2, homophily=0.53)),
    _facebook(
        "johnshopkins55",
        "Johns Hopkins55",
        Expected(nodes=5180, edges=186586, features=2406, classes=2, homophily=None),
    ),
    _facebook("cornell5", "Cornell5", Expected(nodes=18660, edges=790777, features=4735, classes=2, homophily=None)),
    Dataset(
        name="deezer-europe",
        group="beyond",
        what="friendships of users of Deezer in Europe; classes: gender",
        reader="deezer",
        files={"graph": PublishedFile("linkx/deezer-europe.mat", f"{LINKX}/deezer-europe.mat")},
        **_linkx_splits("deezer-europe"),
        graph=PLAIN,
        expected=Expected(nodes=28281, edges=92752, features=31241, classes=2, homophily=0.53),
        citation=f"Rozemberczki and Sarkar, Characteristic Functions on Graphs, CIKM 2020; {LIM}",
        traps=("PyTorch Geometric's DeezerEurope has other features (128 columns).",),
    ),
    _twitch_explicit(
        "DE",
        Expected(nodes=9498, edges=153138, features=3170, classes=2, homophily=0.63, fingerprint="637057d0c61a45d1"),
    ),
    _twitch_explicit("ENGB", Expected(nodes=7126, edges=35324, features=3170, classes=2, homophily=None)),
    _twitch_explicit("ES", Expected(nodes=4648, edges=59382, features=3170, classes=2, homophily=None)),
    _twitch_explicit("FR", Expected(nodes=6549, edges=112666, features=3170, classes=2, homophily=None)),
    _twitch_explicit("PTBR", Expected(nodes=1912, edges=31299, features=3170, classes=2, homophily=None)),
    _twitch_explicit("RU", Expected(nodes=4385, edges=37304, features=3170, classes=2, homophily=None)),
    _twitch_explicit("TW", Expected(nodes=2772, edges=63462, features=3170, classes=2, homophily=None)),
    _heterophilous(
        "roman-empire",
        "words of the Wikipedia article on the Roman Empire in their order and grammar; classes: syntactic role",
        Expected(nodes=22662, edges=32927, features=300, classes=18, homophily=0.05),
    ),
    _heterophilous(
        "amazon-ratings",
        "products bought together; classes: mean rating",
        Expected(nodes=24492, edges=93050, features=300, classes=5, homophily=0.38),
    ),
    _heterophilous(
        "minesweeper",
        "cells of a 100 x 100 minesweeper board; classes: whether there is a mine",
        Expected(nodes=10000, edges=39402, features=7, classes=2, homophily=0.68, fingerprint="95ba6bc45c31c766"),
        metric="roc_auc",
    ),
    _heterophilous(
        "tolokers",
        "crowd workers who shared a task; classes: whether they were banned",
        Expected(nodes=11758, edges=519000, features=10, classes=2, homophily=0.59),
        metric="roc_auc",
    ),
    _heterophilous(
        "questions",
        "users of Yandex Q who answered each other; classes: whether they stayed active",
        Expected(nodes=48921, edges=153540, features=301, classes=2, homophily=0.84),
        metric="roc_auc",
    ),
    *(
        _heterophilous(
            f"{name}-filtered",
            f"{name} without the nodes that are copies of others",
            expected,
            splits_rule="10 published splits in the file, 48/32/20 % of the nodes",
        )
        for name, expected in (
            ("chameleon", Expected(nodes=890, edges=8854, features=2325, classes=5, homophily=0.24)),
            ("squirrel", Expected(nodes=2223, edges=46998, features=2089, classes=5, homophily=0.21)),
        )
    ),
]

DATASETS = {entry.name: entry for entry in _ENTRIES}
"""Every dataset by name, in the order of the paper, then what the field moved on to."""


def find_dataset(name: str) -> Dataset:
    """The entry of a dataset: its files, splits, metric, default preparation, citation and traps."""
    if name not in DATASETS:
        raise InputError(f"There is no dataset '{name}'.{suggest(name, DATASETS)}")
    return DATASETS[name]
