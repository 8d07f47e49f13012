"""Keep what a reproduction of some models measured: their rows in a table of results/ are replaced, and the rest of it,
ranks and significance, computed anew from all its records.

    python benchmarks/keep_table.py runs/reproduce/table1 results/table1-equal

The folder is that of ``glognn reproduce table1 --models A,B``; the table is named without its endings.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from glognn.experiments.comparison import JUDGED, compare
from glognn.report.reproduction import tables_text
from glognn.storage import write_json, write_text


def _lines(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    found = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(each["dataset"], each["model"]): each for each in found}


def _cells(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {(cell["dataset"], cell["model"]): cell for cell in json.loads(path.read_text(encoding="utf-8"))[0]["cells"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", type=Path)
    given = parser.parse_args()
    kept, numbers, shown = (given.table.with_name(given.table.name + end) for end in ("-records.jsonl", ".json", ".md"))
    records = _lines(kept) | _lines(given.folder / "records.jsonl")
    cells = _cells(numbers) | _cells(given.folder / "table.json")
    datasets, models = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    scores = {
        key: {(run["seed"], run["split"]): {"scores": run} for run in record["runs"]} for key, record in records.items()
    }
    origins = {key: cell["settings"] for key, cell in cells.items()}
    wanted = {key: cell["wanted"] for key, cell in cells.items()}
    found = [compare(scores, datasets, models, judged=each, wanted=wanted, origins=origins) for each in JUDGED]
    write_json(numbers, [each.record() for each in found])
    write_text(kept, "".join(f"{json.dumps(each)}\n" for each in records.values()))
    write_text(shown, tables_text(found, origins))
    print(", ".join(f"{model} {rank:.2f}" for model, rank in sorted(found[0].ranks.items(), key=lambda pair: pair[1])))


if __name__ == "__main__":
    main()
