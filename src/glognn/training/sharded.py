"""A checkpoint that all ranks write: rows of nodes by their owners, each into a file of its own, the rest by rank 0.

``latest.safetensors`` is written last and names the other files: it is the mark that a checkpoint is whole. Until then
the one before stays as it was. Rows are known by the numbers of their nodes, so that any number of ranks can go on.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from torch import Tensor

from glognn.distributed.ranks import Ranks
from glognn.errors import InputError
from glognn.training.checkpoint import Checkpoint, Snapshot, load_tensors, read_header, save_tensors
from glognn.training.engines.distributed import ROWS

_NODES = "nodes"
_FILES = "shards"


class ShardedCheckpoint(Checkpoint):
    """The latest snapshot of a run on several ranks.

    Args:
        path: The file that says that all of it is there.
        interval: Seconds between writes, as rank 0 counts them; 0 writes after every epoch.
        identity: What the run is (graph, settings).
        ranks: The group.
        nodes: The numbers of own nodes.
    """

    def __init__(self, path: Path, *, interval: float, identity: str, ranks: Ranks, nodes: Tensor) -> None:
        super().__init__(path, interval=interval, identity=identity)
        self.ranks, self.nodes = ranks, nodes.cpu()

    def due(self, seconds: float, *, ended: bool = False) -> bool:
        return bool(self.ranks.from_leader(super().due(seconds, ended=ended)))

    def save(self, snapshot: Snapshot, *, hastily: bool = False) -> None:
        rows = {name: tensor for name, tensor in snapshot.tensors.items() if name.startswith(ROWS)}
        shared = {name: tensor for name, tensor in snapshot.tensors.items() if name not in rows}
        epoch = len(snapshot.values["histories"][0]["curve"])
        file = Path(f"shards-{epoch}") / f"{self.ranks.rank}-of-{self.ranks.size}.safetensors"
        if rows:
            spread = {"first": int(self.nodes.min()), "last": int(self.nodes.max()), "identity": self.identity}
            save_tensors(self.path.parent / file, rows | {_NODES: self.nodes}, spread)
        files = [name for name in self.ranks.gather(str(file) if rows else "") if name]
        if self.ranks.leads:
            super().save(Snapshot(shared, snapshot.values | {_FILES: files}, snapshot.engine))
            for old in self.path.parent.glob("shards-*"):
                if old.name != file.parent.name:
                    shutil.rmtree(old, ignore_errors=True)

    def load(self) -> Snapshot | None:
        """The latest snapshot, with the rows of own nodes, whoever wrote them."""
        snapshot = super().load()
        if snapshot is None:
            return None
        with self.restoring():
            return Snapshot(snapshot.tensors | self._rows(snapshot.values[_FILES]), snapshot.values, snapshot.engine)

    def _rows(self, files: list[str]) -> dict[str, Tensor]:
        found: dict[str, Tensor] = {}
        missing = torch.ones(len(self.nodes), dtype=torch.bool)
        order = self.nodes.argsort()
        ordered = self.nodes[order]
        for name in files:
            path = self.path.parent / name
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise InputError(f"'{name}' is no file of a checkpoint")
            _, values = read_header(path)
            if values["identity"] != self.identity:
                raise InputError(f"'{name}' is of another run")
            if values["first"] > int(ordered[-1]) or values["last"] < int(ordered[0]):
                continue
            tensors, _ = load_tensors(path)
            theirs = tensors.pop(_NODES)
            places = torch.searchsorted(ordered, theirs).clamp(max=len(ordered) - 1)
            own = ordered[places] == theirs
            into = order[places[own]]
            missing[into] = False
            for key, tensor in tensors.items():
                rows = found.setdefault(key, tensor.new_zeros(len(self.nodes), *tensor.shape[1:]))
                rows[into] = tensor[own]
        if files and bool(missing.any()):
            raise InputError(f"the rows of {int(missing.sum())} nodes are absent")
        return found
