"""The models of an automatic run and their ensemble, as a table, as CSV and as a picture."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.table import Table

from glognn.errors import InputError
from glognn.experiments.leaderboard import BASELINE, FINISHED, OF_ALL, Standing
from glognn.report.figures import COLOURS, new_figure
from glognn.report.text import visible
from glognn.storage import write_atomically

BEST, STAR = "best single", "*"
_PICTURES = (".png", ".svg")
_ROW_HEIGHT = 0.32  # inches


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
        table.add_column("", overflow="fold")
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
    """Validation scores, named ``score``, as bars with their spread, test scores as points, weights beside them."""
    if path.suffix not in _PICTURES:
        raise InputError(f"A picture must be a file {' or '.join(_PICTURES)}. Got '{path}' instead.")
    shown = [row for row in rows if row.val is not None]
    figure = new_figure(7.2, 1.3 + _ROW_HEIGHT * len(shown))
    axes = figure.subplots()
    values = [100 * (row.val or 0.0) for row in shown]
    spreads = [100 * (row.val_spread or 0.0) for row in shown]
    tests = [(100 * row.test, place) for place, row in enumerate(shown) if row.test is not None]
    axes.barh(
        range(len(shown)),
        values,
        0.66,
        xerr=spreads,
        error_kw={"elinewidth": 0.9, "capsize": 2},
        color=[COLOURS[0] if row.name == OF_ALL else COLOURS[1] if row.weight > 0 else "#D0D0D0" for row in shown],
        edgecolor="black",
        linewidth=0.5,
    )
    if tests:
        axes.plot(*zip(*tests, strict=True), "D", color="white", markeredgecolor="black", markersize=5, label="test")
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    low = min([value - spread for value, spread in zip(values, spreads, strict=True)] + [score for score, _ in tests])
    high = max([value + spread for value, spread in zip(values, spreads, strict=True)] + [score for score, _ in tests])
    room = max(high - low, 1.0)
    axes.set_xlim(max(0.0, low - 0.25 * room), min(100.0, high) + 0.06 * room)
    names = [f"{row.name}, {row.model}" if row.name not in (row.model, OF_ALL) else row.name for row in shown]
    axes.set_yticks(range(len(shown)), [visible(name) for name in names], parse_math=False)
    beside = [
        "" if row.state == BASELINE else f"{row.weight:.2f}{f', {BEST}' if row.best_single else ''}" for row in shown
    ]
    for place, words in [(-0.75, "weight"), *enumerate(beside)]:
        axes.annotate(
            words, (1.0, place), (6, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
            va="center", fontsize=9, annotation_clip=False,
        )  # fmt: skip
    axes.invert_yaxis()
    axes.set_xlabel(f"validation {score} (%), with its standard deviation", parse_math=False)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    write_atomically(path, partial(figure.savefig, format=path.suffix[1:], dpi=150))
    return path
