"""Command-line options made from declared settings: one flag for each, with its default and allowed values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

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


def help_text(function: Callable[..., None]) -> str:
    """A command's docstring with each paragraph on one line, to be wrapped to the terminal's width."""
    paragraphs = inspect.cleandoc(function.__doc__ or "").split("\n\n")
    joined = [" ".join(paragraph.split()) if not paragraph.startswith(" ") else paragraph for paragraph in paragraphs]
    return "\n\n".join(joined)


def flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _parameter(info: SettingInfo, help: str, panel: str) -> inspect.Parameter:
    names = [flag(info.name)]
    if info.rule.kind is bool:
        names = [f"{names[0]}/--no-{names[0][2:]}"]
    option = typer.Option(*names, help=help, rich_help_panel=panel, show_default=False, metavar=_metavar(info))
    return inspect.Parameter(
        info.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[(bool if info.rule.kind is bool else str) | None, option],
    )


def _metavar(info: SettingInfo) -> str | None:
    if info.rule.kind is bool:
        return None
    return "|".join(info.rule.words) if info.rule.words else {int: "INT", float: "NUMBER"}.get(info.rule.kind)


def _help(info: SettingInfo, owners: Iterable[str] = ()) -> str:
    allowed = "" if info.rule.words or info.rule.kind is bool else f"{info.rule.describe().capitalize()}. "
    models = f" Models: {', '.join(owners)}." if owners else ""
    return f"{info.help} [dim]{_escape(allowed)}Default: {info.default}.{models}[/dim]"


def _escape(text: str) -> str:
    return text.replace("[", r"\[")


def setting_parameters() -> list[inspect.Parameter]:
    """One option for each setting of the graph, of training and of any model; left out means ``None``."""
    parameters = [_parameter(info, _help(info), "Graph") for info in GraphConfig.infos()]
    parameters += [_parameter(info, _help(info), "Training") for info in TrainingConfig.infos()]
    by_name: dict[str, list[tuple[str, SettingInfo]]] = {}
    for config in MODELS.values():
        for info in config.infos():
            by_name.setdefault(info.name, []).append((config.name, info))
    for owners in by_name.values():
        info = owners[0][1]
        names = [name for name, _ in owners]
        parameters.append(_parameter(info, _help(info, names if len(names) < len(MODELS) else ()), "Model"))
    return parameters


def with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command that takes ``**settings`` a flag for each setting; those left out are not passed on.

    Numbers arrive as typed and are checked by the settings themselves, so that every error has the same words.
    """
    own = [p for p in inspect.signature(function, eval_str=True).parameters.values() if p.kind is not p.VAR_KEYWORD]
    extra = setting_parameters()
    groups: list[type[Settings]] = [GraphConfig, TrainingConfig, *MODELS.values()]
    rules = {info.name: info.rule for group in groups for info in group.infos()}

    def command(**values: Any) -> None:
        given = {name: value for name, value in values.items() if name not in rules}
        for name, rule in rules.items():
            if values[name] is not None:
                given[name] = rule.parse(values[name]) if isinstance(values[name], str) else values[name]
        function(**given)

    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature([*_keyword_only(own), *extra])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *extra]}
    return command


def _keyword_only(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
