"""Whether what a model computes depends on how numbers are rounded: measured once, before the first step.

Where products with a graph enlarge numbers very much, as the powers of an adjacency that is not normalised do, later
layers may take small differences between them, and nothing but rounding errors is left. Whether it is so is seen by
computing twice, the second time with what each part of the model gives rounded otherwise (Monte Carlo arithmetic).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from glognn.distributed.ranks import largest_over_ranks, over_ranks
from glognn.errors import TrainingError
from glognn.graph.graph import Graph
from glognn.models.base import EnlargesNumbers, NodeModel

SUSPICIOUS = 1e-3
"""Growth of numbers times the precision, from which on two passes are made to see."""

TOO_MUCH = 1e-3
"""Relative difference of the class scores that is told; the usual one is 1e-7 to 1e-5 in float32."""


def rounding_warning(model: NodeModel[Any], graph: Graph) -> str:
    """What to tell about class scores that depend on rounding; empty where they do not.

    Costs as many sparse products with a vector as there are hops, and two passes where these give reason to suspect.
    """
    if not isinstance(model, EnlargesNumbers):
        return ""
    dtype = graph.adjacency.matrix.dtype
    if largest_over_ranks(model.growth(graph)) * torch.finfo(dtype).eps < SUSPICIOUS:
        return ""
    difference = rounding_difference(model, graph)
    if difference < TOO_MUCH:
        return ""
    name = str(dtype).removeprefix("torch.")
    wider = "" if dtype == torch.float64 else "float64, "
    return (
        f"The class scores of {model.config.title} on this graph depend on rounding: in {name} they are wrong by about "
        f"{min(difference, 1.0):.1%} of their size before the first step. Take {wider}{model.remedies}."
    )


@torch.no_grad()
def rounding_difference(model: NodeModel[Any], graph: Graph) -> float:
    """How far class scores move, relative to their size, when outputs of all parts are rounded otherwise.

    0 where they are not finite at all: training says so.
    """
    random = torch.Generator(graph.y.device).manual_seed(0)

    def round_otherwise(part: nn.Module, given: Any, output: Any) -> Any:
        if not isinstance(output, Tensor):
            return output
        steps = torch.randint(-1, 2, output.shape, generator=random, device=output.device)
        return output * (1 + torch.finfo(output.dtype).eps * steps.to(output.dtype))

    training = model.training
    model.eval()
    inputs = model.prepare(graph)
    hooks = []
    try:
        scores = model.logits(inputs)
        hooks = [part.register_forward_hook(round_otherwise) for part in model.modules()]
        others = model.logits(inputs)
    except TrainingError:
        return 0.0
    finally:
        for hook in hooks:
            hook.remove()
        model.train(training)
    size, difference = (over_ranks(each.double().square().sum()).sqrt() for each in (scores, others - scores))
    return float(difference / size) if bool(size.isfinite()) and float(size) > 0 else 0.0
