"""Keep what an equal search found: the best settings of every study as data of the package, every trial as a record.

    python benchmarks/keep_search.py runs/equal --trials 25

Studies are those of ``glognn tune --model A,B --dataset C,D --out FOLDER``. Of studies with fewer trials the settings
are not kept, the trials are.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from glognn.experiments.search import chosen_settings, finished_trials, open_study, read_search, write_best

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="holds <model>/<dataset>/study.json")
    parser.add_argument("--trials", type=int, default=25, help="of a complete study")
    parser.add_argument("--settings", type=Path, default=ROOT / "src/glognn/experiments/equal")
    parser.add_argument("--records", type=Path, default=ROOT / "results/equal-search.jsonl")
    options = parser.parse_args()
    lines, short = [], []
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
            lines.append(json.dumps(facts | {"found": found}))
        if len(trials) >= options.trials:
            write_best(path.parent, study, search, options.settings / search.model / f"{search.dataset}.toml")
        else:
            short.append(f"{search.model} on {search.dataset} ({len(trials)})")
    options.records.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(f"{len(lines)} studies; with fewer than {options.trials} trials: {', '.join(short) or 'none'}")


if __name__ == "__main__":
    main()
