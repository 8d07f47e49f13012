"""Adam for many models at once: weights stacked along an axis of members, rates of each member's own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.optim.adam import adam
from torch.optim.adamw import adamw

from glognn.ops.kernels import usable
from glognn.training.config import TrainingConfig

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8
_LARGE = 2**20
"""Values from which on a weight is stepped by a kernel of its own, where there is one."""


class MemberAdam:
    """Adam (L2) or AdamW (decoupled decay), as in ``torch.optim``, whose fused kernels do it where members agree.

    Args:
        weights: The stacked weights by name; changed in place.
        axes: The axis of the members in each of them.
        configs: Learning rate, weight decay and optimiser of each member.
    """

    def __init__(
        self, weights: Mapping[str, Tensor], axes: Mapping[str, int], configs: Sequence[TrainingConfig]
    ) -> None:
        self._weights, self._axes = dict(weights), axes
        like = next(iter(weights.values()))
        self._dtype = like.dtype
        self._first = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        self._second = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        self._steps = torch.zeros(len(weights), device=like.device)  # of each weight: some join later
        self._taking_part: dict[tuple[str, ...], Tensor] = {}
        rates = [(each.learning_rate, each.weight_decay, float(each.optimizer == "adamw")) for each in configs]
        self._rates = torch.tensor(rates, dtype=torch.float64, device=like.device).T
        self._compare()

    def _compare(self) -> None:
        rates = self._rates.cpu()
        self._common = tuple(rates[:, 0].tolist()) if bool((rates == rates[:, :1]).all()) else None
        self._decouples = bool(rates[2].any())
        if self._common is not None:  # before steps are captured, which cannot copy from the host
            rate, decay, _ = self._common
            known = [rate, decay, 1 - _BETA1, 1 - _BETA2, math.log(_BETA1), math.log(_BETA2), _EPSILON]
            self._numbers = torch.tensor(known, dtype=torch.float64, device=self._rates.device)

    @torch.no_grad()
    def step(self, gradients: Mapping[str, Tensor | None]) -> None:
        """Change the weights; those without a gradient stay."""
        found = {name: gradient for name, gradient in gradients.items() if gradient is not None}
        if self._common is not None:
            self._fused(found, *self._common)
        else:
            self._each_its_own(found)

    def _fused(self, gradients: Mapping[str, Tensor], rate: float, decay: float, decoupled: float) -> None:
        steps = dict(zip(self._weights, self._steps, strict=True))
        large = [name for name in gradients if self._alone(name, gradients[name])]
        if large:
            from glognn.ops.kernels.adam import adam_step
        for name in large:
            gradient, first, second = gradients[name].contiguous(), self._first[name], self._second[name]
            settings = {"decoupled": bool(decoupled), "decays": decay != 0}
            adam_step(self._weights[name], gradient, first, second, steps[name].add_(1), self._numbers, **settings)
        gradients = {name: gradient for name, gradient in gradients.items() if name not in large}
        if not gradients:
            return
        (adamw if decoupled else adam)(
            [self._weights[name] for name in gradients],
            [gradient.contiguous() for gradient in gradients.values()],
            [self._first[name] for name in gradients],
            [self._second[name] for name in gradients],
            [],
            [steps[name] for name in gradients],
            fused=True,
            amsgrad=False,
            beta1=_BETA1,
            beta2=_BETA2,
            lr=rate,
            weight_decay=decay,
            eps=_EPSILON,
            maximize=False,
        )

    def _alone(self, name: str, gradient: Tensor) -> bool:
        """Whether a weight is stepped by a kernel of our own."""
        weight = self._weights[name]
        return weight.numel() >= _LARGE and weight.is_contiguous() and usable(weight, gradient)

    def _each_its_own(self, gradients: Mapping[str, Tensor]) -> None:
        self._steps += self._taking(tuple(gradients))
        steps = self._steps.double()
        rates, decays, decoupled = self._rates[0], self._rates[1], self._rates[2].bool()
        all_rates = (-rates / (1 - _BETA1**steps).unsqueeze(1)).to(self._dtype)
        roots = (1 - _BETA2**steps).sqrt().to(self._dtype)
        l2 = torch.where(decoupled, 0.0, decays).to(self._dtype)
        shrink = (1 - torch.where(decoupled, rates * decays, 0.0)).to(self._dtype)
        for (name, weight), own_rates, root in zip(self._weights.items(), all_rates, roots, strict=True):
            if name not in gradients:
                continue
            view = (-1, *([1] * (weight.dim() - 1 - self._axes[name])))
            if self._decouples:
                weight.mul_(shrink.view(view))
            gradient = gradients[name].addcmul(weight, l2.view(view))
            first = self._first[name].lerp_(gradient, 1 - _BETA1)
            second = self._second[name].mul_(_BETA2).addcmul_(gradient, gradient, value=1 - _BETA2)
            divisor = second.sqrt().div_(root).add_(_EPSILON)
            weight.addcmul_(first.div(divisor), own_rates.view(view))

    def _taking(self, names: tuple[str, ...]) -> Tensor:
        """1 for each weight that takes part in a step, else 0; kept, so that a captured step finds it."""
        if names not in self._taking_part:
            marks = [float(name in names) for name in self._weights]
            self._taking_part[names] = torch.tensor(marks, device=self._steps.device)
        return self._taking_part[names]

    def keep(self, members: Tensor, weights: Mapping[str, Tensor]) -> None:
        """Go on with these members only, and with their weights."""
        self._weights = dict(weights)
        for moments in (self._first, self._second):
            for name, moment in moments.items():
                moments[name] = moment.index_select(self._axes[name], members)
        self._rates = self._rates[:, members]
        self._compare()

    def state(self) -> dict[str, Tensor]:
        """The moments and the numbers of steps."""
        tensors = {f"first/{name}": moment for name, moment in self._first.items()}
        return tensors | {f"second/{name}": moment for name, moment in self._second.items()} | {"steps": self._steps}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        for name, tensor in self.state().items():
            tensor.copy_(state[name])
