"""Many models of one shape as one: a batch axis on the parameters, one wide product with the graph.

The members share graph and shape; initial weights, split, seed, learning rate, weight decay and the settings that
their class names as varying (dropout, and with GloGNN alpha, beta1, beta2, gamma) are each member's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from glognn.models.base import FollowsEpochs, NodeModel, SharesEncoding
from glognn.ops.dropout import MemberDropout, Streams
from glognn.training.engines.base import Engine, Members, refuse_misfit, without_gradients
from glognn.training.evaluation import Evaluation
from glognn.training.optimiser import MemberAdam


class _Methods(nn.Module):
    """Calls a method of a model by name, so that ``functional_call`` can put other parameters under it."""

    def __init__(self, model: NodeModel[Any]) -> None:
        super().__init__()
        self.model = model

    def forward(self, method: str, *args: Any) -> Any:
        return getattr(self.model, method)(*args)


class StackedEngine(Engine):
    """Steps of all members by ``torch.func.vmap`` over the model as it is.

    Weights are stacked along the second axis (f x members x h), so that the product with a sparse input reads rows of
    all members at once without a copy.
    """

    name = "stacked"

    def __init__(self, members: Members) -> None:
        graph, models, configs, splits = members.graph, members.models, members.configs, members.splits
        first = models[0]
        self.device, self.dtype = graph.y.device, next(first.parameters()).dtype
        shared = {id(weight): weight for weight in first.parameters()}
        self._model = deepcopy(first, shared)  # lends its code; parameters and settings are put under it
        self._methods = _Methods(self._model)
        self._inputs = first.prepare(graph)
        states = [model.state_dict() for model in models]
        self._trained = [name for name, _ in first.named_parameters()]
        buffers = [name for name, _ in first.named_buffers() if name in states[0]]
        self._axes = _axes(first)
        stacked = {name: _stacked([s[name] for s in states], self._axes[name]) for name in self._trained + buffers}
        self.weights = {name: t.requires_grad_(name in self._trained) for name, t in stacked.items()}
        trained = {name: self.weights[name] for name in self._trained}
        self._optimizer = MemberAdam(trained, self._axes, configs)
        self._best = {name: torch.empty(0) for name in states[0]}
        self._varying = {
            name: torch.tensor([getattr(model.config, name) for model in models], dtype=torch.float64).to(self.device)
            for name in first.config.varying
        }
        self._zeros = torch.zeros(len(models), dtype=torch.float64, device=self.device)
        self._settings = [{name: getattr(model.config, name) for name in self._varying} for model in models]
        self._dropout = MemberDropout(Streams([(c.seed, s) for c, s in zip(configs, splits, strict=True)], self.device))
        self._evaluation = Evaluation(graph, splits, configs[0])
        steady = not isinstance(first, FollowsEpochs)
        self._whole = steady and all(model.deterministic for model in models)
        self._sharing = steady and not self._whole and isinstance(first, SharesEncoding)
        self._kept: Any = None

    @classmethod
    def refusal(cls, members: Members) -> str:
        return without_gradients(members)

    def __len__(self) -> int:
        return self._zeros.numel()

    def begin_epoch(self, epoch: int) -> None:
        if isinstance(self._model, FollowsEpochs):
            self._model.on_epoch(epoch)

    def step(self) -> Tensor:
        self._model.train()
        if self._whole and self._kept is not None:
            logits = self._kept
        elif self._sharing:
            logits = self._call("decode", self._call("encode") if self._kept is None else self._kept)
        else:
            logits = self._call("logits")
        self._kept = None
        losses = self._evaluation.train_losses(logits)
        trained = [self.weights[name] for name in self._trained]
        gradients = torch.autograd.grad(losses.sum(), trained, allow_unused=True)
        self._optimizer.step(dict(zip(self._trained, gradients, strict=True)))
        return losses.detach()

    def logits(self) -> Tensor:
        """Class scores in evaluation mode: members x n x classes; what the next step can use is kept."""
        self._model.eval()
        if self._whole:
            self._kept = self._call("logits")
            scores: Tensor = self._kept.detach()
            return scores
        if self._sharing:
            self._kept = self._call("encode")
        with torch.no_grad():
            scores = self._call("decode", self._kept) if self._sharing else self._call("logits")
        return scores

    def evaluate(self) -> Tensor:
        return self._evaluation.measure(self.logits())

    def _call(self, method: str, encoded: Any = None) -> Any:
        if self.device.type == "cuda" and len(self) == 1:
            return self._call_alone(method, encoded)

        def one(weights: Mapping[str, Tensor], values: Mapping[str, Tensor], zero: Tensor, encoded: Any) -> Any:
            self._model.use_settings(values)
            self._dropout.zero = zero
            named = {f"model.{name}": weight for name, weight in weights.items()}
            args = (self._inputs,) if encoded is None else (encoded, self._inputs)
            return functional_call(self._methods, named, (method, *args))

        axes = {name: self._axes[name] for name in self.weights}
        batched = vmap(one, in_dims=(axes, 0, 0, None if encoded is None else 0))
        with self._dropout:
            return batched(self.weights, self._varying, self._zeros, encoded)

    def _call_alone(self, method: str, encoded: Any) -> Any:
        """The model as it is, on views of the only member's weights: kernels that know no members can then serve it."""
        self._model.use_settings(self._settings[0])
        self._dropout.zero = None
        named = {f"model.{name}": weight.squeeze(self._axes[name]) for name, weight in self.weights.items()}
        args = (self._inputs,) if encoded is None else (encoded, self._inputs)
        with self._dropout:
            found = functional_call(self._methods, named, (method, *args))
        return found if method == "encode" else found.unsqueeze(0)

    def _state(self) -> dict[str, Tensor]:
        """All that a model's ``state_dict`` holds, of all members: extra state, as a phase, is the same for them."""
        extra = {name: value for name, value in self._model.state_dict().items() if name not in self.weights}
        shared = {name: value.to(self.device).expand(len(self), *value.shape) for name, value in extra.items()}
        return {name: weight.detach() for name, weight in self.weights.items()} | shared

    def remember(self, members: Sequence[int]) -> None:
        if not self._best[self._trained[0]].numel():
            self._best = {name: value.clone() for name, value in self._state().items()}
            return
        if len(self) == 1:
            for name, value in self._state().items():
                self._best[name].copy_(value)
            return
        index = torch.tensor(list(members), dtype=torch.long, device=self.device)
        for name, value in self._state().items():
            axis = self._axes[name]
            self._best[name].index_copy_(axis, index, value.index_select(axis, index))

    def keep(self, members: Sequence[int]) -> None:
        index = torch.tensor(list(members), dtype=torch.long, device=self.device)

        def picked(name: str, tensor: Tensor) -> Tensor:
            return tensor.detach().index_select(self._axes[name], index)

        self.weights = {name: picked(name, t).requires_grad_(t.requires_grad) for name, t in self.weights.items()}
        self._optimizer.keep(index, {name: self.weights[name] for name in self._trained})
        self._best = {name: picked(name, t) if t.numel() else t for name, t in self._best.items()}
        self._varying = {name: values[index] for name, values in self._varying.items()}
        self._zeros = self._zeros[index]
        self._settings = [self._settings[member] for member in members]
        self._dropout.streams.keep(members)
        self._evaluation.keep(index)
        self._kept = None

    def state(self, member: int, *, best: bool = False) -> dict[str, Tensor]:
        stacked = self._best if best else self._state()
        return {name: t.select(self._axes[name], member).clone() for name, t in stacked.items()}

    def snapshot(self) -> dict[str, Tensor]:
        tensors = {f"weights/{name}": t for name, t in self.weights.items()} | self._optimizer.state()
        tensors |= {f"best/{name}": t for name, t in self._best.items() if t.numel()}
        return tensors | {"streams": self._dropout.streams.state()}

    @classmethod
    def part(cls, snapshot: Mapping[str, Tensor], members: Sequence[int], model: NodeModel[Any]) -> dict[str, Tensor]:
        axes, index = _axes(model), torch.tensor(list(members))

        def picked(name: str, tensor: Tensor) -> Tensor:
            group, _, weight = name.partition("/")
            if name == "steps":  # of each weight, the same for all members
                return tensor
            return tensor.index_select(0 if group == "streams" else axes[weight], index)

        return {name: picked(name, tensor) for name, tensor in snapshot.items()}

    @torch.no_grad()
    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        own = {name: tensor for name, tensor in self.snapshot().items() if not name.startswith("best/")}
        best = {f"best/{name}": tensor for name, tensor in self._state().items()}
        refuse_misfit(snapshot, own | (best if best.keys() & snapshot.keys() else {}))
        for name, weight in self.weights.items():
            weight.copy_(snapshot[f"weights/{name}"])
        self._optimizer.restore(snapshot)
        found = {name: snapshot.get(f"best/{name}") for name in self._best}
        self._best = {name: torch.empty(0) if t is None else t.to(self.device) for name, t in found.items()}
        self._dropout.streams.restore(snapshot["streams"])
        self._kept = None


def _stacked(values: list[Tensor], axis: int) -> Tensor:
    """All members' along an axis; one alone is trained where it is, as by the eager engine."""
    return values[0].unsqueeze(axis) if len(values) == 1 else torch.stack(values, axis)


def _axes(model: NodeModel[Any]) -> dict[str, int]:
    """The axis of the members in each part of a model's state.

    Running statistics come first by member: torch's rule for vmap changes them in place only then.
    """
    trained = {name for name, _ in model.named_parameters()}
    return {name: min(value.dim(), 1) if name in trained else 0 for name, value in model.state_dict().items()}
