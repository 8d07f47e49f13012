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
    from glognn.estimator import GloGNNClassifier
    from glognn.experiments.folder import load_model
    from glognn.explain.coefficients import coefficient_rows
    from glognn.graph.config import GraphConfig
    from glognn.graph.graph import Graph
    from glognn.graph.homophily import measure_homophily
    from glognn.models.acmgcn import ACMGCN
    from glognn.models.dirgnn import DirGNN
    from glognn.models.gat import GAT
    from glognn.models.gcn import GCN
    from glognn.models.gcnii import GCNII
    from glognn.models.ggcn import GGCN
    from glognn.models.glognn import GloGNN, GloGNNPlusPlus
    from glognn.models.gprgnn import GPRGNN
    from glognn.models.h2gcn import H2GCN
    from glognn.models.linkx import LINKX
    from glognn.models.mixhop import MixHop
    from glognn.models.mlp import MLP
    from glognn.models.polynormer import Polynormer
    from glognn.models.sgformer import SGFormer
    from glognn.models.wrgat import WRGAT
    from glognn.nn.global_homophily import GlobalHomophily
    from glognn.training.callbacks import Callback
    from glognn.training.config import TrainingConfig
    from glognn.training.driver import train
    from glognn.training.history import TrainingResult
    from glognn.training.new_nodes import predict_new_nodes
    from glognn.training.predict import predict

_HOMES = {
    "ACMGCN": "glognn.models.acmgcn",
    "Callback": "glognn.training.callbacks",
    "coefficient_rows": "glognn.explain.coefficients",
    "DirGNN": "glognn.models.dirgnn",
    "find_dataset": "glognn.data.catalog",
    "GAT": "glognn.models.gat",
    "GCN": "glognn.models.gcn",
    "GCNII": "glognn.models.gcnii",
    "GGCN": "glognn.models.ggcn",
    "GlobalHomophily": "glognn.nn.global_homophily",
    "GloGNN": "glognn.models.glognn",
    "GloGNNClassifier": "glognn.estimator",
    "GloGNNError": "glognn.errors",
    "GloGNNPlusPlus": "glognn.models.glognn",
    "GPRGNN": "glognn.models.gprgnn",
    "Graph": "glognn.graph.graph",
    "GraphConfig": "glognn.graph.config",
    "H2GCN": "glognn.models.h2gcn",
    "InputError": "glognn.errors",
    "LINKX": "glognn.models.linkx",
    "load_dataset": "glognn.data.sources",
    "load_model": "glognn.experiments.folder",
    "measure_homophily": "glognn.graph.homophily",
    "MixHop": "glognn.models.mixhop",
    "MLP": "glognn.models.mlp",
    "Polynormer": "glognn.models.polynormer",
    "predict": "glognn.training.predict",
    "predict_new_nodes": "glognn.training.new_nodes",
    "random_splits": "glognn.data.splits",
    "read_npz": "glognn.data.npz",
    "SGFormer": "glognn.models.sgformer",
    "train": "glognn.training.driver",
    "TrainingConfig": "glognn.training.config",
    "TrainingError": "glognn.errors",
    "TrainingResult": "glognn.training.history",
    "WRGAT": "glognn.models.wrgat",
    "write_npz": "glognn.data.npz",
}

__all__ = [
    "ACMGCN",
    "GAT",
    "GCN",
    "GCNII",
    "GGCN",
    "GPRGNN",
    "H2GCN",
    "LINKX",
    "MLP",
    "WRGAT",
    "Callback",
    "DirGNN",
    "GloGNN",
    "GloGNNClassifier",
    "GloGNNError",
    "GloGNNPlusPlus",
    "GlobalHomophily",
    "Graph",
    "GraphConfig",
    "InputError",
    "MixHop",
    "Polynormer",
    "SGFormer",
    "TrainingConfig",
    "TrainingError",
    "TrainingResult",
    "coefficient_rows",
    "find_dataset",
    "load_dataset",
    "load_model",
    "measure_homophily",
    "predict",
    "predict_new_nodes",
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
