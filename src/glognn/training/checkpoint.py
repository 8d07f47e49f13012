"""One file that holds everything a training needs to go on: safetensors, with the plain values as JSON in its head."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from glognn.errors import InputError
from glognn.records import NUMBER, Form, misfit, refuse_huge
from glognn.storage import write_atomically
from glognn.training.preflight import ran_out

_VALUES, _SHA256 = "glognn", "sha256"
_SNAPSHOT: Form = {
    "engine": str,
    "alive": [int],
    "inside": [int],
    "histories": [{"curve": [dict], "best": dict, "seconds": NUMBER}],
}


SOON, SPARED = 2.0, 10.0
"""Seconds after which the end of a run is kept, and how many times as long as keeping takes at least; several that end
within them are kept at once.
"""


@dataclass(frozen=True)
class Snapshot:
    """Tensors by name and JSON values: the state after one epoch, and the engine whose tensors they are."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]
    engine: str


def save_tensors(path: Path, tensors: dict[str, Tensor], values: dict[str, Any], *, hastily: bool = False) -> None:
    """Write tensors and JSON values into one safetensors file, atomically, with the sha256 of both.

    ``hastily`` does without the sha256 and does not wait for the disk: a power cut may then leave a file that cannot be
    read.
    """
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    sealed = values if hastily else values | {_SHA256: _content_sha256(contiguous, values)}
    metadata = {_VALUES: json.dumps(sealed)}  # one entry: the order of several differs from run to run

    def save(temporary: Path) -> None:
        try:
            save_file(contiguous, temporary, metadata=metadata)
        except SafetensorError as error:  # of a full disk, among others
            raise OSError(str(error)) from None

    write_atomically(path, save, synced=not hastily)


def _content_sha256(tensors: dict[str, Tensor], values: dict[str, Any]) -> str:
    """Of tensors and values, at about 1 GB/s."""
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


Header = dict[str, tuple[int, ...]]
"""The shapes of the tensors in a file, by name."""


def read_header(path: Path) -> tuple[Header, dict[str, Any]]:
    """The shapes and values of what :func:`save_tensors` wrote; no tensor is read.

    A file is refused that does not hold as many bytes as its shapes need.
    """
    with _opened(path) as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}, _values(file)[0]  # noqa: SIM118


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_tensors` wrote, which must be as it was written."""
    with _opened(path) as file:
        values, sha256 = _values(file)
        # A copy in memory of torch's own has the alignment that equal bits need.
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    if sha256 is not None and sha256 != _content_sha256(tensors, values):  # none in files of earlier versions
        raise InputError(f"'{path}' is damaged: its sha256 is not the one that it was written with.")
    return tensors, values


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except FileNotFoundError:
        raise InputError(f"There is no file '{path}'.") from None
    except (SafetensorError, OSError, ValueError, RecursionError) as error:
        raise InputError(f"'{path}' is not a readable safetensors file: {error}.") from None


def _values(file: Any) -> tuple[dict[str, Any], Any]:
    """The values of an open file, and their sha256 with the tensors."""
    values = refuse_huge(json.loads((file.metadata() or {}).get(_VALUES, "{}")))
    if not isinstance(values, dict):
        raise ValueError(f"its values are {values!r:.60}")
    return values, values.pop(_SHA256, None)


class Checkpoint:
    """The latest snapshot of a run, in one file that is replaced as a whole.

    Args:
        path: The file.
        interval: Seconds between writes; 0 writes after every epoch.
        identity: What the run is (graph, settings); a snapshot of another run is refused.
    """

    def __init__(self, path: Path, *, interval: float, identity: str) -> None:
        self.path = path
        self.interval = interval
        self.identity = identity
        self.cost = 0.0
        """Seconds that the last write took."""

    def due(self, seconds: float, *, ended: bool = False) -> bool:
        """Whether to write, so many seconds after the last time; sooner where runs of a batch have ended since."""
        return seconds >= (min(self.interval, max(SOON, SPARED * self.cost)) if ended else self.interval)

    def save(self, snapshot: Snapshot, *, hastily: bool = False) -> None:
        """Replace what is there; ``hastily`` as :func:`save_tensors` does."""
        began = time.perf_counter()
        values = snapshot.values | {"identity": self.identity, "engine": snapshot.engine}
        save_tensors(self.path, snapshot.tensors, values, hastily=hastily)
        self.cost = time.perf_counter() - began

    def keep_stopped(self, reason: str, snapshot: Callable[[], Snapshot]) -> None:
        """Members are about to be stopped for a reason of the caller's; nothing is kept of them here."""

    def load(self) -> Snapshot | None:
        """The latest snapshot, or ``None`` when there is none yet."""
        if not self.path.exists():
            return None
        try:
            _, values = read_header(self.path)
        except InputError as error:
            raise self._damaged(error) from None
        if values.get("identity") != self.identity:
            raise InputError(
                f"The checkpoint '{self.path}' belongs to another graph, settings or package version: "
                "start again in a new folder."
            )
        with self.restoring():
            if wrong := misfit(values, _SNAPSHOT):
                raise InputError(wrong)
            tensors, values = load_tensors(self.path)
        return Snapshot(tensors, values, values["engine"])

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Whatever does not fit, while a snapshot is put in place, is said of its file."""
        try:
            yield
        except (InputError, LookupError, TypeError, ValueError, RuntimeError) as error:
            if ran_out(error):
                raise
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> InputError:
        reason = " ".join(str(error).split()).rstrip(".")
        return InputError(
            f"The checkpoint '{self.path}' is damaged ({reason}): delete it, and the run starts again from its first "
            "epoch."
        )
