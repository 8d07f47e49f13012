"""What this installation and this machine can do, and what is wrong with them. Imports no torch until it is judged.

Every finding is judged by itself: one that cannot be had, as of a torch that does not load, keeps none of the others
from being told.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import glognn
from glognn.data import fetch
from glognn.data.catalog import DATASETS
from glognn.errors import InputError
from glognn.native import library
from glognn.native.build import LEVELS, find_compiler
from glognn.settings import nearest
from glognn.training import preflight

OK, NOTE, WRONG = "ok", "note", "wrong"
PACKAGES = {
    "torch": "training",
    "torch_geometric": "graphs and models",
    "numpy": "everything",
    "scipy": "sparse matrices",
    "scikit-learn": "metrics and trees",
    "pandas": "frames of the estimator",
    "pyarrow": "your own tables",
    "safetensors": "weights on the disk",
    "filelock": "run folders",
    "threadpoolctl": "threads of trees",
    "optuna": "glognn tune and train --tune",
    "tomli-w": "settings on the disk",
    "platformdirs": "the data cache",
    "pooch": "downloads",
    "requests": "downloads",
    "matplotlib": "pictures",
    "typer": "the command line",
    "rich": "the command line",
}
"""What this package is declared to need, and what each is for."""
EXTRAS = {
    "serve": ("glognn serve", ("fastapi", "pydantic", "starlette", "uvicorn")),
    "metis": ("--partition metis", ("pymetis",)),
    "postgres": ("--storage postgresql", ("psycopg",)),
}
"""What each extra of the package is for, and what it needs."""
VARIABLES = ("GLOGNN_DATA", "GLOGNN_MIRROR", library.SWITCH, preflight.SWITCH, "GLOGNN_KERNELS")
"""What it reads of the environment."""
_LITTLE_MEMORY, _LITTLE_DISK = 2 * 2**30, 2**30
_GIB = 2**30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: ``ok``, a ``note``, or ``wrong`` with what to do about it."""

    what: str
    state: str
    found: str
    remedy: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


def examine(data_mirror: str | Path | None = None) -> list[Finding]:
    """All findings, in the order in which one would look: software, machine, data."""
    looks = (_software, _extras, _torch, _gpu, _core, _processor, _memory, _variables)
    return [*(finding for look in looks for finding in look()), *_data(data_mirror), *_here()]


def _software() -> Iterator[Finding]:
    where = Path(glognn.__file__).parent
    yield Finding("glognn", OK, f"{glognn.__version__} in '{where}'")
    yield Finding("Python", OK, f"{platform.python_version()}, {sys.executable}, {platform.platform()}")
    bounds = _bounds()
    for name, purpose in PACKAGES.items():
        version = _version(name)
        if version is None:
            yield Finding(name, WRONG, f"not installed; it is for {purpose}", f"pip install {name}")
            continue
        least = bounds.get(_normal(name))
        if least and _release(version) < _release(least):
            remedy = f"pip install --upgrade '{name}>={least}'"
            yield Finding(name, WRONG, f"{version}, but at least {least} is needed", remedy)
        else:
            yield Finding(name, OK, version)


def _extras() -> Iterator[Finding]:
    for extra, (purpose, needed) in EXTRAS.items():
        found = {name: _version(name) for name in needed}
        if missing := [name for name, version in found.items() if version is None]:
            remedy = f"pip install 'glognn[{extra}]', where it is wanted"
            yield Finding(purpose, NOTE, f"cannot be used without {', '.join(missing)}", remedy)
        else:
            yield Finding(purpose, OK, ", ".join(f"{name} {version}" for name, version in found.items()))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _bounds() -> dict[str, str]:
    """The least version of each declared package; empty where this package runs from its source folder."""
    try:
        declared = metadata.requires("glognn") or []
    except metadata.PackageNotFoundError:
        return {}
    found = (re.match(r"([\w.-]+)\s*>=\s*([\w.]+)\s*$", each) for each in declared)
    return {_normal(each[1]): each[2] for each in found if each}


def _normal(name: str) -> str:
    return name.replace("_", "-").lower()


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def _torch() -> Iterator[Finding]:
    try:
        import torch
    except Exception as error:  # whatever a damaged installation raises
        yield Finding("torch loads", WRONG, _said(error), "install torch again, as its own site says for this machine")
        return
    built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
    yield Finding("torch loads", OK, f"{torch.__version__}, {built}, {torch.get_num_threads()} threads")


def _gpu() -> Iterator[Finding]:
    try:
        import torch
    except Exception:  # it was told already
        return
    if not torch.cuda.is_available():
        if not shutil.which("nvidia-smi"):
            yield Finding("GPU", OK, "none; models train on the CPU")
        elif torch.version.cuda is None:
            yield Finding("GPU", NOTE, "there is a driver, but torch is built without CUDA", "install torch for CUDA")
        else:
            remedy = f"a driver for CUDA {torch.version.cuda}; CUDA_VISIBLE_DEVICES must not hide the GPU"
            yield Finding("GPU", WRONG, "there is a driver, but torch finds no GPU", remedy)
        return
    for number in range(torch.cuda.device_count()):
        try:
            name = torch.cuda.get_device_name(number)
            free, total = torch.cuda.mem_get_info(number)
            torch.ones(8, device=f"cuda:{number}").sum().item()
        except Exception as error:  # of drivers, of kernels for another GPU, of a GPU that somebody else has
            yield Finding(f"GPU {number}", WRONG, _said(error), "--device cpu does without")
        else:
            memory = f"{free / _GIB:,.1f} of {total / _GIB:,.1f} GiB free"
            state = OK if free >= _LITTLE_MEMORY else NOTE
            yield Finding(f"GPU {number}", state, f"{name}, {memory}", "" if state == OK else "--device cpu")


