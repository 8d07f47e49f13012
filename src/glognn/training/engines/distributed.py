"""One model on several ranks, plain autograd: each computes its own nodes, and all take the same step.

Weights that every rank has begin alike and get the sum of all ranks' gradients, in one message with the loss; rows of
nodes have all of their gradient with their owner. What an epoch is worth is summed over ranks, so that all of them
decide alike when to stop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from glognn.distributed.batch_norm import BatchNormOverRanks
from glognn.distributed.part import Part
from glognn.graph.graph import SET_NAMES
from glognn.models.base import FollowsEpochs
from glognn.models.parts import node_weights, refusal
from glognn.ops.node_dropout import NodeDropout
from glognn.training.engines.base import Engine, Members, refuse_misfit, without_gradients
from glognn.training.engines.eager import SharedForward
from glognn.training.positive import scoring

ROWS = "rows/"
"""Begins the names of tensors of a snapshot with a row for each own node."""
_MOMENTS = ("exp_avg", "exp_avg_sq")


class DistributedEngine(Engine):
    """Trains one rank's part of a model, in place."""

    name = "distributed"

    def __init__(self, members: Members) -> None:
        graph, [self.model], [config], [split] = members.graph, members.models, members.configs, members.splits
        assert isinstance(graph, Part)
        self.ranks, self._device = graph.ranks, graph.y.device
        self._metric = scoring(graph, config)
        self._nodes = graph.indices(split)
        self._labels = {name: graph.y[index] for name, index in self._nodes.items()}
        self._sizes = {name: graph.set_size(name, split) for name in SET_NAMES}
        dtype = next(self.model.parameters()).dtype
        counts = graph.class_counts("train", split).double()
        self._class_weights: Tensor | None = None
        self._weight = float(counts.sum())
        if config.class_weight == "balanced":
            weights = torch.where(counts > 0, counts.sum() / (counts.count_nonzero() * counts.clamp(min=1)), 0.0)
            self._weight = float(weights @ counts)
            self._class_weights = weights.to(device=self._device, dtype=dtype)
        self._forward = SharedForward(self.model, self.model.prepare(graph))
        self._rows = node_weights(self.model)
        kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
        self._named = dict(self.model.named_parameters())
        self._optimizer = kind(
            self._named.values(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
        )
        self._dropout = NodeDropout(graph.nodes.to(self._device), config.seed, split)
        self._batch_norm = BatchNormOverRanks(graph.whole_nodes)
        self._best: dict[str, Tensor] = {}

    @classmethod
    def refusal(cls, members: Members) -> str:
        if not isinstance(members.graph, Part):
            return "the graph was not divided among ranks, which 'glognn train --distributed' does"
        if len(members.models) > 1:
            return "it trains one model at a time"
        return without_gradients(members) or refusal(members.models[0].config)

    def begin_epoch(self, epoch: int) -> None:
        self._dropout.begin(epoch)
        if isinstance(self.model, FollowsEpochs):
            self.model.on_epoch(epoch)

    def step(self) -> Tensor:
        with self._dropout, self._batch_norm:
            logits = self._forward.for_training()
        chosen, labels = logits[self._nodes["train"]], self._labels["train"]
        loss = F.cross_entropy(chosen, labels, self._class_weights, reduction="sum") / self._weight
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        whole = self._reduce(loss.detach())
        self._optimizer.step()
        return whole.unsqueeze(0)

    def _reduce(self, loss: Tensor) -> Tensor:
        """Sum the gradients of shared weights, and the loss, over ranks."""
        shared = [weight.grad for name, weight in self._named.items() if name not in self._rows]
        gradients = [each for each in shared if each is not None]
        if self.ranks.size == 1:
            return loss
        message = self.ranks.sum(torch.cat([loss.view(1), *(each.reshape(-1) for each in gradients)]))
        sizes = [1, *(each.numel() for each in gradients)]
        total, *parts = torch.split(message, sizes)
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
        return total.squeeze(0)

    def evaluate(self) -> Tensor:
        logits = self._forward.for_evaluation()
        chosen = {name: logits[nodes] for name, nodes in self._nodes.items()}
        loss = F.cross_entropy(chosen["val"], self._labels["val"], reduction="sum").double()
        if self._metric.metric == "accuracy":
            right = [(chosen[name].argmax(dim=1) == self._labels[name]).sum().double() for name in SET_NAMES]
            sums = self.ranks.sum(torch.stack([loss, *right]))
            sizes = [self._sizes["val"], *self._sizes.values()]
            return (sums / torch.tensor(sizes, dtype=sums.dtype, device=sums.device)).unsqueeze(1)
        loss = self.ranks.sum(loss.view(1)) / self._sizes["val"]
        scores = [self._score(chosen[name], self._labels[name]) for name in SET_NAMES]
        return torch.cat([loss, torch.tensor(scores, dtype=loss.dtype, device=loss.device)]).unsqueeze(1)

    def _score(self, logits: Tensor, labels: Tensor) -> float:
        """Another metric, which needs the class scores of a whole set."""
        parts = self.ranks.gather((logits.cpu().numpy(), labels.cpu().numpy()))
        rows, classes = (torch.cat([torch.from_numpy(part[place]) for part in parts]) for place in (0, 1))
        return self._metric(rows, classes)

    def remember(self, members: Sequence[int]) -> None:
        self._best = self.state(0)

    def keep(self, members: Sequence[int]) -> None:
        """The only member stays."""

    def not_finite(self, member: int) -> str:
        """What any rank finds, so that all end together."""
        return next(filter(None, self.ranks.gather(super().not_finite(member))), "")

    def state(self, member: int, *, best: bool = False) -> dict[str, Tensor]:
        found = self._best if best else self.model.state_dict()
        return {name: tensor.detach().clone() for name, tensor in found.items()}

    def _name(self, part: str, name: str, what: str = "") -> str:
        begin = ROWS if name in self._rows else ""
        return f"{begin}{part}/{name}{what}"

    def snapshot(self) -> dict[str, Tensor]:
        tensors = {self._name("model", name): tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {self._name("best", name): tensor for name, tensor in self._best.items()}
        for name, weight in self._named.items():
            for what, value in self._optimizer.state[weight].items():
                place = f"step/{name}" if what == "step" else self._name("optimizer", name, f"/{what}")
                tensors[place] = value
        return tensors

    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        own = self.model.state_dict()
        stepped = {name: weight for name, weight in self._named.items() if f"step/{name}" in snapshot}
        wanted = {self._name("model", name): tensor for name, tensor in own.items()}
        if any("best/" in name for name in snapshot):
            wanted |= {self._name("best", name): tensor for name, tensor in own.items()}
        wanted |= {f"step/{name}": torch.zeros(()) for name in stepped}
        moments = {(name, what): self._name("optimizer", name, f"/{what}") for name in stepped for what in _MOMENTS}
        wanted |= {place: stepped[name] for (name, _), place in moments.items()}
        refuse_misfit(snapshot, wanted)
        self.model.load_state_dict({name: snapshot[self._name("model", name)] for name in own})
        if any("best/" in name for name in snapshot):
            self._best = {name: snapshot[self._name("best", name)].to(self._device) for name in own}
        state = {}
        for index, name in enumerate(self._named):
            if name in stepped:
                kept = {what: snapshot[moments[name, what]] for what in _MOMENTS}
                state[index] = kept | {"step": snapshot[f"step/{name}"]}
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})
