"""What searches found, in words and tables; pictures of which settings mattered, and the score against each of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.experiments.search import PUBLISHED
from glognn.experiments.tune import StudyResult
from glognn.report.figures import new_figure, save_figure
from glognn.report.summary import percent
from glognn.report.text import class_score
from glognn.storage import locked

if TYPE_CHECKING:
    import optuna


def render_best(found: StudyResult) -> str:
    """Draw a study's pictures into its folder; its best settings, and where all of this lies."""
    training = found.config.training
    metric = class_score(training.metric, training.positive_class or "the rarer class")
    with locked(found.folder):
        pictures = plot_study(found.study, found.folder, metric)
    shown = ", ".join(
        f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in found.settings.items()
    )
    drawn = ", ".join(str(path) for path in pictures if path.suffix == ".png")
    beside = ", ".join(f"{name} {percent(score)} %" for name, score in found.baselines.items())
    return (
        f"best of {found.trials} trials: number {found.trial}, mean validation {metric} {100 * found.validation:.2f} %"
        f"\nbaselines: {beside}\n  {shown}\nSettings: {found.path}" + (f"\nPictures: {drawn}" if drawn else "")
    )


def best_table(found: Sequence[StudyResult]) -> str:
    """The validation scores of several studies: a row for each model and baseline, a column for each dataset."""
    scores: dict[str, dict[str, str]] = {}
    baselines: dict[str, dict[str, str]] = {}
    for each in found:
        mark = " (published)" if each.origin == PUBLISHED else ""
        scores.setdefault(each.search.model, {})[each.search.dataset] = f"{100 * each.validation:.2f}{mark}"
        for name, score in each.baselines.items():
            baselines.setdefault(f"baseline: {name}", {}).setdefault(each.search.dataset, percent(score))
    columns = list(dict.fromkeys(each.search.dataset for each in found))
    lines = [f"| validation, % | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    lines += [
        f"| {model} | {' | '.join(row.get(name, '') for name in columns)} |"
        for model, row in (scores | baselines).items()
    ]
    return "\n".join(lines)


def plot_study(study: optuna.Study, folder: Path, metric: str) -> list[Path]:
    """``importance`` and ``slices`` as PNG and SVG; nothing with fewer than four completed trials.

    Where all trials score alike, no setting mattered and ``importance`` is left out.
    """
    from matplotlib.ticker import MaxNLocator, NullFormatter
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(trials) < 4:
        return []
    written = _plot_importance(study, trials, folder) if len({trial.value for trial in trials}) > 1 else []
    names = sorted({name for trial in trials for name in trial.params})
    columns = 4
    rows = -(-len(names) // columns)
    figure = new_figure(2.6 * columns, 2.2 * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for place, axes in enumerate(grid.flat):
        if place >= len(names):
            axes.set_visible(False)
            continue
        name = names[place]
        having = [trial for trial in trials if name in trial.params]
        values: list[Any] = [trial.params[name] for trial in having]
        numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
        shown = values if numbers else [str(value) for value in values]
        scores = [100 * (trial.value or 0.0) for trial in having]
        axes.plot(shown, scores, "o", markersize=3.5, alpha=0.6, color="#0072B2", markeredgewidth=0)
        if any(getattr(trial.distributions[name], "log", False) for trial in having):
            axes.set_xscale("log")
            axes.xaxis.set_minor_formatter(NullFormatter())  # labels of a narrow range would overlap
        elif numbers and all(isinstance(value, int) for value in values):
            axes.xaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
        axes.set_xlabel(name)
        axes.grid(alpha=0.3)
        if place % columns == 0:
            axes.set_ylabel(f"validation {metric} (%)")
    return written + save_figure(figure, folder / "slices")


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
    axes.barh(order, [100 * importance[name] for name in order], color="#0072B2")
    axes.set_xlabel("share of the score's variance (%)")
    axes.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, folder / "importance")
