"""One file that holds everything a training needs to go on: safetensors, with the plain values as JSON in its head."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from glognn.errors import InputError
from glognn.storage import write_atomically


@dataclass(frozen=True)
class Snapshot:
    """Tensors by name and JSON values: the state after one epoch, and the engine whose tensors they are."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]
    engine: str


def save_tensors(path: Path, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    """Write tensors and JSON values into one safetensors file, atomically."""
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"glognn": json.dumps(values)}  # one entry: the order of several differs from run to run

    def save(temporary: Path) -> None:
        try:
            save_file(contiguous, temporary, metadata=metadata)
        except SafetensorError as error:  # of a full disk, among others
            raise OSError(str(error)) from None

    write_atomically(path, save)


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_tensors` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            values = json.loads((file.metadata() or {}).get("glognn", "{}"))
            # A copy in memory of torch's own has the alignment that equal bits need.
            return {name: file.get_tensor(name).clone() for name in file.keys()}, values  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"There is no file '{path}'.") from None
    except (SafetensorError, json.JSONDecodeError, OSError) as error:
        raise InputError(f"'{path}' is not a readable safetensors file: {error}.") from None


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

    def due(self, seconds: float) -> bool:
        """Whether to write, so many seconds after the last time."""
        return seconds >= self.interval

    def save(self, snapshot: Snapshot) -> None:
        values = snapshot.values | {"identity": self.identity, "engine": snapshot.engine}
        save_tensors(self.path, snapshot.tensors, values)

    def load(self) -> Snapshot | None:
        """The latest snapshot, or ``None`` when there is none yet."""
        if not self.path.exists():
            return None
        tensors, values = load_tensors(self.path)
        if values.get("identity") != self.identity:
            raise InputError(
                f"The checkpoint '{self.path}' belongs to another graph, settings or package version: "
                "start again in a new folder."
            )
        return Snapshot(tensors, values, values["engine"])
