"""What a graph suggests: options for that of a user's tables, and which models it suits, in words. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from glognn.experiments.config import RunConfig

_IMBALANCED, _RARE, _DENSE, _FEW_LABELS = 3.0, 0.1, 20.0, 20


def advise(class_sizes: Sequence[int], facts: Mapping[str, Any], config: RunConfig, *, tuned: bool) -> list[str]:
    """What is worth trying and was not chosen, a line for each.

    Args:
        class_sizes: Labelled nodes of each class.
        facts: What a record says about the graph.
        config: What is about to be trained.
        tuned: Its settings were searched.
    """
    sizes, advice = sorted(class_sizes), []
    if sizes[-1] > _IMBALANCED * sizes[0] and config.training.metric == "accuracy":
        rare = sizes[0] < _RARE * sum(sizes)
        metric = "macro_f1" if len(sizes) > 2 else "average_precision" if rare else "roc_auc"
        advice.append(f"classes are imbalanced: --metric {metric} --class-weight balanced")
    homophily = facts["edge_homophily"]
    if homophily is not None and homophily < 0.5 and not config.model.name.startswith("glognn"):
        advice.append(f"linked nodes differ (edge homophily {homophily:.2f}): --model glognn++")
    elif homophily is not None and homophily > 0.8:
        advice.append(f"linked nodes are alike (edge homophily {homophily:.2f}): compare with --model gcn")
    entries, edges = facts["num_entries"], facts["edges"]
    if 2.2 * edges["reverse_added"] > entries and not config.graph.directed and config.model.name != "dirgnn":
        advice.append("edges go one way in the table: if that means something, try --model dirgnn or --directed")
    dense = entries > _DENSE * facts["num_nodes"]
    if dense and getattr(config.model, "normalization", "none") != "none":
        advice.append(f"the graph is dense ({entries / facts['num_nodes']:.0f} links a node): try --normalization none")
    if sizes[0] < _FEW_LABELS:
        advice.append(
            f"the smallest class has {sizes[0]} labels: --random-splits 5 shows how far scores can be trusted"
        )
    if not tuned:
        advice.append("settings of this graph: --tune 50")
    return advice


@dataclass(frozen=True)
class GraphFacts:
    """What a cheap look at a graph shows. Homophily is that of the labels that train, ``None`` where not defined."""

    num_nodes: int
    num_entries: int
    num_isolated: int
    largest_degree: int
    num_features: int
    sparse_features: bool
    class_sizes: tuple[int, ...]
    adjusted_homophily: float | None
    label_informativeness: float | None
    one_way: bool


_ALIKE, _TELLING = 0.4, 0.1
"""From which adjusted homophily on neighbours count as alike, and from which informativeness on as telling."""


def describe(facts: GraphFacts) -> str:
    """One paragraph: what kind of graph it is, and what that means for the choice of a model."""
    labels, smallest = sum(facts.class_sizes), min(facts.class_sizes)
    links = facts.num_entries / facts.num_nodes
    kind = "sparse" if facts.sparse_features else "dense"
    features = f"{facts.num_features:,} features ({kind})" if facts.num_features else "no features"
    said = [
        f"{facts.num_nodes:,} nodes with {links:.1f} links each on average (at most {facts.largest_degree:,}"
        + (f", {facts.num_isolated:,} without any" if facts.num_isolated else "")
        + f") and {features}; {labels:,} labels of {len(facts.class_sizes)} classes, the smallest with {smallest:,}."
    ]
    adjusted, telling = facts.adjusted_homophily, facts.label_informativeness
    if adjusted is None or telling is None:
        said.append("Too few linked nodes have labels to say whether neighbours are alike: validation decides alone.")
    elif adjusted >= _ALIKE:
        said.append(
            f"Linked nodes are mostly of one class (adjusted homophily {adjusted:.2f}): models that average neighbours "
            "do well."
        )
    elif telling >= _TELLING:
        said.append(
            f"Linked nodes differ (adjusted homophily {adjusted:.2f}), but a neighbour's class tells much of a node's "
            f"(informativeness {telling:.2f}): models that keep a node apart from its neighbours, or look far, do well."
        )
    else:
        said.append(
            f"A neighbour's class tells little of a node's (adjusted homophily {adjusted:.2f}, informativeness "
            f"{telling:.2f}): features, degrees and whom a node links to matter more than what its neighbours are."
        )
    if not facts.num_features:
        said.append("Without features only models that read links and degrees are trained.")
    if facts.one_way:
        said.append("Edges go one way: models that keep directions may gain.")
    if smallest < _FEW_LABELS:
        said.append("With so few labels scores vary: simple models and the ensemble are safer than the single best.")
    return " ".join(said)
