"""Many GloGNN, GloGNN++ or GloGNN2 models on one graph, trained together by compiled code.

The mathematics is that of :mod:`glognn.models.glognn`, :mod:`glognn.models.glognn2` and the other engines. The bits of
a member do not depend on the others or on the number of threads. Dropout draws from generators of its own, which follow
from the seed, the number of steps taken and the place of the values, so a member follows another random stream than the
PyTorch path, with the same distribution (the probability in steps of 2^-16).
"""

from __future__ import annotations

import ctypes
import math
import mmap
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from glognn.errors import InputError
from glognn.graph.graph import Graph
from glognn.graph.sparse import Matrix, SparseMatrix
from glognn.models.base import NodeModel
from glognn.models.configs import GloGNN2Config, GloGNNConfig, ModelConfig
from glognn.models.glognn import GloGNN, GloGNNInputs, GloGNNPlusPlus
from glognn.models.glognn2 import GloGNN2
from glognn.native.library import (
    MAX_INPUTS,
    InputC,
    MatrixC,
    MemberC,
    ProblemC,
    find_library,
    why_not,
)
from glognn.native.memory import LANES, padded
from glognn.nn.config import COEFFICIENTS
from glognn.nn.inputs import INPUTS, Word, powers
from glognn.training.config import TrainingConfig
from glognn.training.devices import threads
from glognn.training.engines.base import Engine, Members, refuse_misfit
from glognn.training.evaluation import Evaluation

MAX_CLASSES = 4 * LANES
"""A member's columns must fit four vectors."""

MAX_ENTRIES = 2**31 - 1
"""The library counts the entries of a matrix in 32 bits."""

_HUGE_PAGE = 2**21


