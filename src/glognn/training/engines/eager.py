"""One model, plain autograd: the engine that takes everything, and the one to read first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glognn.models.base import FollowsEpochs, NodeModel, SharesEncoding
from glognn.ops.dropout import MemberDropout, Streams
from glognn.training.engines.base import Engine, Members, refuse_misfit, without_gradients
from glognn.training.evaluation import class_weights
from glognn.training.positive import scoring


class SharedForward:
    """Computes the class scores for a training step and for the evaluation after it with as little work as possible.

    The weights after step t are those that step t+1 starts from. A model that computes the same in training as in
    evaluation therefore needs one forward pass per epoch; one with ``encode`` and ``decode`` needs one ``encode``.
    """

    def __init__(self, model: NodeModel[Any], inputs: Any) -> None:
        self.model = model
        self.inputs = inputs
        steady = not isinstance(model, FollowsEpochs)
        self._whole = steady and model.deterministic
        self._sharing = model if steady and isinstance(model, SharesEncoding) else None
        self._logits: Tensor | None = None
        self._encoded: Any = None

    def for_training(self) -> Tensor:
        """Class scores with gradients, in training mode."""
        self.model.train()
        if self._logits is not None:
            logits, self._logits = self._logits, None
            return logits
        if self._sharing is None:
            return self.model.logits(self.inputs)
        encoded = self._sharing.encode(self.inputs) if self._encoded is None else self._encoded
        self._encoded = None
        return self._sharing.decode(encoded, self.inputs)

    def for_evaluation(self) -> Tensor:
        """Class scores without gradients, in evaluation mode; keeps what the next step can use."""
        self.model.eval()
        if self._whole:
            self._logits = self.model.logits(self.inputs)
            return self._logits.detach()
        if self._sharing is not None:
            self._encoded = self._sharing.encode(self.inputs)
        with torch.no_grad():
            if self._sharing is None:
                return self.model.logits(self.inputs)
            return self._sharing.decode(self._encoded, self.inputs).detach()


class EagerEngine(Engine):
    """Trains the model given to it, in place.

    On a CPU dropout draws from the stream that the model would have as one of many. On a GPU it is torch's own, whose
    kernel stores a byte for each value where a stream would store numbers.
    """

    name = "eager"

    def __init__(self, members: Members) -> None:
        graph, [self.model], [config], [split] = members.graph, members.models, members.configs, members.splits
        self._device = graph.y.device
        self._metric = scoring(graph, config)
        self._nodes = graph.indices(split)
        self._labels = {name: graph.y[index] for name, index in self._nodes.items()}
        self._class_weights: Tensor | None = None
        if (weights := class_weights(self._labels["train"], graph, config)) is not None:
            self._class_weights = weights.to(next(self.model.parameters()).dtype)
        self._forward = SharedForward(self.model, self.model.prepare(graph))
        kind = torch.optim.Adam if config.optimizer == "adam" else torch.optim.AdamW
        self._optimizer = kind(
            self.model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
        )
        self._streams = Streams([(config.seed, split)], self._device) if self._device.type == "cpu" else None
        self._dropout = nullcontext() if self._streams is None else MemberDropout(self._streams)
        self._best: dict[str, Tensor] = {}

    @classmethod
    def refusal(cls, members: Members) -> str:
        return without_gradients(members) or ("" if len(members.models) == 1 else "it trains one model at a time")

    def begin_epoch(self, epoch: int) -> None:
        if isinstance(self.model, FollowsEpochs):
            self.model.on_epoch(epoch)

    def step(self) -> Tensor:
        with self._dropout:
            logits = self._forward.for_training()
        loss = F.cross_entropy(logits[self._nodes["train"]], self._labels["train"], self._class_weights)
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._optimizer.step()
        return loss.detach().unsqueeze(0)

    def evaluate(self) -> Tensor:
        logits = self._forward.for_evaluation()
        chosen = {name: logits[nodes] for name, nodes in self._nodes.items()}
        loss = F.cross_entropy(chosen["val"], self._labels["val"]).double().unsqueeze(0)
        scores = [self._metric(rows, self._labels[name]) for name, rows in chosen.items()]
        return torch.cat([loss, torch.tensor(scores, dtype=loss.dtype, device=loss.device)]).unsqueeze(1)

    def remember(self, members: Sequence[int]) -> None:
        self._best = self.state(0)

    def keep(self, members: Sequence[int]) -> None:
        """The only member stays."""

    def state(self, member: int, *, best: bool = False) -> dict[str, Tensor]:
        found = self._best if best else self.model.state_dict()
        return {name: tensor.detach().clone() for name, tensor in found.items()}

    def snapshot(self) -> dict[str, Tensor]:
        tensors = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"best/{name}": tensor for name, tensor in self._best.items()}
        for index, state in self._optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer/{index}/{name}": tensor for name, tensor in state.items()}
        random = torch.cuda.get_rng_state(self._device) if self._streams is None else self._streams.state()
        return tensors | {"random": random}

    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        parts: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimizer": {}}
        for name, tensor in snapshot.items():
            part, _, rest = name.partition("/")
            if rest:
                parts[part][rest] = tensor
        own, weights = self.model.state_dict(), list(self.model.parameters())
        refuse_misfit(parts["model"], own)
        refuse_misfit(parts["best"], own if parts["best"] else {})
        stepped = {name.partition("/")[0] for name in parts["optimizer"]}
        steps = {f"{index}/step": torch.zeros(()) for index in stepped}
        moments = {f"{index}/{name}": weights[int(index)] for index in stepped for name in ("exp_avg", "exp_avg_sq")}
        refuse_misfit(parts["optimizer"], steps | moments)
        self.model.load_state_dict(parts["model"])
        self._best = {name: tensor.to(self._device) for name, tensor in parts["best"].items()}
        state: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["optimizer"].items():
            index, _, key = name.partition("/")
            state.setdefault(int(index), {})[key] = tensor
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": state, "param_groups": groups})
        if self._streams is None:
            torch.cuda.set_rng_state(snapshot["random"], self._device)
        else:
            self._streams.restore(snapshot["random"])
