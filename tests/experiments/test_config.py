"""Settings: defaults, files, flags, published ones."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from glognn.errors import InputError
from glognn.experiments import config as config_module
from glognn.experiments.config import ORIGINS, find_settings, parse_splits, read_collection, read_config, resolve
from glognn.models.configs import MODELS

SHIPPED = {
    (origin, path.stem): read_collection(path)
    for origin in ORIGINS
    for path in sorted((Path(config_module.__file__).parent / "settings" / origin).glob("*.toml"))
}
PUBLISHED, SEARCHED = (
    [
        (origin, label, dataset)
        for (origin, label), datasets in SHIPPED.items()
        if (origin == "published") == published
        for dataset in datasets
    ]
    for published in (True, False)
)


@pytest.mark.parametrize(("origin", "model", "dataset"), PUBLISHED)
def test_published_settings_fit_the_code(origin: str, model: str, dataset: str) -> None:
    tables = SHIPPED[origin, model][dataset]
    [config] = resolve([model], f"published:{dataset}", {}, None, None)
    assert config.dataset == dataset
    assert tables["model"].items() <= {"name": model, **config.model.as_dict()}.items()
    assert tables["training"].items() <= config.training.as_dict().items()
    assert tables["data"].items() <= config.graph.as_dict().items()
    published = tables["published"]
    assert published["metric"] == config.training.metric
    assert 25 < published["mean"] < 100
    assert published["settings_from"].startswith("https://")


def test_published_settings_are_complete() -> None:
    wanted = {"glognn": 15, "glognn++": 15, "ggcn": 9, "gprgnn": 5, "gcnii": 7, "dirgnn": 3}
    assert {label: len(found) for (origin, label), found in SHIPPED.items() if origin == "published"} == wanted


@pytest.mark.parametrize(("origin", "label", "dataset"), SEARCHED)
def test_searched_settings_fit_the_code(origin: str, label: str, dataset: str) -> None:
    tables = SHIPPED[origin, label][dataset]
    [config] = resolve([], tables, {}, None, None)
    assert config.dataset == dataset
    assert label in (config.model.name, f"{config.model.name}-{getattr(config.model, 'coefficient', '')}")
    assert 25 < tables["tuned"]["validation"] < 100
    assert tables["tuned"]["trials"] == 25 if origin == "equal" else tables["tuned"]["trials"] >= 60
    assert tables in find_settings(origin, config.model.name, dataset)


def test_settings_of_the_package_by_name() -> None:
    for origin in ("tuned", "equal"):
        [config] = resolve([], f"{origin}:texas", {}, None, None)
        best = find_settings(origin, "glognn++", "texas")[0]
        assert (config.dataset, config.model.name) == ("texas", "glognn++")
        assert config.training.learning_rate == best["training"]["learning_rate"]
    [exact] = find_settings("tuned", "glognn++-exact", "texas")
    [released] = find_settings("tuned", "glognn++-released", "texas")
    assert find_settings("tuned", "glognn++", "texas") == sorted(
        [exact, released], key=lambda tables: -tables["tuned"]["validation"]
    )


def test_settings_of_a_folder(tmp_path: Path) -> None:
    """Those of the studies in it, and of files such as the package has."""

    def write(place: str, group: str, validation: float) -> None:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(
            f'[{group}model]\nname = "mlp"\ndropout = {validation / 100}\n[{group}tuned]\nvalidation = {validation}\n'
        )

    write("mlp/texas/best.toml", "", 60.0)
    write("mlp-wide/texas/best.toml", "", 80.0)
    write("mlp.toml", "texas.", 70.0)
    write("gcn.toml", "cora.", 90.0)
    found = find_settings(str(tmp_path), "mlp", "texas")
    assert [tables["tuned"]["validation"] for tables in found] == [80.0, 70.0, 60.0]
    assert len(find_settings(str(tmp_path), "mlp-wide", "texas")) == 1
    assert find_settings(str(tmp_path), "mlp", "cora") == []
    (tmp_path / "gat.toml").write_text("[cora.modle]\n")
    with pytest.raises(InputError, match=r"'cora' of '.*gat.toml' has no place for 'modle'"):
        find_settings(str(tmp_path), "gat", "cora")


def test_flags_go_before_the_file_and_the_file_before_defaults(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('[data]\nsplits = "0-2"\n[model]\nname = "glognn"\nalpha = 0.25\n[training]\nepochs = 7\n')
    [config] = resolve([], str(file), {"epochs": 9, "directed": True}, None, None)
    assert (config.model.name, config.model.alpha, config.model.gamma) == ("glognn", 0.25, 0.5)
    assert (config.training.epochs, config.graph.directed, config.splits) == (9, True, "0-2")
    [config] = resolve(["mlp"], str(file), {}, None, "1")
    assert (config.model.name, config.splits) == ("mlp", "1")  # alpha is not a setting of an MLP


@pytest.mark.parametrize("model", MODELS)
def test_the_complete_file_gives_the_same_configuration(model: str, tmp_path: Path) -> None:
    name = "dropout" if "dropout" in MODELS[model].names() else MODELS[model].varying[0]
    [config] = resolve([model], None, {name: 0.125, "learning_rate": 3e-4}, None, "1,3")
    (tmp_path / "c.toml").write_text(config.to_toml())
    assert read_config(tmp_path / "c.toml") == config
    assert tomllib.loads(config.to_toml())["model"][name] == 0.125


def test_a_setting_goes_to_the_models_that_have_it() -> None:
    first, second = resolve(["glognn", "mlp"], None, {"alpha": 0.1, "dropout": 0.2}, None, None)
    assert (first.model.alpha, first.model.dropout, second.model.dropout) == (0.1, 0.2, 0.2)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("3", [3]), ("0,2,5", [0, 2, 5]), ("0-3", [0, 1, 2, 3]), ("all", [*range(10)]), ("1,4-5", [1, 4, 5])],
)
def test_splits(text: str, wanted: list[int]) -> None:
    assert parse_splits(text, 10) == wanted


@pytest.mark.parametrize("text", ["", "x", "1-", "-1", "3-1", "1,1", "1;2"])
def test_wrong_splits(text: str) -> None:
    with pytest.raises(InputError, match="splits must"):
        parse_splits(text)


def write(tmp_path: Path, text: str) -> str:
    (tmp_path / "s.toml").write_text(text)
    return str(tmp_path / "s.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model\n", "is not a readable TOML file"),
        ("[model]\nalhpa = 1.0\n", "GloGNN[+][+] has no setting 'alhpa'. Did you mean 'alpha'"),
        ("[training]\nepochs = 'many'\n", r"an integer in the range \[1, inf\). Got 'many'"),
        ("[training]\nepochs = true\n", "Got True instead"),
        ("[data]\ndirected = 1\n", "must be true or false. Got 1"),
        ("[modle]\n", "has no place for 'modle'"),
        ("alpha = 1\n", "has no place for 'alpha'"),
        ("schema_version = 99\n", "must be 1. Got 99"),
        ('runs = ["a", "b"]\n', r"lists several runs \(a, b\)"),
        ('[model]\nname = "glogn"\n', "There is no model 'glogn'. Did you mean 'glognn'"),
    ],
)
def test_wrong_files(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        resolve([], write(tmp_path, text), {}, None, None)


def test_wrong_names() -> None:
    with pytest.raises(InputError, match="no published settings for the model 'mlp'"):
        resolve(["mlp"], "published:texas", {}, None, None)
    with pytest.raises(InputError, match="no published settings of glognn for 'texs'. Did you mean 'texas'"):
        resolve(["glognn"], "published:texs", {}, None, None)
    with pytest.raises(InputError, match="There are no tuned settings of mlp for 'texs'. Did you mean 'texas'"):
        resolve(["mlp"], "tuned:texs", {}, None, None)
    with pytest.raises(InputError, match="There is no settings file 'tuned'"):
        resolve([], "tuned", {}, None, None)
    with pytest.raises(InputError, match="There is no settings file"):
        resolve([], "nowhere.toml", {}, None, None)
    with pytest.raises(InputError, match="Each model must be named once"):
        resolve(["mlp", "mlp"], None, {}, None, None)
    with pytest.raises(InputError, match=r"MLP has no setting 'alpha' \(it belongs to glognn\+\+, glognn\)"):
        resolve(["mlp"], None, {"alpha": 0.5}, None, None)
