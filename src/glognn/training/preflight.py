"""Whether a training fits the memory there is: judged from sizes before it starts, explained when memory runs out.

Counted is what a model's settings predict (``ModelConfig``), on a CPU as what the process will hold more than it holds
now, against what the system, the control group (as of a container) or the GPU can still give, less a margin.
``GLOGNN_MEMORY_CHECK=0`` switches refusals off. Imports no torch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from glognn.errors import MemoryExhaustedError, TooLargeError
from glognn.models.configs import GloGNN2Config, GloGNNConfig, GloGNNPlusPlusConfig
from glognn.models.memory import PARAMETER_COPIES, VALUE_BYTES, Sizes
from glognn.native.memory import CoreSizes, InputSizes
from glognn.nn.inputs import ADJACENCY, FEATURES, INPUTS, LINK, LINK_IN, MEANS
from glognn.training.allocator import give_back_large_blocks

if TYPE_CHECKING:
    import torch

    from glognn.graph.graph import Graph
    from glognn.models.configs import ModelConfig
    from glognn.training.config import TrainingConfig

SWITCH = "GLOGNN_MEMORY_CHECK"
_GIB = 2**30
_SYSTEM = Path("/")
_EXHAUSTED = ("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED")
_SETS_BYTES = 25
"""Of a node in the sets of a member's split: two indices and a label in 64 bits, and a mask."""
_PLAN_BYTES = 12
"""Of a row of a matrix that kernels sum: where its entries begin and end, and which it is."""
_MATTERING = ("hidden_channels", "num_layers", "num_rounds", "num_hops", "heads", "num_rings")
"""Settings that decide how much is needed, where a model has them."""
MARGIN = 0.1
"""Share of what the process will hold that must stay free: so exact is what is predicted (benchmarks/resident.py)."""
ROOMY = 3
"""Where so many times what is needed is free, the allocator may keep what it likes, which is faster."""
LIBRARY_BYTES = 20 * 2**20
"""What the first training brings with it, measured: code of libraries that is read, and their own memory."""
THREAD_BYTES = 2**18
"""Of each thread: its stack and what libraries keep for it; eight took less than could be measured."""
GPU_LIBRARY_BYTES = 160 * 2**20
"""What cuBLAS works in, 32 MiB each (H200): of two threads on two streams, and for maps with a bias."""
BATCH_BYTES = {"cpu": 2 * 2**30, "cuda": 16 * 2**30}
"""What models that train as one batch may take."""


@dataclass
class _Share:
    """What this process may take: all there is, unless it is one of several workers, or of several ranks."""

    bytes: float = float("inf")
    workers: int = 1
    called: str = "workers"
    instead: str = "use fewer workers"


_share = _Share()


def take_share(size: float, workers: int, *, ranks: bool = False) -> None:
    """This process is one of several that train at a time, and may take ``size`` bytes of the machine's memory.

    Ranks train one model together, so that it takes less of each machine where there are more machines.
    """
    _share.bytes, _share.workers = size, workers
    _share.called = "ranks" if ranks else "workers"
    _share.instead = "use more machines (--nnodes)" if ranks else "use fewer workers"


