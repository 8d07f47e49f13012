"""PyTorch Geometric's own networks at the hidden size of GloGNN, with the fastest inputs that each accepts.

Their settings are PyTorch Geometric's defaults, but for the width and the two layers of GCN. They get what makes them
fast: float32, a fused optimiser, an evaluation without gradients, and normalised edges computed once (``cached``) in
every GCN convolution, those inside SGFormer and Polynormer too. Polynormer is timed after its switch from local to
global attention, when an epoch runs both.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn.conv import GCNConv
from torch_geometric.nn.models import GCN, LINKX, Polynormer, SGFormer

from glognn.bench.method import EpochByEpoch, synchronize
from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.graph.sparse import SparseMatrix
from glognn.training.config import TrainingConfig

FEATURES = ("csr", "dense")
EDGES = ("csr", "list")
TRIAL_EPOCHS = 3

Network = Callable[[Graph, int], nn.Module]


def _linkx(graph: Graph, width: int) -> nn.Module:
    network: nn.Module = LINKX(graph.num_nodes, graph.num_features, width, graph.num_classes, 1)
    return network


def _gcn(graph: Graph, width: int) -> nn.Module:
    network: nn.Module = GCN(graph.num_features, width, 2, graph.num_classes)
    return network


def _sgformer(graph: Graph, width: int) -> nn.Module:
    network: nn.Module = SGFormer(graph.num_features, width, graph.num_classes)
    return network


def _polynormer(graph: Graph, width: int) -> nn.Module:
    network = Polynormer(graph.num_features, width, graph.num_classes)
    network._global = True
    whole: nn.Module = network
    return whole


NETWORKS: dict[str, Network] = {"linkx": _linkx, "gcn": _gcn, "sgformer": _sgformer, "polynormer": _polynormer}
WITH_BATCH = ("sgformer", "polynormer")


class Peer(EpochByEpoch):
    """One of PyTorch Geometric's networks.

    Args:
        name: A key of ``NETWORKS``.
        width: Hidden channels.
        training: Learning rate, weight decay, optimiser and seed.
        inputs: Forms of features and edges, such as ``("csr", "list")``; tried out when ``None``.
    """

    def __init__(
        self,
        name: str,
        width: int,
        training: TrainingConfig,
        graph: Graph,
        split: int,
        device: torch.device,
        inputs: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(graph, split, device)
        if graph.x is None:
            raise InputError(f"{name} reads features, and the graph has none: leave it out of --models.")
        self.name = name
        self.width = width
        self.training = training
        self.graph = graph.to(device=device, dtype=torch.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # PyTorch Geometric makes sparse tensors, torch remarks on it
            self.inputs = self._fastest() if inputs is None else inputs
            self._build(self.inputs)
            self.epoch()

    def _build(self, inputs: tuple[str, str]) -> None:
        with torch.random.fork_rng([]):
            torch.manual_seed(self.training.seed)
            network = NETWORKS[self.name](self.graph, self.width)
        for module in network.modules():
            if isinstance(module, GCNConv):
                module.cached = True
        self.network = network.to(self.device)
        kind = torch.optim.Adam if self.training.optimizer == "adam" else torch.optim.AdamW
        self.optimizer = kind(
            self.network.parameters(),
            lr=self.training.learning_rate,
            weight_decay=self.training.weight_decay,
            fused=True,
        )
        self.arguments = [self._features(inputs[0]), self._edges(inputs[1])]
        if self.name in WITH_BATCH:
            self.arguments.append(torch.zeros(self.graph.num_nodes, dtype=torch.int64, device=self.device))

    def _features(self, form: str) -> Tensor:
        x = self.graph.x
        if isinstance(x, SparseMatrix):
            return x.csr if form == "csr" else x.csr.to_dense()
        assert x is not None
        return x

    def _edges(self, form: str) -> Tensor:
        """Row i of the matrix holds the edges that lead to node i; a list goes from source to target."""
        incoming = self.graph.adjacency.matrix.transpose.csr
        if form == "csr":
            return incoming
        targets = torch.arange(self.graph.num_nodes, device=self.device)
        targets = targets.repeat_interleave(incoming.crow_indices().diff().to(torch.int64))
        return torch.stack([incoming.col_indices().to(torch.int64), targets])

    def _fastest(self) -> tuple[str, str]:
        """Of the forms of the inputs that the network takes, the one whose epochs are shortest."""
        sparse = isinstance(self.graph.x, SparseMatrix)
        found: dict[tuple[str, str], float] = {}
        problem = ""
        for features in FEATURES if sparse else ("dense",):
            for edges in EDGES:
                try:
                    self._build((features, edges))
                    found[features, edges] = self._trial()
                except (RuntimeError, TypeError, ValueError, AttributeError) as error:
                    # Not every network takes every form, and not every form fits into memory.
                    problem = str(error)
                    if self.device.type == "cuda":
                        torch.cuda.empty_cache()
        if not found:
            raise InputError(f"{self.name} cannot be trained on this graph: {' '.join(problem.split())[:200]}")
        return min(found, key=found.__getitem__)

    def _trial(self) -> float:
        self.epoch()
        times = []
        for _ in range(TRIAL_EPOCHS):
            synchronize(self.device)
            started = time.perf_counter()
            self.epoch()
            synchronize(self.device)
            times.append(time.perf_counter() - started)
        return min(times)

    def outputs(self) -> Tensor:
        out: Tensor = self.network(*self.arguments)
        return out

    def facts(self) -> dict[str, Any]:
        features, edges = self.inputs
        return {
            "settings": {"hidden_channels": self.width},
            "precision": "float32",
            "inputs": f"{'CSR' if features == 'csr' else 'dense'} features, "
            f"{'CSR adjacency' if edges == 'csr' else 'edge list'}",
            "num_parameters": self.num_parameters(),
        }
