"""Options that the graph of a user's tables suggests. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
