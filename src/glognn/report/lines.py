"""Tables as CSV: numbers in full, everything else as it is read."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from glognn.report.document import GROUP, Table


def table_csv(table: Table) -> str:
    """A heading and a line for each row; a number that has a value is written as that."""
    rows = [[each.text if each.value is None else each.value for each in row.cells] for row in table.rows
            if row.style != GROUP]  # fmt: skip
    return _written([column.name for column in table.columns], rows)


def records_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Records with the same names, a line for each; empty where there is no value."""
    return _written(list(records[0]), [list(record.values()) for record in records])


def _written(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(heads)
    writer.writerows(rows)
    return text.getvalue()
