"""Every model with the conventions of scikit-learn, on arrays, graphs and tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names, check_consistent_length, check_is_fitted, validate_data
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.arrow import Values
from glognn.data.classes import Array, encode, find_classes, label_array, missing
from glognn.data.convert import same, to_features
from glognn.data.encoding import RARE_SHARE, Encoding
from glognn.data.frames import Frame, as_table, is_frame
from glognn.data.graph_forms import NamedGraph, find_named, is_graph, to_edge_list, to_edges, to_graph
from glognn.data.ids import name_some
from glognn.data.layout import GRAPH
from glognn.data.splits import IntArray, validation_part
from glognn.data.table_changes import read_changes
from glognn.data.table_graph import KeptTables, TableOptions, graph_from_tables
from glognn.errors import InputError
from glognn.estimator.features import index_ids, needs_encoding, refuse_complex
from glognn.estimator.folder import load_classifier, save_classifier
from glognn.estimator.settings import OWN, SETTINGS, plain, seed_of, with_settings
from glognn.experiments.auto import MODEL_NAME, QUALITY, TIME_LIMIT, auto
from glognn.experiments.carried import CarriedFolder
from glognn.experiments.config import RunConfig, resolve
from glognn.experiments.explanations import open_explainer
from glognn.experiments.folder import load_model as read_weights
from glognn.experiments.integrity import measure_tables, seal
from glognn.experiments.layout import AUTO, CLASSIFIER, CONFIG, DONE
from glognn.experiments.leaderboard import standings
from glognn.experiments.saved_ensemble import SavedEnsemble, open_ensemble
from glognn.experiments.settling import settled
from glognn.explain.columns import TableColumns
from glognn.explain.explainer import Member, NodeExplainer
from glognn.explain.explanation import Explanation, Names
from glognn.explain.parts import Source
from glognn.graph.config import GraphConfig
from glognn.graph.graph import SET_NAMES, Graph
from glognn.metrics import decide
from glognn.models.configs import MODELS
from glognn.settings import suggest
from glognn.training.calibration import Calibration
from glognn.training.devices import DTYPES
from glognn.training.driver import train
from glognn.training.new_nodes import KnownNodes
from glognn.training.positive import positive_class
from glognn.training.predict import predict
from glognn.training.threshold import calibrate_and_choose, check_threshold


class GloGNNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classes of the nodes of a graph, by any model of the package.

    There are four ways to say what the nodes are::

        GloGNNClassifier().fit(data)                          # a PyTorch Geometric Data or a NetworkX graph
        GloGNNClassifier().fit(X, y, adjacency=A)             # arrays; y is -1, None, nan or "" where it is unknown
        GloGNNClassifier(graph=data).fit(nodes, y[nodes])     # node numbers or ids, for cross-validation
        GloGNNClassifier.from_tables(nodes, edges, id="account", label="fraud")    # tables, as the command line does

    The masks of a ``Data`` decide which nodes train and validate; otherwise ``validation_fraction`` of the labelled
    nodes is drawn for validation. With ``graph`` the labels and masks of that graph are never read. Without any graph
    there are no edges: the adjacency is then left out of the initial embedding (alpha counts as 0), and without
    features it is all there is (alpha is 1 unless given).

    ``predict``, ``predict_proba`` and ``score`` take node numbers or ids (or the training data itself, or nothing for
    all nodes) for nodes of the training graph, and features with ``edges`` for new nodes, see :meth:`predict_proba`.

    With ``model="auto"`` a portfolio of models is trained within ``time_limit``, and the ensemble of the best on
    validation predicts (see :func:`glognn.auto`): all labels are used, in ``folds``, unless masks say which validate.
    Settings then go to all members that have them.

    Args:
        model: Any of ``glognn models``, or ``"auto"``.
        graph: The graph whose nodes ``fit`` and ``predict`` are then given, in any form of
            :mod:`glognn.data.graph_forms`.
        pos_label: The class that average precision, F1, recall, a threshold and the like are about; by default the
            rarer of two.
        validation_fraction: Share of the labelled nodes that stop and select the training, where no mask says so.
        split: Which column of masks with several.
        threshold: With two classes ``"validation"``, ``"precision=0.8"``, ``"recall=0.9"`` or ``"cost=1:20"``;
            ``"none"``, where a metric of ranks would choose one.
        class_weight: ``"balanced"``, or a dictionary with a weight in the training loss for each class; one that is not
            named weighs 1.
        calibrate: ``"temperature"`` or ``"isotonic"``: correct probabilities on validation nodes; ``"none"``, where a
            metric of ranks would.
        time_limit: Of ``"auto"``: seconds to train.
        quality: Of ``"auto"``: ``"fast"``, ``"good"`` or ``"best"``, how much of the portfolio is tried.
        folds: Of ``"auto"``: how many, where no mask says which nodes validate; by default 5, fewer on large graphs.
        random_state: Seed of initial weights, dropout and the validation nodes.
        settings: Those of the model (``glognn models NAME`` lists them), of
            :class:`~glognn.training.config.TrainingConfig` and of :class:`~glognn.graph.config.GraphConfig`, each a
            parameter of this class; ``None``: the model's own default. One that the model does not have is an error.

    Attributes:
        classes_: The classes, sorted.
        transduction_: The predicted class of every node of the training graph.
        model_: The trained model; ``"auto"`` has none, nor has a run that was loaded as the mean of several.
        leaderboard_: Of ``"auto"``: the ensemble and its members with their scores, see :func:`glognn.leaderboard`.
        data_: The training graph, with classes numbered and the nodes that trained and validated as masks.
        ids_: The ids of its nodes, or ``None``.
        encoding_: What became of the columns of a table, or ``None``, see :class:`~glognn.data.encoding.Encoding`.
        scores_: The metric on training and validation nodes, and the epoch selected; ``test`` is ``None``, for ``fit``
            judges on no other nodes, unless a run with test nodes was loaded.
        pos_label_: The class that metrics of one class are of; ``None`` with more than two, unless one is named.
        calibration_: How probabilities are corrected, or ``None``; ``describe()`` says it in words. Of several models,
            each has its own.
        threshold_: Probability from which on this one of two classes is predicted, or ``None``.
        origin_: Where it is from, in words.
        n_features_in_: Number of features.
        n_iter_: Epochs trained; of ``"auto"``, by the members that have a weight.
    """

    def __init__(
        self,
        model: str = "glognn++",
        *,
        graph: Any = None,
        pos_label: Any = None,
        validation_fraction: float = 0.2,
        split: int = 0,
        time_limit: float = TIME_LIMIT,
        quality: str = QUALITY,
        folds: int | None = None,
        random_state: int | np.random.RandomState | None = 0,
        **settings: Any,
    ) -> None:
        for name in settings:
            if name not in SETTINGS:
                raise TypeError(f"GloGNNClassifier has no parameter '{name}'.{suggest(name, (*OWN, *SETTINGS))}")
        self.model = model
        self.graph = graph
        self.pos_label = pos_label
        self.validation_fraction = validation_fraction
        self.split = split
        self.time_limit = time_limit
        self.quality = quality
        self.folds = folds
        self.random_state = random_state
        for name in SETTINGS:
            setattr(self, name, settings.get(name))

    @classmethod
    def from_tables(
        cls,
        nodes: Any,
        edges: Any,
        *,
        label: str,
        id: str | None = None,
        source: str | None = None,
        target: str | None = None,
        edge_weight: str | Sequence[str] | None = None,
        unknown_edges: str = "error",
        split_column: str | None = None,
        drop_columns: Sequence[str] = (),
        category_columns: Sequence[str] = (),
        rare_share: float = RARE_SHARE,
        **params: Any,
    ) -> Self:
        """A classifier fitted on a table of nodes and one or several of edges, read as ``glognn train`` reads them.

        Its nodes are known by their ids, in ``predict`` and in ``fit``, so that it can be cross-validated:
        ``cross_val_score(classifier, ids, labels)``.

        Args:
            nodes: A table with a row for each node (pandas, polars, pyarrow), or its file.
            edges: The same of edges, with ids in the first two columns, or an array of shape (edges, 2); or several.
            label: Column of classes; empty ones are to be predicted.
            id: Column of ids; the first.
            source, target: Columns of the edges' ends.
            edge_weight: Column of weights, or several, which are added up.
            unknown_edges: Edges to ids that are in no row: ``error`` or ``drop``.
            split_column: Column of sets: train, val, test or nothing.
            drop_columns: Those that are no features.
            category_columns: Those that are categories whatever they look like.
            rare_share: Categories in a smaller share of the rows are one.
            params: Those of this class.
        """
        given = locals()
        options = {name: given[name] for name in inspect.signature(TableOptions).parameters if name in given}
        tables, data = graph_from_tables(TableOptions(**options))
        if split_column is None:
            for name in SET_NAMES:
                del data[f"{name}_mask"]
        return cls(graph=NamedGraph(data, tables.ids, tables), **params).fit()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any = None, y: Any = None, *, adjacency: Any = None) -> Self:
        """Train on a graph.

        Args:
            X: A ``Data`` or NetworkX graph; or features, nodes x features (NumPy, SciPy sparse, a frame; ``None`` for
                none); or, with the parameter ``graph``, the numbers or ids of the labelled nodes. A frame of numbers
                without gaps is the array that it holds; the columns of any other are encoded as those of tables are.
            y: Labels of the rows of X, of any type; unknown where -1, ``None``, nan or empty. For a graph, its own.
            adjacency: The edges between the rows of X, in any form of :mod:`glognn.data.graph_forms`. Tables and lists
                of ids name rows by the index of a pandas frame.
        """
        if adjacency is not None and (self.graph is not None or is_graph(X)):
            raise InputError("The 'adjacency' parameter of fit goes with an array of features. Got a graph besides it.")
        for name in ("feature_names_in_", "model_", "leaderboard_", "_carried", "_run_folder"):
            self.__dict__.pop(name, None)
        self.ids_: Values | None = None
        self.encoding_: Encoding | None = None
        self._tables: KeptTables | None = None
        self.origin_ = "fitted"
        if self.graph is not None:
            return self._fit_nodes(X, y)
        if is_graph(X):
            return self._fit_graph(to_graph(X), y)
        data = Data()
        if X is not None:
            data = self._features(X, learn=True)
        elif adjacency is None:
            raise InputError("The 'X' parameter of fit must be features when there is no graph. Got None instead.")
        codes = self._encode(y)
        if X is not None:
            check_consistent_length(data.x, codes)
        data.num_nodes = codes.size
        if adjacency is not None:
            self.ids_ = index_ids(X)
            data.edge_index, weight = to_edges(adjacency, codes.size, self.ids_)
            if weight is not None:
                data.edge_weight = weight
        return self._fit(data, codes, np.flatnonzero(codes >= 0), None, has_graph=adjacency is not None)

    def _features(self, X: Any, *, learn: bool = False) -> Data:
        """Rows of features as a ``Data``: arrays as they are, columns of words, dates and gaps encoded."""
        refuse_complex(X)
        encoding = None if learn else self.encoding_
        if (learn and needs_encoding(X)) or (encoding is not None and is_frame(X)):
            _check_feature_names(self, X, reset=learn)
            found = as_table(X, "X")
            assert isinstance(found, Frame)
            if encoding is None:
                encoding = self.encoding_ = Encoding.learn(found.table, found.table.column_names, "X")
            else:
                encoding.warn_of_unknown(found.table, "X")
            return Data(x=torch.from_numpy(encoding.encode(found.table, "X")), encoded=True)
        X = validate_data(self, X, accept_sparse=True, dtype=[np.float64, np.float32], reset=learn)
        return Data(x=to_features(X))

    def _encode(self, y: Any) -> IntArray:
        values = label_array(y)
        self.classes_ = find_classes(values)
        return encode(values, self.classes_)

    def _fit_nodes(self, X: Any, y: Any) -> Self:
        graph = to_graph(self.graph)
        self.ids_, self._tables = graph.ids, graph.tables
        self.encoding_ = None if graph.tables is None else graph.tables.encoding
        if X is None and graph.tables is not None:
            return self._fit_graph(graph, y)
        nodes, known = graph.find(X), self._encode(y)
        check_consistent_length(nodes, known)
        codes = np.full(int(graph.data.num_nodes), -1, dtype=np.int64)
        codes[nodes] = known
        if (codes[nodes] != known).any():
            node = int(nodes[np.argmax(codes[nodes] != known)])
            raise InputError(f"The nodes to fit must have one label each. Got two for node {node} instead.")
        return self._fit(graph.data, codes, np.flatnonzero(codes >= 0), None, has_graph=True)

    def _fit_graph(self, graph: NamedGraph, y: Any) -> Self:
        data = graph.data
        values = label_array(getattr(data, "y", None) if y is None else y)
        check_consistent_length(values, np.empty(data.num_nodes))
        train, val = self._mask(data, "train"), self._mask(data, "val")
        if train is None:
            train = np.ones(values.size, dtype=bool) if val is None else ~val
        if graph.tables is not None and y is None:
            self.classes_, codes = graph.tables.classes.array(), values.astype(np.int64)
        else:
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
        if plain(self.pos_label) not in classes:
            raise self._error("pos_label", f"one of the classes {', '.join(map(repr, classes[:5]))}")
        return str(classes.index(plain(self.pos_label)))

    def _numbered_weights(self, given: Any) -> Any:
        """Weights by the numbers of classes, as training is told them."""
        if not isinstance(given, Mapping):
            return given
        classes = self.classes_.tolist()
        named = {plain(name): plain(weight) for name, weight in given.items()}
        if strange := [name for name in named if name not in classes]:
            raise self._error("class_weight", f"weights of the classes {classes[:5]!r}, not of {strange[0]!r}")
        return {str(classes.index(name)): weight for name, weight in named.items()}

    def _settings(self) -> dict[str, Any]:
        """What was set by hand, as training is told it."""
        given = {name: plain(getattr(self, name)) for name in SETTINGS if getattr(self, name) is not None}
        if "class_weight" in given:
            given["class_weight"] = self._numbered_weights(given["class_weight"])
        if named := self._positive_class():
            given["positive_class"] = named
        return given | {"seed": int(seed_of(self.random_state))}

    def _config(self, *, has_edges: bool, has_features: bool, encoded: bool) -> RunConfig:
        if self.model not in MODELS:
            raise self._error("model", f"one of {', '.join(map(repr, (*MODELS, MODEL_NAME)))}")
        given = self._settings()
        model = MODELS[self.model]
        if encoded and "feature_normalization" not in model.graph_settings:
            given.setdefault("feature_normalization", "auto")
        if "alpha" in model.names() and not has_edges and has_features:
            given["alpha"] = 0.0
        elif "alpha" in model.names() and not has_features:
            given.setdefault("alpha", 1.0)
        [config] = resolve([self.model], None, given, None, None)
        config.model.check_graph(has_features=has_features)
        return config

    def _fit(self, data: Data, codes: IntArray, nodes: IntArray, val: IntArray | None, *, has_graph: bool) -> Self:
        """Train on ``nodes``, of which a part validates unless ``val`` is given."""
        if not nodes.size or self.classes_.size < 2:
            found = "no label" if not nodes.size else "1 class"
            raise InputError(f"GloGNNClassifier must be given labels of at least 2 classes. Got {found} instead.")
        edges = torch.empty(2, 0, dtype=torch.int64) if data.edge_index is None else data.edge_index
        if self.model == MODEL_NAME:
            return self._fit_auto(data, edges, codes, nodes, val, has_graph=has_graph)
        config = self._config(
            has_edges=edges.numel() > 0, has_features=data.x is not None, encoded=bool(getattr(data, "encoded", False))
        )
        training = config.training
        if val is None:
            fraction = plain(self.validation_fraction)
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
        graph = Graph.from_data(used, config.graph, dtype=DTYPES[training.dtype])
        check_threshold(graph, training)
        [config] = settled([config], graph, [0])
        with torch.random.fork_rng([]):
            torch.manual_seed(training.seed)
            model = config.model.model_class().for_graph(graph, config.model)
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
        self._config_used = config
        self._remember(config.graph)
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
            names = [str(each) for each in self.classes_.tolist()[: int(used.y.max()) + 1]]
            found = auto(used, out=Path(place) / "run", class_names=names, **self._asked(), **self._settings())
            if self._tables is not None:
                self._tables.save_names(found.folder)
                kept = measure_tables(str(found.folder / GRAPH))
                for done in found.folder.rglob(DONE):
                    seal(done.parent, kept)  # which now lie beside the graph
            return self._take(open_ensemble(found.folder))

    def _asked(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in ("time_limit", "quality", "folds")}

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
        """Keep what predictions need: the scores of known nodes, and their frozen state for new ones.

        Without a graph in float64, where a row's probabilities do not depend on the rows beside it.
        """
        model = self.model_ if self._has_graph else deepcopy(self.model_).double()
        self._remember_all([(KnownNodes(model, self.data_, config), self.calibration_)])

    def _remember_all(self, scored: Sequence[tuple[KnownNodes, Calibration | None]]) -> None:
        """Keep one model, or several whose mean predicts, each with its calibration."""
        self._scored = list(scored)
        self._probabilities = self._mean(lambda known: predict(known.model, known.graph))
        self.transduction_ = self._decide(self._probabilities)

    def _mean(self, score: Callable[[KnownNodes], Tensor]) -> Array:
        said = [(_numpy(score(known)), calibration) for known, calibration in self._scored]
        found: Array = np.mean([each if how is None else how.apply(each) for each, how in said], axis=0)
        return found

    def predict_proba(self, X: Any = None, *, edges: Any = None, edge_weight: Any = None) -> Array:
        """Probabilities of the classes, in the order of ``classes_``.

        Nodes of the training graph, n in number, are named by their numbers or ids, or all of them by the graph or
        features given to ``fit``, or by nothing. New nodes come with features and edges, or as a ``Data`` with both:
        known nodes are 0 to n-1 in the edges, the rows of X are n, n+1, ... New nodes of a classifier of tables are
        tables of the same form, or their files, with edges between ids. The model is not trained again, and known nodes
        do not notice new ones. ``fit`` without a graph needs no edges here.

        Args:
            X: See above.
            edges: Edges from or to new nodes, of shape (2, edges), an empty array when there are none; of tables a
                table or an array of ids of shape (edges, 2), or nothing.
            edge_weight: A weight for each of the edges, unless they are a table.
        """
        check_is_fitted(self)
        if edges is None and edge_weight is not None:
            raise InputError("The 'edge_weight' parameter of predict goes with edges. Got no edges besides it.")
        if X is None and edges is None:
            return self._probabilities.copy()
        if is_graph(X):
            data = to_graph(X).data
            known = self._is_known(data.x, data.edge_index)
            return self._probabilities.copy() if known else self._new(data)
        if self._tables is not None and (is_frame(X) or isinstance(X, str | Path)):
            return self._new(self._new_rows(self._tables, X, edges))
        if edges is None and self._has_graph and (self.graph is not None or np.ndim(X) == 1):
            found: Array = self._probabilities[find_named(X, self.ids_, int(self.data_.num_nodes))]
            return found
        new = Data()
        if X is not None:
            new = self._features(X)
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

    def _new_rows(self, tables: KeptTables, nodes: Any, edges: Any) -> Data:
        """New nodes of tables of the form that training read."""
        found = read_changes(tables, nodes, edges, data=self.data_)
        if found.known.size:
            raise InputError(
                f"The ids of new nodes must be new. Got {name_some(tables.ids.take(found.known))}, which the graph of "
                "training holds: predict takes the ids of its nodes."
            )
        return found.new

    def _is_known(self, x: Tensor | None, edge_index: Tensor | None) -> bool:
        """Whether features and edges are those of the training graph."""
        known = self.data_
        if x is None or known.x is None:
            return x is known.x and same(edge_index, known.edge_index)
        return same(x, known.x) and same(edge_index, known.edge_index)

    def _new(self, new: Data) -> Array:
        if hasattr(self, "_carried"):
            return self._ensemble().new_probabilities(self.data_, new)
        return self._mean(lambda known: known.logits(new).double().softmax(dim=1))

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
            nodes: Numbers or ids of nodes, or one.
            how: ``top``, ``through``, ``by`` and ``changes``.
        """
        check_is_fitted(self)
        chosen = find_named(np.atleast_1d(np.asarray(nodes)), self.ids_, int(self.data_.num_nodes), "nodes")
        names = Names(self.ids_, self.classes_.tolist())
        if hasattr(self, "_carried"):
            explainer = open_explainer(self._ensemble(), data=self.data_, encoding=self.encoding_)
            explainer.names = names
        else:
            columns = TableColumns.of(self.encoding_, self.data_) or self._columns()
            members = [
                Member(self.model, Source(known.model, known.graph, columns), 1 / len(self._scored))
                for known, _ in self._scored
            ]
            explainer = NodeExplainer(members, names, self._probabilities, self.threshold_, self._positive)
        return [explainer.explain(int(node), **how) for node in chosen]

    def _columns(self) -> list[str] | None:
        """Names of the features, where they are those of columns."""
        given = [str(each) for each in getattr(self, "feature_names_in_", ())]
        return given if len(given) == self.n_features_in_ else None

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy. A ``Data`` is judged by its own labels, on its test nodes if it has a mask for them."""
        if y is None and is_graph(X):
            data = to_graph(X).data
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
        save_classifier(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, *, model: str | None = None, split: int | None = None) -> Self:
        """What :meth:`save` wrote, or a finished run of ``glognn train``; ready to predict known nodes and new ones.

        It is on the CPU. A run on tables knows its nodes by their ids, and takes new ones as tables.

        Args:
            folder: Of the classifier or of the run.
            model: Which model of a run with several; the best on validation.
            split: Which split of a run with several; by default what ``glognn predict`` predicts with: the mean of the
                models of all splits, or what was trained on all labels after them.
        """
        found = load_classifier(cls, Path(folder), model=model, split=split)
        assert isinstance(found, cls)
        return found


