"""What an audit found, as tables, from its plain data alone."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from glognn.data.arrow import Table as Columns


def suspect_table(found: dict[str, Any], top: int) -> Table:
    """Labels that are probably wrong, the most suspicious first, with reasons."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("node", "label", "rather", "suspicion", "why"):
        table.add_column(heading, justify="right" if heading == "suspicion" else "left")
    for each in found["labels"]["suspects"][:top]:
        reasons = "; ".join(each["reasons"])
        table.add_row(
            str(each["node"]), str(each["label"]), str(each["suggestion"]), f"{each['suspicion']:.3f}", reasons
        )
    return table


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
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("test node", "twin", "links in common", "features in common", "label"):
        table.add_column(heading, justify="right" if "common" in heading else "left")

    def share(value: float | None) -> str:
        return "" if value is None else f"{100 * value:.0f} %"

    for each in found["duplicates"]["pairs"][:top]:
        label = "same" if each["same_label"] else "another"
        table.add_row(str(each["node"]), str(each["twin"]), share(each["links"]), share(each["features"]), label)
    return table


def drift_table(found: dict[str, Any], top: int) -> Table:
    """Columns in which new nodes differ most from known ones."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("column", "known mean", "new mean", "distance", "chance", ""):
        table.add_column(heading, justify="left" if heading in ("column", "") else "right")
    for each in found["drift"]["columns"][:top]:
        numbers = (f"{each[name]:.4g}" for name in ("known", "new"))
        mark = "drifted" if each["drifted"] else ""
        table.add_row(each["column"], *numbers, f"{each['distance']:.3f}", f"{each['chance']:.1e}", mark)
    return table
