"""Tables of models on datasets: numbers, ranks, significance and forms."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t, wilcoxon

from glognn.data.catalog import DATASETS
from glognn.experiments import paper
from glognn.experiments.comparison import Comparison, compare
from glognn.experiments.paper import paper_result
from glognn.report.comparison import comparison_table, places, to_csv
from glognn.report.latex import table_latex
from glognn.report.markdown import table_markdown

PAPER = json.loads(Path(paper.__file__).with_name("paper.json").read_text(encoding="utf-8"))


def to_markdown(comparison: Comparison) -> str:
    return table_markdown(comparison_table(comparison))


def to_latex(comparison: Comparison) -> str:
    return table_latex(comparison_table(comparison))


def reports(values: list[float], seeds: int = 1) -> dict[tuple[int, int], dict]:
    """Test scores by split (fractions); further seeds add nothing but runs."""
    return {
        (seed, split): {"scores": {"best": {"test": value}, "last": {"test": value - 0.1}}}
        for seed in range(seeds)
        for split, value in enumerate(values)
    }


def table(scores: dict, judged: str = "best", **options: object) -> Comparison:
    datasets = list(dict.fromkeys(dataset for dataset, _ in scores))
    models = list(dict.fromkeys(model for _, model in scores))
    wanted = {key: max(len(found), 1) for key, found in scores.items()} | options.pop("wanted", {})
    return compare(scores, datasets, models, judged=judged, wanted=wanted, **options)


@pytest.mark.parametrize("group", ["small", "large"])
def test_the_papers_ranks_follow_from_the_papers_numbers(group: str) -> None:
    datasets = [name for name, entry in DATASETS.items() if entry.group == group]
    scores, problems = {}, {}
    for dataset in datasets:
        for model in PAPER["results"]:
            found = paper_result(model, dataset)
            scores[dataset, model] = {} if found is None else reports([found[0] / 100])
            if found is None:
                problems[dataset, model] = "failed: out of memory"
    ranks = table(scores, problems=problems).ranks
    assert {model: round(rank, 2) for model, rank in ranks.items()} == pytest.approx(
        PAPER["average_rank"][group], abs=0.0051
    )


def test_mean_deviation_interval_and_difference() -> None:
    values = [0.80, 0.84, 0.82, 0.90]
    cell = table({("texas", "mlp"): reports(values)}).cells["texas", "mlp"]
    percent = 100 * np.array(values)
    assert cell.mean == pytest.approx(percent.mean())
    assert cell.std == pytest.approx(percent.std(ddof=1))
    half = t.ppf(0.975, 3) * percent.std(ddof=1) / 2
    assert (cell.low, cell.high) == pytest.approx((percent.mean() - half, percent.mean() + half))
    assert cell.difference == pytest.approx(percent.mean() - 80.81)
    assert table({("texas", "mlp"): reports(values)}, "last").cells["texas", "mlp"].mean == pytest.approx(74.0)
    seeded = table({("texas", "mlp"): reports(values, seeds=3)}).cells["texas", "mlp"]
    assert (seeded.runs, seeded.mean) == (12, pytest.approx(percent.mean()))
    assert (seeded.low, seeded.high) == pytest.approx((cell.low, cell.high))  # seeds are no independent splits


def test_significance_is_holm_corrected() -> None:
    generator = np.random.default_rng(0)
    ours = generator.normal(0.85, 0.02, 10)
    others = {"mlp": ours - 0.05 - 0.01 * generator.random(10), "gcn": ours + 0.001 * generator.normal(size=10)}
    scores = {("texas", "glognn++"): reports(list(ours))} | {("texas", m): reports(list(v)) for m, v in others.items()}
    cells = table(scores).cells
    raw = {model: wilcoxon(100 * ours - 100 * values).pvalue for model, values in others.items()}
    small, large = sorted(raw, key=raw.__getitem__)
    assert cells["texas", small].p_value == pytest.approx(min(1, 2 * raw[small]))
    assert cells["texas", large].p_value == pytest.approx(max(min(1, 2 * raw[small]), raw[large]))
    assert cells["texas", "glognn++"].p_value is None
    same = table({("texas", "glognn++"): reports(list(ours)), ("texas", "mlp"): reports(list(ours))})
    assert same.cells["texas", "mlp"].p_value == 1.0


def test_what_is_significant_has_an_arrow() -> None:
    ours = np.linspace(0.8, 0.89, 10)
    others = {"mlp": ours - 0.05, "linkx": ours + 0.05, "gcn": ours + 0.01 * (-1.0) ** np.arange(10)}
    scores = {("texas", "glognn++"): reports(list(ours))} | {("texas", m): reports(list(v)) for m, v in others.items()}
    text = to_markdown(table(scores))
    rows = {line.split(" | ")[0].strip("| "): line for line in text.splitlines() if line.startswith("|")}
    marks = {model: [mark for mark in "↑↓" if mark in row] for model, row in rows.items()}
    assert (marks["linkx"], marks["mlp"], marks["gcn"], marks["glognn++"]) == (["↑"], ["↓"], [], [])
    assert "↑ ↓: significantly above or below glognn++ (Wilcoxon over the splits, Holm-corrected" in text
    rows = {line.split(" & ")[0]: line for line in to_latex(table(scores)).splitlines() if " & " in line}
    marks = {model: [mark for mark in (r"$\uparrow$", r"$\downarrow$") if mark in row] for model, row in rows.items()}
    assert (marks["linkx"], marks["mlp"], marks["gcn"]) == ([r"$\uparrow$"], [r"$\downarrow$"], [])
    without = {key: found for key, found in scores.items() if key[1] != "glognn++"}
    assert not set("↑↓") & set(to_markdown(table(without)))


def test_cells_say_where_their_settings_are_from() -> None:
    scores = {("texas", "mlp"): reports([0.7]), ("texas", "glognn++"): reports([0.8])}
    found = table(scores, origins={("texas", "glognn++"): "published", ("texas", "mlp"): "searched"})
    assert [cell["settings"] for cell in found.record()["cells"]] == ["searched", "published"]


def test_cells_without_a_complete_number_say_why_and_are_not_ranked() -> None:
    scores = {
        ("texas", "glognn++"): reports([0.8, 0.9]),
        ("texas", "mlp"): reports([0.7]),
        ("cora", "glognn++"): reports([0.8, 0.9]),
        ("cora", "mlp"): {},
        ("pokec", "glognn++"): {},
        ("pokec", "mlp"): {},
    }
    problems = {("pokec", "glognn++"): "not to be had", ("pokec", "mlp"): "not to be had"}
    found = table(scores, wanted={("texas", "mlp"): 2}, problems=problems)
    assert found.cells["texas", "mlp"].status == "1 of 2 runs"
    assert found.cells["cora", "mlp"].status == "not run"
    assert found.ranks == {}
    text = to_markdown(found)
    assert "70.00 (1 of 2 runs) (80.81, -10.81)" in text
    assert text.count("not to be had") == 2
    failed = table(scores, problems={("cora", "mlp"): "failed: out of memory"})
    assert failed.ranked_datasets == ["texas", "cora"]
    assert failed.ranks == {"glognn++": 1.0, "mlp": 2.0}


def test_best_and_runner_up_as_printed() -> None:
    scores = {("cora", m): reports([v]) for m, v in (("a", 0.9), ("b", 0.90001), ("c", 0.8), ("d", 0.7))}
    found = table(scores)
    assert places(found, "cora") == {"a": 0, "b": 0, "c": 1}
    text = to_markdown(found)
    assert "**90.00**" in text
    assert "<u>80.00</u>" in text
    latex = to_latex(found)
    assert r"\textbf{90.00}" in latex
    assert r"\underline{80.00}" in latex
    assert latex.count(r"\\") == 5
    rows = list(csv.DictReader(io.StringIO(to_csv([found]))))
    assert [row["model"] for row in rows] == ["a", "b", "c", "d"]
    assert float(rows[2]["mean"]) == 80.0
