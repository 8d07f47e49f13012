"""From what a user names to a graph: an embedded dataset or a graph file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from glognn.errors import InputError
from glognn.settings import suggest

if TYPE_CHECKING:
    from torch_geometric.data import Data

EMBEDDED = ("pairs",)


def resolve_dataset(name: str) -> str:
    """The name of an embedded dataset, or the absolute path of a graph file. Imports no torch."""
    if name in EMBEDDED:
        return name
    path = Path(name).expanduser()
    if path.suffix != ".npz":
        raise InputError(f"There is no dataset '{name}', and it is no .npz graph file.{suggest(name, EMBEDDED)}")
    if not path.is_file():
        raise InputError(f"There is no graph file '{name}'.")
    return str(path.resolve())


def load_data(dataset: str) -> Data:
    """The graph behind a dataset name or file, as a PyTorch Geometric ``Data``."""
    dataset = resolve_dataset(dataset)
    if dataset in EMBEDDED:
        from glognn.data import synthetic

        data: Data = getattr(synthetic, dataset)()
        return data
    from glognn.data.npz import read_npz

    return read_npz(dataset)
