"""Portfolios built from runs: the order is that of what members add, and graphs left out decide nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from glognn.cli.main import app
from glognn.data.npz import write_npz
from glognn.errors import InputError
from glognn.experiments import ensemble
from glognn.experiments.auto import auto
from glognn.experiments.layout import MEMBERS, PROBABILITIES
from glognn.experiments.portfolio import Member, read_portfolio
from glognn.experiments.portfolio_building import JudgedGraph, Said, build_portfolio, read_judged
from glognn.experiments.saved import open_saved
from glognn.metrics import Floats, Scoring
from tests.conftest import make_data

QUICK: dict[str, Any] = {"epochs": 4, "threads": 1, "hidden_channels": 4}
NAMES = ("one", "two", "three")


def sure(right: list[bool], y: list[int]) -> Floats:
    """Probabilities of two classes: 0.9 for the right one, or for the wrong one."""
    classes = [label if known else 1 - label for known, label in zip(right, y, strict=True)]
    return np.where(np.arange(2) == np.array(classes)[:, np.newaxis], 0.9, 0.1)


def judged(name: str, knows: dict[str, list[bool]], seconds: tuple[float, ...] = ()) -> JudgedGraph:
    """Each member knows some of four nodes, of which there are two of each class; by default all take equally long."""
    y = [0, 0, 1, 1]
    said = np.stack([sure(right, y) for right in knows.values()])
    members = [Member(each, "mlp") for each in knows]
    splits = [Said(said, np.array(y), said, np.array(y))]
    return JudgedGraph(name, Scoring("accuracy"), members, seconds or (1.0,) * len(members), splits)


def test_the_first_is_best_on_average_and_the_next_adds_most() -> None:
    all_but_one, half, other_half = [True, True, True, False], [True, False, True, False], [False, True, False, True]
    near = judged("near", {"one": all_but_one, "two": half, "three": half})
    far = judged("far", {"one": half, "two": half, "three": other_half})
    steps = build_portfolio([near, far])
    assert steps[0].member.name == "one"
    assert steps[0].worth == pytest.approx(100 * np.average([0.75, 0.5], weights=[near.weight, far.weight]))
    assert {step.member.name for step in steps} == set(NAMES)
    assert [step.member.name for step in build_portfolio([near, far], 1)] == ["one"]
    alone = judged("alone", {"three": [True] * 4, "two": half})
    assert build_portfolio([alone])[0].member.name == "three"
    assert alone.worth(["one"]) == 0.5  # which could not be trained there: as much as the worst that could


def test_graphs_with_few_test_nodes_count_less() -> None:
    small = judged("small", {"one": [True] * 4, "two": [False] * 4})
    said = small.splits[0]
    wrong = np.tile(said.tested[1], (100, 1)), np.tile(said.tested[0], (100, 1))
    many = Said(np.stack(wrong), np.tile(said.val_y, 100), np.stack(wrong), np.tile(said.test_y, 100))
    large = JudgedGraph("large", small.scoring, small.members, small.seconds, [many])
    assert small.worth(["one"]) == large.worth(["two"]) == 1.0
    assert build_portfolio([small, large])[0].member.name == "two"


def test_the_first_is_the_best_of_the_quick_ones() -> None:
    good, better = [True, True, True, False], [True] * 4
    graph = judged("graph", {"one": [False] * 4, "two": good, "three": better}, (1.0, 2.0, 60.0))
    assert [step.member.name for step in build_portfolio([graph])][:2] == ["two", "three"]


def test_a_gain_counts_for_the_time_it_takes() -> None:
    """On eight nodes of which the first knows six; the second knows the seventh, the third both that are left."""
    y = [0, 1] * 4
    knows = {"one": range(6), "two": [0, 1, 6], "three": [0, 1, 6, 7]}
    said = np.stack([sure([node in known for node in range(8)], y) for known in knows.values()])
    said[1:] = np.where(np.arange(2) == np.array(y)[:, np.newaxis], 0.99, 0.01)
    said[1, 7], said[1, 2:6], said[2, 2:6] = 0.5, 0.5, 0.5
    splits = [Said(said, np.array(y), said, np.array(y))]
    members = [Member(name, "mlp") for name in NAMES]
    for seconds, second in (((1.0, 1.0, 1.0), "three"), ((1.0, 1.0, 40.0), "two")):
        graph = JudgedGraph("graph", Scoring("accuracy"), members, seconds, splits)
        steps = build_portfolio([graph])
        assert [step.member.name for step in steps][:2] == ["one", second]


def test_members_of_one_name_are_one_member() -> None:
    graph = judged("graph", {"one": [True] * 4})
    other = JudgedGraph("other", graph.scoring, [Member("one", "gcn")], [1.0], graph.splits)
    with pytest.raises(InputError, match="'one' of other has other settings on another graph"):
        build_portfolio([graph, other])
    with pytest.raises(InputError, match="at least one finished auto folder"):
        build_portfolio([])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("runs")
    models = {"one": "mlp", "two": "gcn"}
    tables = (f'[[member]]\nname = "{name}"\nmodel = "{model}"\n' for name, model in models.items())
    (place / "small.toml").write_text("".join(tables))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ensemble, "FEW", 0)
        for seed, name in enumerate(("red", "blue")):
            write_npz(make_data(seed=seed), place / f"{name}.npz")
            auto(str(place / f"{name}.npz"), portfolio=place / "small.toml", out=place / name, **QUICK)
    return [place / "red", place / "blue"]


def test_what_members_are_worth_is_what_their_ensemble_scores(runs: list[Path]) -> None:
    graph = read_judged(runs[0])
    assert graph.name == "red"
    record = open_saved(runs[0]).record
    assert graph.worth(["one", "two"]) == pytest.approx(record["test"]["mean"])


def test_from_the_command_line(runs: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "mine.toml"
    done = CliRunner().invoke(app, ["portfolio", "build", *map(str, runs), "--without", "blue", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert "blue: 2 members, 2 splits (left out)" in done.output
    assert sorted(member.name for member in read_portfolio(out)) == ["one", "two"]
    assert "# Built from red.\n" in out.read_text()
    shown = CliRunner().invoke(app, ["portfolio", "show", str(out)])
    assert "gcn" in shown.output
    CliRunner().invoke(
        app, ["portfolio", "build", str(runs[0]), "--again", "1", "-o", str(out)], catch_exceptions=False
    )
    first, _, last = read_portfolio(out)
    assert last.name == f"{first.name}-again"
    assert last.repeats(first)
    with pytest.raises(InputError, match="must name a graph of the runs. Got green"):
        CliRunner().invoke(app, ["portfolio", "build", str(runs[0]), "--without", "green"], catch_exceptions=False)


def test_a_damaged_file_of_probabilities_is_named(runs: list[Path]) -> None:
    path = runs[1] / MEMBERS / "one/split-0" / PROBABILITIES
    kept = path.read_bytes()
    path.write_bytes(kept[:-8])
    with pytest.raises(InputError, match=r"probabilities.npy' is damaged"):
        read_judged(runs[1])
    path.write_bytes(kept)
