"""The tables and pictures of a reproduction, from its records: written into its folder, and what a screen shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from glognn.experiments.comparison import JUDGED, Comparison, compact_records
from glognn.experiments.reproduce import Reproduction
from glognn.experiments.studies import ABLATIONS, DRAWN, EXAMINATIONS, same_as_full
from glognn.report.comparison import comparison_table, to_csv
from glognn.report.document import Column, Table, numeral, row, table
from glognn.report.latex import table_latex
from glognn.report.markdown import table_markdown
from glognn.storage import locked, write_json, write_text


def render(done: Reproduction, *, terminal: bool = False) -> Iterator[str | Table]:
    """Write tables and pictures, and yield what is to be shown of them: Markdown, or for a terminal its own tables."""
    tabular = done.study not in ("efficiency", *EXAMINATIONS)
    if not tabular and not any(job.done for jobs in done.cells.values() for job in jobs):
        yield f"No run of {done.study} is done."
    elif done.study == "efficiency":
        yield from _render_efficiency(done)
    elif done.study in EXAMINATIONS:
        yield from _render_examination(done)
    else:
        comparisons = done.comparisons()
        text = _write_tables(done, comparisons)
        yield from _for_terminal(done, comparisons) if terminal else [f"\n{text}".removesuffix("\n")]
        yield f"Tables: {done.folder}"
        if done.study == "ablation":
            yield from _render_ablation(done, comparisons[0])


def _write_tables(done: Reproduction, comparisons: Sequence[Comparison]) -> str:
    """The files of a table; its Markdown."""
    text = tables_text(comparisons, done.origins)
    folder, records = done.folder, compact_records(done.reports())
    with locked(folder):
        write_text(folder / "table.md", text)
        write_text(folder / "table.csv", to_csv(comparisons))
        for each in comparisons:
            write_text(folder / f"table-{each.judged}.tex", table_latex(comparison_table(each)))
        write_json(folder / "table.json", [each.record() for each in comparisons])
        write_text(folder / "records.jsonl", "".join(f"{json.dumps(cell)}\n" for cell in records))
    return text


def tables_text(comparisons: Sequence[Comparison], origins: Mapping[tuple[str, str], str]) -> str:
    """Tables as Markdown, and where the settings of their rows are from."""
    text = "".join(
        f"Test score in %, {JUDGED[each.judged]}; in brackets the paper's mean and the difference to it.\n\n"
        f"{table_markdown(comparison_table(each))}\n"
        for each in comparisons
    )
    return text + _list_origins(origins)


def _list_origins(origins: Mapping[tuple[str, str], str]) -> str:
    """Where the settings of each model are from, a line for each."""
    found: dict[str, dict[str, list[str]]] = {}
    for (dataset, label), origin in origins.items():
        found.setdefault(label, {}).setdefault(origin, []).append(dataset)
    lines = []
    for label, by_origin in found.items():
        words = [
            origin if len(by_origin) == 1 else f"{origin} ({', '.join(names)})" for origin, names in by_origin.items()
        ]
        lines.append(f"- {label}: {'; '.join(words)}\n")
    return f"Settings are from:\n\n{''.join(lines)}"


def _for_terminal(done: Reproduction, comparisons: Sequence[Comparison]) -> Iterator[str | Table]:
    for each in comparisons:
        yield f"\nTest score in %, {JUDGED[each.judged]}:"
        yield (found := comparison_table(each))
        if found.note:
            yield found.note
    yield f"\n{_list_origins(done.origins)}"


def _render_ablation(done: Reproduction, best: Comparison) -> Iterator[str]:
    from glognn.report.figures import plot_bars

    families = [done.models[start : start + len(ABLATIONS)] for start in range(0, len(done.models), len(ABLATIONS))]
    for full, *_ in families if done.settings == "published" else []:
        same = [
            f"{dataset} ({', '.join(found)})" for dataset in done.datasets if (found := same_as_full(dataset, full))
        ]
        if same:
            yield f"{full} already is, by the authors' settings: {', '.join(same)}"
    yield f"Picture: {plot_bars(best, families, done.folder / 'bars')[0]}"


def _render_efficiency(done: Reproduction) -> Iterator[str]:
    from glognn.experiments.folder import read_report
    from glognn.report.curves import Curve, read_curves
    from glognn.report.efficiency import efficiency_table, plot_efficiency, summarise

    panels: dict[str, dict[str, list[Curve]]] = {}
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for (dataset, model), jobs in done.cells.items():
        if folders := [job.folder for job in jobs if job.done]:
            curves = [read_curves(folder)[0] for folder in folders]
            panels.setdefault(dataset, {})[model] = curves
            found.setdefault(dataset, {})[model] = summarise(curves, read_report(folders[0]))
    write_json(done.folder / "efficiency.json", found)
    text = table_markdown(efficiency_table(found))
    write_text(done.folder / "efficiency.md", text)
    yield f"\n{text}".removesuffix("\n")
    yield f"Picture: {plot_efficiency(panels, done.folder / 'efficiency')[0]}"


def _render_examination(done: Reproduction) -> Iterator[str | Table]:
    """A table and a picture for each model."""
    from glognn.report.figures import plot_distances, plot_heat_maps

    write_json(done.folder / f"{done.study}.json", done.examined)
    for model, by_dataset in done.examined.items():
        stem = done.folder / f"{done.study}-{model}"
        if done.study == "grouping":
            yield _grouping_table(model, by_dataset)
            known = done.matrices.get(model, {})
            panels = {name: tuple(matrix.numpy() for matrix in known[name]) for name in DRAWN if name in known}
            pictures = plot_heat_maps(panels, stem) if panels else []  # type: ignore[arg-type]
        else:
            first = {dataset: results[0] for dataset, results in by_dataset.items()}
            yield _distance_table(model, first)
            pictures = plot_distances({dataset: result["rows"] for dataset, result in first.items()}, stem)
        for path in pictures[:1]:
            yield f"Picture: {path}\n"


def _grouping_table(model: str, found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    heads = ("within a class", "between classes", "contrast", "positive within, %", "positive between, %")
    rows = []
    for dataset, results in found.items():
        mean = {name: sum(result[name] for result in results) / len(results) for name in results[0]}
        shares = (numeral(100 * mean[name], ".1f") for name in ("within_positive", "between_positive"))
        means = (numeral(mean[name], ".2e") for name in ("within", "between"))
        rows.append(row(dataset, *means, numeral(mean["contrast"], ".2f"), *shares))
    return table([Column(model, whole=True), *(Column(name, number=True) for name in heads)], rows)


def _distance_table(model: str, found: Mapping[str, Mapping[str, Any]]) -> Table:
    names = [each["distance"] for each in next(iter(found.values()))["rows"]]
    heads = [Column(f"{name} hops" if name[0] in "123456>" else name, number=True) for name in names]
    rows = [
        row(dataset, *(f"{each['same']:.1f} / {each['same_positive']:.1f}" for each in result["rows"]))
        for dataset, result in found.items()
    ]
    return table([Column(f"{model}: same class / with Z* > 0", whole=True), *heads], rows)
