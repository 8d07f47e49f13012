"""Small tables of results, made from reports alone."""

from __future__ import annotations

from typing import Any

from rich.markup import escape
from rich.table import Table

from glognn.report.text import score_name


def score_text(report: dict[str, Any], which: str = "selected") -> str:
    """``82.19 ± 1.17`` over splits, or the one score, in percent."""
    test = report["scores"][which]["test"]
    if report["kind"] == "run":
        return f"{100 * test:.2f}"
    return f"{100 * test['mean']:.2f} ± {100 * test['std']:.2f}"


def percent(score: dict[str, float | None]) -> str:
    """``82.19 ± 1.17``, or without a spread ``82.19``, from a mean and a standard deviation."""
    mean, std = (score[name] for name in ("mean", "std"))
    return f"{100 * (mean or 0.0):.2f}" + ("" if std is None else f" ± {100 * std:.2f}")


def summary_table(reports: list[dict[str, Any]]) -> Table:
    """One row per model: test score as mean ± standard deviation over splits, epochs and seconds."""
    first = reports[0]
    chosen = "best validation" if first["selection"] == "best" else "last epoch"
    table = Table(header_style="bold", pad_edge=False, box=None)
    table.add_column("model")
    table.add_column(f"test {escape(score_name(first))}, % ({chosen})", justify="right")
    table.add_column("splits", justify="right")
    table.add_column("epochs", justify="right")
    table.add_column("seconds", justify="right")
    for report in reports:
        single = report["kind"] == "run"
        epochs = report["scores"]["last"]["epoch"] if single else report["epochs"]
        table.add_row(
            report["config"]["model"]["name"],
            score_text(report),
            "1" if single else str(len(report["splits"])),
            f"{epochs:,}",
            f"{report['seconds']:.1f}",
        )
    return table
