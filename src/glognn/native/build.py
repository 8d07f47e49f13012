"""Compile the native core in place: ``python -m glognn.native.build``. The installation does the same.

Imports nothing but the standard library, because it runs before the package is installed. One library is made for each
level of vector instructions; which one serves is decided when it is loaded, so that a wheel runs on any machine of its
platform.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCES = [Path(__file__).with_name(name) for name in ("members.cpp",)]
FLAGS = ["-O3", "-std=c++17", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden"]
FLAGS += ["-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-Wno-ignored-attributes"]
LEVELS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma"],
    "avx512": ["-mavx512f", "-mavx2", "-mfma", "-mprefer-vector-width=512"],
}
"""Levels of vector instructions in the order in which the library numbers them; other than x86 has the first alone."""


def source_hash() -> str:
    """What the libraries are built from; a library of another source is not used."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()[:16]


def library_path(level: str) -> Path:
    return SOURCES[0].with_name(f"core-{level}.so")


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


def build() -> list[Path]:
    """Compile every level, side by side. Raises ``RuntimeError`` with one line when no compiler does it."""
    compiler = find_compiler()
    if compiler is None:
        raise RuntimeError("no C++ compiler found (looked for CXX, c++, g++, clang++)")
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda level: _compile(compiler, level), levels()))


def _compile(compiler: list[str], level: str) -> Path:
    path = library_path(level)
    unfinished = path.with_suffix(f".{os.getpid()}.so")
    command = [*compiler, *FLAGS, *LEVELS[level], f'-DGLOGNN_SOURCE="{source_hash()}"', *map(str, SOURCES)]
    try:
        done = subprocess.run([*command, "-o", str(unfinished)], capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"{compiler[0]} cannot be run ({error.strerror})") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit code {done.returncode}"]
        raise RuntimeError(f"{compiler[0]} failed ({lines[0].strip()})")
    unfinished.replace(path)
    return path


def remove() -> None:
    """Delete what an earlier build left."""
    for level in LEVELS:
        library_path(level).unlink(missing_ok=True)


def main() -> None:
    try:
        for path in build():
            sys.stdout.write(f"built {path.name}\n")
    except RuntimeError as error:
        sys.exit(f"The native core was not built: {error}.")


if __name__ == "__main__":
    main()
