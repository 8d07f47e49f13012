"""The house: imports point one way, torch is loaded only when needed, public names exist."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import glognn
from glognn.models.configs import MODELS
from glognn.settings import Settings
from tests.conftest import ENVIRONMENT, ROOT

SOURCE = Path(glognn.__file__).parent
FLOORS = [
    {"errors", "records", "settings", "storage", "native"},
    {"graph"},
    {"distributed"},
    {"data"},
    {"ops"},
    {"nn"},
    {"models"},
    {"metrics"},
    {"training"},
    {"explain"},
    {"experiments"},
    {"bench"},
    {"report"},
    {"estimator"},
    {"serve"},
    {"cli", "__main__"},
]


def floor(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def imported_names(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def imported_rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported_names(path) if name.startswith("glognn.")}


def test_imports_point_one_way() -> None:
    wrong = []
    for path in SOURCE.rglob("*.py"):
        if path == SOURCE / "__init__.py":
            continue
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        wrong += [
            f"{path.relative_to(SOURCE)} imports {other}"
            for other in imported_rooms(path)
            if floor(other) > floor(room)
        ]
    assert wrong == []


def loaded_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(' '.join(sorted(name for name in sys.modules if '.' not in name)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return set(out.stdout.splitlines()[-1].split())


def test_help_and_settings_load_no_torch() -> None:
    heavy = {"torch", "torch_geometric", "numpy", "scipy", "sklearn", "matplotlib"}
    call = "import contextlib; from glognn.cli.main import main; sys.argv = {}\n"
    call += "with contextlib.suppress(SystemExit): main()"
    quick = (
        ["--help"],
        ["train", "--help"],
        ["bench", "--help"],
        ["serve", "--help"],
        ["models"],
        ["models", "glognn++"],
        ["datasets"],
        ["train", "--gamma", "7"],
    )
    for arguments in quick:
        assert not loaded_after(call.format(["glognn", *arguments])) & heavy, arguments
    assert not loaded_after("import glognn; dir(glognn)") & heavy


def test_libraries_absent_from_some_machines_load_only_when_needed() -> None:
    late = {"tomli_w", "matplotlib", "typer", "pooch", "platformdirs"}
    names = "glognn.train, glognn.GloGNN, glognn.coefficient_rows, glognn.load_dataset('pairs')"
    assert not loaded_after(f"import glognn; {names}") & late


def test_what_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    declared = {re.split(r"[<>=~!\[ ]", each)[0].replace("-", "_").lower() for each in needed}
    declared = {"sklearn" if name == "scikit_learn" else name for name in declared}
    imported = {name for path in SOURCE.rglob("*.py") for name in imported_names(path)}
    with_torch = {"triton"}  # where there is a GPU
    assert {name.partition(".")[0] for name in imported} - {*sys.stdlib_module_names, "glognn"} == declared | with_torch
    fixed = {
        line.partition("==")[0].replace("-", "_").lower() for line in (ROOT / "constraints.txt").read_text().split()
    }
    assert {"scikit_learn" if name == "sklearn" else name for name in declared} <= fixed


def test_nothing_that_is_read_is_run() -> None:
    """No module unpickles, evaluates or marshals, but the reader of published pickles, which calls nothing."""
    forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
    calls = re.compile(r"\btorch\.load\(|allow_pickle=True|(?<![.\w])(eval|exec|compile)\(")
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if {name.partition(".")[0] for name in imported_names(path)} & forbidden
        or calls.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"data/readers/pickles.py"}


def test_public_names() -> None:
    assert {config.model_class().__name__ for config in MODELS.values()} <= set(glognn.__all__)
    for name in glognn.__all__:
        thing = getattr(glognn, name)
        assert inspect.getdoc(thing), name
    assert set(glognn.__all__) <= set(dir(glognn))


def test_type_checkers_see_the_public_names() -> None:
    """What they read names each of them, by that name, with where it is defined."""
    tree = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: node.module for node in imports for alias in node.names}
    assert seen == {name: getattr(glognn, name).__module__ for name in glognn.__all__}


def test_settings_are_declared_with_help_and_valid_defaults() -> None:
    import glognn.graph.config
    import glognn.models.configs
    import glognn.training.config  # noqa: F401

    def every(cls: type) -> list[type]:
        return [cls, *(deeper for sub in cls.__subclasses__() for deeper in every(sub))]

    groups = [group for group in every(Settings)[1:] if group.__module__.startswith("glognn.")]
    assert len(groups) >= 6
    for group in groups:
        for info in group.infos():
            assert info.help.endswith("."), (group, info.name)
            assert info.rule.convert(info.default) == info.default
            alike = info.before if isinstance(info.before, tuple) else (info.before,)
            assert all(each is None or info.rule.convert(each) == each for each in alike)
