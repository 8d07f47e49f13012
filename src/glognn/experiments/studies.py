"""The paper's studies as plans and measurements: ablation, grouping effect, global homophily. Imports no torch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.errors import InputError
from glognn.experiments.config import find_settings
from glognn.experiments.layout import DONE
from glognn.experiments.plan import Job, make_plan
from glognn.storage import write_json

if TYPE_CHECKING:
    import torch

HETEROPHILOUS = ("texas", "wisconsin", "cornell", "actor", "squirrel", "chameleon")
DRAWN = ("texas", "wisconsin", "cornell")
"""Graphs whose Z* the paper draws."""

ABLATIONS: dict[str, dict[str, float]] = {
    "": {},
    "-na": {"alpha": 0.0},
    "-nf": {"alpha": 1.0},
    "-nl": {"beta2": 0.0},
}
"""Variants of GloGNN and GloGNN++: without the adjacency in H0, without the features, without local regularisation."""


def ablation_plan(
    root: Path, datasets: list[str], models: list[str], **options: Any
) -> tuple[dict[tuple[str, str], list[Job]], dict[tuple[str, str], str]]:
    """Runs by dataset and variant (``glognn-na``), and why a variant cannot be."""
    jobs: dict[tuple[str, str], list[Job]] = {}
    problems: dict[tuple[str, str], str] = {}
    given = options.pop("given", {})
    for dataset in datasets:
        for model in models:
            for suffix, change in ABLATIONS.items():
                key = (dataset, f"{model}{suffix}")
                try:
                    jobs[key] = make_plan(root, [dataset], [model], given=given | change, **options)
                except InputError as error:
                    # Without beta2 the system of an entry with beta1 = 0 has no regularisation left.
                    if "must have a sum" not in str(error):
                        raise
                    jobs[key], problems[key] = [], "undefined: beta1 = 0"
    return jobs, problems


def same_as_full(dataset: str, model: str) -> list[str]:
    """Which ablations change nothing, because the authors' settings have them already."""
    found = find_settings("published", model, dataset)
    if not found:
        return []
    settings = found[0]["model"]
    changed = [(suffix, change) for suffix, change in ABLATIONS.items() if change]
    return [suffix for suffix, change in changed if all(settings.get(name) == value for name, value in change.items())]


def examine(job: Job, mirror: Path | None, what: str) -> dict[str, Any]:
    """Measure the trained model of a finished run, once: the result is kept in its folder as ``<what>.json``."""
    import json

    from glognn.experiments.folder import load_model
    from glognn.experiments.run import load_graph
    from glognn.explain.global_homophily import by_distance
    from glognn.explain.grouping import measure_grouping
    from glognn.models.glognn import GloGNN

    path = job.folder / f"{what}.json"
    if path.is_file():
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content
    if not (job.folder / DONE).exists():
        raise InputError(f"'{job.folder}' holds no finished run.")
    model = load_model(job.folder)
    assert isinstance(model, GloGNN)
    graph = load_graph(job.config, mirror).graph
    if what == "grouping":
        content = asdict(measure_grouping(model, graph))
    else:
        content = {"rows": [asdict(row) for row in by_distance(model, graph)]}
    write_json(path, content)
    return content


def matrices(job: Job, mirror: Path | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Z*, H and classes of a finished run's model, nodes ordered by class."""
    from glognn.experiments.folder import load_model
    from glognn.experiments.run import load_graph
    from glognn.explain.grouping import ordered_by_class
    from glognn.models.glognn import GloGNN

    model = load_model(job.folder)
    assert isinstance(model, GloGNN)
    return ordered_by_class(model, load_graph(job.config, mirror).graph)
