"""Which class is the positive one: the class that average precision, F1 and a threshold are about.

It is the class that a user names, or of two classes the rarer one: where one class is rare, that is the one looked for.
Which is rarer is decided on the training nodes of the graph's first split, whatever split is trained: all splits of a
graph, models and ensembles then score the same class, and no label decides that a training may not see.
"""

from __future__ import annotations

from typing import Any

from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.metrics import Scoring
from glognn.settings import suggest
from glognn.training.config import OF_ONE_CLASS, TrainingConfig


def positive_class(graph: Graph, config: TrainingConfig) -> int | None:
    """The number of the positive class; ``None`` with more than two classes, unless one of them is named."""
    wanted, names = config.positive_class, class_names(graph)
    if wanted:
        if wanted not in names:
            raise InputError(
                f"The 'positive_class' parameter of training must be a class of the graph. Got {wanted!r} instead."
                f"{suggest(wanted, names)}"
            )
        return names.index(wanted)
    if graph.num_classes != 2:
        return None
    counts = graph.class_counts("train", 0).tolist()
    return 0 if counts[0] < counts[1] else 1


def scoring(graph: Graph, config: TrainingConfig) -> Scoring:
    """The metric of a training with its class; one that needs a class where none is named is refused."""
    positive = positive_class(graph, config)
    if positive is None and config.metric in OF_ONE_CLASS:
        raise InputError(
            f"The 'metric' parameter of training must be one of all classes, as 'macro_f1', or --positive-class must "
            f"name one of the {graph.num_classes} classes. Got {config.metric!r} instead."
        )
    return Scoring(config.metric, positive, config.top_k)


def class_names(graph: Graph) -> tuple[str, ...]:
    """Of classes 0, 1, ..., as text; their numbers where nobody has named them."""
    return graph.class_names or tuple(str(number) for number in range(graph.num_classes))


def positive_record(graph: Graph, config: TrainingConfig) -> dict[str, Any] | None:
    """What a record says of the positive class, where there is one."""
    number = positive_class(graph, config)
    return None if number is None else {"name": class_names(graph)[number], "number": number}
