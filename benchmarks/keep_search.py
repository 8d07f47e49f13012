"""Keep what an equal search found: the best settings of every study as data of the package, every trial as a record.

    python benchmarks/keep_search.py runs/equal --trials 25

Studies are those of ``glognn tune --model A,B --dataset C,D --out FOLDER``; records of others stay as they are. Of
studies with fewer trials the settings are not kept, the trials are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import tomli_w

from glognn.experiments.config import SCHEMA_VERSION, SettingsTables, read_collection
from glognn.experiments.search import best_settings, chosen_settings, finished_trials, open_study, read_search
from glognn.storage import write_text

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="holds <model>/<dataset>/study.json")
    parser.add_argument("--trials", type=int, default=25, help="of a complete study")
    parser.add_argument("--settings", type=Path, default=ROOT / "src/glognn/experiments/settings/equal")
    parser.add_argument("--records", type=Path, default=ROOT / "results/equal-search.jsonl")
    options = parser.parse_args()
    lines, short = dict[tuple[str, str], str](), list[str]()
    for line in options.records.read_text(encoding="utf-8").splitlines() if options.records.is_file() else []:
        known_facts = json.loads(line)
        lines[known_facts["model"], known_facts["dataset"]] = line
    kept: dict[Path, dict[str, SettingsTables]] = {}
    for path in sorted(options.folder.glob("*/*/study.json")):
        search = read_search(path.parent)
        study = open_study(path.parent, search)
        trials = finished_trials(study)
        found = [
            {
                "trial": trial.number,
                "validation": None if trial.value is None else round(100 * trial.value, 3),
                "origin": trial.user_attrs.get("origin", "drawn"),
                "settings": chosen_settings(search, trial),
            }
            for trial in trials
        ]
        if found:
            facts = {"model": search.model, "dataset": search.dataset, "splits": search.splits, "trials": len(found)}
            lines[search.model, search.dataset] = json.dumps(facts | {"found": found})
        if len(trials) >= options.trials:
            place = options.settings / f"{search.model}.toml"
            known = kept.setdefault(place, read_collection(place) if place.is_file() else {})
            tables = best_settings(study, search)
            known[search.dataset] = {name: table for name, table in tables.items() if name != "schema_version"}
        else:
            short.append(f"{search.model} on {search.dataset} ({len(trials)})")
    for place, found_settings in kept.items():
        content = {"schema_version": SCHEMA_VERSION} | dict(sorted(found_settings.items()))
        write_text(place, tomli_w.dumps(content))
    options.records.write_text("".join(f"{line}\n" for line in lines.values()), encoding="utf-8")
    print(f"{len(lines)} studies; with fewer than {options.trials} trials: {', '.join(short) or 'none'}")


if __name__ == "__main__":
    main()