GloGNNClassifier.__init__.__signature__ = with_settings(  # type: ignore[attr-defined]
    inspect.signature(GloGNNClassifier.__init__)
)


def load_model(path: str | Path, *, model: str | None = None, split: int | None = None) -> Any:
    """What a folder holds, whatever wrote it, as a fitted :class:`GloGNNClassifier`; ``origin_`` says what it was.

    A folder is that of a run of ``glognn train``, of one with ``--model auto`` or one of its members, or of a saved
    classifier; see :meth:`GloGNNClassifier.load`. The module itself is its ``model_``. A file ``model.safetensors``
    gives that module alone, in evaluation mode.
    """
    path = Path(path)
    if path.is_file():
        return read_weights(path)
    if not path.is_dir():
        raise InputError(f"There is no folder '{path}'.")
    if not any((path / name).is_file() for name in (CLASSIFIER, AUTO, CONFIG)):
        inside = sorted({each.parent for name in (CLASSIFIER, AUTO, CONFIG) for each in path.glob(f"*/{name}")})
        names = ", ".join(f"'{each}'" for each in inside[:5]) + (" ..." if len(inside) > 5 else "")
        hint = f" Load one of those in it: {names}." if inside else ""
        raise InputError(f"'{path}' holds no trained model: neither {CONFIG}, {AUTO} nor {CLASSIFIER}.{hint}")
    return GloGNNClassifier.load(path, model=model, split=split)


def _numpy(tensor: Tensor) -> Array:
    return tensor.detach().cpu().double().numpy()
