"""The efficiency study in numbers and as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.image import imread

from glognn.report.efficiency import efficiency_table, plot_efficiency, summarise
from glognn.report.figures import line_look
from glognn.report.markdown import table_markdown


def curve(scores: list[float], step: float, metric: str = "accuracy") -> dict[str, list[float]]:
    epochs = [float(epoch) for epoch in range(1, len(scores) + 1)]
    return {
        "epoch": epochs,
        "val_loss": [1.0] * len(scores),
        f"val_{metric}": scores,
        "seconds": [step * e for e in epochs],
    }


def test_numbers_are_medians_over_the_repeats() -> None:
    scores = [[0.2, 0.795, 0.5, 0.8], [0.2, 0.3, 0.9, 0.1], [0.7, 0.6, 0.5, 0.4]]
    found = summarise([curve(each, step) for each, step in zip(scores, (0.1, 0.2, 0.3), strict=True)], {})
    assert found["milliseconds_per_epoch"] == pytest.approx(200)
    assert found["validation"] == pytest.approx(80)
    assert found["seconds_until_near"] == pytest.approx(0.3)  # of 0.2 (79.5 is near 80), 0.6 and 0.3
    assert found["seconds"] == pytest.approx([0.4, 0.8, 1.2])


def test_a_row_for_each_model() -> None:
    one = summarise([curve([0.2, 0.8], 0.0123)], {"machine": {"cores": 2}, "peak_memory_mib": 7})
    assert one["machine"] == {"cores": 2}
    lines = table_markdown(efficiency_table({"texas": {"mlp": one, "gcn": one}, "genius": {"mlp": one}})).splitlines()
    assert lines[0].endswith("| texas | genius |")
    assert lines[2] == "| mlp | 12.3; 80.0; 0.025 | 12.3; 80.0; 0.025 |"
    slow = summarise([curve([0.2, 0.8], 1234.5)], {})
    assert "| mlp | 1,234,500; 80.0; 2,469 |" in table_markdown(efficiency_table({"texas": {"mlp": slow}}))
    assert lines[3] == "| gcn | 12.3; 80.0; 0.025 | not run |"


def test_no_two_lines_look_alike() -> None:
    assert len({tuple(line_look(number).values()) for number in range(35)}) == 35


def test_a_picture_of_sixteen_models_and_two_metrics(tmp_path: Path) -> None:
    models = {f"model-{number}": [curve([0.1, 0.5 + number / 100, 0.6], 0.1 + number)] for number in range(16)}
    other = {name: [curve([0.1, 0.2, 0.3], 0.1, "roc_auc")] for name in models}
    png, svg = plot_efficiency({"texas": models, "genius": other}, tmp_path / "picture")
    pixels = imread(png)[..., :3]
    assert pixels.std() > 0.02
    assert (pixels[:, [0, -1]] == 1).all()  # nothing runs over the edges
    text = svg.read_text()
    for words in ("validation accuracy", "validation roc auc", "model-15"):
        assert words in text
