"""The positive class: the rarer one unless another is named, and the same one wherever a score is of one class."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, f1_score
from torch_geometric.data import Data

from glognn.data.npz import write_npz
from glognn.data.splits import random_splits
from glognn.errors import InputError
from glognn.estimator import GloGNNClassifier
from glognn.experiments.config import resolve
from glognn.experiments.run import load_graph, run_splits
from glognn.experiments.saved import open_saved
from glognn.graph.graph import Graph
from glognn.models.mlp import MLP
from glognn.training.config import TrainingConfig
from glognn.training.driver import train
from glognn.training.positive import positive_class, scoring
from glognn.training.predict import predict


def rare_first(num_nodes: int = 240) -> Data:
    """Class 0 is one node in eight: in the alphabet it comes before the other, as 'fraud' does before 'legit'."""
    generator = torch.Generator().manual_seed(0)
    y = (torch.arange(num_nodes) % 8 != 0).long()
    x = torch.randn(num_nodes, 4, generator=generator)
    x[:, 0] += 1.2 * (y == 0)
    edges = torch.randint(0, num_nodes, (2, 2 * num_nodes), generator=generator)
    masks = {f"{name}_mask": mask for name, mask in random_splits(y, 2).items()}
    return Data(x=x, y=y, edge_index=edges, **masks)


def trained(metric: str, **settings: str) -> tuple[Graph, float, np.ndarray]:
    """A validation score, and the probabilities on validation nodes that it is of."""
    graph = replace(Graph.from_data(rare_first()), class_names=("fraud", "legit"))
    torch.manual_seed(0)
    model = MLP(4, 2, dropout=0.0)
    config = TrainingConfig(epochs=15, metric=metric, device="cpu", threads=1, **settings)
    result = train(model, graph, config=config)
    return graph, result.selected.val, predict(model, graph)[graph.indices(0)["val"]].double().numpy()


@pytest.mark.parametrize("named", ["", "fraud", "legit"])
def test_selection_scores_the_class_that_is_named_or_rarer(named: str) -> None:
    graph, found, p = trained("average_precision", positive_class=named)
    number = 1 if named == "legit" else 0
    y = graph.y[graph.indices(0)["val"]].numpy()
    assert found == pytest.approx(average_precision_score(y == number, p[:, number]), abs=1e-6)


def test_which_class_is_rarer_is_no_matter_of_test_labels() -> None:
    data = rare_first()
    data.y[data.test_mask[:, 0] | data.val_mask[:, 0]] = 0
    graph = Graph.from_data(data)
    assert int((graph.y == 0).sum()) > int((graph.y == 1).sum())
    assert positive_class(graph, TrainingConfig()) == 0


def test_of_equal_classes_it_is_the_second() -> None:
    y = torch.arange(40) % 2
    masks = {f"{name}_mask": mask for name, mask in random_splits(y, 1).items()}
    graph = Graph.from_data(Data(y=y, x=torch.randn(40, 2), **masks))
    assert positive_class(graph, TrainingConfig()) == 1


def test_more_than_two_classes_have_none_unless_one_is_named() -> None:
    y = torch.arange(60) % 3
    masks = {f"{name}_mask": mask for name, mask in random_splits(y, 1).items()}
    graph = Graph.from_data(Data(y=y, x=torch.randn(60, 2), **masks))
    assert positive_class(graph, TrainingConfig()) is None
    assert scoring(graph, TrainingConfig(metric="f1", positive_class="2")).positive == 2
    with pytest.raises(InputError, match=r"--positive-class must name one of the 3 classes\. Got 'f1' instead"):
        scoring(graph, TrainingConfig(metric="f1"))


def test_a_class_that_is_none_is_refused_with_those_that_are() -> None:
    graph = replace(Graph.from_data(rare_first()), class_names=("fraud", "legit"))
    with pytest.raises(InputError, match=r"a class of the graph\. Got 'fraid' instead\. Did you mean 'fraud'\?"):
        positive_class(graph, TrainingConfig(positive_class="fraid"))


def test_a_run_records_its_class_and_decides_by_it(tmp_path: Path) -> None:
    write_npz(rare_first(), tmp_path / "rare.npz")
    given = {"epochs": 10, "device": "cpu", "threshold": "validation", "metric": "average_precision"}
    [config] = resolve(["mlp"], None, given, str(tmp_path / "rare.npz"), "0-1")
    summary = run_splits(tmp_path / "run", config, load_graph(config))
    assert summary["positive_class"] == {"name": "0", "number": 0}
    report = json.loads((tmp_path / "run/split-1/report.json").read_text())
    assert report["positive_class"] == {"name": "0", "number": 0}
    saved = open_saved(tmp_path / "run", split=1)
    predictions, graph = saved.predict(device="cpu")
    assert np.array_equal(predictions.predicted == 0, predictions.probabilities[:, 0] >= report["threshold"])
    nodes = graph.indices(1)["test"].numpy()
    y = graph.y.numpy()[nodes]
    found = predictions.evaluate(nodes, y)
    assert found["positive_class"] == "0"
    assert found["scores"]["f1"] == pytest.approx(f1_score(y, predictions.predicted[nodes], pos_label=0))
    assert found["scores"]["average_precision"] == pytest.approx(report["scores"]["selected"]["test"], abs=1e-6)
    other = predictions.evaluate(nodes, y, positive=1)
    assert other["scores"]["f1"] == pytest.approx(f1_score(y, predictions.predicted[nodes], pos_label=1))
    assert other["confusion"] == found["confusion"]


def test_a_record_that_does_not_say_it_is_of_the_second_class(tmp_path: Path) -> None:
    write_npz(rare_first(), tmp_path / "rare.npz")
    [config] = resolve(["mlp"], None, {"epochs": 1, "device": "cpu"}, str(tmp_path / "rare.npz"), "0")
    run_splits(tmp_path / "run", config, load_graph(config))
    report = json.loads((tmp_path / "run/report.json").read_text())
    del report["positive_class"]
    (tmp_path / "run/DONE").write_text("")
    (tmp_path / "run/report.json").write_text(json.dumps(report))
    assert open_saved(tmp_path / "run").positive == 1
    report["positive_class"] = {"name": "2", "number": 2}
    (tmp_path / "run/report.json").write_text(json.dumps(report))
    with pytest.raises(InputError, match="positive_class must be one of 2 classes, not 2"):
        open_saved(tmp_path / "run")


def test_the_classifier_takes_the_class_by_its_label(tmp_path: Path) -> None:
    data = rare_first()
    words = np.array(["fraud", "legit"])[data.y.numpy()]
    settings = {"epochs": 10, "metric": "average_precision", "threshold": "validation", "device": "cpu"}

    def fit(**more: str) -> GloGNNClassifier:
        return GloGNNClassifier(**settings, **more).fit(data.x.numpy(), words, adjacency=data.edge_index.numpy())

    usual, other = fit(), fit(pos_label="legit")
    assert (usual.pos_label_, other.pos_label_) == ("fraud", "legit")
    for found, column in ((usual, 0), (other, 1)):
        chosen = found.predict_proba()[:, column] >= found.threshold_
        assert np.array_equal(found.predict() == found.pos_label_, chosen)
    nodes = usual.data_.val_mask.numpy()
    wanted = average_precision_score(words[nodes] == "fraud", usual.predict_proba()[nodes, 0])
    assert usual.scores_["val"] == pytest.approx(wanted, abs=1e-6)
    usual.save(tmp_path / "saved")
    loaded = GloGNNClassifier.load(tmp_path / "saved")
    assert (loaded.pos_label, loaded.pos_label_) == (None, "fraud")
    assert np.array_equal(loaded.predict(), usual.predict())
    card = (tmp_path / "saved/README.md").read_text()
    assert "| positive class | fraud |" in card
    assert "| average precision of fraud, validation nodes |" in card
    with pytest.raises(InputError, match="'pos_label' parameter of GloGNNClassifier must be one of the classes"):
        fit(pos_label="scam")
