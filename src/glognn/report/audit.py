"""What an audit found, as tables, from its plain data alone."""

from __future__ import annotations

from typing import Any

from glognn.data.arrow import Table as Columns
from glognn.report.document import Cell, Table, columns, numeral, row, table


def suspect_table(found: dict[str, Any], top: int) -> Table:
    """Labels that are probably wrong, the most suspicious first, with reasons."""
    heads = columns("node", "label", "rather", "suspicion", "why", numbers=["suspicion"])
    rows = [
        row(*(str(each[name]) for name in ("node", "label", "suggestion")), numeral(each["suspicion"], ".3f"),
            "; ".join(each["reasons"]))
        for each in found["labels"]["suspects"][:top]
    ]  # fmt: skip
    return table(heads, rows)


def suspect_columns(found: dict[str, Any]) -> Columns:
    """All suspects as a table for a file."""
    import pyarrow as pa

    suspects = found["labels"]["suspects"]
    rows = [{**each, "reasons": "; ".join(each["reasons"])} for each in suspects]
    return pa.Table.from_pylist(rows) if rows else pa.table({"node": [], "label": [], "suggestion": []})


def duplicate_text(found: dict[str, Any]) -> str:
    """What twins do to the test score, in words."""
    told = found["duplicates"]
    if not told["with_twin"]:
        return f"None of {told['test_nodes']:,} test nodes has a near duplicate among training and validation nodes."

    def percent(value: float | None) -> str:
        return "none" if value is None else f"{100 * value:.1f} %"

    return (
        f"{told['with_twin']:,} of {told['test_nodes']:,} test nodes have a near duplicate among training and "
        f"validation nodes ({told['with_twin_of_one_label']:,} with the same label). Accuracy on them "
        f"{percent(told['accuracy_with_twin'])}, on the others {percent(told['accuracy_without_twin'])}, on all "
        f"{percent(told['accuracy'])}."
    )


def duplicate_table(found: dict[str, Any], top: int) -> Table:
    """Test nodes and their twins."""
    numbers = ("links in common", "features in common")
    rows = []
    for each in found["duplicates"]["pairs"][:top]:
        shares = (_share(each[name]) for name in ("links", "features"))
        label = "same" if each["same_label"] else "another"
        rows.append(row(str(each["node"]), str(each["twin"]), *shares, label))
    return table(columns("test node", "twin", *numbers, "label", numbers=numbers), rows)


def _share(value: float | None) -> Cell:
    return Cell() if value is None else Cell(f"{100 * value:.0f} %", value)


def drift_table(found: dict[str, Any], top: int) -> Table:
    """Columns in which new nodes differ most from known ones."""
    numbers = ("known mean", "new mean", "distance", "chance")
    rows = []
    for each in found["drift"]["columns"][:top]:
        means = (numeral(each[name], ".4g") for name in ("known", "new"))
        mark = "drifted" if each["drifted"] else ""
        rows.append(row(each["column"], *means, numeral(each["distance"], ".3f"), numeral(each["chance"], ".1e"), mark))
    return table(columns("column", *numbers, "", numbers=numbers), rows)
