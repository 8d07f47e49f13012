#!/usr/bin/env bash
# From a clone to predictions on own tables, timed command by command, in a new folder with a new environment.
# bash benchmarks/stranger.sh [python] [pip arguments ...]; OUT=FILE keeps the times as a record
set -euo pipefail
python=${1:-python3}; shift || true
source=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
unset PYTHONPATH
cd "$place"
"$python" - <<'PYTHON'
import random
random.seed(0)
fraud = [random.random() < 0.2 for _ in range(1000)]
with open("nodes.csv", "w") as nodes:
    print("user_id,age,country,is_fraud", file=nodes)
    for user, bad in enumerate(fraud):
        label = "" if user % 10 == 0 else "yes" if bad else "no"
        print(f"u{user},{random.randint(18, 80)},{random.choice('ABC' if bad else 'BCD')},{label}", file=nodes)
with open("edges.csv", "w") as edges:
    print("source,target", file=edges)
    for _ in range(4000):
        one, other = random.sample(range(1000), 2)
        if fraud[one] != fraud[other] or random.random() < 0.4:
            print(f"u{one},u{other}", file=edges)
PYTHON
commands=0 record=
begun=$(date +%s)
timed() {
  local before after; before=$(date +%s)
  bash -c "$1" > "$place/output" 2>&1 || { cat "$place/output"; exit 1; }
  after=$(date +%s); commands=$((commands + 1))
  record+="${record:+, }\"$2\": $((after - before))"
  echo "$((after - before)) s: $2"
}
timed "git clone --quiet '$source' glognn" "git clone"
timed "cd glognn && '$python' -m venv .venv && .venv/bin/pip install $* ." "venv and pip install ."
timed "glognn/.venv/bin/glognn train --nodes nodes.csv --edges edges.csv --id user_id --label is_fraud --out runs/first" "glognn train"
timed "glognn/.venv/bin/glognn predict runs/first --out predictions.csv" "glognn predict"
[ "$(wc -l < predictions.csv)" = 1001 ]
total=$(($(date +%s) - begun))
echo "$commands commands, $total s, $(($(wc -l < predictions.csv) - 1)) predictions"
if [ -n "${OUT:-}" ]; then
  echo "{\"commands\": $commands, \"seconds\": {$record}, \"total\": $total, \"cores\": $(nproc)}" > "$OUT"
fi
