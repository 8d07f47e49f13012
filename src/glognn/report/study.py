"""What searches found, in words and tables; pictures of which settings mattered, and the score against each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.data.sources import find_source
from glognn.experiments.search import ZEROS
from glognn.experiments.tune import StudyResult
from glognn.report.document import columns, row, table
from glognn.report.figures import limits, new_figure, plain, save_figure, shortened
from glognn.report.markdown import table_markdown
from glognn.report.summary import shown as figures_of
from glognn.report.text import class_score, figures, in_unit, scale_of, score_text, unit
from glognn.storage import locked

if TYPE_CHECKING:
    import optuna
    from matplotlib.axes import Axes


def render_best(found: StudyResult) -> str:
    """Draw a study's pictures into its folder; its best settings, and where all of this lies."""
    training = found.config.training
    metric = class_score(training.metric, found.positive)
    with locked(found.folder):
        pictures = plot_study(found.study, found.folder, metric, scale_of(training.metric))
    shown = ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in found.settings.items()
    )
    drawn = ", ".join(str(path) for path in pictures if path.suffix == ".png")
    beside = ", ".join(
        f"{name} {figures_of(training.metric, score)}{unit(training.metric)}" for name, score in found.baselines.items()
    )
    return (
        f"best of {found.trials} trials: number {found.trial}{_mark(found)}, mean validation {metric} "
        f"{score_text(training.metric, found.validation)}\nbaselines: {beside}\n  {shown}\n"
        + (f"  {found.confirmation.describe()}\n" if found.confirmation else "")
        + f"Settings: {found.path}"
        + (f"\nPictures: {drawn}" if drawn else "")
    )


def _mark(found: StudyResult) -> str:
    return "" if found.origin == "drawn" else f" ({found.origin})"


def best_table(found: Sequence[StudyResult]) -> str:
    """The validation scores of several studies: a row for each model and baseline, a column for each dataset, or for
    each split that was searched by itself."""
    apart = len({(each.search.model, each.search.dataset) for each in found}) < len(found)
    scores: dict[str, dict[str, str]] = {}
    baselines: dict[str, dict[str, str]] = {}
    compared = []
    for each in found:
        column = f"split {each.search.splits}" if apart else find_source(each.search.dataset).label
        scores.setdefault(each.search.model, {})[column] = (
            f"{figures(each.config.training.metric, each.validation)}{_mark(each)}"
        )
        for name, score in each.baselines.items():
            baselines.setdefault(f"baseline: {name}", {}).setdefault(
                column, figures_of(each.config.training.metric, score)
            )
        if each.confirmation is not None:
            compared.append(f"{each.search.model}, {column}: {each.confirmation.describe()}")
    names = list(dict.fromkeys(name for line in scores.values() for name in line))
    rows = [row(model, *(line.get(name, "") for name in names)) for model, line in (scores | baselines).items()]
    text = table_markdown(
        table(columns(in_unit("validation", found[0].config.training.metric), *names, numbers=names), rows)
    )
    return "\n".join([text.rstrip("\n"), *compared])


def plot_study(study: optuna.Study, folder: Path, metric: str, scale: float = 100.0) -> list[Path]:
    """``importance`` and ``slices`` as PNG and SVG; nothing with fewer than four completed trials.

    Where all trials score alike, no setting mattered and ``importance`` is left out. Scores far below the others do not
    stretch the slices' axis: they lie on its edge as triangles.
    """
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(trials) < 4:
        return []
    written = _plot_importance(study, trials, folder) if len({trial.value for trial in trials}) > 1 else []
    return written + _plot_slices(trials, folder, metric, scale, study.user_attrs.get(ZEROS, {}))