class NativeEngine(Engine):
    """Models of equal shape on one graph, one optimiser step at a time for all of them.

    Members share the graph, the sizes, the coefficient and the normalisation; they may differ in learning rate,
    weight decay, optimiser, alpha (within 0, between, 1), beta1, beta2, gamma, dropout, seed and split. A member whose
    closed-form solve fails, or whose numbers overflow, has the loss nan from then on and does not disturb the others.

    Args:
        members: The graph in float32 on the CPU; weights of the models are copied.
        threads: CPU threads over members; those of torch when omitted.
    """

    name = "native"

    def __init__(self, members: Members, *, threads: int | None = None) -> None:
        graph, models, configs, splits = members.graph, members.models, members.configs, members.splits
        if refusal := self.refusal(members):
            raise InputError(f"The native engine cannot train these members: {refusal}.")
        self._library: Any = find_library()
        self._graph = graph
        self._threads = threads or torch.get_num_threads()
        glognns = [model for model in models if isinstance(model, GloGNN)]
        self._first_model = glognns[0]
        for model in glognns:
            if _common(model) != _common(glognns[0]):
                raise InputError(
                    "The members of the native engine must have equal shapes. "
                    f"Got {_common(glognns[0])} and {_common(model)} instead."
                )
        self._labels = graph.y.contiguous()
        self._inputs = _inputs(graph, glognns[0])
        self._model_configs: list[GloGNNConfig | GloGNN2Config] = [model.config for model in glognns]
        self._configs = list(configs)
        self._splits = list(splits)
        self._sets = [graph.indices(split) for split in splits]
        self._places = _places(self._first_model)
        size = max(place.end for place in self._places.values())
        self._weights = _zeros(len(models), size)
        self._first, self._second = _zeros(len(models), size), _zeros(len(models), size)
        self._steps = torch.zeros(len(models), dtype=torch.int64)
        for row, model in zip(self._weights, glognns, strict=True):
            for name, value in model.state_dict().items():
                self._places[name].write(row, value)
        self._best = torch.empty(0)
        self._evaluation = Evaluation(graph, splits, configs[0])
        self._start()

    @classmethod
    def refusal(cls, members: Members) -> str:
        pairs = zip(members.models, members.configs, strict=True)
        return next(filter(None, (_refusal(model, config, members.graph) for model, config in pairs)), "")

    def __len__(self) -> int:
        return len(self._configs)

    def step(self) -> Tensor:
        losses = torch.empty(len(self), dtype=torch.float64)
        self._library.call("step", self._handle, losses.data_ptr())
        return losses.float()

    def logits(self) -> Tensor:
        """Class scores in evaluation mode, (members, n, c): a view that the next step overwrites."""
        return self._logits

    def evaluate(self) -> Tensor:
        if self._evaluation.metric != "accuracy":
            with threads(1):  # more would wait on the cores of the next step
                return self._evaluation.measure(self._logits)
        measured = torch.empty(4, len(self), dtype=torch.float64)
        self._library.call("measure", self._handle, measured.data_ptr())
        return measured

    def remember(self, members: Sequence[int]) -> None:
        if not self._best.numel():
            self._best = self._weights.clone()
            return
        best, weights = self._best.numpy(), self._weights.numpy()
        for index in members:  # PyTorch's copy would leave its threads waiting on the cores of the next step
            best[index] = weights[index]

    def keep(self, members: Sequence[int]) -> None:
        chosen = list(members)
        if not chosen or any(not 0 <= index < len(self) for index in chosen):
            raise InputError(
                f"The 'members' parameter of keep must name some of {len(self)} members. Got {chosen} instead."
            )
        self._release()  # what the library holds makes room for the copies
        self._weights = _copied(self._weights[chosen])
        self._first, self._second = _copied(self._first[chosen]), _copied(self._second[chosen])
        self._steps = self._steps[chosen].clone()
        self._best = self._best[chosen] if self._best.numel() else self._best
        self._evaluation.keep(torch.tensor(chosen))
        self._model_configs = [self._model_configs[index] for index in chosen]
        self._configs = [self._configs[index] for index in chosen]
        self._splits = [self._splits[index] for index in chosen]
        self._sets = [self._sets[index] for index in chosen]
        self._start()

    def state(self, member: int, *, best: bool = False) -> dict[str, Tensor]:
        row = (self._best if best else self._weights)[member]
        return {name: place.read(row) for name, place in self._places.items()}

    def snapshot(self) -> dict[str, Tensor]:
        state = {"weights": self._weights, "first": self._first, "second": self._second, "steps": self._steps}
        state |= {"best": self._best} if self._best.numel() else {}
        return {name: tensor.clone() for name, tensor in state.items()}

    @classmethod
    def part(cls, snapshot: Mapping[str, Tensor], members: Sequence[int], model: NodeModel[Any]) -> dict[str, Tensor]:
        return {name: tensor[list(members)] for name, tensor in snapshot.items()}

    def restore(self, snapshot: Mapping[str, Tensor]) -> None:
        own = {"weights": self._weights, "first": self._first, "second": self._second, "steps": self._steps}
        refuse_misfit(snapshot, own | ({"best": self._weights} if "best" in snapshot else {}))
        self._best = snapshot["best"].clone() if "best" in snapshot else torch.empty(0)
        for name, tensor in own.items():
            tensor.copy_(snapshot[name])
        self._library.call("forward", self._handle)

    def mask(self, index: int) -> Tensor:
        """Which values the next step of a member keeps, (layers, n, hidden): hidden ones, of branches, of blocks."""
        hidden, blocks = self._first_model.config.hidden_channels, _num_blocks(self._first_model)
        count = 1 + len(self._first_model.encoder.branches) + blocks
        kept = torch.empty(count, self._graph.num_nodes, padded(hidden), dtype=torch.uint8)
        self._library.call("mask", self._handle, index, kept.data_ptr())
        return kept[:, :, :hidden].bool()

    def _start(self) -> None:
        """Hand everything to the library, which runs the forward pass."""
        model, inputs = self._first_model, self._inputs
        config, layer, encoder = model.config, model.layer, model.encoder
        names, words = list(encoder.weights), [] if layer.hops is None else layer.hops.words
        shares = [
            (ctypes.c_double * len(names))(*(each.inputs[name] for name in names)) for each in self._model_configs
        ]
        members = map(_member, self._model_configs, self._configs, self._sets, self._splits, shares)
        self._settings = (MemberC * len(self))(*members)
        self._logits = torch.empty(len(self), self._graph.num_nodes, self._graph.num_classes)
        neighbours = _neighbours(model)
        along = list({id(inputs.operators[name].csr): inputs.operators[name] for name in neighbours}.values())
        read = (_input(inputs.matrices[name], name in encoder.branches, name in encoder.gates) for name in names)
        self._read = (InputC * len(names))(*read)
        problem = ProblemC(
            nodes=self._graph.num_nodes,
            classes=self._graph.num_classes,
            hidden=config.hidden_channels,
            layers=config.num_layers,
            hops=len(words),
            members=len(self),
            threads=self._threads,
            coefficient=COEFFICIENTS.index(layer.coefficient),
            scale_free=layer.scale_free,
            tau=layer.tau is not None,
            jumping=encoder.shares is not None,
            batch=isinstance(model, GloGNN2) and model.config.normalizes_columns,
            blocks=_num_blocks(model),
            directions=len(neighbours),
            matrices=len(along),
            inputs=len(names),
            input=self._read,
            labels=self._labels.data_ptr(),
            settings=self._settings,
            weights=self._weights.data_ptr(),
            first=self._first.data_ptr(),
            second=self._second.data_ptr(),
            steps=self._steps.data_ptr(),
            logits=self._logits.data_ptr(),
        )
        if words:
            operator = inputs.operators[words[0][0]]
            problem.adjacency, problem.adjacency_transposed = _csr(operator.csr), _csr(operator.csr_transposed)
        for place, operator in enumerate(along):
            problem.along[place], problem.along_transposed[place] = _csr(operator.csr), _csr(operator.csr_transposed)
        count, handle = ctypes.c_int64(), ctypes.c_void_p()
        self._library.call("parameters", ctypes.byref(problem), ctypes.byref(count))
        assert count.value == self._weights.shape[1]
        self._release()
        self._handle = handle
        self._library.call("create", ctypes.byref(problem), ctypes.byref(handle))
        self._release = weakref.finalize(self, self._library.call, "free", handle)

    _release: Callable[[], object] = staticmethod(lambda: None)


