"""The tables of a benchmark, from its record alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from rich.table import Table as RichTable

from glognn.report.document import Cell, Column, Table, columns, numeral, row, table

Record = dict[str, Any]
Row = dict[str, Any]

SIGNS = {"released": "released", "linkx": "LINKX", "gcn": "GCN"}


def headings(record: Record) -> list[str]:
    """The columns of the table of a record."""
    splits = record["config"]["splits"]
    many = [f"ms, {splits} splits", f"vs released, {splits} splits"] if splits > 1 else []
    return [
        "dataset",
        "method",
        "ms per epoch",
        "quartiles",
        *many[:1],
        *(f"vs {sign}" for sign in SIGNS.values()),
        *many[1:],
        "of floor",
        "MiB",
    ]


def cells(record: Record, row: Row) -> list[str]:
    """The cells of one method on one dataset; empty where there is nothing to say."""
    many = record["config"]["splits"] > 1
    if row["problem"] is not None:
        return [label(row["dataset"]), row["method"], "not timed", *[""] * (len(headings(record)) - 3)]
    time, floor, memory = row["epoch_ms"], row["floor"], row["memory_mib"]
    return [
        label(row["dataset"]),
        row["method"],
        number(time["median"]),
        f"{number(time['lower'])}-{number(time['upper'])}",
        *([number(row["split_epoch_ms"]["median"]) if row["split_epoch_ms"] else ""] if many else []),
        *(_ratio(row["ratios"], name) for name in SIGNS),
        *([_ratio(row["split_ratios"], "released")] if many else []),
        "" if floor is None else f"{100 * floor['share']:.1f} %",
        "" if memory is None else f"{memory['added']:,.0f}",
    ]


def label(dataset: str) -> str:
    """A dataset's name, a graph file's without its folder."""
    return PurePath(dataset).name


def number(value: float) -> str:
    """Three digits, more in front of the point where there are more."""
    return f"{value:.2f}" if value < 9.995 else (f"{value:.1f}" if value < 99.95 else f"{value:,.0f}")


def _ratio(ratios: dict[str, Any] | None, name: str) -> str:
    return "" if ratios is None or name not in ratios else f"{number(ratios[name]['median'])}x"


def notes(record: Record) -> list[str]:
    """What a reader of the table must know."""
    config, machine = record["config"], record["machine"]
    where = machine.get("gpu") or f"{machine['processor']}, {machine['threads']} thread(s)"
    lines = [
        f"{where}, torch {record['versions']['torch']}. Medians of {config['repeats']} alternating rounds. "
        "An epoch is a training step and a full evaluation. vs: how many times longer the other takes. of floor: the "
        "computed least time as a share of the measured. MiB: peak memory above that of the loaded graph.",
    ]
    lines += [f"{label(row['dataset'])}, {row['method']}: {row['problem']}" for row in record["rows"] if row["problem"]]
    return lines


def bench_table(record: Record) -> RichTable:
    """For a terminal of 80 columns, dataset by dataset. +/-: half the distance of the quartiles."""
    splits = record["config"]["splits"]
    shown = RichTable(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    shown.add_column("", no_wrap=True)
    for heading in ("ms per\nepoch", "+/-", f"ms, {splits}\nsplits", *(f"vs\n{sign}" for sign in SIGNS.values())):
        shown.add_column(heading, justify="right", no_wrap=True)
    for heading in (f"{splits} vs\nreleased", "of\nfloor", "MiB"):
        shown.add_column(heading, justify="right", no_wrap=True)
    before = None
    for each in record["rows"]:
        if each["dataset"] != before:
            shown.add_row(label(each["dataset"]), style="bold")
            before = each["dataset"]
        found = dict(zip(headings(record), cells(record, each), strict=True))
        time = each["epoch_ms"]
        shown.add_row(
            f"  {each['method']}",
            found["ms per epoch"],
            "" if time is None else f"{50 * (time['upper'] - time['lower']) / time['median']:.0f} %",
            found.get(f"ms, {splits} splits", ""),
            *(found[f"vs {sign}"] for sign in SIGNS.values()),
            found.get(f"vs released, {splits} splits", ""),
            found["of floor"],
            found["MiB"],
        )
    return shown


def full_table(record: Record) -> Table:
    """A row for each method on each dataset, with every column."""
    heads = headings(record)
    rows = [row(*first, *(Cell(text, _value(text)) for text in rest)) for first, rest in _divided(record)]
    return table(columns(*heads, numbers=heads[2:]), rows)


def _divided(record: Record) -> Iterator[tuple[list[str], list[str]]]:
    """Of each row the words, and the cells that hold numbers."""
    for each in record["rows"]:
        found = cells(record, each)
        yield found[:2], found[2:]


def _value(text: str) -> float | None:
    """The number that a cell begins with, to sort by."""
    found = re.match(r"[\d,.]+", text)
    return None if found is None else float(found[0].replace(",", ""))


def profile_tables(record: Record) -> list[Table]:
    """Where the time of each method goes, one table for each."""
    return [
        table(
            [
                Column(f"{label(each['dataset'])}, {each['method']}: operation", whole=True),
                *(Column(name, number=True) for name in ("ms per epoch", "share", "calls")),
            ],
            [
                row(
                    str(found["operation"]),
                    numeral(found["ms"], ".3f"),
                    Cell(f"{100 * found['share']:.1f} %", found["share"]),
                    numeral(found["calls"], ".1f"),
                )
                for found in each["profile"]
            ],
        )
        for each in record["rows"]
        if each["profile"]
    ]
