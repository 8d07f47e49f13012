"""The paper's tables and studies: what each compares, its runs, and what is measured on trained models. Imports no
torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.data.catalog import DATASETS
from glognn.errors import InputError
from glognn.experiments.config import find_settings
from glognn.experiments.graphs import Graphs
from glognn.experiments.layout import DONE
from glognn.experiments.plan import VARIANTS, Cells, Job, make_plan, parse_names, split_names
from glognn.models.configs import MODELS
from glognn.records import read_record
from glognn.settings import check_word
from glognn.storage import write_json

if TYPE_CHECKING:
    import torch

    from glognn.graph.graph import Graph
    from glognn.models.glognn import GloGNN

GLOGNN = ("glognn++", "glognn")
TABLES = {"table1": "small", "table2": "large"}
"""Tables of the paper, and the group of datasets in each."""
EXAMINATIONS = ("grouping", "global-homophily")
"""Studies that look at the coefficients of trained models."""
STUDIES = (*TABLES, "efficiency", "ablation", *EXAMINATIONS)
ALL = "all"
QUICK: dict[str, Any] = {
    "models": ["glognn++", "glognn", "linkx", "gcn", "mlp"],
    "datasets": {"table1": ["texas", "wisconsin", "cornell", "cora"], "table2": ["arxiv-year"]},
    "other_datasets": ["texas", "wisconsin", "cornell"],
    "splits": "0-2",
    "epochs": 200,
}
"""What a quick study does: small enough for a few minutes, with three splits so that means and ranks still say
something."""
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


def choose_studies(
    study: str, models: str | Iterable[str] | None, datasets: str | Iterable[str] | None, *, quick: bool
) -> list[tuple[str, list[str], list[str]]]:
    """A study with its models and datasets; of ``all``, each one that knows some of those named."""
    check_word("The study", study, (*STUDIES, ALL))
    chosen = []
    for each in STUDIES if study == ALL else [study]:
        usual_models, known_models = _models_of(each, quick)
        usual_datasets, known_datasets = _datasets_of(each, quick)
        wanted, where = (None if names is None else split_names(names) for names in (models, datasets))
        if study == ALL:
            wanted, where = _fitting(wanted, known_models), _fitting(where, known_datasets)
            if [] in (wanted, where):
                continue
        chosen.append(
            (
                each,
                usual_models if wanted is None else parse_names(wanted, known_models, "model"),
                usual_datasets if where is None else parse_names(where, known_datasets, f"dataset of {each}"),
            )
        )
    return chosen


def _fitting(names: list[str] | None, known: list[str]) -> list[str] | None:
    """Of the names given, those that a study knows; nothing given stays nothing."""
    return None if names is None else [name for name in names if name in known]


def _models_of(study: str, quick: bool) -> tuple[list[str], list[str]]:
    """What a study compares by default, and what it can compare."""
    if study not in (*TABLES, "efficiency"):
        return list(GLOGNN), list(GLOGNN)
    return QUICK["models"] if quick else list(MODELS), [*MODELS, *VARIANTS]


def _datasets_of(study: str, quick: bool) -> tuple[list[str], list[str]]:
    """What a study does by default, and what it can do."""
    group = TABLES.get(study, "small")
    possible = [name for name, entry in DATASETS.items() if entry.group == group]
    if study == "efficiency" and not quick:
        return possible, [name for name, entry in DATASETS.items() if entry.num_splits]
    if quick:
        return (QUICK["datasets"][study] if study in TABLES else QUICK["other_datasets"]), possible
    return (list(HETEROPHILOUS) if study in ("ablation", "global-homophily") else possible), possible


def ablation_plan(
    root: Path, datasets: list[str], models: list[str], **options: Any
) -> tuple[Cells, dict[tuple[str, str], str]]:
    """Runs by dataset and variant (``glognn-na``), and why a variant cannot be."""
    jobs: Cells = {}
    problems: dict[tuple[str, str], str] = {}
    given = options.pop("given", {})
    for dataset in datasets:
        for model in models:
            for suffix, change in ABLATIONS.items():
                key = (dataset, f"{model}{suffix}")
                try:
                    plan = make_plan(root, [dataset], [model], given=given | change, **options)
                    jobs[key] = [replace(job, label=key[1]) for job in plan]
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


def examine(job: Job, graphs: Graphs, what: str) -> dict[str, Any]:
    """Measure the trained model of a finished run, once: the result is kept in its folder as ``<what>.json``."""
    from glognn.explain.global_homophily import by_distance
    from glognn.explain.grouping import measure_grouping

    path = job.folder / f"{what}.json"
    if path.is_file():
        content: dict[str, Any] = read_record(path, {})
        return content
    model, graph = _trained(job, graphs)
    if what == "grouping":
        content = asdict(measure_grouping(model, graph))
    else:
        content = {"rows": [asdict(row) for row in by_distance(model, graph)]}
    write_json(path, content)
    return content


def matrices(job: Job, graphs: Graphs) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Z*, H and classes of a finished run's model, nodes ordered by class."""
    from glognn.explain.grouping import ordered_by_class

    return ordered_by_class(*_trained(job, graphs))


def _trained(job: Job, graphs: Graphs) -> tuple[GloGNN, Graph]:
    from glognn.experiments.folder import load_model
    from glognn.experiments.run import finished_report
    from glognn.models.glognn import GloGNN

    if not (job.folder / DONE).exists():
        raise InputError(f"'{job.folder}' holds no finished run.")
    loaded = graphs.of(job.config)
    finished_report(job, loaded)
    model = load_model(job.folder)
    assert isinstance(model, GloGNN)
    return model, loaded.graph
