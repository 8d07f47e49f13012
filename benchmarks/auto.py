"""``auto`` on graphs that its portfolio was not built from: every graph as a record, and a table.

    python benchmarks/auto.py members --datasets texas,cora,squirrel --splits 0-2 --device cuda
    python benchmarks/auto.py build --datasets texas,cora,squirrel
    python benchmarks/auto.py judge --datasets texas,cora,squirrel --time-limit 60 --device cuda
    python benchmarks/auto.py table

``members`` trains all of ``candidates.toml`` on every graph, in a folder for each, and goes on where it was stopped.
``build`` makes a portfolio for each graph from the folders of all others, those of the same origin left out too, and
one from all of them. ``judge`` trains a graph's portfolio, or without ``--portfolios`` the package's, within the time
limit; ``--portfolios`` may also be a file of records, whose lists are taken. They take graphs by name or file;
``members`` and ``judge`` may be run by several processes on different graphs, and add to what is there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import glognn
from glognn.experiments.layout import DONE
from glognn.experiments.portfolio import read_members, read_portfolio, write_portfolio
from glognn.experiments.portfolio_building import build_portfolio, read_judged

SMALL = "texas,wisconsin,cornell,actor,squirrel,chameleon,cora,citeseer,pubmed"
CANDIDATES = Path(__file__).with_name("candidates.toml")
ORIGINS = (
    {"texas", "cornell", "cornell-corrected"},  # the published cornell has the edges of texas
    {"chameleon", "chameleon_filtered", "chameleon_filtered_directed", "chameleon-filtered"},
)
"""Graphs that are made of the same data: a portfolio built from one says something about the others."""


def name_of(dataset: str) -> str:
    return Path(dataset).stem


def train_members(dataset: str, options: argparse.Namespace) -> None:
    """All candidates, in a folder that is gone on with."""
    folder = options.runs / name_of(dataset)
    limit, mirror = options.time_limit or 1e6, options.data_mirror
    if (folder / "auto.toml").exists():
        glognn.auto(resume=folder, time_limit=limit, data_mirror=mirror)
    else:
        more: dict[str, Any] = {"splits": options.splits, "quality": "best", "device": options.device}
        glognn.auto(dataset, out=folder, time_limit=limit, data_mirror=mirror, portfolio=CANDIDATES, **more)


def build(datasets: list[str], options: argparse.Namespace) -> None:
    """A portfolio for each graph, and what it was built from, in ``portfolios``."""
    folders = sorted(path.parent for path in options.runs.glob(f"*/{DONE}"))
    graphs = {folder.name: read_judged(folder, options.data_mirror) for folder in folders}
    options.portfolios = options.portfolios or Path("runs/portfolios")
    options.portfolios.mkdir(parents=True, exist_ok=True)
    for name in ("all", *map(name_of, datasets)):
        same = next((origin for origin in ORIGINS if name in origin), {name})
        used = {each: graph for each, graph in graphs.items() if each not in same}
        steps = build_portfolio(list(used.values()), options.size)
        note = f"Built from {', '.join(used)}."
        members = [step.member for step in steps]
        members += [member.again() for member in members[: options.again]]
        write_portfolio(options.portfolios / f"{name}.toml", members, note)
        print(name, *(f"{step.member.name} {step.worth:.2f}" for step in steps), flush=True)


def portfolio_of(name: str, options: argparse.Namespace, place: Path) -> Path | None:
    """The file of a graph's portfolio, which may be written into a folder; ``None``: the package's."""
    given: Path | None = options.portfolios
    if given is None or given.is_dir():
        return given and given / f"{name}.toml"
    records = [json.loads(line) for line in given.read_text(encoding="utf-8").splitlines()]
    [members] = [record["portfolio"] for record in records if record["dataset"] == name]
    note = f"That of the record of {name} in {given.name}."
    write_portfolio(place / "portfolio.toml", read_members({"member": members}, f"The record of {name}"), note)
    return place / "portfolio.toml"


def judge(dataset: str, options: argparse.Namespace) -> dict[str, Any]:
    """The record of a graph: its portfolio, what became of its members, and the scores of the ensemble."""
    name = name_of(dataset)
    more: dict[str, Any] = {"splits": options.splits, "quality": options.quality, "device": options.device}
    if options.threads:
        more["threads"] = options.threads
    with TemporaryDirectory() as place:
        portfolio = portfolio_of(name, options, Path(place))
        members = [member.table() for member in read_portfolio(portfolio)] if portfolio else "of the package"
        record = glognn.auto(
            dataset,
            portfolio=portfolio,
            out=Path(place) / "run",
            time_limit=options.time_limit or 300,
            data_mirror=options.data_mirror,
            **more,
        ).record
    kept = ("metric", "fingerprint", "splits_origin", "splits", "val", "test", "best_single", "ended", "seconds")
    return {
        "dataset": name,
        "time_limit": options.time_limit or 300,
        "device": options.device,
        "quality": options.quality,
        "portfolio": members,
        "members": record["members"],
        **{each: record[each] for each in (*kept, "baselines", "versions", "machine")},
    }


def table(records: list[dict[str, Any]]) -> str:
    lines = [
        "| graph | metric | auto, % | its best single member, % | members with a weight | splits | seconds "
        "| of these in members without weight, % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for record in sorted(records, key=lambda each: (each["device"], each["dataset"])):
        done = [each for each in record["members"] if each["seconds_to_fit"] is not None]
        idle = sum(each["seconds_to_fit"] for each in done if not each["weight"])
        share = 100 * idle / max(sum(each["seconds_to_fit"] for each in done), 1e-9)
        used = sum(each["weight"] > 0 for each in done)
        best = record["best_single"]
        spread = f" ± {100 * record['test']['std']:.2f}" if record["test"]["std"] is not None else ""
        lines.append(
            f"| {record['dataset']} | {record['metric']} | {100 * record['test']['mean']:.2f}{spread} "
            f"| {100 * best['test']['mean']:.2f} ({best['name']}) | {used} of {len(done)} | {len(record['splits'])} "
            f"| {record['seconds']:.0f} | {share:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("members", "build", "judge", "table"))
    parser.add_argument("--datasets", default=SMALL)
    parser.add_argument("--runs", type=Path, default=Path("runs/portfolio"), help="folder of what 'members' trains")
    parser.add_argument(
        "--portfolios", type=Path, help="folder of what 'build' makes, or records; judge: default, the package's"
    )
    parser.add_argument("--size", type=int, default=12, help="members of a portfolio that 'build' makes")
    parser.add_argument("--again", type=int, default=6, help="of these, so many are listed again with another seed")
    parser.add_argument("--splits", default="all")
    parser.add_argument("--time-limit", type=float, help="seconds; members: for each graph, default: none")
    parser.add_argument("--quality", default="good")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--data-mirror", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results/auto.jsonl"))
    options = parser.parse_args()
    if options.what == "table":
        print(table([json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]))
        return
    datasets = options.datasets.split(",")
    if options.what == "members":
        for dataset in datasets:
            train_members(dataset, options)
        return
    if options.what == "build":
        build(datasets, options)
        return
    for dataset in datasets:
        record = judge(dataset, options)
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        print(table([record]).splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
