"""The benchmark: alternation, records, and a whole small run."""

from __future__ import annotations

import io
import json
import statistics
from pathlib import Path

import pytest
import torch
from rich.console import Console

from glognn.bench.config import ALL_METHODS, METHODS, OTHERS, BenchConfig, counterpart
from glognn.bench.measure import Spread, alternate, choose_epochs, ratio
from glognn.bench.method import WARM_UP, Method
from glognn.bench.ours import Ours
from glognn.bench.peers import Peer
from glognn.bench.records import empty_row, make_record
from glognn.bench.suite import MethodBuilder, configuration, num_steps, run_bench
from glognn.data.npz import write_npz
from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.models.configs import MODELS
from glognn.report.bench import bench_table, cells, full_table, headings, notes, number, profile_tables
from glognn.report.markdown import table_markdown
from tests.cli.test_datasets import run
from tests.conftest import make_data

CPU = torch.device("cpu")
SPREAD = {"median", "lower", "upper", "rounds"}


def test_the_command_on_the_embedded_graph(tmp_path: Path) -> None:
    options = ["--models", "glognn", "--splits", "2", "--repeats", "1", "--epochs", "1"]
    done = run("bench", *options, "--out", "out/bench.json", cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.startswith("pairs: timing glognn\n")
    assert "| dataset | method | ms per epoch | quartiles | ms, 2 splits | vs released | vs LINKX |" in done.stdout
    assert "Record: out/bench.json" in done.stdout
    record = json.loads((tmp_path / "out/bench.json").read_text(encoding="utf-8"))
    assert record.keys() == make_record(BenchConfig(), CPU).keys()
    assert record["machine"]["threads"] == 1
    assert record["datasets"]["pairs"]["num_nodes"] == 3000
    [row] = record["rows"]
    assert row.keys() == empty_row("pairs", "glognn").keys()
    assert all(value is not None for name, value in row.items() if name not in ("problem", "profile", "memory_mib"))
    memory = row["memory_mib"]
    assert memory is None or 0 < memory["added"] < 200 < memory["peak"]


def test_a_run_gives_every_field(tmp_path: Path) -> None:
    methods = ["glognn", "released", "linkx", "gcn"]
    config = BenchConfig(repeats=2, epochs=1, splits=2, memory=False, profile=True)
    told: list[str] = []
    out, graph = tmp_path / "bench.json", str(tmp_path / "graph.npz")
    write_npz(make_data(), graph)
    run_bench([graph], methods, config, out=out, on_progress=lambda dataset, what: told.append(what))
    assert len(told) == num_steps(methods, config)
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["datasets"][graph]["num_nodes"] == 60
    rows = {row["method"]: row for row in record["rows"]}
    assert list(rows) == methods
    for name, row in rows.items():
        assert row.keys() == empty_row(graph, name).keys()
        assert row["problem"] is None
        assert row["epoch_ms"].keys() == SPREAD
        assert len(row["epoch_ms"]["rounds"]) == 2
        assert row["epoch_ms"]["median"] > 0
        assert row["ratios"].keys() == {"released", "linkx", "gcn"}
        assert all(found.keys() == SPREAD for found in row["ratios"].values())
        assert sum(found["share"] for found in row["profile"]) == pytest.approx(1)
        assert row["num_parameters"] > 400
        assert len(cells(record, row)) == len(headings(record)) == 11
    ours, released = rows["glognn"], rows["released"]
    assert ours["split_epoch_ms"].keys() == SPREAD
    assert released["floor"]["bytes"] == ours["floor"]["bytes"]
    assert 0 < ours["floor"]["share"] < 1
    assert released["split_epoch_ms"] is None
    assert (ours["precision"], released["precision"]) == ("float32", "float64")
    assert rows["gcn"]["floor"] is None
    assert released["ratios"]["released"]["median"] == 1
    by_rounds = zip(released["epoch_ms"]["rounds"], ours["epoch_ms"]["rounds"], strict=True)
    assert ours["ratios"]["released"]["rounds"] == pytest.approx([first / second for first, second in by_rounds])
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(bench_table(record))
    shown = console.export_text()
    assert "…" not in shown  # nothing is cut off
    assert all(f"\n  {name} " in shown for name in methods)
    tables = profile_tables(record)
    assert [table.columns[0].name for table in tables] == [f"graph.npz, {name}: operation" for name in methods]


def test_a_method_that_cannot_be_timed_is_said_in_the_table(tmp_path: Path) -> None:
    data = make_data()
    data.x = None
    write_npz(data, tmp_path / "graph.npz")
    config = BenchConfig(repeats=1, epochs=1, splits=1, memory=False)
    with pytest.raises(InputError, match="must be 1.0 for a graph without features"):
        run_bench([str(tmp_path / "graph.npz")], ["glognn"], config)
    with pytest.raises(InputError, match="The released method reads features"):
        run_bench([str(tmp_path / "graph.npz")], ["released"], config)
    record = make_record(config, CPU) | {"rows": [empty_row("a", "gcn") | {"problem": "too large"}]}
    assert "| a | gcn | not timed |" in table_markdown(full_table(record))
    assert notes(record)[-1] == "a, gcn: too large"
    assert profile_tables(record) == []


def test_turns_alternate_and_every_other_round_goes_backwards() -> None:
    order: list[str] = []

    def turn(name: str, seconds: float) -> float:
        order.append(name)
        return seconds

    told: list[tuple[str, int]] = []
    turns = {"a": lambda: turn("a", 1.0), "b": lambda: turn("b", 2.0)}
    found = alternate(turns, 3, lambda name, number: told.append((name, number)))
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert found == {"a": [1.0] * 3, "b": [2.0] * 3}
    assert told[2:4] == [("b", 1), ("a", 1)]


def test_spread_and_ratio() -> None:
    spread = Spread.of([5.0, 1.0, 2.0, 4.0, 3.0])
    assert (spread.lower, spread.median, spread.upper) == (2, 3, 4)
    assert spread.rounds == [5.0, 1.0, 2.0, 4.0, 3.0]
    assert Spread.of([7.0]).upper == 7
    assert ratio([10.0, 40.0], [5.0, 10.0]).rounds == [2.0, 4.0]


def test_a_turn_is_long_enough_for_the_clock() -> None:
    class Steady(Method):
        def __init__(self, each: float) -> None:
            self.each = each

        def seconds(self, epochs: int) -> float:
            return self.each

        def facts(self) -> dict[str, object]:
            return {}

    assert choose_epochs(Steady(0.01), 0) == 25
    assert choose_epochs(Steady(3.0), 0) == 5
    assert choose_epochs(Steady(1e-6), 0) == 500
    assert choose_epochs(Steady(1e-6), 3) == 3


def test_ours_is_timed_in_the_training_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    from glognn.bench import ours

    seen: list[tuple[int, int, int]] = []
    train = ours.train

    def watched(model, graph, *, split, config, callbacks):  # type: ignore[no-untyped-def]
        seen.append((split, config.epochs, config.seed))
        return train(model, graph, split=split, config=config, callbacks=callbacks)

    together = ours.train_batch
    batches: list[tuple[list[int], set[int], list[int]]] = []

    def watched_batch(models, graph, *, splits, configs, **options):  # type: ignore[no-untyped-def]
        batches.append((splits, {config.epochs for config in configs}, [config.seed for config in configs]))
        return together(models, graph, splits=splits, configs=configs, **options)

    monkeypatch.setattr(ours, "train", watched)
    monkeypatch.setattr(ours, "train_batch", watched_batch)
    method = Ours(configuration("glognn", "pairs", BenchConfig()), Graph.from_data(make_data()), 0, CPU)
    assert method.seconds(4) > 0
    assert method.seconds_of_splits(3, 2) > 0  # the graph has two splits
    assert seen == [(0, WARM_UP + 4, 0)]
    assert batches == [([0, 1, 0], {WARM_UP + 2}, [0, 1, 2])]


@pytest.mark.parametrize("name", ["linkx", "gcn", "sgformer", "polynormer"])
def test_peers_learn_with_the_inputs_that_they_accept(name: str) -> None:
    data = make_data()
    data.x = torch.nn.functional.one_hot(torch.arange(60) % 30, 30).float() * (1 + data.y.unsqueeze(1))
    training = configuration("glognn", "pairs", BenchConfig()).training
    peer = Peer(name, 16, training, Graph.from_data(data), 0, CPU)
    assert peer.inputs[0] == "dense" or name in ("linkx", "gcn")  # the others take no sparse features
    losses = [peer.epoch()["train_loss"] for _ in range(30)]
    assert statistics.fmean(losses[-10:]) < losses[0]
    unused = [key for key, parameter in peer.network.named_parameters() if parameter.grad is None]
    assert not any(key.startswith(("global_attn", "pred_global")) for key in unused)  # Polynormer is past its switch
    again = Peer(name, 16, training, Graph.from_data(data), 0, CPU, inputs=("dense", "list"))
    assert again.facts()["inputs"] == "dense features, edge list"
    assert again.seconds(1) > 0


def test_settings_are_the_published_ones_of_a_dataset_and_of_its_twin() -> None:
    config = BenchConfig(device="cpu", threads=3)
    real, twin = (configuration("glognn++", name, config) for name in ("pokec", "twin:pokec@0.01"))
    assert real.model == twin.model
    assert twin.model.as_dict()["coefficient"] == "released"
    assert configuration("glognn++", "pairs", config).model.as_dict()["coefficient"] == "released"
    assert twin.model.as_dict()["hidden_channels"] == 128
    assert (twin.dataset, twin.training.threads, twin.training.optimizer) == ("twin:pokec@0.01", 3, "adamw")
    genius = configuration("glognn", "genius", config)
    assert genius.training.metric == "accuracy"
    assert counterpart("glognn++") == "released++"
    assert counterpart("gcn") == counterpart("glognn") == "released"


def test_numbers_have_three_digits() -> None:
    assert [number(value) for value in (0.123, 1.2, 9.999, 45.67, 999.4, 12345.6)] == [
        "0.12",
        "1.20",
        "10.0",
        "45.7",
        "999",
        "12,346",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["texa"], "There is no dataset 'texa'"),
        (["pairs,pairs"], "Name each dataset once. Got 'pairs,pairs' instead."),
        (["--models", "glogn"], "There is no method 'glogn'. Did you mean 'glognn'?"),
        (["--repeats", "0"], "The 'repeats' parameter of the benchmark must be an integer in the range [1, 1000]."),
        (["--splits", "0"], "The 'splits' parameter of the benchmark must be"),
        (["--threads", "many"], "Invalid value for '--threads'"),
        (["--device", "tpu"], "The 'device' parameter of the benchmark must be one of 'cpu', 'cuda'. Got 'tpu'"),
        (["--out", "."], "--out must be a file. Got the folder '.' instead."),
        (["--data-mirror", "nowhere"], "The data mirror must be a folder"),
    ],
)
def test_bad_values(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = run("bench", *arguments, cwd=tmp_path, code=2)
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_every_model_can_be_timed_at_the_width_of_glognn() -> None:
    assert set(MODELS) <= set(ALL_METHODS)
    builder = MethodBuilder.load("pairs", BenchConfig(), None)
    for method in OTHERS:
        settings = builder.settings(method)
        assert settings.model.name == method
        assert getattr(settings.model, "hidden_channels", builder.width) == builder.width
    assert builder.build("gprgnn").seconds(2) > 0
    assert builder.build("trees").seconds(2) > 0


def test_the_help_explains(tmp_path: Path) -> None:
    text = run("bench", "--help", cwd=tmp_path).stdout
    assert all(name in text for name in METHODS)
    assert "Rounds; in each, every method has its turn once." in text


def test_the_function_is_the_command(tmp_path: Path) -> None:
    import glognn

    out = tmp_path / "record.json"
    settings = {"repeats": 1, "epochs": 1, "splits": 1, "memory": False}
    record = glognn.bench("pairs", "glognn", out=out, **settings)
    assert [(row["dataset"], row["method"]) for row in record["rows"]] == [("pairs", "glognn")]
    assert out.is_file()
    with pytest.raises(glognn.InputError, match="There is no method 'glogn'"):
        glognn.bench("pairs", "glogn")
    with pytest.raises(glognn.InputError, match="the benchmark has no setting 'repeat'"):
        glognn.bench("pairs", repeat=1)
    with pytest.raises(glognn.InputError, match="must be a file"):
        glognn.bench("pairs", out=tmp_path)