@dataclass(frozen=True)
class Need:
    """Bytes that a training takes; ``preparation`` passes before it begins, on the host."""

    weights: int
    activations: int
    inputs: int
    preparation: int

    @property
    def training(self) -> int:
        return self.weights + self.activations + self.inputs

    @classmethod
    def of(cls, model: ModelConfig, sizes: Sizes, *, members: int = 1, value_bytes: int = VALUE_BYTES) -> Need:
        """Of models that train together: they share the inputs, and each has its weights once more in its model."""
        parameters = model.num_parameters(sizes)
        each = (PARAMETER_COPIES + (members > 1)) * parameters
        return cls(
            weights=members * value_bytes * each,
            activations=members * value_bytes * max(parameters, model.num_activations(sizes)),
            inputs=model.input_bytes(sizes) * value_bytes // VALUE_BYTES,
            preparation=model.preparation_bytes(sizes),
        )

    @classmethod
    def fused(cls, model: ModelConfig, sizes: Sizes, *, remembers: bool, value_bytes: int = VALUE_BYTES) -> Need:
        """Of a model alone on a GPU with kernels: weights, two moments and perhaps the best, trained where they are."""
        matrices = 1 if sizes.symmetric else 2
        return cls(
            weights=value_bytes * (3 + remembers) * model.num_parameters(sizes),
            activations=value_bytes * model.fused_activations(sizes)
            + sizes.nodes * (_SETS_BYTES + matrices * _PLAN_BYTES)
            + GPU_LIBRARY_BYTES,
            inputs=model.input_bytes(sizes) * value_bytes // VALUE_BYTES,
            preparation=model.preparation_bytes(sizes),
        )

    @classmethod
    def native(cls, model: GloGNNConfig | GloGNN2Config, sizes: Sizes, *, members: int = 1, threads: int = 1) -> Need:
        """Of models that compiled code trains: weights in whole vectors, and no gradients.

        A member's weights are there in its model, and four times in the core's form: with two moments and the best.
        When it ends they are copied once more.
        """
        core = core_sizes(model, sizes, members=members, threads=threads)
        sets = sizes.classes * VALUE_BYTES + _SETS_BYTES
        return cls(
            weights=VALUE_BYTES * ((members + 1) * model.num_parameters(sizes) + 4 * members * core.parameters),
            activations=core.core_bytes() + members * sizes.nodes * sets,
            inputs=model.input_bytes(sizes),
            preparation=model.preparation_bytes(sizes),
        )


def resident_bytes(need: Need, graph: Graph, threads: int) -> int:
    """What the process will hold more than now at the peak, on a CPU: features it holds already."""
    coming = need.weights + need.activations + max(0, need.inputs - _feature_bytes(graph))
    return max(need.preparation, coming) + LIBRARY_BYTES + threads * THREAD_BYTES


def resident_now() -> int:
    """Bytes that this process holds; 0 where that is not known."""
    found = [line.split()[1] for line in _lines(_SYSTEM / "proc/self/status") if line.startswith("VmRSS:")]
    return 1024 * (_number(found) or 0)


def _feature_bytes(graph: Graph) -> int:
    from glognn.graph.sparse import SparseMatrix

    if not isinstance(graph.x, SparseMatrix):
        return 0 if graph.x is None else graph.x.nbytes
    parts = {id(csr): csr for csr in (graph.x.csr, graph.x.csr_transposed)}.values()
    return sum(part.nbytes for csr in parts for part in (csr.crow_indices(), csr.col_indices(), csr.values()))


def core_sizes(model: GloGNNConfig | GloGNN2Config, sizes: Sizes, *, members: int = 1, threads: int = 1) -> CoreSizes:
    """GloGNN, GloGNN++ or GloGNN2 on a graph, as the compiled core's memory depends on it."""
    weighted = [name for name, weight in model.inputs.items() if weight]
    columns = {name: INPUTS[name].columns(sizes.features, sizes.nodes) for name in weighted}
    read = [name for name, count in columns.items() if count]
    jumping = isinstance(model, GloGNN2Config)
    apart = [name for name in read if jumping and INPUTS[name].of_nodes]
    gated = model.gated.split() if isinstance(model, GloGNN2Config) else []
    return CoreSizes(
        nodes=sizes.nodes,
        classes=sizes.classes,
        hidden=model.hidden_channels,
        layers=model.num_layers,
        hops=len(model.words),
        members=members,
        threads=threads,
        dropping=model.dropout > 0,
        scaled=isinstance(model, GloGNNPlusPlusConfig),
        inputs=[
            InputSizes(
                columns[name],
                _stored(name, model, sizes),
                branch=name in apart and len(apart) < len(read),
                gated=name in gated,
            )
            for name in read
        ],
        jumping=jumping,
        batch=isinstance(model, GloGNN2Config) and model.normalizes_columns,
        blocks=model.num_blocks if isinstance(model, GloGNN2Config) else model.num_encoder_layers - 2,
        directions=len(model.neighbours) if isinstance(model, GloGNN2Config) else 0,
        tau=model.tau == "learned" and model.num_layers > 0,
    )


