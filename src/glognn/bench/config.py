"""What the benchmark times, and how. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable

from glognn.data.sources import find_source
from glognn.errors import InputError
from glognn.experiments.plan import parse_names, split_names
from glognn.models.configs import MODELS
from glognn.settings import Settings, choice, integer, switch

OURS = {"glognn": "glognn", "glognn++": "glognn++"}
RELEASED = {"released": "glognn", "released++": "glognn++"}
PEERS = ("linkx", "gcn", "sgformer", "polynormer")
OTHERS = {name: name for name in MODELS if name not in (*OURS, *PEERS)}

METHODS: dict[str, str] = {
    "glognn": "our GloGNN, trained as everyone trains it",
    "glognn++": "our GloGNN++, likewise",
    "released": "GloGNN the way it was released, written anew",
    "released++": "GloGNN++ the way it was released, without the n x n matrix that it computes and drops",
    "linkx": "PyTorch Geometric's LINKX",
    "gcn": "PyTorch Geometric's GCN, two layers",
    "sgformer": "PyTorch Geometric's SGFormer",
    "polynormer": "PyTorch Geometric's Polynormer, local and global attention",
}
"""What is timed by default."""

ALL_METHODS = METHODS | {name: f"our {MODELS[name].title}, trained as everyone trains it, too" for name in OTHERS}


def chosen_methods(models: str | Iterable[str] | None) -> list[str]:
    """Names of methods, with commas between them or in a list; ``None``: what is timed by default."""
    return list(METHODS) if models is None else parse_names(models, ALL_METHODS, "method")


def chosen_datasets(datasets: str | Iterable[str]) -> list[str]:
    """Names of graphs, likewise, each once."""
    names = [find_source(name).name for name in split_names(datasets)]
    if not names or len(set(names)) != len(names):
        raise InputError(f"Name each dataset once. Got {datasets!r} instead.")
    return names


def counterpart(method: str) -> str:
    """The released method that another is compared with: GloGNN++'s for GloGNN++, GloGNN's for all others."""
    return "released++" if method.endswith("++") else "released"


class BenchConfig(Settings):
    """How often and on what everything is timed."""

    title = "the benchmark"

    repeats: int = integer(7, "Rounds; in each, every method has its turn once.", low=1, high=1000)
    epochs: int = integer(
        0, "Timed epochs of a turn; 0 takes as many as fill a quarter of a second, at least 5.", low=0, high=100_000
    )
    splits: int = integer(
        10, "How many splits our models train in one go besides the single run; 1 leaves that out.", low=1, high=1000
    )
    threads: int = integer(1, "CPU threads.", low=1, high=1024)
    device: str = choice("cpu", "Where to train.", ("cpu", "cuda"))
    memory: bool = switch(True, "Measure peak memory, each method by itself (on a CPU in a process of its own).")
    profile: bool = switch(False, "Say which operations the time of each method goes to.")
