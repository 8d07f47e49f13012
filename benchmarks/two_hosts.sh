#!/usr/bin/env bash
# Two hosts on one machine: network namespaces joined by a cable (veth), a torchrun in each, one of whose ranks is killed.
# The run must end as a run of one process does. Needs root and iproute2; takes a minute.
# bash benchmarks/two_hosts.sh [python]
set -euo pipefail
python=${1:-python}
place=$(mktemp -d)
clean() { for host in a b; do ip netns pids "glognn-$host" 2> /dev/null | xargs -r kill 2> /dev/null || true; ip netns del "glognn-$host" 2> /dev/null || true; done; rm -rf "$place"; }
trap clean EXIT
trap "exit 1" TERM INT
for host in a b; do ip netns add "glognn-$host"; ip -n "glognn-$host" link set lo up; done
ip link add glognn-a netns glognn-a type veth peer name glognn-b netns glognn-b
for host in a b; do
  ip -n "glognn-$host" addr add "10.91.0.$([ $host = a ] && echo 1 || echo 2)/24" dev "glognn-$host"
  ip -n "glognn-$host" link set "glognn-$host" up
done
flags=(--dataset pairs --model glognn++ --alpha 0.5 --splits 0 --epochs 60 --early-stopping none --dtype float64 --dropout 0 --quiet)
host() {
  ip netns exec "glognn-$1" env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME="glognn-$1" "$python" -m torch.distributed.run --nnodes 2 \
    --nproc-per-node 1 --max-restarts 2 --rdzv-backend c10d --rdzv-endpoint 10.91.0.1:29400 --rdzv-id glognn \
    --rdzv-conf "is_host=$([ "$1" = a ] && echo 1 || echo 0)" \
    --local-addr "10.91.0.$([ "$1" = a ] && echo 1 || echo 2)" \
    -m glognn train "${flags[@]}" --distributed --timeout 60 --checkpoint-interval 0 --out "$place/run" > "$place/$1.log" 2>&1
}
host a & first=$!
host b & second=$!
while [ ! -e "$place/run/checkpoint/latest.safetensors" ]; do
  kill -0 $first 2> /dev/null && kill -0 $second 2> /dev/null || { cat "$place"/?.log; exit 1; }
  sleep 0.1
done
victim=$(for pid in $(ip netns pids glognn-b); do tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q -- '-m torch.distributed.run' || echo "$pid"; done | tail -1)
echo "killed: $(tr '\0' ' ' < "/proc/$victim/cmdline" | cut -c1-60)"
kill -KILL "$victim"
wait $first || { tail -20 "$place/a.log"; exit 1; }
wait $second || { tail -20 "$place/b.log"; exit 1; }
"$python" -m glognn train "${flags[@]}" --engine eager --out "$place/alone" > /dev/null
"$python" - "$place" <<'PYTHON'
import csv, json, sys
from pathlib import Path
place = Path(sys.argv[1])
rows = {name: list(csv.DictReader((place / name / "curve.csv").open())) for name in ("run", "alone")}
worst = max(abs(float(a["train_loss"]) / float(b["train_loss"]) - 1) for a, b in zip(rows["run"], rows["alone"], strict=True))
ranks = json.loads((place / "run" / "report.json").read_text())["data"]["ranks"]
print(f"{len(ranks)} ranks on 2 hosts, {len(rows['run'])} epochs, one rank killed: losses differ by at most {worst:.1e} of those of one process")
assert worst < 1e-9 and len(ranks) == 2
PYTHON