@dataclass(frozen=True)
class _Place:
    """Where a parameter lies in a member's row.

    Args:
        start: Its first value.
        shape: Of the parameter.
        panels: Whether it is stored in panels of 16 columns.
        transposed: Whether its columns are stored one after the other.
        maps: So many parameters lie side by side in its columns, and are stored one after the other.
    """

    start: int
    shape: tuple[int, ...]
    panels: bool = False
    transposed: bool = False
    maps: int = 1

    @property
    def end(self) -> int:
        shape = self.shape[::-1] if self.transposed else self.shape
        return self.start + self.maps * math.prod(shape[:-1]) * padded(shape[-1] // self.maps)

    def write(self, row: Tensor, value: Tensor) -> None:
        """Into a row of zeros: what fills vectors stays zero."""
        for stored, part in self._parts(row, value.detach()):
            stored.copy_(part)

    def read(self, row: Tensor) -> Tensor:
        value = torch.empty(self.shape)
        for stored, part in self._parts(row, value):
            part.copy_(stored)
        return value

    def _parts(self, row: Tensor, value: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Views of a row and of the parameter that lies there, part by part: nothing is copied on the way."""
        stored = row[self.start : self.end]
        value = value.T if self.transposed else value
        for place, part in zip(stored.chunk(self.maps), value.chunk(self.maps, dim=-1), strict=True):
            if self.panels:
                panels = torch.split(part, LANES, dim=1)
                for panel, columns in zip(place.view(len(panels), -1, LANES), panels, strict=True):
                    yield panel[:, : columns.shape[1]], columns
            else:
                yield place.view(*part.shape[:-1], -1)[..., : part.shape[-1]], part


def _order(model: GloGNN) -> list[str]:
    """The names of parameters in the order in which the library expects them; some a model may lack."""
    names, count = list(model.encoder.weights), _num_blocks(model)
    blocks = [f"blocks.blocks.{number}" for number in range(count)]
    maps = [f"{block}.maps" for block in blocks]
    head = "encoder.tails.0.0"
    if not isinstance(model, GloGNN2):
        *maps, head = [f"encoder.tails.0.{number}" for number in range(count + 1)]
    return [
        *(f"encoder.inputs.{name}.weight" for name in names),
        *(f"{each}.weight" for each in maps),
        f"{head}.weight",
        *(f"encoder.inputs.{name}.bias" for name in names),
        f"{head}.bias",
        "layer.hops.weight",
        "layer.scale",
        *(f"{each}.bias" for each in maps),
        *(f"{block}.norm.{part}" for part in ("weight", "bias", "running_mean", "running_var") for block in blocks),
        "encoder.shares",
        *(f"encoder.gates.{name}" for name in names),
        "layer.tau",
    ]


def _places(model: GloGNN) -> dict[str, _Place]:
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    maps = 1 + len(_neighbours(model))
    head = next(name for name in reversed(shapes) if name.startswith("encoder.tails.") and name.endswith(".weight"))
    places: dict[str, _Place] = {}
    start = 0
    for name in _order(model):
        if name in shapes:
            matrix = len(shapes[name]) == 2
            places[name] = _Place(
                start,
                shapes[name],
                panels=matrix and name != head,
                transposed=name == head,
                maps=maps if ".maps." in name else 1,
            )
            start = places[name].end
    assert set(places) == set(shapes)
    return places


def _num_blocks(model: GloGNN) -> int:
    """Local blocks, or layers of the encoder beyond two."""
    return model.config.num_blocks if isinstance(model, GloGNN2) else model.config.num_encoder_layers - 2


def _neighbours(model: GloGNN) -> tuple[str, ...]:
    """Operators of the local blocks."""
    return model.config.neighbours if isinstance(model, GloGNN2) else ()


def _zeros(*shape: int) -> Tensor:
    """Zeros in huge pages, where the system has them and they are worth it: rows are read in any order."""
    count = math.prod(shape)
    if not hasattr(mmap, "MADV_HUGEPAGE") or count * 4 < _HUGE_PAGE:
        return torch.zeros(shape)
    memory = mmap.mmap(-1, (count * 4 // _HUGE_PAGE + 2) * _HUGE_PAGE)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return torch.frombuffer(memory, dtype=torch.float32, count=count).view(shape)


def _copied(tensor: Tensor) -> Tensor:
    return _zeros(*tensor.shape).copy_(tensor)


def _common(model: GloGNN) -> tuple[Any, ...]:
    """What all members must have in common."""
    config = model.config
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    return config.num_layers, config.normalization, model.layer.coefficient, model.layer.scale_free, shapes


def _member(
    model: GloGNNConfig | GloGNN2Config, training: TrainingConfig, sets: dict[str, Tensor], split: int, shares: Any
) -> MemberC:
    counts = {f"{name}_count": nodes.numel() for name, nodes in sets.items()}
    places = {f"{name}_nodes": nodes.data_ptr() for name, nodes in sets.items()}
    return MemberC(
        learning_rate=training.learning_rate,
        weight_decay=training.weight_decay,
        beta1=model.beta1,
        beta2=model.beta2,
        gamma=model.gamma,
        dropout=model.dropout,
        shares=shares,
        decoupled=training.optimizer == "adamw",
        seed=training.seed + (split << 32),  # a random stream for each split too
        **counts,
        **places,
    )


def _inputs(graph: Graph, model: GloGNN) -> GloGNNInputs:
    """What the model reads of the graph; dense matrices row by row without gaps."""
    made = model.prepare(graph)
    kept = {name: each.contiguous() if isinstance(each, Tensor) else each for name, each in made.matrices.items()}
    return GloGNNInputs(kept, made.operators)


def _is_powers(words: list[Word]) -> bool:
    return not words or words == powers(len(words), words[0][0])


def refusal_of_settings(model: ModelConfig, training: TrainingConfig, graph: Graph) -> str:
    """Why no model with these settings can be trained here; empty where one can."""
    if not isinstance(model, GloGNNConfig | GloGNN2Config):
        return f"it trains GloGNN, GloGNN++ and GloGNN2, not {model.title}"
    if absent := why_not():
        return absent
    read = [graph.adjacency.matrix, *([] if graph.x is None or not _of_features(model) else [graph.x])]
    of_model = _refused_of_glognn(model, graph) if isinstance(model, GloGNNConfig) else ()
    reasons = (
        *of_model,
        (not _is_powers(model.words), "hops that are powers of one operator (directions 'joined')"),
        (len(model.inputs) > MAX_INPUTS, f"at most {MAX_INPUTS} inputs, not {len(model.inputs)}"),
        (not 2 <= graph.num_classes <= MAX_CLASSES, f"2 to {MAX_CLASSES} classes, not {graph.num_classes}"),
        (training.class_weight != "none", f"class_weight 'none', not '{training.class_weight}'"),
        (training.dtype != "float32", f"float32, not {training.dtype}"),
        (any(matrix.dtype != torch.float32 for matrix in read), "float32, which this graph is not in"),
        (training.device not in ("auto", "cpu"), f"a CPU, not {training.device}"),
        (any(matrix.device.type != "cpu" for matrix in read), "a CPU, where this graph is not"),
        *(
            (count > MAX_ENTRIES, f"at most {MAX_ENTRIES:,} entries of the {name}, not {count:,}")
            for name, count in _most_entries(model, graph).items()
        ),
    )
    return next((f"it needs {text}" for refused, text in reasons if refused), "")


def _refused_of_glognn(model: GloGNNConfig, graph: Graph) -> tuple[tuple[bool, str], ...]:
    return (
        (graph.x is None and model.alpha < 1, "features, which this graph has not, or alpha 1"),
        (model.num_encoder_layers < 2, f"at least 2 encoder layers, not {model.num_encoder_layers}"),
        (model.fusion != "hidden", f"fusion 'hidden', not '{model.fusion}'"),
    )


def _of_features(model: GloGNNConfig | GloGNN2Config) -> bool:
    return any(INPUTS[name].of_features for name in model.inputs)


def _refusal(model: NodeModel[Any], training: TrainingConfig, graph: Graph) -> str:
    """Why one model, as it is, cannot be trained here; empty where it can."""
    if refusal := refusal_of_settings(model.config, training, graph):
        return refusal
    if not isinstance(model, GloGNN) or type(model) not in (GloGNN, GloGNNPlusPlus, GloGNN2):
        return f"it trains GloGNN, GloGNN++ and GloGNN2 as they are, not {type(model).__name__}"
    hops = model.layer.hops
    reasons = (
        (not set(model.state_dict()) <= set(_order(model)), "weights of the usual names"),
        (not all(parameter.requires_grad for parameter in model.parameters()), "weights of which none is frozen"),
        (
            any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()),
            "a model without hooks",
        ),
        (hops is not None and hops.words != model.config.words, "the usual hops"),
    )
    return next((f"it needs {text}" for refused, text in reasons if refused), "")


def _most_entries(model: GloGNNConfig | GloGNN2Config, graph: Graph) -> dict[str, int]:
    """At most so many entries has each sparse matrix that the library is given."""
    entries = graph.adjacency.matrix.nnz
    if isinstance(model, GloGNNConfig):
        counts = {"adjacency": entries + (0 if model.normalization == "none" else graph.num_nodes)}
    else:  # edges may be taken in both directions
        counts = {"adjacency": 2 * entries}
    if _of_features(model) and isinstance(graph.x, SparseMatrix):
        counts["features"] = graph.x.nnz
    return counts


def _input(matrix: Matrix, branch: bool, gated: bool) -> InputC:
    if isinstance(matrix, SparseMatrix):
        return InputC(_csr(matrix.csr), _csr(matrix.csr_transposed), None, matrix.shape[1], branch, gated)
    return InputC(dense=matrix.data_ptr(), columns=matrix.shape[1], branch=branch, gated=gated)


def _csr(matrix: Tensor) -> MatrixC:
    parts = (matrix.crow_indices(), matrix.col_indices(), matrix.values())
    if [part.dtype for part in parts] != [torch.int32, torch.int32, torch.float32]:
        raise InputError(
            "The matrices of the native engine must have 32-bit indices and values in float32. "
            f"Got {parts[0].dtype} and {parts[2].dtype} instead."
        )
    return MatrixC(matrix.shape[0], matrix.shape[1], *(part.data_ptr() for part in parts))
