"""Command-line options made from declared settings: one flag for each, with its default and allowed values.

``--help`` shows the flags most runs need, in panels (:data:`PANELS`), settings in a sentence each; ``--help-all`` shows
every one, in full.
"""

from __future__ import annotations

import copy
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from glognn.data.catalog import DATASETS
from glognn.data.sources import EMBEDDED
from glognn.graph.config import GraphConfig
from glognn.models.configs import MODELS
from glognn.settings import SettingInfo, Settings
from glognn.training.config import TrainingConfig

MIRROR = Annotated[
    Path | None,
    typer.Option(
        "--data-mirror",
        help="Folder with the published files, for machines without internet. [dim]Default: GLOGNN_MIRROR.[/dim]",
    ),
]

WORKERS = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        max=256,
        help="Processes, each with one CPU thread. [dim]Default: one for each core, with --device cuda 1.[/dim]",
    ),
]

PANELS = {
    "Your own tables": ("nodes", "edges", "id", "label", "directed"),
    "Or another graph": ("dataset", "datasets"),
    "What to train": ("model", "models", "tune", "time_limit", "quality", "trials", "workers"),
    "What counts": ("metric", "positive_class", "class_weight", "calibrate", "threshold"),
    "Training, validation and test nodes": ("split_column", "random_splits", "fractions", "splits", "refit"),
    "Where and how": ("out", "resume", "config", "device", "seed"),
}
"""What ``--help`` shows of a command with settings, by panel and in this order."""
SELDOM = (
    "separator", "decimal", "source", "target", "edge_weight", "unknown_edges", "split_seed", "drop_columns",
    "category_columns", "rare_share", "folds", "portfolio", "data_mirror", "quiet", "space", "sampler", "prune",
    "together", "storage", "best", "distributed", "partition", "parts", "timeout",
)  # fmt: skip
"""Flags of a command's own that only ``--help-all`` shows; one that is not named here or above is always shown."""
_MORE = "More"
_WIDEST_METAVAR, _WIDEST_BRIEF = 32, 20
_OF_MODELS = "Settings of models ('glognn models NAME' shows those of one)"
_COMPLETING = "_GLOGNN_COMPLETE" in os.environ
"""Whether the shell asks what could come next: it offers hidden flags, too."""
_METAVARS = {str: "TEXT", Path: "PATH", int: "INT", float: "NUMBER"}


def help_text(function: Callable[..., None]) -> str:
    """A command's docstring with each paragraph on one line, to be wrapped to the terminal; examples close up."""
    text = ""
    for paragraph in inspect.cleandoc(function.__doc__ or "").split("\n\n"):
        indented = paragraph.startswith(" ")
        text += ("\n" if indented else "\n\n") + (paragraph if indented else " ".join(paragraph.split()))
    return text.strip()


