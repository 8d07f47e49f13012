"""Classifiers in folders: written, and read back from them or from runs of ``glognn train``."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor
from torch_geometric.data import Data

from glognn.data.classes import Array
from glognn.data.encoding import Encoding
from glognn.data.graph_forms import NamedGraph
from glognn.data.npz import write_npz
from glognn.data.statistics import measure
from glognn.data.table_graph import KeptTables
from glognn.errors import InputError
from glognn.estimator.settings import OWN, SETTINGS, plain
from glognn.experiments.appraisal import Appraiser, cautions
from glognn.experiments.auto import FOLDS, MODEL_NAME, Asked
from glognn.experiments.config import resolve
from glognn.experiments.environment import versions
from glognn.experiments.folder import new_folder, save_model
from glognn.experiments.integrity import sealed
from glognn.experiments.layout import AUTO, CLASSIFIER, CONFIG
from glognn.experiments.reports import CLASSIFIER_VERSION, damaged, read_ensemble
from glognn.experiments.saved import holds_ensemble, open_saved
from glognn.experiments.saved_ensemble import SavedEnsemble
from glognn.experiments.saved_mean import SavedMean, with_graphs
from glognn.experiments.saved_model import SavedModel
from glognn.graph.config import GraphConfig
from glognn.graph.graph import SET_NAMES, Graph
from glognn.metrics import decide
from glognn.models.configs import MODELS
from glognn.report.card import CARD, ensemble_card, model_card
from glognn.storage import locked, measure_files, write_json, write_text
from glognn.training.class_weight import parse_class_weight
from glognn.training.config import TrainingConfig
from glognn.training.new_nodes import KnownNodes
from glognn.training.predict import predict
from glognn.training.threshold import describe_rule, rule_of

if TYPE_CHECKING:
    from glognn.estimator.classifier import GloGNNClassifier

FACTS = ("nodes", "edges_undirected", "isolated", "features", "class_sizes", "unlabelled", "homophily", "fingerprint")
_GROUPS = ("model", "training", "graph")


def save_classifier(classifier: GloGNNClassifier, folder: Path) -> None:
    """Write a fitted classifier with its training graph and a model card, see :meth:`GloGNNClassifier.save`."""
    if (folder / CONFIG).exists() or (folder / AUTO).exists():
        raise InputError(f"'{folder}' holds a run of glognn train: save the classifier in another folder.")
    if (run := getattr(classifier, "_run_folder", None)) is not None:
        raise InputError(
            f"'{run}' predicts with the models of several splits, or of all labels, and its records judge them: copy "
            "the folder of the run, or load one split of it (split=0) and save that."
        )
    try:
        with locked(folder):
            _save(classifier, folder)
    except OSError as error:
        raise InputError(str(error)) from None


def _save(classifier: GloGNNClassifier, folder: Path) -> None:
    saved = _saved_params(classifier)
    statistics = {name: value for name, value in measure(classifier.data_).record().items() if name in FACTS}
    content = [saved, classifier._probabilities.tolist(), statistics["fingerprint"], versions()]
    name = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]
    files = {"model": f"model-{name}.safetensors", "graph": f"graph-{name}.npz"}
    if classifier._tables is not None:
        files |= {"tables": f"tables-{name}.json", "nodes": f"nodes-{name}.parquet"}
    if ensemble := hasattr(classifier, "_carried"):
        files = {"ensemble": new_folder(folder / f"ensemble-{name}").name}
    record = {
        "schema_version": CLASSIFIER_VERSION,
        "kind": type(classifier).__name__,
        "files": files,
        "params": saved,
        "has_graph_param": classifier.graph is not None,
        "has_graph": classifier._has_graph,
        "seed": classifier._seed_used,
        "classes": _saved_classes(classifier.classes_),
        "feature_names": [str(each) for each in getattr(classifier, "feature_names_in_", [])],
        "num_features": classifier.n_features_in_,
        "epochs": classifier.n_iter_,
        "scores": classifier.scores_,
        "positive_class": None
        if classifier._positive is None
        else {"name": str(classifier.pos_label_), "number": classifier._positive},
        "calibration": None if classifier.calibration_ is None else classifier.calibration_.as_dict(),
        "threshold": classifier.threshold_,
        "threshold_for": _threshold_for(classifier),
        "data": statistics,
        "encoding": None if classifier.encoding_ is None else classifier.encoding_.as_dict(),
        "columns": [] if classifier.encoding_ is None else classifier.encoding_.described(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
    }
    if ensemble:
        record |= {"split": classifier._split_used, "given": classifier._asked() | classifier._settings()}
        classifier._ensemble().copy(folder / files["ensemble"])
        write_json(folder / CLASSIFIER, sealed(record, {}))
        write_text(folder / CARD, ensemble_card(read_ensemble(folder / files["ensemble"]), record))
    else:
        record["settings"] = {name: getattr(classifier._config_used, name).as_dict() for name in _GROUPS}
        record |= _appraised(classifier)
        save_model(folder / files["model"], classifier.model_)
        write_npz(classifier.data_, folder / files["graph"])
        if classifier._tables is not None:
            classifier._tables.save_names(folder, files["tables"], files["nodes"])
        write_json(folder / CLASSIFIER, sealed(record, measure_files(folder, files.values())))
        write_text(folder / CARD, model_card(record))
    for pattern in ("model-*.safetensors", "graph-*.npz", "tables-*.json", "nodes-*.parquet"):
        for old in folder.glob(pattern):
            if old.name not in files.values():
                old.unlink()
    for old in folder.glob("ensemble-*"):
        if old.name not in files.values():
            shutil.rmtree(old)


def _threshold_for(classifier: GloGNNClassifier) -> str:
    """What the threshold was chosen for, in words; empty where there is none. An ensemble says it itself."""
    if classifier.threshold_ is None or hasattr(classifier, "_carried"):
        return ""
    training = classifier._config_used.training
    return describe_rule(rule_of(training, len(classifier.classes_)), training.metric)


def _appraised(classifier: GloGNNClassifier) -> dict[str, Any]:
    """What the card says beside scores: baselines, what was found of each class held out, what to beware of."""
    graph = classifier._scored[0][0].graph
    nodes = {name: each.cpu().numpy() for name, each in graph.indices(0).items() if each.numel()}
    held_out = nodes["test" if "test" in nodes else "val"]
    predicted = decide(classifier._probabilities[held_out], classifier.threshold_, classifier._positive)
    said = predict(classifier.model_, graph).double().cpu().numpy()
    found = Appraiser(graph, classifier.classes_.tolist()).appraise(
        0, classifier._config_used.training, {name: said[each] for name, each in nodes.items()}, predicted=predicted
    )
    return found | {"cautions": cautions([found], graph.num_isolated / graph.num_nodes)}


def _saved_params(classifier: GloGNNClassifier) -> dict[str, Any]:
    params = {name: plain(value) for name, value in classifier.get_params(deep=False).items() if name != "graph"}
    given = {name: value for name, value in params.items() if value is not None or name in OWN}
    if isinstance(weights := given.get("class_weight"), Mapping):
        given["class_weight"] = {str(plain(name)): plain(weight) for name, weight in weights.items()}
    return given | {"random_state": classifier._seed_used}


def _saved_classes(classes: Array) -> Mapping[str, Any]:
    if classes.dtype.kind not in "iufbUO" or not all(isinstance(each, str | int | float) for each in classes.tolist()):
        raise InputError(f"Classes must be text, numbers or truth values to be saved. Got {classes.dtype} instead.")
    return {"dtype": classes.dtype.str if classes.dtype.kind != "O" else "object", "values": classes.tolist()}


def load_classifier(
    cls: type[GloGNNClassifier], folder: Path, *, model: str | None = None, split: int | None = None
) -> GloGNNClassifier:
    """What a folder holds as a classifier, see :meth:`GloGNNClassifier.load`."""
    if holds_ensemble(folder):
        if model is not None:
            raise InputError(f"'{folder}' holds an ensemble: leave out model {model!r}.")
        ensemble = open_saved(folder, split=split)
        assert isinstance(ensemble, SavedEnsemble)
        return _from_ensemble(cls, ensemble)
    if model is not None and model not in MODELS:
        raise InputError(
            f"The 'model' parameter of load must be one of {', '.join(map(repr, MODELS))}. Got {model!r} instead."
        )
    saved = open_saved(folder, [] if model is None else [model], split)
    assert isinstance(saved, SavedModel | SavedMean)
    return _from_classifier(cls, saved) if saved.kind == "classifier" else _from_run(cls, saved)


def _with_params(
    cls: type[GloGNNClassifier], record: Mapping[str, Any], folder: Path, data: Data, tables: KeptTables | None
) -> GloGNNClassifier:
    """With the parameters of a record; earlier versions wrote those of GloGNN++ for every model."""
    model, params = MODELS.get(record["params"]["model"]), record["params"]
    if model is not None:
        its = {*TrainingConfig.names(), *GraphConfig.names(), *model.names()}
        params = {name: value for name, value in params.items() if name in its or name not in SETTINGS}
    graph = NamedGraph(data, None if tables is None else tables.ids, tables)
    try:
        found = cls(**params, graph=graph if record["has_graph_param"] else None)
        if model is not None:
            given = {name: value for name, value in params.items() if name in SETTINGS and value is not None}
            resolve([model.name], None, given, None, None)
    except (TypeError, InputError) as error:
        raise damaged(folder, error) from None
    return found


def _from_classifier(cls: type[GloGNNClassifier], saved: SavedModel | SavedMean) -> GloGNNClassifier:
    assert isinstance(saved, SavedModel)
    record = saved.record
    data, graph = saved.graph()
    for name in SET_NAMES:
        data[f"{name}_mask"] = graph.masks[name][:, 0]
    found = _with_params(cls, record, saved.folder, data, saved.tables)
    found.classes_, found._has_graph = saved.class_array(), record["has_graph"]
    _named_weights(found, found.classes_.tolist())
    if record["feature_names"]:
        found.feature_names_in_ = np.array(record["feature_names"], dtype=object)
    return _restore(found, saved, data, graph)


def _named_weights(classifier: GloGNNClassifier, names: Sequence[Any]) -> None:
    """Weights by classes, of those that a record has by the text of other names."""
    written = classifier.class_weight
    if isinstance(written, str) and written.startswith("{"):
        written = parse_class_weight(written)
    if isinstance(written, Mapping):
        texts, classes = [str(name) for name in names], classifier.classes_.tolist()
        named = {classes[texts.index(name)]: weight for name, weight in written.items() if name in texts}
        classifier.set_params(class_weight=named)


def _from_run(cls: type[GloGNNClassifier], saved: SavedModel | SavedMean) -> GloGNNClassifier:
    data, graph = saved.graph()
    models = with_graphs(saved.models, data) if isinstance(saved, SavedMean) else []
    data.y = graph.y
    for name, mask in (_sets_of_all(saved, graph) if isinstance(saved, SavedMean) else graph.masks).items():
        data[f"{name}_mask"] = mask[:, saved.splits[0]]
    config = saved.config
    given = config.model.as_dict() | config.training.as_dict() | config.graph.as_dict()
    given |= {name: None for name in ("threshold", "calibrate") if given[name] == "auto"}
    given |= {"class_weight": None} if given["class_weight"] == "none" else {}
    given |= {"model": config.model.name, "split": saved.splits[0], "random_state": given["seed"]}
    found = cls(**{name: value for name, value in given.items() if name in cls().get_params()})
    found.classes_ = np.arange(graph.num_classes) if saved.classes is None else saved.classes.array()
    found.pos_label = found._label(saved.positive) if config.training.positive_class else None
    _named_weights(found, found.classes_.tolist())
    found._has_graph = True
    if isinstance(saved, SavedMean):
        return _restore_mean(found, saved, data, models)
    return _restore(found, saved, data, graph)


def _from_ensemble(cls: type[GloGNNClassifier], saved: SavedEnsemble) -> GloGNNClassifier:
    asked = Asked.read(saved.folder)
    if saved.fitted is None:
        given: dict[str, Any] = {"time_limit": asked.time_limit, "quality": asked.quality, "split": saved.split}
        given |= {
            "folds": None if asked.folds in (0, FOLDS) else asked.folds,
            "random_state": asked.settings.get("seed", 0),
            **asked.settings,
        }
        found = cls(MODEL_NAME, **{name: value for name, value in given.items() if name in cls().get_params()})
        found.classes_, found._has_graph = saved.class_array(), True
        found.pos_label = found._label(saved.positive) if asked.settings.get("positive_class") else None
        _named_weights(found, saved.record["classes"])
        _know(found, saved)
        return found._take(saved)
    record = saved.fitted
    found = _with_params(cls, record, saved.folder.parent, saved.graph()[0], saved.tables)
    found.classes_, found._has_graph = saved.class_array(), record["has_graph"]
    _named_weights(found, found.classes_.tolist())
    if record["feature_names"]:
        found.feature_names_in_ = np.array(record["feature_names"], dtype=object)
    _know(found, saved)
    return found._take(saved)


def _know(classifier: GloGNNClassifier, saved: SavedModel | SavedMean | SavedEnsemble) -> None:
    """Take over what a folder knows of the tables, and say what it is."""
    classifier._tables = saved.tables
    classifier.ids_ = None if classifier._tables is None else classifier._tables.ids
    classifier.encoding_ = None if classifier._tables is None else classifier._tables.encoding
    record = (saved.fitted or {}) if isinstance(saved, SavedEnsemble) else saved.record
    if record.get("encoding"):
        try:
            classifier.encoding_ = Encoding.from_dict(record["encoding"])
        except (TypeError, ValueError, KeyError) as error:
            raise damaged(saved.folder, error) from None
    kind = {"run": "run of glognn train", "auto": "run of glognn train --model auto"}.get(saved.kind, "classifier")
    score = "unknown" if saved.scores["val"] is None else f"{saved.scores['val']:.4f}"
    parts = [
        f"{kind} in '{saved.folder}': {classifier.model}",
        saved.why,
        f"validation {saved.scores['metric']} {score}",
    ]
    classifier.origin_ = ", ".join(part for part in parts if part)


def _restore(classifier: GloGNNClassifier, saved: SavedModel, data: Data, graph: Graph) -> GloGNNClassifier:
    """Take over what a run and a classifier say alike."""
    _know(classifier, saved)
    classifier._config_used = saved.config
    classifier.data_, classifier.model_ = data, saved.model(graph)
    classifier.n_features_in_, classifier.n_iter_ = classifier.model_.in_channels, saved.epochs
    classifier.scores_, classifier.threshold_ = saved.scores, saved.threshold
    classifier.pos_label_, classifier.calibration_ = classifier._label(saved.positive), saved.calibration
    classifier._seed_used = saved.config.training.seed
    classifier._remember(saved.config.graph)
    return classifier


def _sets_of_all(saved: SavedMean, graph: Graph) -> dict[str, Tensor]:
    """Masks that say of a mean what is true of all its models: no test node of it has trained or validated one."""
    known = (graph.y >= 0).unsqueeze(1)
    train, val, test = (graph.masks[name][:, list(saved.splits)] for name in SET_NAMES)
    learned = known if saved.refitted else train.any(dim=1, keepdim=True)
    chosen = val.any(dim=1, keepdim=True) & ~learned
    found = {"train": learned, "val": chosen, "test": test.all(dim=1, keepdim=True) & ~learned}
    return {name: mask.expand(-1, graph.num_splits) for name, mask in found.items()}


def _restore_mean(
    classifier: GloGNNClassifier, saved: SavedMean, data: Data, models: Sequence[tuple[SavedModel, Graph]]
) -> GloGNNClassifier:
    """Take over the models of several splits, or of all labels, whose mean predicts."""
    _know(classifier, saved)
    classifier._config_used, classifier._run_folder = saved.config, saved.folder
    classifier.data_, classifier.scores_, classifier.threshold_ = data, saved.scores, saved.threshold
    classifier.pos_label_ = classifier._label(saved.positive)
    classifier.n_iter_ = sum(model.epochs for model in saved.models)
    classifier._seed_used = saved.config.training.seed
    scored = [(KnownNodes(model.model(graph), graph, features=data.x), model.calibration) for model, graph in models]
    classifier.n_features_in_ = scored[0][0].model.in_channels
    classifier.calibration_ = None
    if len(scored) == 1:
        classifier.model_, classifier.calibration_ = scored[0][0].model, scored[0][1]
    classifier._remember_all(scored)
    return classifier
