"""GloGNN: node classification on graphs whose linked nodes differ."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from glognn.data.catalog import find_dataset
    from glognn.data.npz import read_npz, write_npz
    from glognn.data.sources import load_dataset
    from glognn.data.splits import random_splits
    from glognn.errors import GloGNNError, InputError, TrainingError
    from glognn.experiments.folder import load_model
    from glognn.explain.coefficients import coefficient_rows
    from glognn.graph.config import GraphConfig
    from glognn.graph.graph import Graph
    from glognn.graph.homophily import measure_homophily
    from glognn.models.acmgcn import ACMGCN
    from glognn.models.gcn import GCN
    from glognn.models.ggcn import GGCN
    from glognn.models.glognn import GloGNN, GloGNNPlusPlus
    from glognn.models.gprgnn import GPRGNN
    from glognn.models.h2gcn import H2GCN
    from glognn.models.linkx import LINKX
    from glognn.models.mlp import MLP
    from glognn.models.wrgat import WRGAT
    from glognn.nn.global_homophily import GlobalHomophily
    from glognn.training.callbacks import Callback
    from glognn.training.config import TrainingConfig
    from glognn.training.loop import TrainingResult, train
    from glognn.training.predict import predict

_HOMES = {
    "ACMGCN": "glognn.models.acmgcn",
    "Callback": "glognn.training.callbacks",
    "GCN": "glognn.models.gcn",
    "GGCN": "glognn.models.ggcn",
    "GPRGNN": "glognn.models.gprgnn",
    "GlobalHomophily": "glognn.nn.global_homophily",
    "GloGNN": "glognn.models.glognn",
    "GloGNNError": "glognn.errors",
    "GloGNNPlusPlus": "glognn.models.glognn",
    "Graph": "glognn.graph.graph",
    "GraphConfig": "glognn.graph.config",
    "H2GCN": "glognn.models.h2gcn",
    "InputError": "glognn.errors",
    "LINKX": "glognn.models.linkx",
    "MLP": "glognn.models.mlp",
    "TrainingConfig": "glognn.training.config",
    "TrainingError": "glognn.errors",
    "TrainingResult": "glognn.training.loop",
    "WRGAT": "glognn.models.wrgat",
    "coefficient_rows": "glognn.explain.coefficients",
    "find_dataset": "glognn.data.catalog",
    "load_dataset": "glognn.data.sources",
    "load_model": "glognn.experiments.folder",
    "measure_homophily": "glognn.graph.homophily",
    "predict": "glognn.training.predict",
    "random_splits": "glognn.data.splits",
    "read_npz": "glognn.data.npz",
    "train": "glognn.training.loop",
    "write_npz": "glognn.data.npz",
}

__all__ = [
    "ACMGCN",
    "GCN",
    "GGCN",
    "GPRGNN",
    "H2GCN",
    "LINKX",
    "MLP",
    "WRGAT",
    "Callback",
    "GloGNN",
    "GloGNNError",
    "GloGNNPlusPlus",
    "GlobalHomophily",
    "Graph",
    "GraphConfig",
    "InputError",
    "TrainingConfig",
    "TrainingError",
    "TrainingResult",
    "coefficient_rows",
    "find_dataset",
    "load_dataset",
    "load_model",
    "measure_homophily",
    "predict",
    "random_splits",
    "read_npz",
    "train",
    "write_npz",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'glognn' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
