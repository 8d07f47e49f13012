"""Many models of one shape, trained as one: a batch axis on the parameters, one wide product with the graph.

The members share graph and shape; initial weights, split, seed, learning rate, weight decay and the numbers that
their settings name (dropout, and with GloGNN alpha, beta1, beta2, gamma) are each member's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap
from torch.optim.adam import adam

from glognn.graph.graph import Graph
from glognn.models.base import FollowsEpochs, NodeModel, SharesEncoding
from glognn.ops.dropout import MemberDropout, Streams
from glognn.training.config import TrainingConfig
from glognn.training.evaluation import Evaluation

_ADAM = (0.9, 0.999, 1e-8)


class _Methods(nn.Module):
    """Calls a method of a model by name, so that ``functional_call`` can put other parameters under it."""

    def __init__(self, model: NodeModel[Any]) -> None:
        super().__init__()
        self.model = model

    def forward(self, method: str, *args: Any) -> Any:
        return getattr(self.model, method)(*args)


class Members:
    """Models on one graph that take their steps together.

    Weights are stacked along the second axis (f x members x h), so that the product with a sparse input reads rows of
    all members at once without a copy.

    Args:
        graph: The graph, on the device and in the precision to train in.
        models: The members with their initial weights, on the same device.
        configs: Training settings of each member: optimiser, learning rate, weight decay and seed matter here, and the
            metric and the weights of classes, which they share.
        splits: The split of each member.
    """

    engine = "torch"
    worth_leaving = 1.0
    """Share of members left at which it pays to go on without the others' places."""

    def __init__(
        self,
        graph: Graph,
        models: Sequence[NodeModel[Any]],
        configs: Sequence[TrainingConfig],
        splits: Sequence[int],
    ) -> None:
        first = models[0]
        self.device, self.dtype = graph.y.device, next(first.parameters()).dtype
        self._model = deepcopy(first)  # lends its code; parameters and numbers are put under it
        self._methods = _Methods(self._model)
        self._inputs = first.prepare(graph)
        states = [model.state_dict() for model in models]
        self._trained = [name for name, _ in first.named_parameters()]
        buffers = [name for name, _ in first.named_buffers() if name in states[0]]
        # running statistics come first by member: torch's rule for vmap changes them in place only then
        self._axes = {name: min(states[0][name].dim(), 1) if name in self._trained else 0 for name in states[0]}
        stacked = {name: torch.stack([s[name] for s in states], self._axes[name]) for name in self._trained + buffers}
        self.weights = {name: t.requires_grad_(name in self._trained) for name, t in stacked.items()}
        self._moments = {
            name: (torch.zeros_like(self.weights[name]), torch.zeros_like(self.weights[name])) for name in self._trained
        }
        self._steps = torch.zeros(len(self._trained), device=self.device)  # of each weight: some join later
        self._best = {name: torch.empty(0) for name in states[0]}
        self._numbers = {
            name: torch.tensor([getattr(model.config, name) for model in models], dtype=torch.float64)
            for name in first.config.numbers
        }
        self._rates = torch.tensor([config.learning_rate for config in configs], dtype=torch.float64)
        self._decays = torch.tensor([config.weight_decay for config in configs], dtype=torch.float64)
        self._decoupled = torch.tensor([config.optimizer == "adamw" for config in configs])
        self._to_device()
        self._compare_rates()
        self._dropout = MemberDropout(Streams([(c.seed, s) for c, s in zip(configs, splits, strict=True)], self.device))
        balanced = configs[0].class_weight == "balanced"
        self._evaluation = Evaluation(graph, splits, configs[0].metric, balanced=balanced)
        steady = not isinstance(first, FollowsEpochs)
        self._whole = steady and all(model.deterministic for model in models)
        self._sharing = steady and not self._whole and isinstance(first, SharesEncoding)
        self._kept: Any = None

    def __len__(self) -> int:
        return self._rates.numel()

    def _to_device(self) -> None:
        self._numbers = {name: values.to(self.device) for name, values in self._numbers.items()}
        self._rates, self._decays = self._rates.to(self.device), self._decays.to(self.device)
        self._decoupled = self._decoupled.to(self.device)

    def _compare_rates(self) -> None:
        """Members with equal settings of the optimiser can use torch's own fused one."""
        rates = torch.stack([self._rates, self._decays, self._decoupled.double()]).cpu()
        self._equal_rates = tuple(rates[:, 0].tolist()) if bool((rates == rates[:, :1]).all()) else None
        self._decouples = bool(self._decoupled.any())

    @property
    def computed_by(self) -> str:
        """What records of a run name as its engine."""
        return self.engine

    def on_epoch(self, epoch: int) -> None:
        """Tell a model that follows epochs which one begins."""
        if isinstance(self._model, FollowsEpochs):
            self._model.on_epoch(epoch)

    def step(self) -> Tensor:
        """One step of every member's optimiser; the losses it started from."""
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
        self._adam(dict(zip(self._trained, gradients, strict=True)))
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
        """Validation loss and the scores of train, val and test set, for every member: 4 x members, in float64."""
        return self._evaluation.measure(self.logits())

    def _call(self, method: str, encoded: Any = None) -> Any:
        def one(weights: Mapping[str, Tensor], numbers: Mapping[str, Tensor], zero: Tensor, encoded: Any) -> Any:
            self._model.use_numbers(numbers)
            self._dropout.zero = zero
            named = {f"model.{name}": weight for name, weight in weights.items()}
            args = (self._inputs,) if encoded is None else (encoded, self._inputs)
            return functional_call(self._methods, named, (method, *args))

        axes = {name: self._axes[name] for name in self.weights}
        batched = vmap(one, in_dims=(axes, 0, 0, None if encoded is None else 0))
        with self._dropout:
            return batched(self.weights, self._numbers, torch.zeros_like(self._rates), encoded)

    @torch.no_grad()
    def _adam(self, gradients: Mapping[str, Tensor | None]) -> None:
        """Adam (L2) or AdamW (decoupled decay), with rates of each member's own; as in ``torch.optim``."""
        found = {name: gradient for name, gradient in gradients.items() if gradient is not None}
        if self._equal_rates is not None:
            self._fused_adam(found, *self._equal_rates)
            return
        beta1, beta2, epsilon = _ADAM
        torch._foreach_add_(self._steps_of(found), 1)
        steps = self._steps.double()
        all_rates = (-self._rates / (1 - beta1**steps).unsqueeze(1)).to(self.dtype)
        roots = (1 - beta2**steps).sqrt().to(self.dtype)
        l2 = torch.where(self._decoupled, 0.0, self._decays)
        shrink = 1 - torch.where(self._decoupled, self._rates * self._decays, 0.0)
        for name, rates, root in zip(self._trained, all_rates, roots, strict=True):
            if name not in found:
                continue
            gradient, weight, (first, second) = found[name], self.weights[name], self._moments[name]
            view = (-1, *([1] * (weight.dim() - 1 - self._axes[name])))
            if self._decouples:
                weight.mul_(shrink.to(self.dtype).view(view))
            gradient = gradient.addcmul(weight, l2.to(self.dtype).view(view))
            first.lerp_(gradient, 1 - beta1)
            second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            divisor = second.sqrt().div_(root).add_(epsilon)
            weight.addcmul_(first.div(divisor), rates.view(view))

    def _fused_adam(self, gradients: Mapping[str, Tensor], rate: float, decay: float, decoupled: float) -> None:
        weights = [self.weights[name] for name in gradients]
        if decoupled:
            torch._foreach_mul_(weights, 1 - rate * decay)
        adam(
            weights,
            [gradient.contiguous() for gradient in gradients.values()],
            [self._moments[name][0] for name in gradients],
            [self._moments[name][1] for name in gradients],
            [],
            self._steps_of(gradients),
            fused=True,
            amsgrad=False,
            beta1=_ADAM[0],
            beta2=_ADAM[1],
            lr=rate,
            weight_decay=0.0 if decoupled else decay,
            eps=_ADAM[2],
            maximize=False,
        )

    def _steps_of(self, names: Iterable[str]) -> list[Tensor]:
        """How often each weight was changed, as views."""
        steps = dict(zip(self._trained, self._steps, strict=True))
        return [steps[name] for name in names]

    def _state(self) -> dict[str, Tensor]:
        """All that a model's ``state_dict`` holds, of all members: extra state, as a phase, is the same for them."""
        extra = {name: value for name, value in self._model.state_dict().items() if name not in self.weights}
        shared = {name: value.to(self.device).expand(len(self), *value.shape) for name, value in extra.items()}
        return {name: weight.detach() for name, weight in self.weights.items()} | shared

    def remember(self, members: Sequence[int]) -> None:
        """Keep the present weights of these members as their best."""
        if not self._best[self._trained[0]].numel():
            self._best = {name: value.clone() for name, value in self._state().items()}
            return
        index = torch.tensor(list(members), dtype=torch.long, device=self.device)
        for name, value in self._state().items():
            axis = self._axes[name]
            self._best[name].index_copy_(axis, index, value.index_select(axis, index))

    def finite(self) -> list[bool]:
        """Whether all weights of each member are finite."""
        found = torch.ones(len(self), dtype=torch.bool, device=self.device)
        for name, weight in self.weights.items():
            found &= weight.detach().isfinite().movedim(self._axes[name], 0).reshape(len(self), -1).all(1)
        return found.tolist()

    def keep(self, members: Sequence[int]) -> None:
        """Go on with these members only."""
        index = torch.tensor(list(members), dtype=torch.long, device=self.device)

        def picked(name: str, tensor: Tensor) -> Tensor:
            return tensor.detach().index_select(self._axes[name], index)

        self.weights = {name: picked(name, t).requires_grad_(t.requires_grad) for name, t in self.weights.items()}
        self._moments = {name: (picked(name, a), picked(name, b)) for name, (a, b) in self._moments.items()}
        self._best = {name: picked(name, t) if t.numel() else t for name, t in self._best.items()}
        self._numbers = {name: values[index] for name, values in self._numbers.items()}
        self._rates, self._decays, self._decoupled = self._rates[index], self._decays[index], self._decoupled[index]
        self._compare_rates()
        self._dropout.streams.keep(members)
        self._evaluation.keep(index)
        self._kept = None

    def state_dict(self, member: int, *, best: bool = False) -> dict[str, Tensor]:
        """A copy of one member's state, present or remembered, under the names of its model."""
        stacked = self._best if best else self._state()
        return {name: t.select(self._axes[name], member).clone() for name, t in stacked.items()}

    def snapshot(self) -> dict[str, Tensor]:
        """Everything needed to go on, as tensors."""
        tensors = {f"weights/{name}": t for name, t in self.weights.items()}
        for name, (first, second) in self._moments.items():
            tensors |= {f"first/{name}": first, f"second/{name}": second}
        tensors |= {f"best/{name}": t for name, t in self._best.items() if t.numel()}
        return tensors | {"streams": self._dropout.streams.state(), "steps": self._steps}

    @torch.no_grad()
    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        """Go on from a snapshot of the same members."""
        for name, weight in self.weights.items():
            weight.copy_(snapshot[f"weights/{name}"])
        for name, moments in self._moments.items():
            for kind, moment in zip(("first", "second"), moments, strict=True):
                moment.copy_(snapshot[f"{kind}/{name}"])
        best = {name: snapshot.get(f"best/{name}") for name in self._best}
        self._best = {name: torch.empty(0) if t is None else t.to(self.device) for name, t in best.items()}
        self._dropout.streams.restore(snapshot["streams"])
        self._steps.copy_(snapshot["steps"])
        self._kept = None
