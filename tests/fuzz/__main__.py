# ruff: noqa: T201
"""``python -m tests.fuzz``: damage files of every kind for some minutes and read them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.campaign import fuzz
from tests.fuzz.targets import TARGETS, Fuzzer


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", choices=TARGETS, help="only files of this kind")
    parser.add_argument("--file", type=Path, help="read this one as the target, and show what happens")
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"), help="where to keep what went wrong")
    given = parser.parse_args()
    if given.file is not None:
        print(Fuzzer().read(given.target[0], given.file.read_bytes()) or "read")
        return 0
    return fuzz(given.target or list(TARGETS), given.seconds, given.seed, given.out)


if __name__ == "__main__":
    sys.exit(main())
