"""Compile the native core in place: ``python -m glognn.native.build``. The installation does the same.

Imports nothing but the standard library, because it runs before the package is installed. One library is made for each
level of vector instructions; which one serves is decided when it is loaded, so that a wheel runs on any machine of its
platform. ``--sanitize DIR`` puts libraries into another folder that check every address and all arithmetic as they run.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).parent
FLAGS = ["-O3", "-std=c++17", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-Wno-ignored-attributes"]
SANITIZE = ["-O0", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
LEVELS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx2", "-mfma", "-mprefer-vector-width=512"],
}
"""Levels of vector instructions in the order in which the library numbers them; other than x86 has the first alone."""


def source_hash() -> str:
    """What the libraries are built from, and how; a library of another source is not used."""
    parts = [repr((FLAGS, SANITIZE, LEVELS)).encode()]
    for path in sorted([*FOLDER.glob("*.cpp"), *FOLDER.glob("*.hpp")]):
        parts += [path.name.encode(), path.read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def library_path(level: str, folder: Path = FOLDER) -> Path:
    return folder / f"core-{level}.so"


def levels() -> list[str]:
    """The levels that a compiler for this machine can build."""
    return list(LEVELS) if platform.machine().lower() in ("x86_64", "amd64") else ["baseline"]


def find_compiler() -> list[str] | None:
    """The command of a C++ compiler: ``CXX`` from the environment, or the first usual name that exists."""
    named = os.environ.get("CXX")
    if named:
        return shlex.split(named)
    found = next((path for name in ("c++", "g++", "clang++") if (path := shutil.which(name))), None)
    return None if found is None else [found]


def build(folder: Path = FOLDER, *, sanitize: bool = False) -> list[Path]:
    """Compile every level that is not there yet, side by side, and give the paths of all.

    Raises ``RuntimeError`` with one line when no compiler does it.
    """
    built = source_hash()
    paths = {level: library_path(level, folder) for level in levels()}
    old = [level for level, path in paths.items() if not (path.is_file() and built.encode() in path.read_bytes())]
    if old:
        compiler = find_compiler()
        if compiler is None:
            raise RuntimeError("no C++ compiler found (looked for CXX, c++, g++, clang++)")
        folder.mkdir(parents=True, exist_ok=True)
        command = [*compiler, *FLAGS, *(SANITIZE if sanitize else []), f'-DGLOGNN_SOURCE="{built}"']
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda level: _compile([*command, *LEVELS[level]], paths[level]), old))
    return list(paths.values())


def _compile(command: list[str], path: Path) -> None:
    unfinished = path.with_suffix(f".{os.getpid()}.so")
    command = [*command, str(FOLDER / "core.cpp"), "-o", str(unfinished)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"{command[0]} cannot be run ({error.strerror})") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit code {done.returncode}"]
        raise RuntimeError(f"{command[0]} failed ({lines[0].strip()})")
    unfinished.replace(path)


def remove() -> None:
    """Delete what an earlier build left."""
    for level in LEVELS:
        library_path(level).unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compile the native core.")
    parser.add_argument(
        "--sanitize", type=Path, metavar="DIR", help="libraries that check themselves, into this folder"
    )
    folder = parser.parse_args().sanitize
    try:
        paths = build() if folder is None else build(folder, sanitize=True)
    except RuntimeError as error:
        sys.exit(f"The native core was not built: {error}.")
    sys.stdout.write(f"The native core is built: {', '.join(path.name for path in paths)}.\n")


if __name__ == "__main__":
    main()
