"""A page for each model: its declared settings, the docstring of its module, the records of the equal search."""

from __future__ import annotations

import ast
import json
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from documents.docstrings import to_markdown
from glognn.models.configs import MODELS, ModelConfig

_HERE = Path(__file__).resolve().parent
_SETTINGS = _HERE.parent / "src/glognn/experiments"
_EQUAL = _HERE.parent / "results/table1-equal.json"


def place(name: str) -> str:
    """The page of a model in the site."""
    return f"models/{name.replace('+', 'plus')}.md"


def navigation() -> list[Any]:
    """The pages, for the menu of the site."""
    return ["models/index.md", *({config.title: place(name)} for name, config in MODELS.items())]


def pages() -> dict[str, str]:
    """The pages by their place in the site."""
    uses = tomllib.loads((_HERE / "when_to_use.toml").read_text(encoding="utf-8"))
    members = tomllib.loads((_SETTINGS / "portfolio.toml").read_text(encoding="utf-8"))["member"]
    ranks = _equal_table()["ranks"]
    overview = [
        "# Models",
        "",
        f"{len(MODELS)} models, each one file and one class of settings. `glognn models` lists them,",
        "`glognn train --model NAME` trains one, and without `--model` a portfolio of them is trained on your tables",
        "([The best answer in a time limit](../auto.md)). *Rank* is the average place among 17 models over the paper's",
        "nine small graphs after an equal search ([Results](../results.md)).",
        "",
        "| model | what it does | rank | from |",
        "|---|---|--:|---|",
    ]
    for name, config in MODELS.items():
        page = place(name).removeprefix("models/")
        rank = f"{ranks[name]:.1f}" if name in ranks else "–"
        overview.append(f"| [{name}]({page}) | {config.summary} | {rank} | {config.paper} |")
    made = {place(name): _page(config, uses[name], members) for name, config in MODELS.items()}
    return {"models/index.md": "\n".join([*overview, ""]), **made}


def _page(config: type[ModelConfig], use: str, members: list[dict[str, Any]]) -> str:
    module, _, class_name = config.implementation.partition(":")
    lines = [f"# {config.title}", "", f"{config.summary}. {config.paper[0].upper()}{config.paper[1:]}.", "", "```"]
    lines += [f"glognn train --model {config.name}", "```", "", "## When to use it", "", use, ""]
    named = [f"`{member['name']}`" for member in members if member["model"] == config.name]
    if named:
        lines += [f"In the automatic portfolio as {', '.join(named)}.", ""]
    lines += ["## Equations", "", _equations(module), ""]
    lines += ["## Settings", "", *_settings(config), ""]
    lines += _around(config)
    lines += _scores(config.name)
    lines += ["## Class", "", f"::: {module}.{class_name}", "    options:", "      heading_level: 3", ""]
    return "\n".join(lines)


def _equations(module: str) -> str:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
    assert docstring is not None
    return to_markdown(docstring)


def _settings(config: type[ModelConfig]) -> list[str]:
    lines = ["| setting | default | must be | what it does | a search tries |", "|---|---|---|---|---|"]
    for info in config.infos():
        default = f"`{info.default}`" if info.default != "" else ""
        tried = _searched(config.search[info.name]) if info.name in config.search else ""
        lines.append(f"| `{info.name}` | {default} | {info.rule.describe()} | {_cell(info.help)} | {tried} |")
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _searched(space: Any) -> str:
    if "choices" in space:
        return ", ".join(f"`{choice}`" for choice in space["choices"])
    how = " on a log scale" if space.get("log") else ""
    return f"{space['low']:g} to {space['high']:g}{how}{', or 0' if space.get('or_zero') else ''}"


def _around(config: type[ModelConfig]) -> list[str]:
    """What it wants of training and graph, and whose settings there are."""
    wanted = {**config.training_settings, **config.graph_settings}
    lines = []
    if wanted:
        values = ", ".join(f"`{name} = {value!r}`" for name, value in wanted.items())
        lines += [f"Unless stated otherwise it is trained with {values}.", ""]
    own = {info.name for info in config.infos()}
    others = {name: space for name, space in config.search.items() if name not in own}
    if others:
        tried = "; ".join(f"`{name}` {_searched(space)}" for name, space in others.items())
        lines += [f"A search also tries {tried}.", ""]
    for whose, flag, text in (
        ("published", "published", "The authors' settings"),
        ("tuned", "tuned", "Settings that our searches found"),
    ):
        file = _SETTINGS / "settings" / whose / f"{config.name}.toml"
        if file.is_file():
            datasets = tomllib.loads(file.read_text(encoding="utf-8"))
            names = [name for name, value in datasets.items() if isinstance(value, dict)]
            lines += [f"{text} (`--config {flag}:NAME`): {', '.join(names)}.", ""]
    if config.distributes:
        lines += ["It can be trained on [many machines](../scale.md).", ""]
    return lines


def _equal_table() -> dict[str, Any]:
    tables = json.loads(_EQUAL.read_text(encoding="utf-8"))
    found: dict[str, Any] = next(table for table in tables if table["judged"] == "best")
    return found


def _scores(name: str) -> list[str]:
    cells = [cell for cell in _equal_table()["cells"] if cell["model"] == name]
    if not cells:
        return []
    header = " | ".join(f"[{cell['dataset']}](../catalog.md#{cell['dataset']})" for cell in cells)
    scores = " | ".join(f"{cell['mean']:.1f} ± {cell['std']:.1f}" for cell in cells)
    return [
        "## Scores",
        "",
        "Test accuracy in % after 25 trials, the same budget for every model ([how](../results.md)).",
        "",
        f"| {header} |",
        f"|{'--:|' * len(cells)}",
        f"| {scores} |",
        "",
    ]
