"""Pictures hold what they should, for many models and splits, long names and numbers that are none."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
import torch
from matplotlib.figure import Figure
from torch_geometric.data import Data

from glognn.data.classes import Classes
from glognn.data.npz import write_npz
from glognn.data.statistics import measure
from glognn.experiments.config import resolve
from glognn.experiments.predictions import MOST_CURVES, Predictions
from glognn.experiments.run import load_graph, run_splits
from glognn.report import curves, dataset, evaluation, figures, models, study
from tests.conftest import make_data

SETS = ("train", "val", "test")
LONG = "a_name_of_more_than_forty_characters_$x_1$_\x1b[31m_and_some_more"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that were saved, as they were laid out."""
    found: list[Figure] = []

    def keep(figure: Figure, path: Path) -> Path:
        figure.canvas.draw()
        found.append(figure)
        return path

    for room in (curves, dataset, models):
        monkeypatch.setattr(room, "save_picture", keep)
    monkeypatch.setattr(figures, "save_picture", keep)
    return found


def inside(figure: Figure) -> bool:
    """Whether all that a figure shows lies within it, but for a fiftieth of an inch."""
    (left, lower), (right, upper) = figure.get_tightbbox().get_points()
    width, height = figure.get_size_inches()
    return bool(min(left, lower, width - right, height - upper) > -0.02)


Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model on two splits, whose records the others are made of."""
    folder = tmp_path_factory.mktemp("trained")
    write_npz(make_data(num_splits=2), folder / "g.npz")
    [config] = resolve(["mlp"], None, {"epochs": 6}, str(folder / "g.npz"), None)
    run_splits(folder / "mlp", config, load_graph(config))
    return folder / "mlp"


def copy(trained: Path, run: Path, splits: int, change: Change = lambda rows: rows, **more: Any) -> Path:
    """A run folder of so many splits with curves like those that were trained; ``more`` goes into its record."""
    for number in range(splits):
        source, folder = trained / f"split-{number % 2}", run / f"split-{number}"
        folder.mkdir(parents=True)
        rows = change(list(csv.DictReader((source / "curve.csv").open())))
        with (folder / "curve.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        report = json.loads((source / "report.json").read_text())
        report["scores"]["selected"]["epoch"] = min(report["scores"]["selected"]["epoch"], len(rows))
        (folder / "report.json").write_text(json.dumps(report))
    report = json.loads((trained / "report.json").read_text()) | more
    (run / "report.json").write_text(json.dumps(report))
    return run


def without_losses(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row | {"train_loss": "nan", "val_loss": "inf"} for row in rows]


def exploding(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [rows[0] | {"val_loss": "90000"}, *rows[1:]]


def test_ten_models_on_three_splits(trained: Path, tmp_path: Path, drawn: list[Figure]) -> None:
    runs = [copy(trained, tmp_path / f"model-{number}", 3) for number in range(7)]
    runs += [copy(trained, tmp_path / LONG.replace("\x1b", ""), 3), copy(trained, tmp_path / "nan", 3, without_losses)]
    runs += [copy(trained, tmp_path / "far", 3, exploding)]
    curves.plot_curves(tmp_path, runs)
    [figure] = drawn
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == 20  # a score and a loss for each model
    titles = [axes.get_title() for axes in panels if axes.get_title()]
    assert len(titles) == 10
    assert titles[7].endswith("…")
    scores, losses = ([axes for axes in panels if bool(axes.get_title()) == score] for score in (True, False))
    assert len({axes.get_ylim() for axes in scores}) == len({axes.get_ylim() for axes in losses}) == 1
    assert losses[0].get_ylim()[1] < 100
    assert [text.get_text() for axes in losses for text in axes.texts] == ["no finite value", "↑ 9e+04"]
    assert sum(line.get_marker() == "D" for line in scores[0].lines) == 3  # the epoch kept of each split
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["training", "validation", "epoch kept"]
    assert "means over 3 splits" in figure.get_suptitle()
    assert inside(figure)


def test_a_mean_goes_as_far_as_every_split(trained: Path, tmp_path: Path, drawn: list[Figure]) -> None:
    run = copy(trained, tmp_path / "run", 2)
    rows = (run / "split-1/curve.csv").read_text().splitlines()
    (run / "split-1/curve.csv").write_text("\n".join(rows[:3]) + "\n")
    curves.plot_curves(run, [run])
    score = drawn[0].axes[0]
    thick = [line for line in score.lines if line.get_linewidth() > 1]
    assert {len(line.get_xdata()) for line in thick if line.get_marker() != "D"} == {2}
    values = [float(row["val_accuracy"]) for row in csv.DictReader((run / "split-0/curve.csv").open())][:2]
    other = [float(row["val_accuracy"]) for row in csv.DictReader((run / "split-1/curve.csv").open())]
    assert thick[1].get_ydata() == pytest.approx(50 * (np.array(values) + np.array(other)))


def test_one_epoch_of_one_split_is_a_point(trained: Path, tmp_path: Path, drawn: list[Figure]) -> None:
    run = copy(trained, tmp_path / LONG.replace("\x1b", ""), 1, lambda rows: rows[:1])
    curves.plot_curves(run, [run])
    [figure] = drawn
    assert {line.get_marker() for axes in figure.axes for line in axes.lines} == {"o", "D"}
    assert "splits" not in figure.get_suptitle()
    assert inside(figure)


def test_models_are_compared_with_the_baselines(trained: Path, tmp_path: Path, drawn: list[Figure]) -> None:
    spread = {"mean": 0.25, "std": 0.01}
    baselines = {"constant": dict.fromkeys(SETS, spread), "undefined": dict.fromkeys(SETS)}
    held_out: Any = {"set": "test", "classes": []}
    more: Any = {"baselines": baselines, "held_out": held_out, "cautions": []}
    runs = [copy(trained, tmp_path / f"model-{number}", 2, **more) for number in range(9)]
    runs += [copy(trained, tmp_path / LONG.replace("\x1b", ""), 2)]
    better = json.loads((runs[4] / "report.json").read_text())
    better["scores"]["selected"]["val"]["mean"] = 0.99
    (runs[4] / "report.json").write_text(json.dumps(better))
    models.compare_runs(tmp_path, runs)
    [figure] = drawn
    [axes] = figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert len(names) == 10
    assert names[0] == "model-4"  # the best on validation
    lines = [line for line in axes.lines if len(line.get_xdata()) == 2 and len(set(line.get_xdata())) == 1]
    assert [line.get_xdata()[0] for line in lines if line.get_ydata()[0] == 0] == [25.0]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["validation", "test", "constant (test)"]
    assert inside(figure)


def test_scores_of_one_split_have_no_bars(tmp_path: Path, drawn: list[Figure]) -> None:
    rows = [models.Row("mlp", {"val": models.Scores(0.5)}), models.Row("gcn", {})]
    models.plot_models(rows, LONG, tmp_path / "x.png", [models.Baseline("constant", {"test": 0.2})])
    [figure] = drawn
    assert "standard deviation" not in figure.get_supxlabel()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["validation"]
    assert inside(figure)


@pytest.mark.parametrize(("classes", "named"), [(2, True), (30, True), (60, False)])
def test_classes_of_a_dataset_have_names(classes: int, named: bool, tmp_path: Path, drawn: list[Figure]) -> None:
    torch.manual_seed(0)
    data = Data(x=torch.ones(180, 1), edge_index=torch.randint(0, 180, (2, 900)), y=torch.arange(180) % classes)
    names = [f"{number} {LONG}" for number in range(classes)]
    dataset.plot_dataset(LONG, measure(data), tmp_path / "x.png", names)
    [figure] = drawn
    labels = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert (labels == [figures.shortened(name, 18) for name in names]) is named
    assert inside(figure)


def test_slices_show_what_most_trials_scored(tmp_path: Path, drawn: list[Figure]) -> None:
    searched = optuna.create_study(direction="maximize")
    generator = np.random.default_rng(0)
    kinds: dict[str, Any] = {
        "learning_rate": optuna.distributions.FloatDistribution(1e-4, 1, log=True),
        "narrow": optuna.distributions.FloatDistribution(2, 5, log=True),
        "hops": optuna.distributions.IntDistribution(1, 5),
        LONG: optuna.distributions.CategoricalDistribution(["features adjacency", "none", LONG]),
        "words": optuna.distributions.CategoricalDistribution([True, False]),
    }
    for number in range(40):
        chosen = {
            "learning_rate": float(10 ** generator.uniform(-4, 0)),
            "narrow": float(generator.uniform(2, 5)),
            "hops": int(generator.integers(1, 6)),
            LONG: ["features adjacency", "none", LONG][number % 3],
            "words": bool(number % 2),
        }
        score = 0.1 if number % 10 == 0 else float(generator.uniform(0.78, 0.82))
        searched.add_trial(optuna.trial.create_trial(params=chosen, distributions=kinds, value=score))
    study._plot_slices(searched.get_trials(), tmp_path, "average_precision")
    figure = drawn[0]
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == 5
    for axes in panels:
        low, high = axes.get_ylim()
        assert 70 < low < 78
        assert 82 < high < 90
        assert sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "v") == 4
        assert sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() == "D") == 1
    assert "4 below the axis: triangles, down to 10.0 %" in figure.get_suptitle()
    assert inside(figure)


def test_slices_say_zero_and_write_whole_numbers_below_their_places(tmp_path: Path, drawn: list[Figure]) -> None:
    searched = optuna.create_study(direction="maximize")
    searched.set_user_attr("zeros", {"weight_decay": 1e-7})
    kinds: dict[str, Any] = {
        "channels": optuna.distributions.IntDistribution(8, 128),
        "epochs": optuna.distributions.IntDistribution(1, 1000),
        "weight_decay": optuna.distributions.FloatDistribution(1e-7, 0.1, log=True),
    }
    for number, decay in enumerate((1e-7, 1e-4, 1e-7, 1e-2)):
        chosen = {"channels": (64, 128)[number % 2], "epochs": 10 ** min(number, 3), "weight_decay": decay}
        searched.add_trial(optuna.trial.create_trial(params=chosen, distributions=kinds, value=0.5 + 0.1 * number))
    study.plot_study(searched, tmp_path, "accuracy")
    channels, epochs, decays = drawn[-1].axes
    assert [label.get_text() for label in channels.get_xticklabels()] == ["64", "128"]
    assert len(epochs.get_xticks()) > 2  # 1 and 10 would lie on each other
    assert decays.get_xticklabels()[0].get_text() == "0"
    assert decays.get_xticks()[0] == 1e-7
    assert inside(drawn[-1])


def test_limits() -> None:
    assert figures.limits([]) == figures.limits([math.nan, math.inf]) == (0.0, 1.0)
    assert figures.limits([0.0, 1.0, 2.0]) == pytest.approx((-0.1, 2.1))
    assert figures.limits([*range(100), 10**6])[1] < 110
    assert figures.limits([*range(100), 10**6], robust=False)[1] > 10**6
    assert figures.limits([1.0] * 30 + [2.0]) == pytest.approx((0.95, 2.05))
    low, high = figures.limits([3.0, 3.0])
    assert low < 3 < high


def test_names_of_users_are_shown_as_they_are() -> None:
    assert figures.shortened("a\x1b[31m\nb", 40) == "a\\x1b[31m b"
    assert figures.shortened("x" * 50, 10) == "x" * 9 + "…"


def test_letters_that_no_font_has_warn_nobody(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    figure = figures.new_figure(2, 2)
    figure.suptitle("模型 \U00013000")
    assert figures.save_picture(figure, tmp_path / "x.svg").stat().st_size > 1000
    assert [str(warning.message) for warning in recwarn if "Glyph" in str(warning.message)] == []


def test_of_many_classes_the_largest_are_ranked_and_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator, count = np.random.default_rng(0), 18
    y = np.sort(np.concatenate([np.arange(count), generator.integers(0, count, 50), np.repeat([3, 7, 11, 17], 20)]))
    classes = Classes(tuple(f"GO:{number:07d} family {number}" for number in range(count)), "text")
    found = Predictions("id", y, classes, generator.dirichlet(np.ones(count), len(y)), None).evaluate(
        np.arange(len(y)), y
    )
    shown = {each["class"] for each in found["curves"]}
    sizes = np.bincount(y)
    assert len(shown) == MOST_CURVES
    assert {classes.names[number] for number in (3, 7, 11, 17)} < shown
    left_out = [sizes[number] for number, name in enumerate(classes.names) if name not in shown]
    assert min(sizes[classes.names.index(name)] for name in shown) >= max(left_out)
    kept: list[Figure] = []

    def new_figure(width: float, height: float) -> Figure:
        kept.append(figures.new_figure(width, height))
        return kept[-1]

    monkeypatch.setattr(evaluation, "new_figure", new_figure)
    evaluation.plot_rankings(found, tmp_path / "rankings.png")
    assert inside(kept[0])
    legend = kept[0].axes[0].get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "average precision, the 8 largest of 18 classes"
    assert [text.get_text() for text in legend.get_texts()][-2:] == ["chance", "as predicted"]
    evaluation.plot_confusion(found, tmp_path / "confusion.png")
    assert inside(kept[1])
    kept[1].canvas.draw()
    for tick, label in enumerate(kept[1].axes[0].get_xticklabels()):  # a slanted name ends below its column
        place, beside = kept[1].axes[0].transData.transform([(tick, 0), (tick + 1, 0)])[:, 0]
        assert abs(label.get_window_extent().x1 - place) < 0.5 * (beside - place)
