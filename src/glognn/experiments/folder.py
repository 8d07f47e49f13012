"""The run folder, the same everywhere.

``config.toml`` (complete settings), ``report.json``, ``curve.csv``, ``model.safetensors``, while it is under way
``checkpoint/``, and at the end ``DONE``. A run over several splits is a parent folder with a child ``split-<i>`` for
each, and a run of several models a folder with a child for each model. Splits with settings of their own are runs of
their own, which ``config.toml`` of the folder around them lists as it does models. Every file is written as a whole;
``DONE`` comes last; a finished folder is never done again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from glognn.errors import InputError
from glognn.experiments.config import SCHEMA_VERSION, RunConfig, read_config
from glognn.experiments.integrity import check_files
from glognn.experiments.layout import AUTO, CONFIG, MODEL
from glognn.experiments.reports import Report, read_report
from glognn.models.base import NodeModel
from glognn.models.configs import find_model
from glognn.records import Form, check_version, is_file_name, misfit, read_toml
from glognn.storage import locked, write_text
from glognn.training.checkpoint import load_tensors, read_header, save_tensors
from glognn.training.devices import DTYPES

__all__ = ["Report", "check_free", "find_runs", "held", "load_model", "read_report", "save_model", "start_runs"]


_SAVED: Form = {
    "model": str,
    "settings": dict,
    "in_channels": int,
    "out_channels": int,
    "num_nodes": (int, type(None)),
}


def save_model(path: Path, model: NodeModel[Any]) -> None:
    """Weights as safetensors, with what is needed to build the model again."""
    values = {
        "schema_version": SCHEMA_VERSION,
        "model": model.config_class.name,
        "settings": model.config.as_dict(),
        "in_channels": model.in_channels,
        "out_channels": model.out_channels,
        "num_nodes": model.num_nodes,
    }
    save_tensors(path, dict(model.state_dict()), values)


def load_model(path: str | Path) -> NodeModel[Any]:
    """A trained model from a run folder, or from its ``model.safetensors``, in evaluation mode on the CPU.

    The file must be the one that the run was finished with, as far as that is recorded beside it.
    """
    path = Path(path)
    file = path / MODEL if path.is_dir() else path
    check_files(file.parent, [file.name])
    return read_model(file)


def read_model(file: Path) -> NodeModel[Any]:
    """What :func:`save_model` wrote.

    The names and shapes of its tensors are compared with those that its settings ask for before a tensor is read or a
    model is built, so that a file takes no more memory than it holds.
    """
    shapes, values = read_header(file)
    check_version(file, values, SCHEMA_VERSION)
    if wrong := misfit(values, _SAVED):
        raise InputError(f"'{file}' is damaged: {wrong}.")
    sizes = values["in_channels"], values["out_channels"], values["num_nodes"]
    try:
        with torch.device("meta"):
            model = find_model(values["model"]).model_class()(*sizes, **values["settings"])
    except Exception as error:  # torch has many words for sizes that cannot be
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"'{file}' is damaged: its settings make no model: {reason}.") from None
    wanted = model.state_dict()
    for name in sorted({*wanted, *shapes}):
        found, asked = shapes.get(name), tuple(wanted[name].shape) if name in wanted else None
        if found != asked:
            got, must = ("absent" if shape is None else f"of shape {shape}" for shape in (found, asked))
            raise InputError(f"'{file}' is damaged: the tensor '{name}' must be {must}. It is {got} instead.")
    tensors, _ = load_tensors(file)
    kinds = {tensor.dtype for name, tensor in tensors.items() if wanted[name].is_floating_point()}
    if len(kinds) != 1 or not kinds <= set(DTYPES.values()):
        raise InputError(
            f"'{file}' is damaged: its weights must be float32 or float64, all alike. Got {kinds} instead."
        )
    for name, tensor in tensors.items():
        if not bool(tensor.isfinite().all()):
            raise InputError(f"'{file}' is damaged: the tensor '{name}' holds numbers that are not finite.")
    model.load_state_dict(tensors, assign=True)
    return model.eval()


def find_runs(folder: Path) -> list[tuple[Path, RunConfig]]:
    """The runs a folder was started with: itself, or its children when it was started with several models, or with
    splits that have settings of their own."""
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"'{folder}' is no run folder: it has no {CONFIG}.")
    content = read_toml(path)
    check_version(path, {"schema_version": SCHEMA_VERSION} | content, SCHEMA_VERSION)
    if "runs" not in content:
        return [(folder, read_config(path))]
    found = []
    for child in _children(folder, content["runs"]):
        inside = read_toml(child / CONFIG) if (child / CONFIG).is_file() else {}
        leaves = _children(child, inside["runs"]) if "runs" in inside else [child]
        found += [(leaf, read_config(leaf / CONFIG)) for leaf in leaves]
    return found


def by_model(runs: list[tuple[Path, RunConfig]]) -> dict[Path, list[tuple[Path, RunConfig]]]:
    """Runs by the folder of their model, which has one, or one for each of several splits with settings of its own."""
    named: dict[str, list[tuple[Path, RunConfig]]] = {}
    for child, config in runs:
        named.setdefault(config.model.name, []).append((child, config))
    return {group[0][0] if len(group) == 1 else group[0][0].parent: group for group in named.values()}


def _children(folder: Path, names: Any) -> list[Path]:
    """Folders of several models, each in the folder of them all and not led out of it by a symlink."""
    place = f"'runs' of '{folder / CONFIG}'"
    if misfit(names, [str]) or not names or len(set(names)) != len(names):
        raise InputError(f"{place} must name different folders. Got {names!r} instead.")
    for name in names:
        if not is_file_name(name) or (folder / name).resolve().parent != folder.resolve():
            raise InputError(f"{place} must name folders in '{folder}'. Got {name!r} instead.")
    return [folder / name for name in names]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a run folder, and the run folders that it lies in, against other writers."""
    with ExitStack() as stack:
        for place in (*reversed(folder.absolute().parents), folder):
            if place == folder or any((place / name).is_file() for name in (CONFIG, AUTO)):
                try:
                    stack.enter_context(locked(place, wait=False))
                except OSError as error:
                    raise InputError(str(error)) from None
        yield


