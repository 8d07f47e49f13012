"""``glognn reproduce``: the paper's tables and studies, run, resumed and rendered."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from glognn.cli.options import MIRROR, WORKERS, worker_count
from glognn.cli.studies import ablation, efficiency, examination, table
from glognn.cli.workshop import Workshop
from glognn.data.catalog import DATASETS
from glognn.data.fetch import mirror_dir
from glognn.errors import GloGNNError, InputError
from glognn.experiments.plan import SETTINGS, VARIANTS, parse_names, parse_seeds
from glognn.experiments.studies import HETEROPHILOUS
from glognn.models.configs import MODELS

GLOGNN = ("glognn++", "glognn")
TABLES = {"table1": "small", "table2": "large"}
STUDIES = (*TABLES, "efficiency", "ablation", "grouping", "global-homophily", "all")
QUICK: dict[str, Any] = {
    "models": ["glognn++", "glognn", "linkx", "gcn", "mlp"],
    "datasets": {"table1": ["texas", "wisconsin", "cornell", "cora"], "table2": ["arxiv-year"]},
    "other_datasets": ["texas", "wisconsin", "cornell"],
    "splits": "0-2",
    "epochs": 200,
}
"""What --quick does: small enough for a few minutes, with three splits so that means and ranks still say something."""


def command(
    study: Annotated[
        str,
        typer.Argument(
            help="table1: the nine small datasets. table2: the six large ones. efficiency: validation score against "
            "training time, equal epochs, one run at a time. ablation: without adjacency (-na), "
            "features (-nf) or local regularisation (-nl). grouping: heat maps of Z* and H, coefficients within and "
            "between classes. global-homophily: same-class nodes by distance, and those with a positive coefficient."
        ),
    ],
    models: Annotated[
        str | None,
        typer.Option(
            "--models",
            help=f"Also {' and '.join(VARIANTS)}, to compare the two. [dim]Default: all ({','.join(MODELS)}).[/dim]",
        ),
    ] = None,
    datasets: Annotated[str | None, typer.Option("--datasets", help="[dim]Default: all of the table.[/dim]")] = None,
    splits: Annotated[str | None, typer.Option("--splits", help="As for train. [dim]Default: all.[/dim]")] = None,
    seeds: Annotated[
        str | None, typer.Option("--seeds", help="'0', '0,3' or '0-2'. [dim]Default: the one of the settings.[/dim]")
    ] = None,
    settings: Annotated[
        str,
        typer.Option(
            "--settings",
            help=f"{', '.join(SETTINGS)} or a folder. 'published' takes the settings that a model's authors state, "
            "'tuned' those that our searches found, 'equal' those of a search with 25 trials for every model, a folder "
            "those of your own (glognn tune --out FOLDER); models without any take published ones, then defaults.",
        ),
    ] = "published",
    workers: WORKERS = None,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    together: Annotated[
        bool,
        typer.Option(
            "--together/--one-by-one", help="Train the splits and seeds of a model as one batch, or each by itself."
        ),
    ] = True,
    quick: Annotated[
        bool, typer.Option("--quick", help="Three splits of a few datasets, five models, 200 epochs: a few minutes.")
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of all runs and tables.")] = Path("runs/reproduce"),
    data_mirror: MIRROR = None,
) -> None:
    """Do the paper again: run what is missing, skip what is done, and write the table.

    Stop it whenever you like, and give the same command to go on. Tables (Markdown, LaTeX, CSV, JSON) are made from the
    records of the runs alone: mean ± standard deviation over splits and seeds, beside the paper's.

    Examples:

      glognn reproduce table1 --quick

      glognn reproduce table1 --models mlp,gcn,linkx,glognn,glognn++ --workers 2

      glognn reproduce table1 --models glognn,glognn++ --datasets texas,cora --seeds 0-2
    """
    from rich.console import Console

    if study not in STUDIES:
        raise InputError(f"The study must be one of {', '.join(STUDIES)}. Got {study!r} instead.")
    if device not in ("cpu", "cuda"):
        raise InputError(f"The device must be cpu or cuda. Got {device!r} instead.")
    if study == "all":
        for each in STUDIES[:-1]:
            fitting = _fitting(models, _models_of(each, quick)[1])
            where = _fitting(datasets, _datasets_of(each, quick)[1])
            if "" not in (fitting, where):
                command(
                    each, fitting, where, splits, seeds, settings, workers, device, together, quick, out, data_mirror
                )
        return
    usual_models, possible_models = _models_of(study, quick)
    chosen_models = parse_names(models, possible_models, "model") if models else usual_models
    usual, possible = _datasets_of(study, quick)
    chosen = parse_names(datasets, possible, f"dataset of {study}") if datasets else usual
    given: dict[str, Any] = {"device": device, "threads": 0 if device == "cuda" else 1}
    if quick:
        given["epochs"] = QUICK["epochs"]
    options: dict[str, Any] = {
        "settings": settings,
        "splits": splits or (QUICK["splits"] if quick else "all" if study in (*TABLES, "ablation") else "0"),
        "seeds": parse_seeds(seeds) if seeds else None,
        "given": given,
    }
    work = Workshop(
        console=Console(),
        root=out,
        folder=out / (f"{study}-quick" if quick else study),
        mirror=mirror_dir(data_mirror),
        workers=worker_count(workers, device),
        together=together,
    )
    if study == "efficiency":
        failures = efficiency(work, chosen, chosen_models, options)
    elif study in TABLES:
        failures = table(work, chosen, chosen_models, options)
    elif study == "ablation":
        failures = ablation(work, chosen, chosen_models, options)
    else:
        failures = examination(work, study, chosen, chosen_models, options)
    if failures:
        raise GloGNNError(f"{len(failures)} cells have runs that failed; the output names them.")


def _fitting(names: str | None, known: Iterable[str]) -> str | None:
    """Of the names given, those that a study knows; nothing given stays nothing."""
    return None if names is None else ",".join(name for name in names.split(",") if name.strip() in known)


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