def among(*sources: Iterable[str]) -> Callable[[str], list[str]]:
    """What the shell may complete a word to, or the last of several with commas between them."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for words in sources for word in words if word.startswith(last)]

    return complete


MODEL_NAMES = among(MODELS)
DATASET_NAMES = among(EMBEDDED, DATASETS)
_COMPLETED = {"model": MODEL_NAMES, "models": MODEL_NAMES, "dataset": DATASET_NAMES, "datasets": DATASET_NAMES}


def flag(name: str) -> str:
    """The option of a setting: ``--hidden-channels``."""
    return f"--{name.replace('_', '-')}"


def _parameter(info: SettingInfo, panel: str, owners: Iterable[str] = (), *, brief: bool = False) -> inspect.Parameter:
    names = [flag(info.name)]
    if info.rule.kind is bool:
        names = [f"{names[0]}/--no-{names[0][2:]}"]
    option = typer.Option(
        *names,
        help=_help(info, owners, brief),
        rich_help_panel=panel,
        show_default=False,
        metavar=_metavar(info, brief),
        autocompletion=among(info.rule.words) if info.rule.words else None,
    )
    return inspect.Parameter(
        info.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[(bool if info.rule.kind is bool else str) | None, option],
    )


def _metavar(info: SettingInfo, brief: bool) -> str | None:
    if info.rule.kind is bool:
        return None
    if info.rule.words:
        joined = "|".join(info.rule.words)
        return joined if len(joined) <= (_WIDEST_BRIEF if brief else _WIDEST_METAVAR) else "WORD"
    return {int: "INT", float: "NUMBER"}.get(info.rule.kind)


def _help(info: SettingInfo, owners: Iterable[str], brief: bool) -> str:
    free = info.rule.kind is str and not info.rule.words
    said = free or info.rule.kind is bool or _metavar(info, brief) == "|".join(info.rule.words)
    said = said or (brief and not info.rule.words)
    described = info.rule.describe()
    allowed = "" if said else f"{described[0].upper()}{described[1:]}. "
    models = f" Models: {', '.join(owners)}." if owners else ""
    default = "" if info.default == "" else f"Default: {info.default}."
    text = re.split(r"\. |; |: '", info.help.removesuffix("."))[0] + "." if brief else info.help
    return f"{text} [dim]{_escape(allowed)}{default}{models}[/dim]"


def _escape(text: str) -> str:
    return text.replace("[", r"\[")


def setting_parameters(*, brief: bool = False) -> list[inspect.Parameter]:
    """One option for each setting of the graph, of training and of any model; left out means ``None``."""
    parameters = [_parameter(info, "Graph", brief=brief) for info in GraphConfig.infos()]
    parameters += [_parameter(info, "Training", brief=brief) for info in TrainingConfig.infos()]
    by_name: dict[str, list[tuple[str, SettingInfo]]] = {}
    for config in MODELS.values():
        for info in config.infos():
            by_name.setdefault(info.name, []).append((config.name, info))
    for owners in by_name.values():
        info = owners[0][1]
        names = [name for name, _ in owners]
        parameters.append(_parameter(info, _OF_MODELS, names if len(names) < len(MODELS) else (), brief=brief))
    return parameters


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        full = {each.name: typing.get_args(each.annotation)[1] for each in setting_parameters()}
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
            if (option := full.get(parameter.name or "")) is not None:
                parameter.help = option.help  # type: ignore[attr-defined]
                parameter.metavar = option.metavar or parameter.metavar
        typer.echo(context.get_help())
        raise typer.Exit


HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option("--help-all", help="Show every flag, in full.", callback=_show_all, is_eager=True),
    ],
)


def _arranged(own: list[inspect.Parameter], settings: list[inspect.Parameter]) -> list[inspect.Parameter]:
    """In the order of the panels, then what the command has besides, then what is hidden."""
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    order = list(panels)
    shown: list[inspect.Parameter] = []
    besides: list[inspect.Parameter] = []
    hidden: list[inspect.Parameter] = []
    for parameter in [*own, *settings]:
        kind, option = typing.get_args(parameter.annotation)
        option = copy.copy(option)
        rare = parameter.name in SELDOM if parameter in own else parameter.name not in panels
        option.hidden = not _COMPLETING and (option.hidden or rare)
        option.autocompletion = option.autocompletion or _COMPLETED.get(parameter.name)
        option.rich_help_panel = panels.get(parameter.name) or option.rich_help_panel or _MORE
        option.metavar = option.metavar or _METAVARS.get(_plainly(kind))
        place = shown if parameter.name in panels else hidden if option.hidden else besides
        place.append(parameter.replace(annotation=Annotated[kind, option]))
    return [*sorted(shown, key=lambda each: order.index(each.name)), *besides, *hidden]


def _plainly(kind: Any) -> Any:
    """What a flag takes one of: of ``list[str] | None`` that is ``str``."""
    inner = [each for each in typing.get_args(kind) if each is not type(None)]
    return _plainly(inner[0]) if inner else kind


def with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes ``**settings`` a flag for each setting; those left out are not passed on.

    Numbers arrive as typed and are checked by the settings themselves, so that every error has the same words.
    """
    own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
    arranged = [*_arranged(_keyword_only(own), setting_parameters(brief=True)), HELP_ALL]
    groups: list[type[Settings]] = [GraphConfig, TrainingConfig, *MODELS.values()]
    rules = {info.name: info.rule for group in groups for info in group.infos()}

    def command(*, help_all: bool, **values: Any) -> None:
        given = {name: value for name, value in values.items() if name not in rules}
        for name, rule in rules.items():
            if values[name] is not None:
                given[name] = rule.parse(values[name]) if isinstance(values[name], str) else values[name]
        function(**given)

    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(arranged)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in arranged}
    return command


def _keyword_only(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