@contextmanager
def held_for_new_runs(folder: Path, *, new: bool = False) -> Iterator[None]:
    """Hold a folder without runs, which is so when it is free and still so when it is held.

    Where nothing came to lie in it but its lock, it is removed while that is held, if it is ``new`` or was not there.
    """
    check_free(folder)
    new = new or not folder.exists()
    with held(folder):
        check_free(folder)
        try:
            yield
        finally:
            with suppress(OSError):
                if not any(path.name != ".lock" for path in folder.iterdir()):
                    (folder / ".lock").unlink(missing_ok=True)
                    if new:
                        folder.rmdir()


def new_folder(path: Path) -> Path:
    """A folder that was not there before and is nobody else's: that of the path, or else with a number behind."""
    for number in itertools.count(1):
        folder = path if number == 1 else path.with_name(f"{path.name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"The folder '{folder}' cannot be written: {error.strerror}.") from None
        break
    return folder


def check_free(folder: Path) -> None:
    """Refuse a folder that holds a run."""
    if any((folder / name).exists() for name in (CONFIG, AUTO)):
        raise InputError(f"'{folder}' already holds a run: choose another --out, or go on with --resume {folder}.")


def start_runs(folder: Path, configs: list[RunConfig]) -> list[tuple[Path, RunConfig]]:
    """Lay down the folders of new runs, so that they can be resumed whatever happens next.

    A model with several configurations has one for each of several splits.
    """
    import tomli_w

    check_free(folder)
    names = list(dict.fromkeys(config.model.name for config in configs))
    several = [config.model.name for config in configs]
    runs, listed = list[tuple[Path, RunConfig]](), dict[Path, list[str]]()
    for config in configs:
        place = folder if len(names) == 1 else folder / config.model.name
        if several.count(config.model.name) > 1:
            listed.setdefault(place, []).append(f"split-{config.splits}")
            place = place / f"split-{config.splits}"
        runs.append((place, config))
    if len(names) > 1:
        listed[folder] = names
    try:
        for child, config in runs:
            write_text(child / CONFIG, config.to_toml(child))
        for place, inside in listed.items():  # that of the folder last: it is a run folder from then on
            content = {"schema_version": SCHEMA_VERSION, "runs": inside}
            write_text(place / CONFIG, tomli_w.dumps(content))
    except OSError as error:
        raise InputError(str(error)) from None
    return runs
