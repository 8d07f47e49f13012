"""Tables and pictures from records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.image import imread
from rich.console import Console

from glognn.data.npz import write_npz
from glognn.experiments.appraisal import Appraiser
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph, run_splits
from glognn.report.card import run_card
from glognn.report.curves import plot_curves, read_curves
from glognn.report.summary import beware, summary_table
from tests.conftest import make_data


def test_table_and_picture(tmp_path: Path) -> None:
    write_npz(make_data(num_splits=2), tmp_path / "g.npz")
    configs = resolve(["glognn", "mlp"], None, {"epochs": 5}, str(tmp_path / "g.npz"), None)
    folders = [tmp_path / config.model.name for config in configs]
    loaded = load_graph(configs[0])
    appraiser = Appraiser(loaded.graph)
    reports = [run_splits(f, c, loaded, appraiser=appraiser) for f, c in zip(folders, configs, strict=True)]
    console = Console(record=True, width=120)
    console.print(summary_table(reports))
    lines = console.export_text().splitlines()
    assert "test accuracy, % (best validation)" in lines[0]
    mean = 100 * reports[0]["scores"]["selected"]["test"]["mean"]
    assert f"{mean:.2f} ±" in lines[1]
    assert [line.split()[0] for line in lines[1:3]] == ["glognn", "mlp"]
    for line, name in zip(lines[3:5], ("constant", "logistic regression"), strict=True):
        found = reports[0]["baselines"][name]["test"]
        assert line.split(f"baseline: {name}")[1].split()[:3] == [
            f"{100 * found['mean']:.2f}",
            "±",
            f"{100 * found['std']:.2f}",
        ]
    assert beware(reports).count("Validation has") == 1  # which both models say
    card = run_card(reports[0])
    assert "Trained on 2 splits, each with a model of its own: scores are means" in card
    assert "## Held-out test nodes, class by class (all splits together)" in card
    assert f"| accuracy, test nodes | {mean / 100:.4f} ± " in card
    assert [len(curve["epoch"]) for curve in read_curves(folders[0])] == [5, 5]
    pixels = imread(plot_curves(tmp_path, folders))
    assert pixels.shape[0] > 300
    assert len(np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0)) > 50  # more than an empty frame


def test_a_single_run(tmp_path: Path) -> None:
    write_npz(make_data(), tmp_path / "g.npz")
    [config] = resolve(["glognn"], None, {"epochs": 3}, str(tmp_path / "g.npz"), "1")
    report = run_splits(tmp_path / "run", config, load_graph(config))
    console = Console(record=True, width=120)
    console.print(summary_table([report]))
    shown = console.export_text()
    assert "±" not in shown
    assert "baseline" not in shown  # as in records of earlier versions
    assert beware([report]) == ""
    assert "## Beware" not in run_card(report)
    assert plot_curves(tmp_path / "run", [tmp_path / "run"]).is_file()
