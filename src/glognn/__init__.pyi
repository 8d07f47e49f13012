"""Every public name and where it is defined: the one place, which type checkers and the package itself read."""

from glognn.bench.suite import bench as bench
from glognn.data.catalog import find_dataset as find_dataset
from glognn.data.npz import read_npz as read_npz
from glognn.data.npz import write_npz as write_npz
from glognn.data.sources import load_dataset as load_dataset
from glognn.data.splits import random_splits as random_splits
from glognn.errors import GloGNNError as GloGNNError
from glognn.errors import InputError as InputError
from glognn.errors import TrainingError as TrainingError
from glognn.estimator.classifier import GloGNNClassifier as GloGNNClassifier
from glognn.estimator.classifier import load_model as load_model
from glognn.experiments.auto import auto as auto
from glognn.experiments.explanations import explain as explain
from glognn.experiments.leaderboard import leaderboard as leaderboard
from glognn.experiments.progress import Progress as Progress
from glognn.experiments.reproduce import reproduce as reproduce
from glognn.experiments.train import train_models as train_models
from glognn.experiments.train_tables import train_tables as train_tables
from glognn.experiments.tune import tune as tune
from glognn.experiments.verify import verify as verify
from glognn.explain.coefficients import coefficient_rows as coefficient_rows
from glognn.explain.gradients import IntegratedGradients as IntegratedGradients
from glognn.explain.pyg import GlobalExplainer as GlobalExplainer
from glognn.graph.config import GraphConfig as GraphConfig
from glognn.graph.graph import Graph as Graph
from glognn.graph.homophily import measure_homophily as measure_homophily
from glognn.models.acmgcn import ACMGCN as ACMGCN
from glognn.models.dirgnn import DirGNN as DirGNN
from glognn.models.gat import GAT as GAT
from glognn.models.gat import GATPlus as GATPlus
from glognn.models.gcn import GCN as GCN
from glognn.models.gcn import GCNPlus as GCNPlus
from glognn.models.gcnii import GCNII as GCNII
from glognn.models.ggcn import GGCN as GGCN
from glognn.models.glognn import GloGNN as GloGNN
from glognn.models.glognn import GloGNNPlusPlus as GloGNNPlusPlus
from glognn.models.glognn2 import GloGNN2 as GloGNN2
from glognn.models.gprgnn import GPRGNN as GPRGNN
from glognn.models.h2gcn import H2GCN as H2GCN
from glognn.models.linkx import LINKX as LINKX
from glognn.models.mixhop import MixHop as MixHop
from glognn.models.mlp import MLP as MLP
from glognn.models.polynormer import Polynormer as Polynormer
from glognn.models.sage import SAGEPlus as SAGEPlus
from glognn.models.sgformer import SGFormer as SGFormer
from glognn.models.trees import Trees as Trees
from glognn.models.wrgat import WRGAT as WRGAT
from glognn.nn.global_homophily import GlobalHomophily as GlobalHomophily
from glognn.training.callbacks import Callback as Callback
from glognn.training.config import TrainingConfig as TrainingConfig
from glognn.training.driver import train as train
from glognn.training.history import TrainingResult as TrainingResult
from glognn.training.new_nodes import predict_new_nodes as predict_new_nodes
from glognn.training.predict import predict as predict

__version__: str
_HOMES: dict[str, str]
__all__: list[str]

def __dir__() -> list[str]: ...
