"""What a graph suggests: options that are worth trying, and which models it suits, in words. Imports no torch.

Both are said by one measure, on training labels: adjusted homophily and label informativeness with their errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from glognn.experiments.config import RunConfig, parse_splits

if TYPE_CHECKING:
    from glognn.graph.graph import Graph
    from glognn.graph.homophily import Kinship

_IMBALANCED, _RARE, _DENSE, _FEW_LABELS = 3.0, 0.1, 20.0, 20
_FEWEST_EDGES, _ERRORS = 50, 2.0
"""Between labelled nodes, below which nothing is said of them; and how many standard errors a number must be away from
where something else would be said."""
_ALIKE, _TELLING = 0.4, 0.1
"""From which adjusted homophily on neighbours count as alike, and from which informativeness on as telling."""
ALIKE, TELLING, SILENT = "alike", "telling", "silent"
_AVERAGING = ("gcn", "gcn+", "gat", "gat+", "sage+", "gcnii")


@dataclass(frozen=True)
class GraphFacts:
    """What a cheap look at a graph shows; of labels, those that train."""

    num_nodes: int
    num_entries: int
    num_isolated: int
    largest_degree: int
    num_features: int
    sparse_features: bool
    class_sizes: tuple[int, ...]
    kinship: Kinship
    one_way: bool

    @property
    def neighbours(self) -> str | None:
        """Whether neighbours are ``alike``, differ in a ``telling`` way, or are ``silent`` about a node's class.

        ``None`` where labels are too few to say, or what they say is in between.
        """
        found = self.kinship
        if not found.edges >= _FEWEST_EDGES:
            return None
        margin, doubt = _ERRORS * found.adjusted_error, _ERRORS * found.informativeness_error
        if found.adjusted - margin >= _ALIKE:
            return ALIKE
        if not found.adjusted + margin < _ALIKE:
            return None
        if found.informativeness - doubt >= _TELLING:
            return TELLING
        return SILENT if found.informativeness + doubt < _TELLING else None

    @property
    def measured(self) -> str:
        """The two numbers in words."""
        found = self.kinship
        return (
            f"adjusted homophily {found.adjusted:.2f} ± {found.adjusted_error:.2f}, label informativeness "
            f"{found.informativeness:.2f} ± {found.informativeness_error:.2f}"
        )


def look(graph: Graph, split: int, *, folds: bool = False) -> GraphFacts:
    """What a cheap look at a graph shows; of labels, only those that train are looked at: with folds, all."""
    import numpy as np
    import torch

    from glognn.graph.homophily import measure_kinship
    from glognn.graph.sparse import SparseMatrix

    known = graph.y >= 0 if folds else graph.masks["train"][:, split]
    y = torch.where(known, graph.y, -1)
    matrix, counts = graph.adjacency.matrix, graph.edge_counts
    links = matrix.to_scipy().astype(bool)
    answered = matrix.nnz if matrix.is_symmetric else int(links.multiply(links.T).count_nonzero())
    return GraphFacts(
        num_nodes=graph.num_nodes,
        num_entries=matrix.nnz,
        num_isolated=graph.num_isolated,
        largest_degree=int(np.diff(links.indptr).max(initial=0)),
        num_features=graph.num_features,
        sparse_features=isinstance(graph.x, SparseMatrix),
        class_sizes=tuple(torch.bincount(y[known], minlength=graph.num_classes).tolist()),
        kinship=measure_kinship(matrix, y),
        one_way=2 * graph.num_isolated <= graph.num_nodes  # where there is enough to say so of
        and (2 * answered < matrix.nnz or 2.2 * counts.reverse_added > matrix.nnz),
    )


def advise(facts: GraphFacts, configs: Sequence[RunConfig], num_splits: int, *, tuned: bool) -> list[str]:
    """What is worth trying and was not chosen, a line for each; nothing where the graph suggests nothing.

    Args:
        facts: About the graph.
        configs: What is about to be trained.
        num_splits: That the graph has.
        tuned: Settings were searched: what a search has chosen, or had to choose from, is not advised against.
    """
    first, models, advice = configs[0], {config.model.name for config in configs}, []
    sizes = sorted(size for size in facts.class_sizes if size)
    advice += [f"{each} --class-weight balanced" for each in advise_metric(facts, first.training.metric)]
    if facts.neighbours == ALIKE and not models.intersection(_AVERAGING):
        advice.append("linked nodes are alike: compare with --model gcn")
    if facts.neighbours == TELLING and not any(name.startswith("glognn") for name in models):
        advice.append("linked nodes differ in a telling way: compare with --model glognn++")
    if facts.neighbours == SILENT and not models.intersection(("trees", "mlp")):
        advice.append("neighbours' classes tell little of a node's: compare with --model trees")
    if facts.one_way and "dirgnn" not in models and not any(config.graph.directed for config in configs):
        advice.append("edges go one way: if that means something, compare with --model dirgnn")
    if len(parse_splits(first.splits, num_splits)) == 1 and sizes[0] < _FEW_LABELS:
        advice.append(
            f"{sizes[0]} labels of the smallest class train: --random-splits 5 shows how far scores can be trusted"
        )
    if tuned:
        return advice
    dense = facts.num_entries > _DENSE * facts.num_nodes
    if dense and any(getattr(config.model, "normalization", "none") != "none" for config in configs):
        links = facts.num_entries / facts.num_nodes
        advice.append(f"the graph is dense ({links:.0f} links a node): compare with --normalization none")
    return [*advice, "settings of this graph: --tune 50"]


def advise_metric(facts: GraphFacts, metric: str) -> list[str]:
    """Another metric than accuracy where one class is much rarer than another: a line, or none."""
    sizes = sorted(size for size in facts.class_sizes if size)
    if sizes[-1] <= _IMBALANCED * sizes[0] or metric != "accuracy":
        return []
    rare = sizes[0] < _RARE * sum(sizes)
    better = "macro_f1" if len(sizes) > 2 else "average_precision" if rare else "roc_auc"
    return [f"classes are imbalanced: --metric {better}"]


def describe(facts: GraphFacts) -> str:
    """One paragraph: what kind of graph it is, and what that means for the choice of a model."""
    present = [size for size in facts.class_sizes if size]
    labels, smallest, absent = sum(present), min(present), len(facts.class_sizes) - len(present)
    links = facts.num_entries / facts.num_nodes
    kind = "sparse" if facts.sparse_features else "dense"
    features = f"{facts.num_features:,} features ({kind})" if facts.num_features else "no features"
    said = [
        f"{facts.num_nodes:,} nodes with {links:.1f} links each on average (at most {facts.largest_degree:,}"
        + (f", {facts.num_isolated:,} without any" if facts.num_isolated else "")
        + f") and {features}; {labels:,} labels that train, of {len(present)} classes, the smallest with {smallest:,}"
        + (f"; {absent} more without any." if absent else ".")
    ]
    if not (edges := facts.kinship.edges) >= _FEWEST_EDGES:
        links_are = "link between labelled nodes is" if edges == 1 else "links between labelled nodes are"
        said.append(f"The {edges:,} {links_are} too few to say whether neighbours are alike: validation decides alone.")
    elif facts.neighbours is None:
        said.append(
            f"Linked nodes are neither clearly alike nor clearly different ({facts.measured}): validation decides "
            "alone."
        )
    elif facts.neighbours == ALIKE:
        said.append(f"Linked nodes are mostly alike ({facts.measured}): models that average neighbours do well.")
    elif facts.neighbours == TELLING:
        said.append(
            f"Linked nodes differ in a telling way ({facts.measured}): models that keep a node apart from its "
            "neighbours, or look far, do well."
        )
    else:
        said.append(
            f"Neighbours' classes tell little of a node's ({facts.measured}): features, degrees and whom a node links "
            "to matter more than what its neighbours are."
        )
    if not facts.num_features:
        said.append("Without features only models that read links and degrees can be trained.")
    if facts.one_way:
        said.append("Edges go one way: models that keep directions may gain.")
    if smallest < _FEW_LABELS:
        said.append(
            "With so few labels of a class scores vary: simple models and ensembles are safer than the single best."
        )
    return " ".join(said)