def _stored(name: str, model: GloGNNConfig | GloGNN2Config, sizes: Sizes) -> int | None:
    """Entries of an input where it is sparse; ``None`` where it is dense."""
    if name == ADJACENCY:
        return sizes.entries if model.normalization == "none" else sizes.looped
    if name in (LINK, LINK_IN):
        return sizes.entries
    if name in MEANS and sizes.feature_entries is not None:  # at most: features of neighbours may be the same
        return min(sizes.nodes * sizes.features, sizes.entries * sizes.feature_entries // max(sizes.nodes, 1))
    return sizes.feature_entries if name == FEATURES else None


def need_of(model: ModelConfig, graph: Graph, training: TrainingConfig, members: int = 1) -> Need:
    """What training models with these settings takes, by the engine that does it."""
    from glognn.distributed.matrix import PartMatrix
    from glognn.graph.directions import is_undirected, joined_entries
    from glognn.training.devices import DTYPES, resolve_device
    from glognn.training.engines.native import refusal_of_settings

    sizes = sizes_of(graph)
    if isinstance(model, GloGNN2Config) and not isinstance(graph.adjacency.matrix, PartMatrix):
        sizes = replace(sizes, undirected=is_undirected(graph.adjacency), joined=joined_entries(graph.adjacency))
    compiled = training.engine in ("auto", "native") and resolve_device(training.device).type == "cpu"
    if compiled and isinstance(model, GloGNNConfig | GloGNN2Config) and not refusal_of_settings(model, training, graph):
        return Need.native(model, sizes, members=members, threads=_threads(training))
    size = DTYPES[training.dtype].itemsize
    if members == 1 and training.engine in ("auto", "captured") and _fuses(training):
        return Need.fused(model, sizes, remembers=training.selection == "best", value_bytes=size)
    need = Need.of(model, sizes, members=members, value_bytes=size)
    exchanged = graph.exchanged_rows * size * max(getattr(model, "hidden_channels", 0), graph.num_classes)
    return replace(need, activations=need.activations + exchanged)


def _fuses(training: TrainingConfig) -> bool:
    """Whether kernels of our own compute a run alone."""
    import torch

    from glognn.ops.kernels import usable
    from glognn.training.devices import DTYPES, resolve_device

    return usable(torch.empty(0, dtype=DTYPES[training.dtype], device=resolve_device(training.device)))


def sizes_of(graph: Graph) -> Sizes:
    """A graph as far as memory depends on it."""
    from glognn.graph.sparse import SparseMatrix

    matrix = graph.adjacency.matrix
    out, into = (csr.crow_indices().diff().double() for csr in (matrix.csr, matrix.csr_transposed))
    return Sizes(
        graph.num_nodes,
        matrix.nnz,
        graph.num_features,
        graph.num_classes,
        graph.x.nnz if isinstance(graph.x, SparseMatrix) else None,
        int(out @ into),
        matrix.is_symmetric,
    )


def check_memory(model: ModelConfig, graph: Graph, training: TrainingConfig, members: int = 1) -> None:
    """Refuse a training that cannot fit, with the numbers and with what to change."""
    if os.environ.get(SWITCH) == "0":
        return
    from glognn.training.devices import resolve_device

    device = resolve_device(training.device)
    need = need_of(model, graph, training, members)
    on_host = device.type == "cpu"
    whole = resident_bytes(need, graph, _threads(training)) if on_host else need.training
    for what, size, place in (("preparing the graph", need.preparation, "cpu"), ("training", whole, device.type)):
        free = free_memory(device if place == device.type else None)
        margin = _margin(size, place)
        if place == "cpu" and free is not None and ROOMY * (size + margin) > free:
            give_back_large_blocks()
            free = free_memory()
        if free is not None and size + margin > free:
            hopeless = what != "training" or need.inputs > free
            raise TooLargeError(
                f"{_title(model, members)} does not fit: {what} takes about {_gib(size)}"
                f"{_parts(need) if what == 'training' else ''}, and {_gib(free)} are free {_where(place)}, "
                f"{_gib(margin)} of them as a margin. "
                f"{_advice(model, members, place, hopeless=hopeless)} {SWITCH}=0 tries it all the same."
            )


def _margin(size: int, place: str) -> int:
    """What must stay free beside it: a share of all that the process will hold there."""
    return int(MARGIN * (size + (resident_now() if place == "cpu" else 0)))


def _threads(training: TrainingConfig) -> int:
    import torch

    return training.threads or torch.get_num_threads()


def members_at_once(model: ModelConfig, graph: Graph, training: TrainingConfig) -> int:
    """How many models with these settings may train as one batch now; 1 means that they had better train alone."""
    from glognn.training.devices import resolve_device

    device = resolve_device(training.device)
    budget, free = BATCH_BYTES[device.type], free_memory(device)
    if free is not None:
        free = int((free - _margin(0, device.type)) / (1 + MARGIN))
        if device.type == "cpu":
            free += _feature_bytes(graph) - LIBRARY_BYTES - _threads(training) * THREAD_BYTES
        budget = min(budget, free)
    return members_within(budget, model, graph, training)


def members_within(budget: int, model: ModelConfig, graph: Graph, training: TrainingConfig) -> int:
    """How many fit so many bytes; at least 1."""
    two = need_of(model, graph, training, members=2)
    return max(1, 2 * (budget - two.inputs) // (two.weights + two.activations))


@contextmanager
def within_memory(model: ModelConfig, graph: Graph, training: TrainingConfig, members: int = 1) -> Iterator[None]:
    """Train within: refused before it begins where it cannot fit, explained where memory runs out."""
    check_memory(model, graph, training, members)
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not ran_out(error):
            raise
        from glognn.training.devices import resolve_device

        place = resolve_device(training.device).type
        need = need_of(model, graph, training, members)
        raise MemoryExhaustedError(
            f"Memory ran out {_where(place)} in training {_title(model, members)}, which takes about "
            f"{_gib(need.training)}{_parts(need)}. {_advice(model, members, place)} The last checkpoint is kept."
        ) from None


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there is no memory left, on the host or on a GPU."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _EXHAUSTED)
    )


def free_memory(device: torch.device | None = None) -> int | None:
    """Bytes still to be had on a GPU, or else on the host; ``None`` where that is not known."""
    if device is not None and device.type == "cuda":
        import torch

        cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free, total = torch.cuda.mem_get_info(device)
        return min(int(free) + cached, int(total / _share.workers))
    found = [size for size in (_system_memory(), *_group_memory()) if size is not None]
    return int(min(min(found), _share.bytes)) if found else None


def _system_memory() -> int | None:
    for line in _lines(_SYSTEM / "proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return 1024 * int(line.split()[1])
    try:  # all there is, where nobody says what is free
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _group_memory() -> Iterator[int]:
    """Bytes left under the limit of every control group around this process; file caches count as free."""
    for line in _lines(_SYSTEM / "proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, names = _SYSTEM / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file ")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file ")
            root = _SYSTEM / "sys/fs/cgroup/memory"
        else:
            continue
        inner = PurePosixPath(path.lstrip("/"))
        for folder in {root / inner, root, *(root / parent for parent in inner.parents)}:
            limit, used = (_number(_lines(folder / name)) for name in names[:2])
            if limit is not None and used is not None:
                cached = [line.split()[1] for line in _lines(folder / "memory.stat") if line.startswith(names[2])]
                yield max(0, limit - used + (_number(cached) or 0))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _number(lines: list[str]) -> int | None:
    return int(lines[0]) if lines and lines[0].isdecimal() else None


def _gib(size: float) -> str:
    return f"{size / _GIB:,.1f} GiB" if size >= _GIB / 10 else f"{size / 2**20:,.1f} MiB"


def _title(model: ModelConfig, members: int) -> str:
    return model.title if members == 1 else f"{model.title}, {members} at a time,"


def _parts(need: Need) -> str:
    return (
        f" (weights with gradients and moments {_gib(need.weights)}, activations {_gib(need.activations)}, graph and "
        f"features {_gib(need.inputs)})"
    )


def _where(place: str) -> str:
    if place != "cpu":
        return "on the GPU"
    return "on this machine" if _share.workers == 1 else f"for each of {_share.workers} {_share.called}"


def _advice(model: ModelConfig, members: int, place: str, *, hopeless: bool = False) -> str:
    """What to change; no setting helps where the graph alone is too large for the model."""
    settings = [f"{name} (now {value})" for name in _MATTERING if (value := getattr(model, name, 0))]
    ways = ["take another model or a smaller graph"] if hopeless else []
    ways += [f"lower {' or '.join(settings)}"] if settings and not hopeless else []
    ways += ["train fewer at a time"] if members > 1 else []
    ways += [_share.instead] if _share.workers > 1 and place == "cpu" else []
    ways += [] if hopeless else ["use another device" if place == "cpu" else "use --device cpu"]
    text = ", or ".join(ways)
    return f"{text[0].upper()}{text[1:]}."