def _plot_slices(
    trials: list[optuna.trial.FrozenTrial],
    folder: Path,
    metric: str,
    scale: float = 100.0,
    zeros: Mapping[str, float] | None = None,
) -> list[Path]:
    """The score against each setting, a panel for each, with the best trial marked; values of 0 lie where ``zeros``
    says, on scales of logarithms."""
    names = sorted({name for trial in trials for name in trial.params})
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure = new_figure(2.7 * columns, 2.3 * rows + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False)
    every = [scale * trial.value for trial in trials if trial.value is not None and math.isfinite(trial.value)]
    low, high = limits(every)
    best = max(trials, key=lambda trial: trial.value if trial.value is not None else -math.inf)
    for place, axes in enumerate(grid.flat):
        if place >= len(names):
            axes.set_visible(False)
            continue
        name = names[place]
        having = [trial for trial in trials if name in trial.params and trial.value is not None]
        places = _scale(axes, name, having, (zeros or {}).get(name))
        scores = [scale * (trial.value or 0.0) for trial in having]
        inside = [number for number, score in enumerate(scores) if low <= score <= high]
        below = [number for number, score in enumerate(scores) if not low <= score]
        look = {"markersize": 3.5, "alpha": 0.6, "color": "#0072B2", "markeredgewidth": 0, "linestyle": "none"}
        axes.plot([places[number] for number in inside], [scores[number] for number in inside], marker="o", **look)
        edge = low + 0.02 * (high - low)
        axes.plot([places[number] for number in below], [edge] * len(below), marker="v", **look | {"alpha": 0.35})
        if name in best.params:
            at = places[having.index(best)]
            axes.plot([at], [scores[having.index(best)]], "D", markersize=5.5, color="white", markeredgecolor="black",
                      zorder=5)  # fmt: skip
        axes.set_ylim(low, high)
        axes.set_xlabel(shortened(name, 30), fontsize=9, parse_math=False)
        axes.tick_params(labelsize=8, labelleft=place % columns == 0)
        plain(axes)
    figure.supylabel(f"validation {shortened(metric, 50)}{' (%)' if scale > 1 else ''}", fontsize=10, parse_math=False)
    far = sum(score < low for score in every)
    words = [f"{len(trials):,} trials; the diamond is the best"]
    words += [f"{far} below the axis: triangles, down to {min(every):.1f}{' %' if scale > 1 else ''}"] if far else []
    figure.suptitle("; ".join(words), fontsize=10)
    return save_figure(figure, folder / "slices")


def _scale(axes: Axes, name: str, having: list[optuna.trial.FrozenTrial], zero: float | None = None) -> list[float]:
    """Make an axis fit for the values of a setting, and say where on it they lie."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    values: list[Any] = [trial.params[name] for trial in having]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        words = sorted({str(value) for value in values})
        axes.set_xlim(-0.6, len(words) - 0.4)
        slanted = sum(map(len, words)) > 18
        axes.set_xticks(range(len(words)), [shortened(word, 24) for word in words], rotation=30 if slanted else 0,
                        ha="right" if slanted else "center", rotation_mode="anchor", parse_math=False)  # fmt: skip
        return [words.index(str(value)) for value in values]
    if any(getattr(trial.distributions[name], "log", False) for trial in having):
        axes.set_xscale("log")
        if max(values) < 30 * min(values):  # powers of ten alone would leave it without numbers
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        if zero is not None and zero in values:
            powers = [power for power in range(-20, 20) if 3 * zero < 10.0**power <= max(values)]
            powers = powers[:: -(-len(powers) // 4)] if powers else []
            axes.set_xticks([zero, *(10.0**power for power in powers)], ["0", *(f"$10^{{{each}}}$" for each in powers)])
        axes.xaxis.set_minor_formatter(NullFormatter())  # labels of a narrow range would overlap
    elif _fit_as_ticks(values):
        axes.set_xticks(sorted(set(values)))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=all(isinstance(value, int) for value in values)))
    return values


def _fit_as_ticks(values: list[Any]) -> bool:
    """Whether these are few whole numbers, far enough apart for each to be written below its place."""
    known = sorted(set(values))
    if len(known) < 2 or not all(isinstance(value, int) for value in known):
        return False
    return bool(min(after - before for before, after in pairwise(known)) >= 0.12 * (known[-1] - known[0]))


def _plot_importance(study: optuna.Study, trials: list[optuna.trial.FrozenTrial], folder: Path) -> list[Path]:
    import optuna

    names = sorted({name for trial in trials for name in trial.params})
    common = [name for name in names if all(name in trial.params for trial in trials)]
    varied = [name for name in common if len({str(trial.params[name]) for trial in trials}) > 1]
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=0)
    importance = optuna.importance.get_param_importances(study, evaluator=evaluator, params=varied)
    figure = new_figure(5.5, 0.32 * len(importance) + 1.1)
    axes = figure.subplots()
    order = list(importance)[::-1]
    axes.barh(range(len(order)), [100 * importance[name] for name in order], color="#0072B2")
    axes.set_yticks(range(len(order)), [shortened(name, 40) for name in order], parse_math=False)
    axes.set_xlabel("share of the score's variance (%)")
    axes.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, folder / "importance")
