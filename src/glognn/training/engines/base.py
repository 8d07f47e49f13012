"""What the driver asks of every way to compute an epoch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.models.base import BoostedModel, NodeModel
from glognn.training.config import TrainingConfig


@dataclass(frozen=True, eq=False)
class Members:
    """Models of one shape on one graph, known by their places in the lists.

    Args:
        graph: The graph, on the device and in the precision to train in.
        models: One for each member, with its initial weights, on the same device.
        configs: How each member is trained.
        splits: The split of each member.
    """

    graph: Graph
    models: Sequence[NodeModel[Any]]
    configs: Sequence[TrainingConfig]
    splits: Sequence[int]

    def __post_init__(self) -> None:
        if not len(self.models) == len(self.configs) == len(self.splits) or not self.models:
            raise InputError(
                "The 'models', 'configs' and 'splits' parameters of Members must be of one length of at least 1. "
                f"Got {len(self.models)}, {len(self.configs)} and {len(self.splits)} instead."
            )

    def only(self, places: Sequence[int]) -> Members:
        """Some of them, in this order."""
        return Members(
            self.graph,
            [self.models[place] for place in places],
            [self.configs[place] for place in places],
            [self.splits[place] for place in places],
        )


def without_gradients(members: Members) -> str:
    """Why engines that take gradients refuse these members, as words after "because"; empty where they need not."""
    model = members.models[0]
    return f"{model.config.title} is fitted on the CPU, without gradients" if isinstance(model, BoostedModel) else ""


class Engine(ABC):
    """Members that take their steps together.

    An engine holds their weights and what the optimiser keeps, and nothing of curves, stopping or files.
    """

    name: ClassVar[str]
    """In ``--engine``, in checkpoints and in records."""
    worth_leaving: ClassVar[float] = 1.0
    """Share of members left at which it pays to go on without the others' places."""

    @abstractmethod
    def __init__(self, members: Members) -> None: ...

    @classmethod
    @abstractmethod
    def refusal(cls, members: Members) -> str:
        """Why these members cannot be trained here, as words after "because"; empty when they can."""

    @property
    def computed_by(self) -> str:
        """The engine that records name: this one, unless it had to fall back to another."""
        return self.name

    def begin_epoch(self, epoch: int) -> None:  # noqa: B027
        """Epochs count from 1; what follows them is told here."""

    @abstractmethod
    def step(self) -> Tensor:
        """One optimiser step of every member; the training losses it started from."""

    @abstractmethod
    def evaluate(self) -> Tensor:
        """Validation loss and the scores of train, val and test set, of every member: 4 x members, in float64."""

    @abstractmethod
    def remember(self, members: Sequence[int]) -> None:
        """Keep the present weights of these members as their best."""

    @abstractmethod
    def keep(self, members: Sequence[int]) -> None:
        """Go on with these members only, in this order."""

    def not_finite(self, member: int) -> str:
        """The name of a member's first tensor with a value that is not finite; empty where there is none."""
        state = self.state(member)
        return next((name for name, t in state.items() if t.is_floating_point() and not bool(t.isfinite().all())), "")

    @abstractmethod
    def state(self, member: int, *, best: bool = False) -> dict[str, Tensor]:
        """A copy of one member's state, present or remembered, under the names of its model."""

    @abstractmethod
    def snapshot(self) -> dict[str, Tensor]:
        """Everything needed to go on, on a CPU to the same bits."""

    @classmethod
    def part(cls, snapshot: Mapping[str, Tensor], members: Sequence[int], model: NodeModel[Any]) -> dict[str, Tensor]:
        """The snapshot of some members, in this order, of that of all; ``model`` is one of them."""
        return dict(snapshot)

    @abstractmethod
    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        """Go on from a snapshot of the same members."""


def refuse_misfit(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Refuse tensors of a snapshot that have not the names, shapes and kinds of those in whose place they go."""
    for name in sorted({*found, *wanted}):
        got, must = (
            "absent" if each is None else f"of shape {tuple(each.shape)}, {each.dtype}"
            for each in (found.get(name), wanted.get(name))
        )
        if got != must:
            raise InputError(f"The tensor '{name}' of a snapshot must be {must}. It is {got} instead.")
