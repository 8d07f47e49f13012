"""Training one model: selection, stopping, seeds, sharing, callbacks."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from glognn.errors import InputError, TrainingError
from glognn.graph.config import GraphConfig
from glognn.graph.graph import Graph
from glognn.metrics import METRICS
from glognn.models.glognn import GloGNN
from glognn.models.mlp import MLP
from glognn.native.library import why_not
from glognn.training.callbacks import Callback
from glognn.training.config import METRIC_NAMES, TrainingConfig
from glognn.training.driver import train
from glognn.training.engines import eager
from glognn.training.predict import predict
from glognn.training.stopping import exceeds_recent_mean, out_of_patience
from tests.conftest import make_data


def build(**settings: object) -> GloGNN:
    torch.manual_seed(3)
    return GloGNN(7, 3, 60, **settings)


def weights(model: torch.nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in model.parameters()]


def same(first: list[Tensor], second: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("optimizer", ["adam", "adamw"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_seed_gives_the_same_bits(data: Data, optimizer: str, dtype: str) -> None:
    outcomes = []
    for seed in (1, 1, 2):
        model = build()
        train(model, data, config=TrainingConfig(epochs=20, optimizer=optimizer, dtype=dtype, seed=seed))
        outcomes.append(weights(model))
    assert same(outcomes[0], outcomes[1])
    assert not same(outcomes[0], outcomes[2])
    assert outcomes[0][0].dtype == getattr(torch, dtype)


@pytest.mark.parametrize("engine", ["native", "eager", "stacked"])
def test_numbers_too_large_before_the_first_step_are_not_blamed_on_the_learning_rate(engine: str) -> None:
    if engine == "native" and why_not():
        pytest.skip(why_not())
    model = build(normalization="none", num_hops=64, beta1=0.25, beta2=3e5)  # A^64 does not fit float32
    with pytest.raises(TrainingError) as caught:
        train(model, make_data(), config=TrainingConfig(epochs=3, engine=engine))
    assert "Training stopped in epoch 1. " in str(caught.value)
    assert "The loss was nan before the first step, so the learning rate is not the cause" in str(caught.value)
    assert "(alpha 0.5, beta1 0.25, beta2 300000, gamma 0.5)" in str(caught.value)


@pytest.mark.parametrize("name", ["beta1", "beta2"])
def test_weights_of_the_objective_that_float32_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=rf"'{name}' parameter of GloGNN must be .* in the range \[0\.0, 1e\+20\]"):
        build(**{name: 1e39})
    build(**{name: 1e20})


@pytest.mark.parametrize("engine", ["native", "eager"])
def test_the_largest_weights_of_the_objective_are_computed_with(engine: str) -> None:
    """What is divided by beta1 + beta2 and multiplied with beta2 is not lost on the way."""
    if engine == "native" and why_not():
        pytest.skip(why_not())
    losses = []
    for beta2 in (2.0**40, 2.0**66):
        result = train(build(beta2=beta2), make_data(), config=TrainingConfig(epochs=10, engine=engine))
        losses.append([row["train_loss"] for row in result.curve])
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)


def test_the_callers_random_state_and_threads_are_left_alone(data: Data) -> None:
    torch.manual_seed(5)
    model, threads = build(), torch.get_num_threads()
    before = torch.get_rng_state()
    train(model, data, config=TrainingConfig(epochs=3, threads=1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


class NothingShared:
    """Two full passes per epoch, as one would write it first."""

    def __init__(self, model, inputs) -> None:
        self.model, self.inputs = model, inputs

    def for_training(self) -> Tensor:
        self.model.train()
        return self.model.logits(self.inputs)

    def for_evaluation(self) -> Tensor:
        self.model.eval()
        with torch.no_grad():
            return self.model.logits(self.inputs)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("fusion", ["hidden", "output"])
def test_sharing_changes_no_bit(data: Data, dropout: float, fusion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = TrainingConfig(epochs=25, seed=4, engine="eager")
    shared, plain = (build(dropout=dropout, fusion=fusion) for _ in range(2))
    with_sharing = train(shared, data, config=config)
    monkeypatch.setattr(eager, "SharedForward", NothingShared)
    without = train(plain, data, config=config)
    strip = [{k: v for k, v in row.items() if k != "seconds"} for row in with_sharing.curve]
    assert strip == [{k: v for k, v in row.items() if k != "seconds"} for row in without.curve]
    assert same(weights(shared), weights(plain))


@pytest.mark.parametrize(("dropout", "encodes", "decodes"), [(0.5, 11, 20), (0.0, 11, 11)])
def test_one_pass_per_epoch_serves_step_and_evaluation(
    data: Data, dropout: float, encodes: int, decodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"encode": 0, "decode": 0}
    for name in counts:
        original = getattr(GloGNN, name)

        def counted(self, *args, _name=name, _original=original):
            counts[_name] += 1
            return _original(self, *args)

        monkeypatch.setattr(GloGNN, name, counted)
    train(build(dropout=dropout), data, config=TrainingConfig(epochs=10, early_stopping="none", engine="eager"))
    assert counts == {"encode": encodes, "decode": decodes}


class Switching(MLP):
    """A model that changes its computation half-way, so that nothing may be shared across epochs."""

    late = False

    def on_epoch(self, epoch: int) -> None:
        self.late = epoch > 2

    def decode(self, encoded, inputs) -> Tensor:
        return super().decode(encoded, inputs) * (2 if self.late else 1)


def test_models_that_follow_epochs_share_nothing(data: Data) -> None:
    torch.manual_seed(0)
    model = Switching(7, 3, dropout=0.0)
    forward = eager.SharedForward(model, model.prepare(Graph.from_data(data)))
    model.on_epoch(2)
    early = forward.for_evaluation()
    model.on_epoch(3)
    torch.testing.assert_close(forward.for_training(), 2 * early)
    assert train(model, data, config=TrainingConfig(epochs=4)).last.epoch == 4
    assert model.late


def test_selection(data: Data) -> None:
    settings = {"epochs": 60, "early_stopping": "none", "learning_rate": 0.05}
    best_model, last_model = build(), build()
    best = train(best_model, data, config=TrainingConfig(selection="best", **settings))
    last = train(last_model, data, config=TrainingConfig(selection="last", **settings))
    assert best.best == last.best
    assert best.last == last.last
    assert best.selected == best.best
    assert last.selected == last.last
    assert last.last.epoch == 60
    rows = best.curve
    top = max(rows, key=lambda row: (row["val_accuracy"], -row["val_loss"]))
    assert best.best.epoch == top["epoch"] < 60
    graph = Graph.from_data(data)
    nodes = graph.indices(0)["test"]
    for model, scores in ((best_model, best.best), (last_model, last.last)):
        assert not model.training
        predicted = model.logits(model.prepare(graph)).argmax(1)
        assert float((predicted == graph.y)[nodes].double().mean()) == pytest.approx(scores.test)


def test_the_papers_stopping_rule_is_the_released_one() -> None:
    """Against the released condition, written with its 0-based epochs."""
    generator = torch.Generator().manual_seed(0)
    for window in (1, 3, 10):
        losses = torch.rand(60, generator=generator).tolist()
        for epoch in range(60):
            seen = losses[: epoch + 1]
            previous = seen[-(window + 1) : -1]
            released = epoch > window and seen[-1] > sum(previous) / len(previous)
            assert exceeds_recent_mean(seen, window) == released


def test_patience() -> None:
    assert not out_of_patience(epoch=9, best_epoch=5, patience=5)
    assert out_of_patience(epoch=10, best_epoch=5, patience=5)


def test_stopping_in_training(data: Data) -> None:
    patient = train(build(), data, config=TrainingConfig(patience=15, epochs=500))
    assert patient.stopped_by == "early stopping"
    assert patient.last.epoch == patient.best.epoch + 15
    paper = train(build(), data, config=TrainingConfig(early_stopping="paper", patience=10, epochs=500))
    losses = [row["val_loss"] for row in paper.curve]
    stops = [e for e in range(1, len(losses) + 1) if exceeds_recent_mean(losses[:e], 10)]
    assert paper.stopped_by == "early stopping"
    assert stops == [paper.last.epoch]
    full = train(build(), data, config=TrainingConfig(early_stopping="none", epochs=30))
    assert (full.stopped_by, full.last.epoch) == ("last epoch", 30)


class Recorder(Callback):
    def __init__(self) -> None:
        self.events: list[tuple[str, object]] = []

    def on_train_begin(self, info) -> None:
        self.events.append(("begin", info))

    def on_epoch_end(self, metrics) -> None:
        self.events.append(("epoch", metrics))

    def on_train_end(self, result) -> None:
        self.events.append(("end", result))


def test_callbacks_see_every_epoch(data: Data) -> None:
    recorder = Recorder()
    result = train(build(), data, config=TrainingConfig(epochs=4, metric="macro_f1"), callbacks=[recorder])
    assert [name for name, _ in recorder.events] == ["begin", *["epoch"] * 4, "end"]
    assert recorder.events[0][1]["model"] == "glognn"
    assert [metrics for name, metrics in recorder.events if name == "epoch"] == result.curve
    assert list(result.curve[0]) == ["epoch", "train_loss", "val_loss", "train_macro_f1", "val_macro_f1", "seconds"]
    assert recorder.events[-1][1] is result


def test_an_exception_in_a_callback_reaches_the_caller(data: Data) -> None:
    class Stop(Callback):
        def on_epoch_end(self, metrics) -> None:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        train(build(), data, callbacks=[Stop()])


@pytest.mark.parametrize("metric", METRIC_NAMES)
def test_every_metric_can_select(data: Data, metric: str) -> None:
    result = train(build(), data, config=TrainingConfig(epochs=10, metric=metric, positive_class="1"))
    assert -5 <= result.selected.test <= 1
    assert result.best.val == max(row[f"val_{metric}"] for row in result.curve)


def test_metric_names_agree() -> None:
    assert tuple(METRICS) == METRIC_NAMES


def test_a_loss_that_is_not_finite_stops_with_the_epoch(data: Data) -> None:
    with pytest.raises(TrainingError, match=r"Training stopped in epoch \d+\..*learning rate"):
        train(build(), data, config=TrainingConfig(learning_rate=1e18, epochs=50))


def test_weight_decay_reaches_every_parameter(data: Data) -> None:
    free, decayed = build(), build()
    train(free, data, config=TrainingConfig(epochs=30, weight_decay=0.0, selection="last"))
    train(decayed, data, config=TrainingConfig(epochs=30, weight_decay=10.0, selection="last"))
    for (name, a), b in zip(free.named_parameters(), decayed.parameters(), strict=True):
        assert b.norm() < a.norm(), name


def test_predictions_are_those_the_reported_score_counts(data: Data) -> None:
    """The graph is prepared for prediction as for training, although its edges are stored in one direction only."""
    model = build()
    result = train(model, data, config=TrainingConfig(epochs=20))
    model.train()
    probabilities = predict(model, data)
    assert model.training  # left as it was
    torch.testing.assert_close(probabilities.sum(1), torch.ones(60))
    test = data.test_mask[:, 0]
    assert float((probabilities.argmax(1) == data.y)[test].double().mean()) == pytest.approx(result.selected.test)
    assert not torch.allclose(predict(model, data, GraphConfig(directed=True)), probabilities)


def test_wrong_split_and_device(data: Data) -> None:
    with pytest.raises(InputError, match=r"The split must be in the range \[0, 1\]. Got 7"):
        train(build(), data, split=7)
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="no CUDA GPU"):
            train(build(), data, config=TrainingConfig(device="cuda"))


def test_splits_are_trained_separately() -> None:
    data = make_data(num_splits=3)
    results = [train(build(), data, split=split, config=TrainingConfig(epochs=5)) for split in range(3)]
    for first, second in itertools.combinations(results, 2):
        assert first.curve[-1]["val_loss"] != second.curve[-1]["val_loss"]
    assert all(math.isfinite(result.last.val_loss) for result in results)
