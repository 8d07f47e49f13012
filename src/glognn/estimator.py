"""GloGNN and GloGNN++ with the conventions of scikit-learn."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.classes import Array, encode, find_classes, label_array, missing
from glognn.data.convert import is_graph, same, to_edge_list, to_edges, to_features, to_graph, to_nodes
from glognn.data.npz import write_npz
from glognn.data.splits import IntArray, validation_part
from glognn.data.statistics import measure
from glognn.errors import InputError
from glognn.experiments.auto import FOLDS, MODEL_NAME, QUALITY, TIME_LIMIT, Asked, auto
from glognn.experiments.carried import CarriedFolder
from glognn.experiments.environment import versions
from glognn.experiments.explanations import open_explainer
from glognn.experiments.folder import new_folder, save_model
from glognn.experiments.integrity import measure_files, sealed
from glognn.experiments.layout import AUTO, CLASSIFIER, CONFIG
from glognn.experiments.leaderboard import standings
from glognn.experiments.reports import CLASSIFIER_VERSION, damaged, read_ensemble
from glognn.experiments.saved import SavedModel, holds_ensemble, open_saved
from glognn.experiments.saved_ensemble import SavedEnsemble, open_ensemble
from glognn.explain.explainer import Member, NodeExplainer
from glognn.explain.explanation import Explanation, Names
from glognn.explain.parts import Source
from glognn.graph.config import GraphConfig
from glognn.graph.graph import SET_NAMES, Graph
from glognn.metrics import decide
from glognn.models.configs import GloGNNPlusPlusConfig, ModelConfig, find_model
from glognn.report.card import CARD, ensemble_card, model_card
from glognn.storage import locked, write_json, write_text
from glognn.training.config import TrainingConfig
from glognn.training.devices import DTYPES
from glognn.training.driver import train
from glognn.training.new_nodes import KnownNodes
from glognn.training.positive import positive_class
from glognn.training.predict import predict
from glognn.training.threshold import calibrate_and_choose, check_threshold

MODELS = ("glognn++", "glognn", "trees")
_OR_NONE = ("class_weight", "threshold", "calibrate")
"""Settings whose ``None`` is 'none' elsewhere."""
FACTS = ("nodes", "edges_undirected", "isolated", "features", "class_sizes", "unlabelled", "homophily", "fingerprint")


class GloGNNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classes of the nodes of a graph, by GloGNN++, GloGNN or boosted trees.

    There are three ways to say what the nodes are::

        GloGNNClassifier().fit(data)                          # a PyTorch Geometric Data or a NetworkX graph
        GloGNNClassifier().fit(X, y, adjacency=A)             # arrays; y is -1, None, nan or "" where it is unknown
        GloGNNClassifier(graph=data).fit(nodes, y[nodes])     # node numbers, for cross-validation

    The masks of a ``Data`` decide which nodes train and validate; otherwise ``validation_fraction`` of the labelled
    nodes is drawn for validation. With ``graph`` the labels and masks of that graph are never read. Without any graph
    there are no edges: the adjacency is then left out of the initial embedding (alpha counts as 0).

    ``predict``, ``predict_proba`` and ``score`` take node numbers (or the training data itself, or nothing for all
    nodes) for nodes of the training graph, and features with ``edges`` for new nodes, see :meth:`predict_proba`.

    With ``model="auto"`` a portfolio of models is trained within ``time_limit``, and the ensemble of the best on
    validation predicts (see :func:`glognn.auto`): all labels are used, in ``folds``, unless masks say which validate.
    Of the settings below, those that are not the defaults then go to all members that have them.

    Args:
        model: ``"glognn++"``, ``"glognn"``, ``"trees"``, which is at its defaults, or ``"auto"``.
        graph: The graph whose node numbers ``fit`` and ``predict`` are then given.
        validation_fraction: Share of the labelled nodes that stop and select the training, where no mask says so.
        split: Which column of masks with several.
        random_state: Seed of initial weights, dropout and the validation nodes.
        coefficient: Of GloGNN++ alone.
        class_weight: ``None`` or ``"balanced"``.
        pos_label: The class that average precision, F1, recall, a threshold and the like are about; by default the
            rarer of two.
        threshold: ``None``, or with two classes ``"validation"``, ``"precision=0.8"``, ``"recall=0.9"`` or
            ``"cost=1:20"``.
        calibrate: ``None``, ``"temperature"`` or ``"isotonic"``: correct probabilities on validation nodes.
        time_limit: Of ``"auto"``: seconds to train.
        quality: Of ``"auto"``: ``"fast"``, ``"good"`` or ``"best"``, how much of the portfolio is tried.
        folds: Of ``"auto"``: how many, where no mask says which nodes validate.

    The other settings are those of :class:`~glognn.models.glognn.GloGNNPlusPlus`,
    :class:`~glognn.training.config.TrainingConfig` and :class:`~glognn.graph.config.GraphConfig`.

    Attributes:
        classes_: The classes, sorted.
        transduction_: The predicted class of every node of the training graph.
        model_: The trained model; ``"auto"`` has none.
        leaderboard_: Of ``"auto"``: the ensemble and its members with their scores, see :func:`glognn.leaderboard`.
        data_: The training graph, with classes numbered and the nodes that trained and validated as masks.
        scores_: The metric on training and validation nodes, and the epoch selected; ``test`` is ``None``, for ``fit``
            judges on no other nodes, unless a run with test nodes was loaded.
        pos_label_: The class that metrics of one class are of; ``None`` with more than two, unless one is named.
        calibration_: How probabilities are corrected, or ``None``; ``describe()`` says it in words.
        threshold_: Probability from which on this one of two classes is predicted, or ``None``.
        n_features_in_: Number of features.
        n_iter_: Epochs trained; of ``"auto"``, by the members that have a weight.
    """

    def __init__(
        self,
        model: str = "glognn++",
        *,
        graph: Any = None,
        num_layers: int = GloGNNPlusPlusConfig.num_layers,
        num_hops: int = GloGNNPlusPlusConfig.num_hops,
        alpha: float = GloGNNPlusPlusConfig.alpha,
        beta1: float = GloGNNPlusPlusConfig.beta1,
        beta2: float = GloGNNPlusPlusConfig.beta2,
        gamma: float = GloGNNPlusPlusConfig.gamma,
        normalization: str = GloGNNPlusPlusConfig.normalization,
        hidden_channels: int = GloGNNPlusPlusConfig.hidden_channels,
        num_encoder_layers: int = GloGNNPlusPlusConfig.num_encoder_layers,
        fusion: str = GloGNNPlusPlusConfig.fusion,
        dropout: float = GloGNNPlusPlusConfig.dropout,
        coefficient: str = GloGNNPlusPlusConfig.coefficient,
        epochs: int = TrainingConfig.epochs,
        optimizer: str = TrainingConfig.optimizer,
        learning_rate: float = TrainingConfig.learning_rate,
        weight_decay: float = TrainingConfig.weight_decay,
        early_stopping: str = TrainingConfig.early_stopping,
        patience: int = TrainingConfig.patience,
        selection: str = TrainingConfig.selection,
        metric: str = TrainingConfig.metric,
        pos_label: Any = None,
        top_k: int = TrainingConfig.top_k,
        class_weight: str | None = None,
        threshold: str | None = None,
        calibrate: str | None = None,
        dtype: str = TrainingConfig.dtype,
        device: str = TrainingConfig.device,
        threads: int = TrainingConfig.threads,
        directed: bool = GraphConfig.directed,
        self_loops: str = GraphConfig.self_loops,
        feature_normalization: str = GraphConfig.feature_normalization,
        validation_fraction: float = 0.2,
        split: int = 0,
        time_limit: float = TIME_LIMIT,
        quality: str = QUALITY,
        folds: int = FOLDS,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.model = model
        self.graph = graph
        self.num_layers = num_layers
        self.num_hops = num_hops
        self.alpha = alpha
        self.beta1 = beta1
        self.beta2 = beta2
        self.gamma = gamma
        self.normalization = normalization
        self.hidden_channels = hidden_channels
        self.num_encoder_layers = num_encoder_layers
        self.fusion = fusion
        self.dropout = dropout
        self.coefficient = coefficient
        self.epochs = epochs
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.early_stopping = early_stopping
        self.patience = patience
        self.selection = selection
        self.metric = metric
        self.pos_label = pos_label
        self.top_k = top_k
        self.class_weight = class_weight
        self.threshold = threshold
        self.calibrate = calibrate
        self.dtype = dtype
        self.device = device
        self.threads = threads
        self.directed = directed
        self.self_loops = self_loops
        self.feature_normalization = feature_normalization
        self.validation_fraction = validation_fraction
        self.split = split
        self.time_limit = time_limit
        self.quality = quality
        self.folds = folds
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Train on a graph.

        Args:
            X: A ``Data`` or NetworkX graph; or features, nodes x features (NumPy, SciPy sparse, pandas; ``None`` for
                none, with alpha = 1); or, with the parameter ``graph``, the numbers of the labelled nodes.
            y: Labels of the rows of X, of any type; unknown where -1, ``None``, nan or empty. For a graph, its own.
            adjacency: The edges between the rows of X: a square matrix, a list of edges of shape (2, edges), a NetworkX
                graph or a ``Data``.
        """
        if adjacency is not None and (self.graph is not None or is_graph(X)):
            raise InputError("The 'adjacency' parameter of fit goes with an array of features. Got a graph besides it.")
        for name in ("feature_names_in_", "model_", "leaderboard_", "_carried"):
            self.__dict__.pop(name, None)
        if self.graph is not None:
            return self._fit_nodes(X, y)
        if is_graph(X):
            return self._fit_graph(to_graph(X), y)
        data = Data()
        if X is not None:
            _refuse_complex(X)
            X = validate_data(self, X, accept_sparse=True, dtype=[np.float64, np.float32])
            data.x = to_features(X)
        elif adjacency is None:
            raise InputError("The 'X' parameter of fit must be features when there is no graph. Got None instead.")
        codes = self._encode(y)
        if X is not None:
            check_consistent_length(X, codes)
        data.num_nodes = codes.size
        if adjacency is not None:
            data.edge_index, weight = to_edges(adjacency, codes.size)
            if weight is not None:
                data.edge_weight = weight
        return self._fit(data, codes, np.flatnonzero(codes >= 0), None, has_graph=adjacency is not None)

    def _encode(self, y: Any) -> IntArray:
        values = label_array(y)
        self.classes_ = find_classes(values)
        return encode(values, self.classes_)

    def _fit_nodes(self, X: Any, y: Any) -> Self:
        data = to_graph(self.graph)
        nodes, known = to_nodes(X, int(data.num_nodes)), self._encode(y)
        check_consistent_length(nodes, known)
        codes = np.full(int(data.num_nodes), -1, dtype=np.int64)
        codes[nodes] = known
        if (codes[nodes] != known).any():
            node = int(nodes[np.argmax(codes[nodes] != known)])
            raise InputError(f"The nodes to fit must have one label each. Got two for node {node} instead.")
        return self._fit(data, codes, np.flatnonzero(codes >= 0), None, has_graph=True)

    def _fit_graph(self, data: Data, y: Any) -> Self:
        values = label_array(getattr(data, "y", None) if y is None else y)
        check_consistent_length(values, np.empty(data.num_nodes))
        train, val = self._mask(data, "train"), self._mask(data, "val")
        if train is None:
            train = np.ones(values.size, dtype=bool) if val is None else ~val
        self.classes_ = find_classes(values[train if val is None else train | val])
        codes = encode(values, self.classes_)
        labelled = codes >= 0
        chosen = None if val is None else np.flatnonzero(labelled & val)
        return self._fit(data, codes, np.flatnonzero(labelled & train), chosen, has_graph=True)

    def _mask(self, data: Data, name: str) -> npt.NDArray[np.bool_] | None:
        mask = getattr(data, f"{name}_mask", None)
        if mask is None:
            return None
        columns = mask.view(mask.shape[0], -1).cpu().numpy().astype(bool)
        split = self.split if columns.shape[1] > 1 else 0
        if not 0 <= split < columns.shape[1]:
            raise self._error("split", f"in the range [0, {columns.shape[1] - 1}]")
        found: npt.NDArray[np.bool_] = columns[:, split]
        return found

    def _error(self, name: str, allowed: str) -> InputError:
        return InputError(
            f"The '{name}' parameter of GloGNNClassifier must be {allowed}. Got {getattr(self, name)!r} instead."
        )

    def _positive_class(self) -> str:
        """The number of the class ``pos_label`` as training is told it, empty where none is named."""
        if self.pos_label is None:
            return ""
        classes = self.classes_.tolist()
        if _plain(self.pos_label) not in classes:
            raise self._error("pos_label", f"one of the classes {', '.join(map(repr, classes[:5]))}")
        return str(classes.index(_plain(self.pos_label)))

    def _configs(self, *, has_edges: bool) -> tuple[ModelConfig, TrainingConfig, GraphConfig]:
        if self.model not in MODELS:
            raise self._error("model", f"one of {', '.join(map(repr, (*MODELS, MODEL_NAME)))}")
        given = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        given |= {name: given[name] or "none" for name in _OR_NONE}
        given["seed"] = int(_seed(self.random_state))
        given["positive_class"] = self._positive_class()
        if not has_edges:
            given["alpha"] = 0.0

        def pick(config: type[Any]) -> Any:
            return config.from_mapping({name: given[name] for name in config.names() if name in given})

        return pick(find_model(self.model)), pick(TrainingConfig), pick(GraphConfig)

    def _fit(self, data: Data, codes: IntArray, nodes: IntArray, val: IntArray | None, *, has_graph: bool) -> Self:
        """Train on ``nodes``, of which a part validates unless ``val`` is given."""
        if not nodes.size or self.classes_.size < 2:
            found = "no label" if not nodes.size else "1 class"
            raise InputError(f"GloGNNClassifier must be given labels of at least 2 classes. Got {found} instead.")
        edges = torch.empty(2, 0, dtype=torch.int64) if data.edge_index is None else data.edge_index
        if self.model == MODEL_NAME:
            return self._fit_auto(data, edges, codes, nodes, val, has_graph=has_graph)
        model_config, training, graph_config = self._configs(has_edges=edges.numel() > 0 or data.x is None)
        if val is None:
            fraction = _plain(self.validation_fraction)
            if isinstance(fraction, bool) or not isinstance(fraction, int | float) or not 0 < fraction < 1:
                raise self._error("validation_fraction", "a number in the range (0.0, 1.0)")
            val = validation_part(codes, nodes, fraction, training.seed)
            nodes = np.setdiff1d(nodes, val)
        used = Data(x=data.x, edge_index=edges, num_nodes=data.num_nodes)
        for name in ("edge_weight", "encoded"):
            if getattr(data, name, None) is not None:
                used[name] = data[name]
        sets = {"train": nodes, "val": val, "test": np.empty(0, dtype=np.int64)}
        for name, members in sets.items():
            used[f"{name}_mask"] = torch.zeros(codes.size, dtype=torch.bool)
            used[f"{name}_mask"][torch.from_numpy(members)] = True
        used.y = torch.from_numpy(np.where(np.isin(np.arange(codes.size), np.concatenate([nodes, val])), codes, -1))
        graph = Graph.from_data(used, graph_config, dtype=DTYPES[training.dtype])
        check_threshold(graph, training)
        with torch.random.fork_rng([]):
            torch.manual_seed(training.seed)
            model = model_config.model_class().for_graph(graph, model_config)
        result = train(model, graph, config=training)
        self.data_, self.model_ = used, model
        self.n_iter_ = result.last.epoch
        selected = result.selected
        self.scores_ = {
            "metric": training.metric,
            "train": selected.train,
            "val": selected.val,
            "test": selected.test,
            "epoch": selected.epoch,
            "engine": result.engine,
        }
        self.pos_label_ = self._label(positive_class(graph, training))
        self.calibration_, self.threshold_ = calibrate_and_choose(model, graph, 0, training)
        self._seed_used, self._has_graph = training.seed, has_graph
        self.n_features_in_ = graph.num_features
        self._remember(graph_config)
        return self

    def _fit_auto(
        self, data: Data, edges: Tensor, codes: IntArray, nodes: IntArray, val: IntArray | None, *, has_graph: bool
    ) -> Self:
        """Train a portfolio in a folder of its own, and keep what its ensemble needs."""
        chosen = nodes if val is None else np.concatenate([nodes, val])
        used = Data(x=data.x, edge_index=edges, num_nodes=codes.size, y=torch.full((codes.size,), -1))
        used.y[torch.from_numpy(chosen)] = torch.from_numpy(codes[chosen])
        for name in ("edge_weight", "encoded"):
            if getattr(data, name, None) is not None:
                used[name] = data[name]
        if val is not None:
            for name, members in (("train", nodes), ("val", val), ("test", nodes[:0])):
                used[f"{name}_mask"] = torch.zeros(codes.size, dtype=torch.bool)
                used[f"{name}_mask"][torch.from_numpy(members)] = True
        self._has_graph = has_graph
        with TemporaryDirectory(prefix="glognn-") as place:
            found = auto(used, out=Path(place) / "run", **self._asked(), **self._changed())
            return self._take(open_ensemble(found.folder))

    def _asked(self) -> dict[str, Any]:
        return {name: _plain(getattr(self, name)) for name in ("time_limit", "quality", "folds")}

    def _changed(self) -> dict[str, Any]:
        """Settings of models, training and graph that are not the defaults, and the seed."""
        usual = type(self)().get_params(deep=False)
        own = {"model", "graph", "validation_fraction", "split", "time_limit", "quality", "folds", "random_state"}
        own |= {"pos_label"}
        given = {name: _plain(value) for name, value in self.get_params(deep=False).items() if name not in own}
        changed = {name: value for name, value in given.items() if value != usual[name]}
        if named := self._positive_class():
            changed["positive_class"] = named
        return changed | {"seed": _seed(self.random_state)}

    def _take(self, saved: SavedEnsemble) -> Self:
        """Keep what predictions of an ensemble need, in a folder that goes with this object."""
        self._carried = CarriedFolder()
        saved.copy(self._carried.path)
        self._split_used = None if saved.record["folds"] else saved.split
        self.data_, graph = saved.graph()
        self.n_features_in_ = graph.num_features
        members = [model for models in saved.members.values() for model in models]
        self.n_iter_ = sum(model.epochs for model in members)
        self._seed_used = members[0].config.training.seed
        self.scores_, self.threshold_ = saved.scores, saved.threshold
        self.pos_label_, self.calibration_ = self._label(saved.positive), saved.calibration
        self.leaderboard_ = standings(saved.record)
        self._probabilities = saved.probabilities(self.data_)
        self.transduction_ = self._decide(self._probabilities)
        return self

    def _ensemble(self) -> SavedEnsemble:
        return open_ensemble(self._carried.path, split=self._split_used)

    def _remember(self, config: GraphConfig) -> None:
        """Keep what predictions need: the scores of known nodes, and their frozen state for new ones."""
        self._known = KnownNodes(self.model_, self.data_, config)
        self._probabilities = self._calibrated(_numpy(predict(self.model_, self._known.graph)))
        self.transduction_ = self._decide(self._probabilities)

    def predict_proba(self, X: Any = None, *, edges: Any = None, edge_weight: Any = None) -> Array:
        """Probabilities of the classes, in the order of ``classes_``.

        Nodes of the training graph, n in number, are named by their numbers, or all of them by the graph or features
        given to ``fit``, or by nothing. New nodes come with features and edges, or as a ``Data`` with both: known nodes
        are 0 to n-1 in the edges, the rows of X are n, n+1, ... The model is not trained again, and known nodes do not
        notice new ones. ``fit`` without a graph needs no edges here.

        Args:
            X: See above.
            edges: Edges from or to new nodes, of shape (2, edges); an empty array when there are none.
            edge_weight: A weight for each of the edges.
        """
        check_is_fitted(self)
        if edges is None and edge_weight is not None:
            raise InputError("The 'edge_weight' parameter of predict goes with edges. Got no edges besides it.")
        if X is None and edges is None:
            return self._probabilities.copy()
        if is_graph(X):
            data = to_graph(X)
            known = self._is_known(data.x, data.edge_index)
            return self._probabilities.copy() if known else self._new(data)
        if edges is None and self._has_graph and (self.graph is not None or np.ndim(X) == 1):
            found: Array = self._probabilities[to_nodes(X, self.data_.num_nodes)]
            return found
        new = Data()
        if X is not None:
            _refuse_complex(X)
            X = validate_data(self, X, accept_sparse=True, dtype=[np.float64, np.float32], reset=False)
            new.x = to_features(X)
            if edges is None and self._is_known(new.x, self.data_.edge_index):
                return self._probabilities.copy()
        if edges is None and self._has_graph:
            raise InputError(
                "The 'edges' parameter of predict must be given for new nodes of a graph, of shape (2, 0) if there are "
                "none. Got None instead. (Nodes of the training graph are named by their numbers.)"
            )
        if edges is not None:
            new.edge_index = to_edge_list(edges)
            if X is None:
                largest = int(new.edge_index.max()) if new.edge_index.numel() else -1
                new.num_nodes = max(largest + 1 - self.data_.num_nodes, 0)
        if edge_weight is not None:
            new.edge_weight = torch.as_tensor(np.asarray(edge_weight, dtype=np.float64))
        return self._new(new)

    def _is_known(self, x: Tensor | None, edge_index: Tensor | None) -> bool:
        """Whether features and edges are those of the training graph."""
        known = self.data_
        if x is None or known.x is None:
            return x is known.x and same(edge_index, known.edge_index)
        return same(x, known.x) and same(edge_index, known.edge_index)

    def _new(self, new: Data) -> Array:
        if hasattr(self, "_carried"):
            return self._ensemble().new_probabilities(self.data_, new)
        return self._calibrated(_numpy(self._known.logits(new).softmax(dim=1)))

    def _calibrated(self, found: Array) -> Array:
        return found if self.calibration_ is None else self.calibration_.apply(found)

    def predict(self, X: Any = None, *, edges: Any = None, edge_weight: Any = None) -> Array:
        """The class of each node; see :meth:`predict_proba` for what to give."""
        return self._decide(self.predict_proba(X, edges=edges, edge_weight=edge_weight))

    def _decide(self, probabilities: Array) -> Array:
        found: Array = self.classes_[decide(probabilities, self.threshold_, self._positive)]
        return found

    def _label(self, number: int | None) -> Any:
        return None if number is None else self.classes_.tolist()[number]

    @property
    def _positive(self) -> int | None:
        return None if self.pos_label_ is None else self.classes_.tolist().index(self.pos_label_)

    def explain(self, nodes: Any, **how: Any) -> list[Explanation]:
        """Why nodes of the training graph are predicted to be of their classes, see :func:`glognn.explain`.

        Args:
            nodes: Node numbers, or one.
            how: ``top``, ``through``, ``by`` and ``changes``.
        """
        check_is_fitted(self)
        names = Names(None, self.classes_.tolist())
        if hasattr(self, "_carried"):
            explainer = open_explainer(self._ensemble(), data=self.data_)
            explainer.names = names
        else:
            columns = getattr(self, "feature_names_in_", None)
            source = Source(
                self.model_, self._known.graph, None if columns is None else [str(each) for each in columns]
            )
            members = [Member(self.model_.config_class.name, source)]
            explainer = NodeExplainer(members, names, self._probabilities, self.threshold_, self._positive)
        return [
            explainer.explain(node, **how) for node in to_nodes(np.atleast_1d(nodes), self.data_.num_nodes).tolist()
        ]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy. A ``Data`` is judged by its own labels, on its test nodes if it has a mask for them."""
        if y is None and is_graph(X):
            data = to_graph(X)
            truth, mask = encode(label_array(data.y), self.classes_), self._mask(data, "test")
            chosen = ~missing(label_array(data.y)) if mask is None else ~missing(label_array(data.y)) & mask
            right = truth[chosen] == encode(self.predict(data), self.classes_)[chosen]
            return float(np.average(right, weights=sample_weight))
        return float(super().score(X, y, sample_weight))

    def save(self, folder: str | Path) -> None:
        """Write the fitted classifier with its training graph and a model card, as safetensors, npz and JSON.

        The record that names the other files is replaced last, so a kill at any moment leaves the folder as it was
        before or as it is after.
        """
        check_is_fitted(self)
        folder = Path(folder)
        if (folder / CONFIG).exists() or (folder / AUTO).exists():
            raise InputError(f"'{folder}' holds a run of glognn train: save the classifier in another folder.")
        try:
            with locked(folder):
                self._save(folder)
        except OSError as error:
            raise InputError(str(error)) from None

    def _save(self, folder: Path) -> None:
        saved = self._saved_params()
        statistics = {name: value for name, value in measure(self.data_).record().items() if name in FACTS}
        content = [saved, self._probabilities.tolist(), statistics["fingerprint"], versions()]
        name = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
        files = {"model": f"model-{name}.safetensors", "graph": f"graph-{name}.npz"}
        if ensemble := hasattr(self, "_carried"):
            files = {"ensemble": new_folder(folder / f"ensemble-{name}").name}
        record = {
            "schema_version": CLASSIFIER_VERSION,
            "kind": type(self).__name__,
            "files": files,
            "params": saved,
            "has_graph_param": self.graph is not None,
            "has_graph": self._has_graph,
            "seed": self._seed_used,
            "classes": _saved_classes(self.classes_),
            "feature_names": [str(each) for each in getattr(self, "feature_names_in_", [])],
            "num_features": self.n_features_in_,
            "epochs": self.n_iter_,
            "scores": self.scores_,
            "positive_class": None
            if self._positive is None
            else {"name": str(self.pos_label_), "number": self._positive},
            "calibration": None if self.calibration_ is None else self.calibration_.as_dict(),
            "threshold": self.threshold_,
            "data": statistics,
            "versions": versions(),
        }
        if ensemble:
            record |= {"split": self._split_used, "given": self._asked() | self._changed()}
            self._ensemble().copy(folder / files["ensemble"])
            write_json(folder / CLASSIFIER, sealed(record, {}))
            write_text(folder / CARD, ensemble_card(read_ensemble(folder / files["ensemble"]), record))
        else:
            save_model(folder / files["model"], self.model_)
            write_npz(self.data_, folder / files["graph"])
            write_json(folder / CLASSIFIER, sealed(record, measure_files(folder, files.values())))
            write_text(folder / CARD, model_card(record))
        for old in [*folder.glob("model-*.safetensors"), *folder.glob("graph-*.npz")]:
            if old.name not in files.values():
                old.unlink()
        for old in folder.glob("ensemble-*"):
            if old.name not in files.values():
                shutil.rmtree(old)

    def _saved_params(self) -> dict[str, Any]:
        params = {name: _plain(value) for name, value in self.get_params(deep=False).items() if name != "graph"}
        return params | {"random_state": self._seed_used}

    @classmethod
    def load(cls, folder: str | Path, *, model: str | None = None, split: int | None = None) -> Self:
        """What :meth:`save` wrote, or a finished run of ``glognn train``; ready to predict known nodes and new ones.

        It is on the CPU. New nodes of a run on tables come as encoded features, in the columns of ``data_.x``;
        ``glognn predict --nodes`` reads them from tables.

        Args:
            folder: Of the classifier or of the run.
            model: Which model of a run with several; the best on validation of those that ``fit`` takes.
            split: Which split of a run with several; the first.
        """
        if holds_ensemble(Path(folder)):
            if model is not None:
                raise InputError(f"'{folder}' holds an ensemble: leave out model {model!r}.")
            ensemble = open_saved(Path(folder), split=split)
            assert isinstance(ensemble, SavedEnsemble)
            return cls._from_ensemble(ensemble)
        if model is not None and model not in MODELS:
            raise InputError(
                f"The 'model' parameter of load must be one of {', '.join(map(repr, MODELS))}. Got {model!r} instead."
            )
        saved = open_saved(Path(folder), MODELS if model is None else [model], split)
        assert isinstance(saved, SavedModel)
        return cls._from_run(saved) if saved.kind == "run" else cls._from_classifier(saved)

    @classmethod
    def _from_classifier(cls, saved: SavedModel) -> Self:
        record = saved.record
        data, graph = saved.graph()
        for name in SET_NAMES:
            data[f"{name}_mask"] = graph.masks[name][:, 0]
        try:
            found = cls(**record["params"], graph=data if record["has_graph_param"] else None)
        except TypeError as error:
            raise damaged(saved.folder, error) from None
        found.classes_, found._has_graph = saved.class_array(), record["has_graph"]
        if record["feature_names"]:
            found.feature_names_in_ = np.array(record["feature_names"], dtype=object)
        return found._restore(saved, data, graph)

    @classmethod
    def _from_run(cls, saved: SavedModel) -> Self:
        data, graph = saved.graph()
        data.y = graph.y
        for name in SET_NAMES:
            data[f"{name}_mask"] = graph.masks[name][:, saved.split]
        config = saved.config
        given = config.model.as_dict() | config.training.as_dict() | config.graph.as_dict()
        given |= {name: None for name in _OR_NONE if given[name] == "none"}
        given |= {"model": config.model.name, "split": saved.split, "random_state": given["seed"]}
        found = cls(**{name: value for name, value in given.items() if name in cls().get_params()})
        found.classes_ = np.arange(graph.num_classes) if saved.classes is None else saved.classes.array()
        found.pos_label = found._label(saved.positive) if config.training.positive_class else None
        found._has_graph = True
        return found._restore(saved, data, graph)

    @classmethod
    def _from_ensemble(cls, saved: SavedEnsemble) -> Self:
        asked = Asked.read(saved.folder)
        if saved.fitted is None:
            given: dict[str, Any] = {"time_limit": asked.time_limit, "quality": asked.quality, "split": saved.split}
            given |= {"folds": asked.folds or FOLDS, "random_state": asked.settings.get("seed", 0), **asked.settings}
            found = cls(MODEL_NAME, **{name: value for name, value in given.items() if name in cls().get_params()})
            found.classes_, found._has_graph = saved.class_array(), True
            found.pos_label = found._label(saved.positive) if asked.settings.get("positive_class") else None
            return found._take(saved)
        record = saved.fitted
        try:
            found = cls(**record["params"], graph=saved.graph()[0] if record["has_graph_param"] else None)
        except TypeError as error:
            raise damaged(saved.folder.parent, error) from None
        found.classes_, found._has_graph = saved.class_array(), record["has_graph"]
        if record["feature_names"]:
            found.feature_names_in_ = np.array(record["feature_names"], dtype=object)
        return found._take(saved)

    def _restore(self, saved: SavedModel, data: Data, graph: Graph) -> Self:
        """Take over what a run and a classifier say alike."""
        self.data_, self.model_ = data, saved.model(graph)
        self.n_features_in_, self.n_iter_ = self.model_.in_channels, saved.epochs
        self.scores_, self.threshold_ = saved.scores, saved.threshold
        self.pos_label_, self.calibration_ = self._label(saved.positive), saved.calibration
        self._seed_used = saved.config.training.seed
        self._remember(saved.config.graph)
        return self


def _plain(value: Any) -> Any:
    """NumPy's numbers, of which grids of settings are made, as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _seed(random_state: Any) -> int:
    value = _plain(random_state)
    return value if isinstance(value, int) else int(check_random_state(value).randint(2**31 - 1))


def _numpy(tensor: Tensor) -> Array:
    return tensor.detach().cpu().double().numpy()


def _saved_classes(classes: Array) -> Mapping[str, Any]:
    if classes.dtype.kind not in "iufbUO" or not all(isinstance(each, str | int | float) for each in classes.tolist()):
        raise InputError(f"Classes must be text, numbers or truth values to be saved. Got {classes.dtype} instead.")
    return {"dtype": classes.dtype.str if classes.dtype.kind != "O" else "object", "values": classes.tolist()}


def _refuse_complex(x: Any) -> None:
    """Of sparse features scikit-learn would take the real part."""
    if sp.issparse(x) and np.dtype(kind := getattr(x, "dtype", None)).kind == "c":
        raise InputError(f"Complex data not supported: X must hold real numbers. Got {kind} instead.")
