"""The models of an automatic run and their ensemble, as a table, as CSV and as a picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from glognn.errors import InputError
from glognn.experiments.leaderboard import BASELINE, FINISHED, OF_ALL, Standing
from glognn.report.models import Baseline, Row, Scores, plot_models

BEST, STAR = "best single", "*"
_PICTURES = (".png", ".svg")


def leaderboard_table(rows: Sequence[Standing]) -> Table:
    """A row for each, scores in percent, the best single member with a star; who has no scores says why."""
    tested = any(row.test is not None for row in rows)
    unfinished = any(row.state not in (FINISHED, BASELINE) for row in rows)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("member", "model"):
        table.add_column(heading, no_wrap=True)
    for heading in ("validation, %", *["test, %"] * tested, "weight", "fit, s", "predict, s", "MiB"):
        table.add_column(heading, justify="right", no_wrap=True)
    if unfinished:
        table.add_column("", overflow="fold", min_width=18)
    for row in rows:
        table.add_row(
            f"{row.name} {STAR}" if row.best_single else row.name,
            row.model,
            _percent(row.val, row.val_spread),
            *[_percent(row.test, row.test_spread)] * tested,
            f"{row.weight:.2f}" if row.state == FINISHED else "",
            _number(row.seconds_to_fit, ".1f"),
            _number(row.seconds_to_predict, ".2f"),
            _number(row.memory_mib, ",.0f"),
            *[_state(row)] * unfinished,
            style="bold" if row.name == OF_ALL else "dim" if row.state == BASELINE else None,
        )
    return table


def _state(row: Standing) -> str:
    return "" if row.state in (FINISHED, BASELINE) else f"{row.state}: {row.reason}" if row.reason else row.state


def _percent(score: float | None, spread: float | None) -> str:
    if score is None:
        return ""
    return f"{100 * score:.2f}" if spread is None else f"{100 * score:.2f} ± {100 * spread:.2f}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def as_csv(rows: Sequence[Standing]) -> str:
    """A heading and a line for each, every value as it is; empty where there is none."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0].as_dict()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.as_dict() for row in rows)
    return text.getvalue()


def plot_leaderboard(rows: Sequence[Standing], score: str, path: Path) -> Path:
    """Validation and test scores with their spread, weights beside them, baselines as lines.

    Args:
        rows: Of the ensemble, of members and of baselines.
        score: What it is called.
        path: The picture.
    """
    if path.suffix not in _PICTURES:
        raise InputError(f"A picture must be a file {' or '.join(_PICTURES)}. Got '{path}' instead.")
    known = [(row, _scores(row)) for row in rows if row.val is not None]
    models = [
        Row(
            f"{row.name}, {row.model}" if row.name not in (row.model, OF_ALL) else row.name,
            scores,
            beside=f"{row.weight:.2f}{f', {BEST}' if row.best_single else ''}",
            strong=row.name == OF_ALL,
        )
        for row, scores in known
        if row.state == FINISHED
    ]
    baselines = [
        Baseline(row.name, {name: found.mean for name, found in scores.items()})
        for row, scores in known
        if row.state == BASELINE
    ]
    return plot_models(models, score, path, baselines, heading="weight")


def _scores(row: Standing) -> dict[str, Scores]:
    found = {"val": (row.val, row.val_spread), "test": (row.test, row.test_spread)}
    return {name: Scores(mean, spread) for name, (mean, spread) in found.items() if mean is not None}
