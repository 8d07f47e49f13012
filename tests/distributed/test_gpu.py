"""nccl: one rank on a GPU does what one process on it does."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
import torch

from glognn.distributed.partition import contiguous
from glognn.distributed.ranks import Ranks, together
from glognn.distributed.shards import Shards, write_graph
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS
from glognn.training.config import TrainingConfig
from glognn.training.driver import train, train_batch
from tests.conftest import make_data


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["glognn++", "linkx", "gcn", "glognn2"])
def test_one_rank_of_nccl_equals_one_process(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = MODELS[name].from_mapping({"dropout": 0.0})
    whole = Graph.from_data(make_data(num_nodes=300, num_edges=2000), dtype=torch.float64)
    write_graph(whole, contiguous(300, 1), tmp_path / "shards", {})
    training = {"epochs": 20, "early_stopping": "none", "dtype": "float64", "device": "cuda"}
    torch.manual_seed(0)
    model = config.model_class().for_graph(whole, config)
    alone = train(model, whole, config=TrainingConfig(**training, engine="eager"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    for key, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}.items():
        monkeypatch.setenv(key, value)
    ranks = Ranks.from_environment()
    try:
        part = Shards.open(tmp_path / "shards").read_for(ranks)
        torch.manual_seed(0)
        part_model = config.model_class().for_graph(part, config)
        with together(ranks):
            [ending] = train_batch(
                [part_model], part, splits=[0], configs=[TrainingConfig(**training, engine="distributed")]
            )
    finally:
        ranks.close()
    assert ending is not None
    assert not isinstance(ending, Exception), ending
    losses = [[row["train_loss"] for row in each.curve] for each in (alone, ending)]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-8)
