"""The page of the catalog: every published dataset, as its entry declares it."""

from __future__ import annotations

from glognn.data.catalog import DATASETS
from glognn.data.entry import Dataset

_GROUPS = {
    "small": "The paper's small graphs",
    "large": "The paper's large graphs",
    "beyond": "Beyond the paper",
}
_COUNTED = {"undirected": "each once, self-loops included", "given": "as published, directed"}


def pages() -> dict[str, str]:
    """The page by its place in the site."""
    lines = [
        "# The catalog",
        "",
        f"The {len(DATASETS)} published datasets that load by name, from what the package declares about them. How",
        "they are loaded, and what is left to you: [Datasets](datasets.md). Edges are counted as the paper does, and",
        "homophily is the share of edges within a class by the same count; a dash means that none was published.",
        "",
    ]
    entries = list(DATASETS.values())
    groups = dict.fromkeys([*_GROUPS, *(entry.group for entry in entries)])
    for group in groups:
        members = [entry for entry in entries if entry.group == group]
        lines += [f"## {_GROUPS.get(group, group)}", "", *_overview(members), ""]
    for group in groups:
        for entry in (entry for entry in entries if entry.group == group):
            lines += _entry(entry)
    return {"catalog.md": "\n".join(lines)}


def _overview(entries: list[Dataset]) -> list[str]:
    lines = [
        "| dataset | nodes | edges | features | classes | homophily | metric | splits |",
        "|---|--:|--:|--:|--:|--:|---|--:|",
    ]
    for entry in entries:
        found = entry.expected
        homophily = "–" if found.homophily is None else f"{found.homophily:.2f}"
        lines.append(
            f"| [{entry.name}](#{entry.name}) | {found.nodes:,} | {found.edges:,} | {found.features:,} "
            f"| {found.classes} | {homophily} | {entry.metric} | {entry.num_splits} |"
        )
    return lines


def _entry(entry: Dataset) -> list[str]:
    graph = [f"{name} = {value}" for name, value in entry.graph.as_dict().items()]
    checked = sum(file.sha256 is not None for file in entry.all_files)
    gone = [file.path for file in entry.all_files if file.url is None]
    lines = [
        f"### {entry.name} {{: #{entry.name} }}",
        "",
        f"{entry.what[0].upper()}{entry.what[1:]}.",
        "",
        "| | |",
        "|---|---|",
        f"| nodes, edges | {entry.expected.nodes:,}, {entry.expected.edges:,} ({_COUNTED[entry.expected.counted]}) |",
        f"| splits | {entry.splits_rule} |",
        f"| prepared with | {', '.join(graph)} |",
        f"| files | {len(entry.all_files)} from {entry.source}, {checked} with a published or verified sha256 |",
        f"| licence | {entry.licence} |",
        f"| citation | {entry.citation} |",
    ]
    if entry.twin is not None:
        lines.append(f"| twin | `--dataset twin:{entry.name}`: generated, of the same size, for time and memory |")
    if gone:
        lines.append(f"| no longer published | {', '.join(f'`{path}`' for path in gone)} |")
    traps = [*entry.traps, *([entry.warning] if entry.warning else [])]
    if traps:
        lines += ["", '!!! warning "Traps"', "", *(f"    - {trap}" for trap in dict.fromkeys(traps))]
    return [*lines, ""]
