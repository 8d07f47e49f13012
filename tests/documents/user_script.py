"""A user's script as type checkers see it: ``make types`` checks it strictly, with what the package says of itself."""

from __future__ import annotations

from pathlib import Path
from typing import assert_type

import glognn
from glognn import GloGNNClassifier, GloGNNPlusPlus, Graph, InputError, TrainingConfig


def main() -> None:
    data = glognn.load_dataset("pairs")
    model = GloGNNPlusPlus(120, 6, 3000, alpha=0.3)
    result = glognn.train(model, data, config=TrainingConfig(epochs=3))
    assert_type(result, glognn.TrainingResult)
    assert_type(result.selected.val, float)
    probabilities = glognn.predict(model, data)
    assert probabilities.shape[0] == Graph.from_data(data).num_nodes

    classifier = GloGNNClassifier("glognn2", epochs=3).fit(data)
    classifier.save("model")
    for reason in classifier.explain([0, 1]):
        assert_type(reason.node, int)

    try:
        done = glognn.train_models("pairs", ["glognn++", "mlp"], splits="0", epochs=3, out=Path("runs/typed"))
        assert_type(done.folder, Path)
        best = glognn.auto("pairs", splits="0", time_limit=5, quality="fast")
        assert_type(best.folder, Path)
        own = glognn.train_tables("nodes.csv", "edges.csv", "label", id="name", model="mlp")
        assert_type(own.folder, Path)
        glognn.tune("pairs", "mlp", trials=2)
        glognn.reproduce("table1", models="glognn++", datasets="texas")
        glognn.bench("pairs", "glognn", repeats=1)
        assert_type(glognn.explain(own.folder, nodes="n7", top=3)[0].node, int)
    except InputError as error:
        assert_type(str(error), str)
    assert_type(glognn.__version__, str)


if __name__ == "__main__":
    main()
