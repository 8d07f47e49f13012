"""A model is one file, one settings class and a line in the registry: with a made-up one, all else follows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from glognn.experiments.config import resolve
from glognn.experiments.spaces import WIDE, find_space, spaces_of
from glognn.models.base import BoostedModel
from glognn.models.configs import MODELS
from glognn.models.configs.base import COMMON
from tests.conftest import ENVIRONMENT

MADE_UP = '''
from typing import ClassVar

from torch import nn

from glognn.models.base import NodeModel
from glognn.models.configs import MODELS, ModelConfig
from glognn.models.configs.base import COMMON, dropout_setting
from glognn.ops.products import matmul
from glognn.settings import configured_by, real


class ScaledConfig(ModelConfig):
    title = "Scaled"
    name = "scaled"
    summary = "One linear map of the features"
    paper = "nobody"
    implementation = "made_up:Scaled"
    search: ClassVar = COMMON

    made_up_scale: float = real(2.0, "What the scores are multiplied by.", low=0)
    dropout: float = dropout_setting()


@configured_by(ScaledConfig)
class Scaled(NodeModel):
    """A linear map."""

    config_class = ScaledConfig

    def __init__(self, in_channels, out_channels, num_nodes=None, **settings):
        super().__init__(in_channels, out_channels, num_nodes, **settings)
        self.linear = nn.Linear(in_channels, out_channels)

    def reset_parameters(self):
        self.linear.reset_parameters()

    def prepare(self, graph):
        return self._features(graph)

    def logits(self, inputs):
        return self.config.made_up_scale * (matmul(inputs, self.linear.weight.T) + self.linear.bias)


MODELS[ScaledConfig.name] = ScaledConfig
'''

PROGRAM = """
import sys
from contextlib import suppress

import made_up
import glognn
from glognn.bench.config import ALL_METHODS
from glognn.cli.main import main
from glognn.experiments.spaces import find_space
from glognn.models.memory import Sizes

assert glognn.Scaled is made_up.Scaled
assert "Scaled" in dir(glognn)
assert "scaled" in ALL_METHODS
assert [each.name for each in find_space("scaled", "wide").parameters] == ["learning_rate", "weight_decay", "dropout"]
assert made_up.ScaledConfig().num_parameters(Sizes(9, 9, 5, 3)) == 18
for arguments in (
    ["models", "--names"],
    ["models", "scaled"],
    ["train", "--help-all"],
    ["train", "--model", "scaled", "--made-up-scale", "3", "--epochs", "2", "--splits", "0", "--out", "run"],
):
    sys.argv = ["glognn", *arguments]
    with suppress(SystemExit):
        main()
"""


def test_a_made_up_model_is_everywhere(tmp_path: Path) -> None:
    (tmp_path / "made_up.py").write_text(MADE_UP)
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, check=False, env=ENVIRONMENT, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[: len(MODELS) + 1] == [*MODELS, "scaled"]
    assert "Scaled: One linear map of the features (nobody)" in done.stdout
    assert done.stdout.count("--made-up-scale") >= 2
    assert (tmp_path / "run/DONE").is_file()
    assert "made_up_scale = 3.0" in (tmp_path / "run/config.toml").read_text()


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_search_space_of_its_own_settings(name: str) -> None:
    assert WIDE in spaces_of(name)
    searched = {parameter.name for parameter in find_space(name, WIDE).parameters}
    common = set() if issubclass(MODELS[name].model_class(), BoostedModel) else set(COMMON)
    assert common < searched
    assert searched & set(MODELS[name].names()) - {"dropout"}
    resolve([name], None, dict(find_space(name, WIDE).fixed), "pairs", None)


def test_every_settings_class_is_registered() -> None:
    from glognn.models.configs import glognn, handwritten, pyg, trees

    families = [vars(module) for module in (glognn, handwritten, pyg, trees)]
    named = [each for family in families for each in family.values() if hasattr(each, "implementation")]
    assert {each for each in named if hasattr(each, "name")} == set(MODELS.values())


def test_every_model_is_its_file() -> None:
    for config in MODELS.values():
        module = config.implementation.partition(":")[0].rpartition(".")[2]
        assert module == config.name.rstrip("+")