def _core() -> Iterator[Finding]:
    found = library.find_library()
    if found is not None:
        level = list(LEVELS)[found.level]
        yield Finding("compiled core", OK, f"used, for {level}, in '{library.folder()}'")
    elif library.SWITCH in os.environ:
        yield Finding("compiled core", NOTE, f"not used: {library.why_not()}", f"unset {library.SWITCH}")
    else:
        build = "python -m glognn.native.build"
        compiler = find_compiler()
        remedy = build if compiler else f"install a C++ compiler (g++ or clang++), then {build}"
        slower = "GloGNN trains on a CPU with PyTorch alone, which is slower"
        yield Finding("compiled core", NOTE, f"not used: {library.why_not()}; {slower}", remedy)


def _processor() -> Iterator[Finding]:
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    limited = os.environ.get("OMP_NUM_THREADS")
    more = f", OMP_NUM_THREADS={limited}" if limited else ""
    yield Finding("processor", OK, f"{platform.machine()}, {usable} of {cores} cores may be used{more}")


def _memory() -> Iterator[Finding]:
    free = preflight.free_memory()
    if free is None:
        yield Finding("memory", NOTE, "how much is free is not known")
        return
    state = OK if free >= _LITTLE_MEMORY else NOTE
    remedy = "" if state == OK else "close other programs; runs that do not fit are refused before they start"
    yield Finding("memory", state, f"{free / _GIB:,.1f} GiB free", remedy)


def _variables() -> Iterator[Finding]:
    for name, value in sorted(os.environ.items()):
        if name in VARIABLES:
            yield Finding(name, OK, value)
        elif name.startswith("GLOGNN_"):
            known = f"{', '.join(VARIABLES)} are read"
            yield Finding(name, NOTE, "it is not read", (nearest(name, VARIABLES) or known).strip())


def _data(data_mirror: str | Path | None) -> Iterator[Finding]:
    mirror: Path | None = None
    named = data_mirror or os.environ.get("GLOGNN_MIRROR")
    try:
        mirror = fetch.mirror_dir(data_mirror)
    except InputError as error:
        yield Finding("data mirror", WRONG, str(error), "name a folder with --data-mirror or GLOGNN_MIRROR, or none")
    else:
        if mirror is None:
            yield Finding("data mirror", OK, "none; what is missing is downloaded")
        elif held := [name for name, entry in DATASETS.items() if _held(entry, mirror)]:
            yield Finding("data mirror", OK, f"'{named}', {len(held)} of {len(DATASETS)} datasets")
        else:
            remedy = f"it must be laid out like the cache, as in {next(iter(DATASETS['texas'].files.values())).path}"
            yield Finding("data mirror", WRONG, f"'{named}' holds none of the {len(DATASETS)} datasets", remedy)
    try:
        cache = fetch.cache_dir()
    except ImportError:
        yield Finding("data cache", WRONG, "its place is not known without platformdirs", "set GLOGNN_DATA to a folder")
        return
    here = sum(fetch.is_present(entry, None) for entry in DATASETS.values())
    yield _folder("data cache", cache, f"{here} of {len(DATASETS)} datasets", "set GLOGNN_DATA to another folder")


def _held(entry: Any, mirror: Path) -> bool:
    """Whether a mirror alone has all that a dataset needs."""
    return all(
        any((mirror / f"{path}{end}").is_file() for end in ("", ".gz") for path in _places(file))
        for file in entry.files.values()
    )


def _places(file: Any) -> list[str]:
    return [file.path, *([file.archive.path] if file.archive else [])]


def _here() -> Iterator[Finding]:
    yield _folder("this folder", Path.cwd(), "run folders are written below it", "go to another folder, or use --out")


def _folder(what: str, folder: Path, more: str, remedy: str) -> Finding:
    """Whether a folder, which may not be there yet, can be written to, and has room."""
    exists = next(each for each in (folder, *folder.parents) if each.exists())
    said = f"'{folder}', {more}"
    if not exists.is_dir():
        return Finding(what, WRONG, f"'{exists}' is no folder", remedy)
    try:
        with tempfile.NamedTemporaryFile(dir=exists, prefix=".glognn-doctor-"):
            pass
        free = shutil.disk_usage(exists).free
    except OSError as error:
        return Finding(what, WRONG, f"'{folder}' cannot be written: {error.strerror or error}", remedy)
    if free < _LITTLE_DISK:
        return Finding(what, NOTE, f"{said}; only {free / _GIB:.1f} GiB of the disk are free", remedy)
    return Finding(what, OK, f"{said}; {free / _GIB:,.0f} GiB of the disk are free")


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
