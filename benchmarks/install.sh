#!/usr/bin/env bash
# The source archive where there is no compiler, then the wheel with the compiled core: each installed and trained with, timed.
# bash benchmarks/install.sh PYTHON, which has 'build'; works in build/install; OUT=FILE keeps the times as a record
set -euo pipefail
python=$(realpath --no-symlinks "$(command -v "${1:-python3}")")
out=${OUT:+$(realpath "$OUT")}
cd "$(dirname "$0")/.."
constraints=$PWD/constraints.txt
unset PYTHONPATH GLOGNN_NATIVE CC CXX
rm -rf build/install && mkdir -p build/install
"$python" -m build --outdir build/install
GLOGNN_PURE=1 "$python" -m build --wheel --outdir build/install
cd build/install
"$python" -m venv venv
PATH=$PWD/venv/bin:$PATH
nothing=$PWD/venv/bin # as PATH: no compiler is found, nor anything else that the environment does not have
install="python -m pip install --disable-pip-version-check --no-cache-dir"
record=
since() { awk "BEGIN { printf \"%.1f\", ($(date +%s%N) - $1) / 1e9 }"; }
timed() { # name, what is installed, what is asked of the core
  local begun installed trained within
  begun=$(date +%s%N)
  PATH=$nothing $install $2
  installed=$(since "$begun")
  PATH=$nothing python -c "from glognn.native.library import find_library, why_not; core = find_library(); assert $3, why_not()"
  begun=$(date +%s%N)
  PATH=$nothing glognn train --threads 1 --quiet --out "$1"
  trained=$(since "$begun")
  within=$(python -c "import json; print(round(json.load(open('$1/report.json'))['seconds'], 1))")
  record+="${record:+, }\"$1\": {\"install\": $installed, \"train\": $trained, \"epochs\": $within}"
}
timed "without a compiler" "--constraint $constraints $(echo glognn-*.tar.gz)" "core is None"
timed "wheel with the core" "--no-deps --force-reinstall $(echo glognn-*linux*.whl)" "core"
glognn doctor
echo "{\"seconds\": {$record}, \"cores\": $(nproc)}" | tee ${out:+"$out"}
