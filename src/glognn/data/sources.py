"""From what a user names to a graph: a published dataset, a generated graph or a graph file."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glognn.data.catalog import DATASETS
from glognn.data.entry import Dataset, PublishedFile
from glognn.data.fetch import fetch, forget_unverified, mirror_dir
from glognn.data.layout import ENCODED, SHARDS
from glognn.errors import DataWarning, InputError, MissingFileError
from glognn.graph.config import GraphConfig
from glognn.records import read_record
from glognn.settings import nearest, suggest
from glognn.storage import file_sha256

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from glognn.data.readers.raw import RawGraph

EMBEDDED = ("pairs",)
TWIN_PREFIX = "twin:"
GENERATED_SPLITS = 5
DENSE_UP_TO = 2**27
"""Values up to which features are given dense unless asked otherwise."""

_warned: set[str] = set()


@dataclass(frozen=True)
class Source:
    """What a name stands for, before anything is loaded.

    Attributes:
        name: The name, or the absolute path of a graph file.
        kind: ``published``, ``generated``, ``file`` or ``shards`` (a folder that ``glognn shard`` wrote).
        entry: The catalog's entry; for a twin, that of the dataset it stands in for.
        scale: Of a twin: its number of nodes and edges as a share of the dataset's.
        encoded: Whether it is a file with features of tables, see :mod:`glognn.data.npz`.
    """

    name: str
    kind: str
    entry: Dataset | None = None
    scale: float = 1.0
    encoded: bool = False

    @property
    def graph(self) -> GraphConfig:
        """How the graph is prepared unless asked otherwise."""
        if self.kind == "shards":  # they hold a prepared graph
            return GraphConfig(directed=bool(_prepared(self.name).get("directed", False)))
        if self.encoded:
            return GraphConfig(feature_normalization="auto")
        return GraphConfig() if self.entry is None else self.entry.graph

    @property
    def metric(self) -> str:
        return "accuracy" if self.entry is None else self.entry.metric

    @property
    def num_splits(self) -> int | None:
        """How many splits the graph comes with; ``None``: a file, which must be read to know."""
        if self.kind == "published" and self.entry is not None:
            return self.entry.num_splits
        return GENERATED_SPLITS if self.kind == "generated" else None

    @property
    def label(self) -> str:
        """A short name for titles and folders."""
        return Path(self.name).stem if self.kind in ("file", "shards") else self.name.replace(":", "-")


def _is_shards(path: Path) -> bool:
    """Whether it is a folder of shards; a name that no file can have is none."""
    try:
        return (path / SHARDS).is_file()
    except (OSError, ValueError):
        return False


def find_source(name: str) -> Source:
    """What a name stands for: a dataset, ``pairs``, ``twin:<dataset>[@scale]`` or a .npz file. Imports no torch."""
    if name in EMBEDDED:
        return Source(name, "generated")
    if name in DATASETS:
        return Source(name, "published", DATASETS[name])
    if name.startswith(TWIN_PREFIX):
        return _twin(name)
    path = Path(name).expanduser()
    if _is_shards(path):
        return Source(str(path.resolve()), "shards")
    if path.suffix != ".npz":
        known = (*EMBEDDED, *DATASETS)
        hint = nearest(name, known) or " 'glognn datasets' lists them."
        raise InputError(f"There is no dataset '{name}', and it is no .npz graph file.{hint}")
    if not path.is_file():
        raise InputError(f"There is no graph file '{name}'.")
    return Source(str(path.resolve()), "file", encoded=_is_encoded(path))


def _is_encoded(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{ENCODED}.npy" in archive.namelist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError):
        return False  # its reader will say what is wrong


def _prepared(folder: str) -> dict[str, Any]:
    """How the graph of a folder of shards was prepared."""
    settings: dict[str, Any] = read_record(Path(folder) / SHARDS, {"graph": dict})["graph"]
    return settings


def _twin(name: str) -> Source:
    dataset, at, text = name.removeprefix(TWIN_PREFIX).partition("@")
    twins = [known for known, entry in DATASETS.items() if entry.twin]
    if dataset not in twins:
        raise InputError(f"There is no twin of '{dataset}'.{suggest(dataset, twins)}")
    try:
        scale = float(text) if at else 1.0
    except ValueError:
        scale = 0.0
    if not 0 < scale <= 10:
        raise InputError(f"The scale of a twin must be a number in the range (0.0, 10.0]. Got {text!r} instead.")
    return Source(
        f"{TWIN_PREFIX}{dataset}" + (f"@{scale:g}" if scale != 1 else ""), "generated", DATASETS[dataset], scale
    )


@dataclass(frozen=True, eq=False)
class Loaded:
    """A loaded graph and where it came from."""

    data: Data
    source: Source
    splits_origin: str
    files: dict[str, str]
    """Published path and sha256 of every file read."""


def load_dataset(
    name: str,
    *,
    mirror: str | Path | None = None,
    unlabelled: str | None = None,
    sparse_features: bool | None = None,
) -> Data:
    """A graph by name or file, as a PyTorch Geometric ``Data``: features and edges as they are published.

    Published datasets are downloaded on first use into the cache (``GLOGNN_DATA``), or read from a mirror. How a model
    gets them (symmetric, normalised) is ``find_dataset(name).graph``, the default of ``glognn train``::

        data = load_dataset("squirrel")
        graph = Graph.from_data(data, find_dataset("squirrel").graph)

    Args:
        name: A dataset (``glognn datasets`` lists them), ``pairs``, a twin such as ``twin:pokec@0.1``, or a .npz file.
        mirror: Folder to read published files from instead of the internet; default ``GLOGNN_MIRROR``.
        unlabelled: ``exclude`` leaves nodes without a label (y = -1) out of all masks, ``first_class`` takes them for
            class 0; default: what the dataset's entry says.
        sparse_features: Give mostly empty features as a sparse (CSR) tensor, or always as a dense one; default: dense
            up to 2^27 values, so that PyTorch Geometric's layers take them as they are.

    Returns:
        ``Data`` with ``x``, ``edge_index`` in the published direction, ``y`` and three masks, n x splits each; random
        ones, with a warning, where the published splits are not to be had.
    """
    source = find_source(name)
    rule = GraphConfig(unlabelled=source.graph.unlabelled if unlabelled is None else unlabelled).unlabelled
    data = load_source(source, mirror=mirror).data
    if data.x is not None and data.x.is_sparse_csr:
        small = data.x.shape[0] * data.x.shape[1] <= DENSE_UP_TO
        if small if sparse_features is None else not sparse_features:
            data.x = data.x.to_dense()
    if rule == "first_class":
        data.y = data.y.clamp(min=0)
    else:
        for key in ("train_mask", "val_mask", "test_mask"):
            if key in data:
                data[key] = data[key] & (data.y >= 0).view(-1, *[1] * (data[key].dim() - 1))
    return data


def load_source(source: Source, *, mirror: str | Path | None = None) -> Loaded:
    """Load what :func:`find_source` found; nodes without a label stay in the masks."""
    if source.kind == "shards":
        from glognn.distributed.shards import Shards

        data = Shards.open(Path(source.name)).data()
        return Loaded(data, source, "given with the graph" if "train_mask" in data else "", {})
    if source.kind == "file":
        from glognn.data.npz import read_npz

        data = read_npz(source.name)
        return Loaded(data, source, "given with the graph" if "train_mask" in data else "", {})
    if source.kind == "generated":
        from glognn.data import synthetic, twins
        from glognn.data.splits import RANDOM_SPLITS

        data = twins.generate(source.entry, source.scale) if source.entry else getattr(synthetic, source.name)()
        return Loaded(data, source, RANDOM_SPLITS, {})
    assert source.entry is not None
    return _load_published(source, source.entry, mirror_dir(mirror))


def warn_once(entry: Dataset, stacklevel: int = 2) -> None:
    """Say what a user of a dataset must know, once in a process."""
    if entry.warning and entry.name not in _warned:
        _warned.add(entry.name)
        warnings.warn(entry.warning, DataWarning, stacklevel=stacklevel)


def _load_published(source: Source, entry: Dataset, mirror: Path | None) -> Loaded:
    from glognn.data.convert import to_data
    from glognn.data.splits import RANDOM_SPLITS

    warn_once(entry, stacklevel=5)
    paths = {role: fetch(file, mirror) for role, file in entry.files.items()}
    reader = import_module(f"glognn.data.readers.{entry.reader}")
    raw: RawGraph = _read(entry, list(entry.files.values()), lambda: reader.read(paths, **entry.options))
    origin = entry.splits_rule.partition(";")[0]
    used = dict(zip((file.path for file in entry.files.values()), paths.values(), strict=True))
    if entry.splits:
        try:
            split_paths = [fetch(file, mirror) for file in entry.splits]
        except MissingFileError as error:
            if not entry.splits_optional:
                raise
            warnings.warn(
                f"{entry.name}: its published splits are not to be had, so random 50/25/25 splits (seed 0) stand in; "
                f"scores on them are not those of the paper's splits. {error}",
                DataWarning,
                stacklevel=4,
            )
            origin = f"{RANDOM_SPLITS} (the published splits are not to be had)"
        else:
            splitter = import_module(f"glognn.data.readers.{entry.splits_reader}")
            masks = _read(entry, list(entry.splits), lambda: splitter.read_splits(split_paths, len(raw.y)))
            raw = replace(raw, masks=masks)
            used |= dict(zip((file.path for file in entry.splits), split_paths, strict=True))
    digests = {path: file_sha256(place) for path, place in used.items()}
    return Loaded(to_data(raw), source, origin, digests)


def _read(entry: Dataset, files: list[PublishedFile], read: Callable[[], Any]) -> Any:
    """Call a reader; unreadable downloads without a published checksum are dropped, files put there by hand never."""
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:
        dropped = [file for file in files if forget_unverified(file)]
        again = " It was removed from the cache: run again to download it." if dropped else ""
        named = ", ".join(f"'{file.path}'" for file in files[:3]) + (" ..." if len(files) > 3 else "")
        problem = " ".join(str(error).split()).rstrip(".") or "no reason given"
        kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
        raise InputError(f"{entry.name}: {named} cannot be read: {kind}{problem}.{again}") from error
