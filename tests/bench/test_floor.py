"""The floor counts what its docstring says."""

from __future__ import annotations

import torch

from glognn.bench.floor import Count, Rates, Shape, Stored, copy_bandwidth, count, floor_record, product_rate
from glognn.graph.graph import Graph
from glognn.models.configs import GloGNNConfig
from tests.conftest import make_data

CPU = torch.device("cpu")


def test_a_small_case_counted_by_hand() -> None:
    """3 nodes, 2 classes, width 4, one layer, one hop, no dropout; sparse features 3 x 5 with 6 values, 7 edges."""
    shape = Shape(
        nodes=3,
        classes=2,
        hidden=4,
        encoder_layers=2,
        layers=1,
        hops=(7,),
        inputs=(Stored(5, 6, True), Stored(3, 7, True)),
        dropout=False,
    )
    weights = 5 * 4 + 3 * 4 + 4 * 2
    assert shape.parameters == weights == 40
    features = 2 * 6 * (8 + 16) + 4 * 5 * 4
    adjacency = 2 * 7 * (8 + 16) + 4 * 3 * 4
    hidden = 4 * 3 * 4 * (1 + 3)
    layer = 2 * (12 * 3 * 2 + 7 * (8 + 8) + 4 * 3 * 2)
    moved = features + adjacency + hidden + layer + 28 * weights
    flops = 4 * 6 * 4 + 4 * 7 * 4 + 2 * 3 * 8 * 3 + 3 * (6 * 3 * 4 + 2 * 7 * 2) + 12 * weights
    assert count(shape) == Count(moved, flops) == Count(2480, 1132)


def test_dropout_needs_a_second_forward_pass_and_dense_features_are_read_whole() -> None:
    dense = Stored(5, 15, False)
    settings = {"nodes": 3, "classes": 2, "hidden": 4, "encoder_layers": 3, "layers": 0, "hops": ()}
    without = count(Shape(**settings, inputs=(dense,), dropout=False))
    with_dropout = count(Shape(**settings, inputs=(dense,), dropout=True))
    assert with_dropout.bytes - without.bytes == 4 * 3 * 4
    assert with_dropout.flops - without.flops == 2 * 3 * (4 * 4 + 4 * 2)
    parameters = 5 * 4 + 4 * 4 + 4 * 2
    assert without.bytes == 4 * (2 * 15 + 2 * 5 * 4 + 3 * 4) + 4 * 3 * 4 * 4 + 28 * parameters


def test_what_settings_leave_out_is_not_counted() -> None:
    graph = Graph.from_data(make_data())
    nnz = graph.adjacency.normalized("row").nnz
    both = Shape.of(graph, GloGNNConfig(alpha=0.5))
    assert [each.values for each in both.inputs] == [60 * 7, nnz]
    assert [each.columns for each in Shape.of(graph, GloGNNConfig(alpha=0.0)).inputs] == [7]
    assert [each.columns for each in Shape.of(graph, GloGNNConfig(alpha=1.0)).inputs] == [60]
    assert both.hops == (nnz, nnz)
    assert Shape.of(graph, GloGNNConfig(beta2=0.0)).hops == ()
    assert Shape.of(graph, GloGNNConfig(gamma=1.0)).layers == 0
    single = Shape.of(graph, GloGNNConfig(num_encoder_layers=1))
    assert (single.hidden, single.chain) == (3, 0)


def test_the_floor_is_the_longer_of_moving_and_computing() -> None:
    rates = Rates(bandwidth=100.0, flops_per_second=10.0)
    assert rates.seconds(Count(bytes=200, flops=10)) == 2
    assert rates.seconds(Count(bytes=200, flops=50)) == 5
    record = floor_record(Count(200, 50), rates, epoch_seconds=20.0)
    assert record["ms"] == 5000
    assert record["share"] == 0.25


def test_rates_are_those_of_a_real_machine() -> None:
    assert 1e8 < copy_bandwidth(2**20, CPU) < 1e13
    assert 1e8 < product_rate(CPU) < 1e14
