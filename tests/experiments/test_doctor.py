"""What ``glognn doctor`` finds, on machines that are in order and on those that are not."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from glognn.data.catalog import DATASETS
from glognn.experiments import doctor
from glognn.experiments.doctor import NOTE, OK, WRONG, Finding, examine
from glognn.native import library
from tests import program
from tests.conftest import ROOT
from tests.test_architecture import loaded_after


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in doctor.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GLOGNN_DATA", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def found(what: str, **options: object) -> Finding:
    return next(each for each in examine(**options) if each.what == what)  # type: ignore[arg-type]


def test_nothing_is_wrong_with_this_installation(tmp_path: Path) -> None:
    assert [each for each in examine() if each.state == WRONG] == []
    assert found("data cache").found.startswith(f"'{tmp_path / 'cache'}', 0 of {len(DATASETS)} datasets")
    assert not (tmp_path / "cache").exists()  # looking changes nothing
    assert list(tmp_path.iterdir()) == []


def test_it_looks_at_what_the_package_is_declared_to_need() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {each.partition(">=")[0] for each in project["dependencies"]} == set(doctor.PACKAGES)
    for extra, (_, needed) in doctor.EXTRAS.items():
        optional = project["optional-dependencies"][extra]
        assert {re.split(r"[\[>]", each)[0] for each in optional} == set(needed)
    assert set(project["optional-dependencies"]) == {*doctor.EXTRAS, "dev", "docs"}


def test_packages_that_are_missing_or_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = metadata.version

    def version(name: str) -> str:
        if name in ("optuna", "uvicorn"):
            raise metadata.PackageNotFoundError(name)
        return {"torch": "2.5.1+cu121", "scipy": "1.13.0rc1"}.get(name) or installed(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "requires", lambda name: ["torch>=2.6", "scipy>=1.13", 'x>=1; extra == "dev"'])
    optuna = found("optuna")
    assert (optuna.state, optuna.remedy) == (WRONG, "pip install optuna")
    assert "glognn tune" in optuna.found
    assert found("torch") == Finding(
        "torch", WRONG, "2.5.1+cu121, but at least 2.6 is needed", "pip install --upgrade 'torch>=2.6'"
    )
    assert found("scipy").state == OK
    assert found("glognn serve").state == NOTE


def test_a_torch_that_does_not_load_hides_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    findings = {each.what: each for each in examine()}
    assert findings["torch loads"].state == WRONG
    assert "GPU" not in findings
    assert {"memory", "data cache", "this folder", "compiled core"} <= set(findings)


def test_a_core_that_is_switched_off_or_not_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(library.SWITCH, "0")
    assert found("compiled core").state == NOTE
    monkeypatch.delenv(library.SWITCH)
    monkeypatch.setattr(library, "FOLDER", tmp_path)
    for compiler, remedy in ((["c++"], "python -m"), (None, "install a C++ compiler")):
        monkeypatch.setattr(doctor, "find_compiler", lambda compiler=compiler: compiler)
        core = found("compiled core")
        assert (core.state, core.remedy.startswith(remedy)) == (NOTE, True)


def test_folders_that_are_of_no_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GLOGNN_DATA", str(tmp_path / "file" / "data"))
    assert found("data cache").state == WRONG
    assert found("data mirror", data_mirror=tmp_path / "nowhere").state == WRONG
    empty = found("data mirror", data_mirror=tmp_path)
    assert (empty.state, empty.found) == (WRONG, f"'{tmp_path}' holds none of the {len(DATASETS)} datasets")
    for file in DATASETS["texas"].files.values():
        path = tmp_path / f"{file.path}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    assert found("data mirror", data_mirror=tmp_path).found == f"'{tmp_path}', 1 of {len(DATASETS)} datasets"


def test_variables_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOGNN_MIRORR", "/data")
    assert found("GLOGNN_MIRORR").remedy == "Did you mean 'GLOGNN_MIRROR'?"
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/glognn").rglob("*.py"))
    assert set(re.findall(r'"(GLOGNN_[A-Z_]+)"', source)) == set(doctor.VARIABLES)


def test_the_command(tmp_path: Path) -> None:
    done = program.run("doctor", cwd=tmp_path, code=0)
    assert "packages" in done.stdout
    assert "Nothing is wrong" in done.stdout
    done = program.run("doctor", "--json", "--data-mirror", str(tmp_path / "nowhere"), cwd=tmp_path, code=1)
    record = json.loads(done.stdout)
    assert record["wrong"] == 1
    assert {"what", "state", "found", "remedy"} == set(record["findings"][0])
    assert {each["what"] for each in record["findings"]} >= {"glognn", "torch", "numpy", "memory", "data mirror"}


def test_importing_it_loads_no_torch() -> None:
    assert not loaded_after("import glognn.experiments.doctor") & {"torch", "numpy", "scipy", "sklearn"}
