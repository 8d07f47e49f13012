"""Tables of several models on several datasets: for a terminal, and as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from glognn.experiments.comparison import Cell, Comparison

if TYPE_CHECKING:
    from rich.table import Table

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


def _number(cell: Cell) -> str:
    if cell.mean is None:
        return cell.status
    spread = "" if cell.std is None else f" ± {cell.std:.2f}"
    return f"{cell.mean:.2f}{spread}"


def to_terminal(comparison: Comparison) -> Table:
    """The numbers alone, best in bold and runner-up underlined, for a terminal; arrows first, so that digits align."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("model", no_wrap=True)
    for heading in (*comparison.datasets, "rank"):
        table.add_column(heading, justify="right")
    order = {dataset: places(comparison, dataset) for dataset in comparison.datasets}
    for model in comparison.models:
        row = []
        for dataset in comparison.datasets:
            style = {0: "bold", 1: "underline"}.get(order[dataset].get(model, 2), "")
            text = _number(comparison.cells[dataset, model])
            row.append(Text.assemble(arrow(comparison, dataset, model), (text, style)))
        rank = comparison.ranks.get(model)
        table.add_row(model, *row, "" if rank is None else f"{rank:.2f}")
    return table


def to_markdown(comparison: Comparison) -> str:
    """Best in bold, runner-up underlined; in brackets the paper's mean and our difference to it; arrows for what is
    significant.
    """
    lines = [
        "| model | " + " | ".join(comparison.datasets) + " | average rank |",
        "|---" * (len(comparison.datasets) + 2) + "|",
    ]
    order = {dataset: places(comparison, dataset) for dataset in comparison.datasets}
    for model in comparison.models:
        row = []
        for dataset in comparison.datasets:
            cell = comparison.cells[dataset, model]
            text = _number(cell)
            place = order[dataset].get(model)
            text = f"**{text}**" if place == 0 else f"<u>{text}</u>" if place == 1 else text
            text += f" {mark}" if (mark := arrow(comparison, dataset, model)) else ""
            if cell.mean is not None and cell.status != "ok":
                text += f" ({cell.status})"
            if cell.mean is not None and cell.paper_mean is not None and cell.difference is not None:
                text += f" ({cell.paper_mean:.2f}, {cell.difference:+.2f})"
            row.append(text)
        rank = comparison.ranks.get(model)
        lines.append(f"| {model} | " + " | ".join(row) + f" | {'' if rank is None else f'{rank:.2f}'} |")
    text = "\n".join(lines) + "\n"
    return f"{text}\n{meaning}\n" if (meaning := explain_arrows(comparison)) else text


def to_latex(comparison: Comparison) -> str:
    """A tabular for the booktabs package; what its arrows mean is a comment below it."""
    symbols = {"_": r"\_", "%": r"\%", "±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "<": "$<$"}

    def escaped(text: str) -> str:
        return "".join(symbols.get(character, character) for character in text)

    order = {dataset: places(comparison, dataset) for dataset in comparison.datasets}
    lines = [
        r"\begin{tabular}{l" + "c" * (len(comparison.datasets) + 1) + "}",
        r"\toprule",
        "model & " + " & ".join(escaped(name) for name in comparison.datasets) + r" & average rank \\",
        r"\midrule",
    ]
    for model in comparison.models:
        row = []
        for dataset in comparison.datasets:
            text = escaped(_number(comparison.cells[dataset, model]))
            place = order[dataset].get(model)
            text = rf"\textbf{{{text}}}" if place == 0 else rf"\underline{{{text}}}" if place == 1 else text
            row.append(text + escaped(arrow(comparison, dataset, model)))
        rank = comparison.ranks.get(model)
        lines.append(f"{escaped(model)} & " + " & ".join(row) + f" & {'' if rank is None else f'{rank:.2f}'}" + r" \\")
    meaning = [f"% {escaped(text)}"] if (text := explain_arrows(comparison)) else []
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *meaning, ""])


def to_csv(comparisons: Sequence[Comparison]) -> str:
    """One line per cell, both ways to judge below one another; percent."""
    text = io.StringIO()
    rows = [{"judged": each.judged} | asdict(cell) for each in comparisons for cell in each.cells.values()]
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
