"""The initial embedding: fusions, skipped branches, sparse inputs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from glognn.graph.sparse import SparseMatrix
from glognn.nn.encoder import Encoder, Linear


def dense_reference(encoder: Encoder, inputs: dict[str, Tensor]) -> Tensor:
    """The formulas of both fusions, written out."""

    def tail(layers: nn.Module, value: Tensor) -> Tensor:
        for layer in layers.children():
            value = torch.relu(value) @ layer.weight + layer.bias
        return value

    mapped = {name: inputs[name] @ encoder.inputs[name].weight + encoder.inputs[name].bias for name in encoder.weights}
    if encoder.fusion == "hidden":
        return tail(encoder.tails[0], sum(w * mapped[name] for name, w in encoder.weights.items()))
    tails = zip(encoder.weights.items(), encoder.tails, strict=True)
    return sum(w * tail(layers, mapped[name]) for (name, w), layers in tails)


@pytest.mark.parametrize("fusion", ["hidden", "output"])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_fusions(fusion: str, num_layers: int, weight: float) -> None:
    inputs = {"features": torch.randn(9, 5), "adjacency": torch.randn(9, 9)}
    encoder = Encoder(
        {"features": 5, "adjacency": 9},
        {"features": 1 - weight, "adjacency": weight},
        hidden_channels=6,
        out_channels=3,
        num_layers=num_layers,
        fusion=fusion,
        dropout=0.4,
    ).eval()
    torch.testing.assert_close(encoder(inputs), dense_reference(encoder, inputs))
    if weight in (0.0, 1.0):
        assert len(encoder.inputs) == len(encoder.encode(inputs)) == 1


def test_an_input_of_weight_zero_is_never_touched() -> None:
    encoder = Encoder(
        {"features": 5, "adjacency": 10**9},  # its weights would not fit into memory
        {"features": 1.0, "adjacency": 0.0},
        hidden_channels=4,
        out_channels=2,
    )
    assert encoder({"features": torch.randn(3, 5)}).shape == (3, 2)


def test_dropout_follows_hidden_layers_only_in_training() -> None:
    encoder = Encoder({"a": 5}, {"a": 1.0}, hidden_channels=64, out_channels=2, dropout=0.5)
    x = {"a": torch.randn(20, 5)}
    assert not torch.equal(encoder(x), encoder(x))
    assert torch.equal(encoder.encode(x)[0], encoder.encode(x)[0])
    encoder.eval()
    assert torch.equal(encoder(x), encoder(x))


def test_sparse_and_dense_inputs_agree() -> None:
    x = torch.randn(12, 7) * (torch.rand(12, 7) < 0.3)
    sparse = SparseMatrix.from_torch(x)
    linear = Linear(7, 4)
    dense_out, sparse_out = linear(x), linear(sparse)
    torch.testing.assert_close(sparse_out, dense_out)
    upstream = torch.randn(12, 4)
    dense_grad = torch.autograd.grad(dense_out, linear.weight, upstream)[0]
    sparse_grad = torch.autograd.grad(sparse_out, linear.weight, upstream)[0]
    torch.testing.assert_close(sparse_grad, dense_grad)


def test_initial_values_are_those_of_torch_in_float64_for_any_precision() -> None:
    torch.manual_seed(42)
    ours = Linear(30, 8)
    torch.manual_seed(42)
    theirs = nn.Linear(30, 8, dtype=torch.float64)
    torch.testing.assert_close(ours.weight.T, theirs.weight.float())
    torch.testing.assert_close(ours.bias, theirs.bias.float())
