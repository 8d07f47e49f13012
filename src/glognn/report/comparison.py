"""Tables of several models on several datasets: marks, ranks and arrows, computed once for every form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from glognn.experiments import comparison as compared
from glognn.experiments.comparison import Comparison
from glognn.report.document import BEST, SECOND, Cell, Column, Table, numeral, row, table
from glognn.report.lines import records_csv

SIGNIFICANT = 0.05


def places(comparison: Comparison, dataset: str) -> dict[str, int]:
    """Which models are best (0) and runner-up (1) on a dataset, by the mean as printed."""
    means = {
        model: round(cell.mean, 2)
        for model in comparison.models
        if (cell := comparison.cells[dataset, model]).mean is not None and cell.status == "ok"
    }
    levels = sorted(set(means.values()), reverse=True)[:2]
    return {model: levels.index(mean) for model, mean in means.items() if mean in levels}


def arrow(comparison: Comparison, dataset: str, model: str) -> str:
    """↑ or ↓ where a model is significantly above or below the reference, else nothing."""
    cell = comparison.cells[dataset, model]
    if cell.p_value is None or cell.p_value >= SIGNIFICANT:
        return ""
    ours = comparison.cells[dataset, comparison.reference]
    return "↑" if (cell.mean or 0.0) > (ours.mean or 0.0) else "↓"


def explain_arrows(comparison: Comparison) -> str:
    """What the arrows of a table mean; nothing where it has none."""
    if not any(arrow(comparison, *key) for key in comparison.cells):
        return ""
    return (
        f"↑ ↓: significantly above or below {comparison.reference} "
        f"(Wilcoxon over the splits, Holm-corrected within a dataset, p < {SIGNIFICANT})."
    )


def _number(cell: compared.Cell) -> str:
    if cell.mean is None:
        return cell.status
    spread = "" if cell.std is None else f" ± {cell.std:.2f}"
    return f"{cell.mean:.2f}{spread}"


def comparison_table(comparison: Comparison) -> Table:
    """A row for each model, a column for each dataset: best and runner-up marked, arrows for what is significant, and
    beside each score the paper's mean and our difference to it."""
    order = {dataset: places(comparison, dataset) for dataset in comparison.datasets}
    heads = [
        Column("model", whole=True),
        *(Column(name, number=True) for name in comparison.datasets),
        Column("average rank", number=True, short="rank"),
    ]
    rows = [
        row(
            model,
            *(_cell(comparison, dataset, model, order[dataset].get(model)) for dataset in comparison.datasets),
            numeral(comparison.ranks.get(model), ".2f"),
        )
        for model in comparison.models
    ]
    return table(heads, rows, note=explain_arrows(comparison))


def _cell(comparison: Comparison, dataset: str, model: str, place: int | None) -> Cell:
    cell = comparison.cells[dataset, model]
    beside = [f"({cell.status})"] if cell.mean is not None and cell.status != "ok" else []
    if cell.mean is not None and cell.paper_mean is not None and cell.difference is not None:
        beside.append(f"({cell.paper_mean:.2f}, {cell.difference:+.2f})")
    return Cell(
        _number(cell),
        cell.mean,
        mark={0: BEST, 1: SECOND}.get(2 if place is None else place, ""),
        arrow=arrow(comparison, dataset, model),
        beside=" ".join(beside),
    )


def to_csv(comparisons: Sequence[Comparison]) -> str:
    """One line per cell, both ways to judge below one another; percent."""
    return records_csv([{"judged": each.judged} | asdict(cell) for each in comparisons for cell in each.cells.values()])
