"""The API reference: every public name, on the page of the room that it comes from."""

from __future__ import annotations

from glognn import _HOMES
from glognn.models.configs import MODELS

_MODELS = {config.implementation.partition(":")[2] for config in MODELS.values()}
HOMES = {name: home for name, home in _HOMES.items() if name not in _MODELS}
"""Where public names are defined, but for the models, which have pages of their own."""
_PAGES = {
    "commands": ("The commands as functions", ("experiments", "bench"), "With the same words as on the command line."),
    "estimator": (
        "The classifier",
        ("estimator",),
        "With scikit-learn's conventions; see the [guide](../estimator.md).",
    ),
    "training": (
        "Training and predicting",
        ("training",),
        "For modules of your own loop; see also [models](../models/index.md).",
    ),
    "data": ("Graphs and data", ("data", "graph"), "See also [Datasets](../datasets.md)."),
    "explain": ("Explanations", ("explain",), "See the [guide](../explain.md)."),
    "layer": ("The layer", ("nn",), "The closed form by itself; see [The method](../method.md)."),
    "errors": ("Errors", ("errors",), "Whatever is wrong with what a user gives is one of these, in one line."),
}


def navigation() -> list[dict[str, str]]:
    """The pages, for the menu of the site."""
    return [
        {"Overview": "reference/index.md"},
        *({title: f"reference/{page}.md"} for page, (title, *_) in _PAGES.items()),
    ]


def names_by_page() -> dict[str, list[str]]:
    """Every public name but the models, by the page that documents it."""
    rooms = {room: page for page, (_, rooms, _) in _PAGES.items() for room in rooms}
    found: dict[str, list[str]] = {page: [] for page in _PAGES}
    for name, home in HOMES.items():
        found[rooms[home.split(".")[1]]].append(name)
    return found


def pages() -> dict[str, str]:
    """The pages by their place in the site."""
    found = names_by_page()
    made = {}
    for page, (title, _, about) in _PAGES.items():
        lines = [f"# {title}", "", about, ""]
        for name in found[page]:
            lines += [f"::: {HOMES[name]}.{name}", "    options:", f"      heading: {name}", ""]
        made[f"reference/{page}.md"] = "\n".join(lines)
    overview = [
        "# API reference",
        "",
        "What `import glognn` offers, and promises to keep ([what stays as it is](../compatibility.md)).",
        "",
    ]
    overview += ["| name | page |", "|---|---|"]
    for page, names in found.items():
        overview += [f"| [`glognn.{name}`][{HOMES[name]}.{name}] | {_PAGES[page][0]} |" for name in names]
    overview += [f"| [`glognn.{name}`][{home}.{name}] | Models |" for name, home in _HOMES.items() if name in _MODELS]
    return {"reference/index.md": "\n".join([*overview, ""]), **made}
