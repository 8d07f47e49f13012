"""The models of an automatic run and their ensemble, as a table, as CSV and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from glognn.errors import InputError
from glognn.experiments.leaderboard import BASELINE, FINISHED, OF_ALL, Standing
from glognn.report.document import SOFT, STRONG, Column, Row, Table, numeral, row, scored, table
from glognn.report.lines import records_csv
from glognn.report.models import Baseline, Scores, plot_models
from glognn.report.models import Row as Drawn
from glognn.report.text import in_unit

BEST, STAR = "best single", "*"
_PICTURES = (".png", ".svg")


def leaderboard_table(rows: Sequence[Standing], metric: str = "accuracy") -> Table:
    """A row for each that has a score, the best single member with a star; below it, why the others have none."""
    tested = any(each.test is not None for each in rows)
    numbers = (
        in_unit("validation", metric),
        *[in_unit("test", metric)] * tested,
        "weight",
        "fit, s",
        "predict, s",
        "MiB",
    )
    heads = [Column(name, whole=True) for name in ("member", "model")]
    heads += [Column(name, number=True, whole=True) for name in numbers]
    return table(heads, [_row(each, metric, tested) for each in rows if each.val is not None], note=_reasons(rows))


def _row(each: Standing, metric: str, tested: bool) -> Row:
    return row(
        f"{each.name} {STAR}" if each.best_single else each.name,
        each.model,
        scored(metric, each.val, each.val_spread),
        *[scored(metric, each.test, each.test_spread)] * tested,
        numeral(each.weight if each.state == FINISHED else None, ".2f"),
        numeral(each.seconds_to_fit, ".1f"),
        numeral(each.seconds_to_predict, ".2f"),
        numeral(each.memory_mib, ",.0f"),
        style=STRONG if each.name == OF_ALL else SOFT if each.state == BASELINE else "",
    )


def _reasons(rows: Sequence[Standing]) -> str:
    """Each reason once, with the members that it is of."""
    names: dict[str, list[str]] = {}
    for each in rows:
        if each.state not in (FINISHED, BASELINE):
            told = f"{each.state}: {each.reason.removesuffix('.')}" if each.reason else each.state
            names.setdefault(told, []).append(each.name)
    return " ".join(f"{', '.join(of)}: {told}." for told, of in names.items())


def as_csv(rows: Sequence[Standing]) -> str:
    """A heading and a line for each, every value as it is; empty where there is none."""
    return records_csv([each.as_dict() for each in rows])


def plot_leaderboard(rows: Sequence[Standing], score: str, path: Path, metric: str = "accuracy") -> Path:
    """Validation and test scores with their spread, weights beside them, baselines as lines.

    Args:
        rows: Of the ensemble, of members and of baselines.
        score: What it is called.
        path: The picture.
        metric: Whether it is a share follows from it.
    """
    if path.suffix not in _PICTURES:
        raise InputError(f"A picture must be a file {' or '.join(_PICTURES)}. Got '{path}' instead.")
    known = [(row, _scores(row)) for row in rows if row.val is not None]
    models = [
        Drawn(
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
    return plot_models(models, score, path, baselines, heading="weight", metric=metric)


def _scores(row: Standing) -> dict[str, Scores]:
    found = {"val": (row.val, row.val_spread), "test": (row.test, row.test_spread)}
    return {name: Scores(mean, spread) for name, (mean, spread) in found.items() if mean is not None}
