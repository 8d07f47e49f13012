"""A model on several ranks: weights with a row for each node lie with the owners of nodes, all others everywhere."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from glognn.distributed.node_rows import NodeRows
from glognn.distributed.part import Part
from glognn.errors import InputError
from glognn.models.base import NodeModel
from glognn.models.configs import MODELS, ModelConfig

Model = TypeVar("Model", bound=NodeModel[Any])


def refusal(config: ModelConfig) -> str:
    """Why a model cannot be trained on several ranks, as words after "because"; empty when it can."""
    if config.distributes:
        return ""
    able = ", ".join(name for name, kind in MODELS.items() if kind.distributes)
    return f"it is not written for several ranks: take one of {able}"


def node_weights(model: NodeModel[Any]) -> set[str]:
    """Names of the weights with a row for each node: those whose shape follows from the number of nodes."""
    shapes = []
    for nodes in (2, 3):
        with torch.device("meta"):
            sized = type(model)(model.in_channels, model.out_channels, nodes, **model.config.as_dict())
        shapes.append({name: weight.shape for name, weight in sized.named_parameters()})
    return {name for name, shape in shapes[0].items() if shape != shapes[1][name]}


def part_model(kind: type[Model], part: Part, config: ModelConfig) -> Model:
    """A model for the nodes of one rank, with its rows of the initial weights that one process would draw."""
    if reason := refusal(config):
        raise InputError(f"{config.title} cannot be trained with --distributed, because {reason}.")
    state = torch.get_rng_state()
    with torch.device("meta"):
        model = kind(part.num_features, part.num_classes, part.num_nodes, **config.as_dict())
    torch.set_rng_state(state)
    rows = NodeRows(part.whole_nodes, part.nodes.cpu())
    for name in node_weights(model):
        model.get_submodule(name.rpartition(".")[0]).rows = rows  # type: ignore[assignment]
    model = model.to_empty(device="cpu")
    model.reset_parameters()
    return model.to(device=part.adjacency.matrix.device, dtype=part.adjacency.matrix.dtype)


def whole_model(model: Model, part: Part, folder: Path) -> Model | None:
    """On rank 0 the model of the whole graph, on the CPU, and nothing on the others, which must call it too.

    Weights with a row for each node come rank by rank into a file in a folder, which is mapped, not read.
    """
    ranks, rows = part.ranks, node_weights(model)
    counts = np.diff(part.starts).tolist()
    numbers = list(ranks.to_leader(part.nodes.cpu(), counts))
    state: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if name not in rows:
            state[name] = tensor.detach().cpu()
            continue
        gathered = ranks.to_leader(tensor.detach().cpu(), counts)
        if not ranks.leads:
            list(gathered)
            continue
        whole = _mapped((part.whole_nodes, *tensor.shape[1:]), tensor.dtype, folder)
        for nodes, theirs in zip(numbers, gathered, strict=True):
            whole[nodes] = theirs
        state[name] = whole
    if not ranks.leads:
        return None
    with torch.device("meta"):
        built = type(model)(model.in_channels, model.out_channels, part.whole_nodes, **model.config.as_dict())
    built.load_state_dict(state, assign=True)
    return built.eval()


def _mapped(shape: tuple[int, ...], dtype: torch.dtype, folder: Path) -> Tensor:
    """Zeros in a file that is gone when nobody uses them any more."""
    kind = torch.empty(0, dtype=dtype).numpy().dtype
    with tempfile.TemporaryFile(dir=folder) as file:
        return torch.from_numpy(np.memmap(file, dtype=kind, mode="w+", shape=shape))
