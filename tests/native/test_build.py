"""Compiling: when it is done again, and what is said where it cannot be done."""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

import pytest

from glognn.native import build
from tests.conftest import ROOT

COMPILER = """#!/bin/sh
echo called >> "$(dirname "$0")/calls"
for word; do
  case "$word" in -DGLOGNN_SOURCE*) source="$word" ;; esac
  last="$word"
done
echo "$source" > "$last"
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A compiler that notes its calls and writes what a library is built from."""
    path = tmp_path / "compiler"
    path.write_text(COMPILER)
    path.chmod(0o755)
    monkeypatch.setenv("CXX", str(path))
    return path


def test_only_a_changed_source_is_compiled_again(
    compiler: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = compiler.with_name("calls")
    paths = build.build(tmp_path / "built")
    assert [path.name for path in paths] == [f"core-{level}.so" for level in build.levels()]
    assert len(calls.read_text().split()) == len(paths)
    assert build.build(tmp_path / "built") == paths
    assert len(calls.read_text().split()) == len(paths)
    monkeypatch.setattr(build, "source_hash", lambda: "changed")
    build.build(tmp_path / "built")
    assert len(calls.read_text().split()) == 2 * len(paths)
    assert all("changed" in path.read_text() for path in paths)


def test_every_file_and_flag_counts_as_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    (tmp_path / "core.cpp").write_text("1")
    hashes = [build.source_hash()]
    (tmp_path / "part.hpp").write_text("2")
    hashes.append(build.source_hash())
    (tmp_path / "part.hpp").write_text("3")
    hashes.append(build.source_hash())
    monkeypatch.setattr(build, "FLAGS", ["-O0"])
    hashes.append(build.source_hash())
    assert len(set(hashes)) == 4


def test_without_a_compiler_the_build_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match="cannot be run"):
        build.build(tmp_path)
    monkeypatch.setenv("CXX", "/bin/false")
    with pytest.raises(RuntimeError, match="failed"):
        build.build(tmp_path)
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="no C"):
        build.build(tmp_path)
    monkeypatch.setattr(sys, "argv", ["build", "--sanitize", str(tmp_path)])
    with pytest.raises(SystemExit, match="The native core was not built: no C"):
        build.main()


Config = TypeVar("Config")


class Hook(Generic[Config]):
    """As much of hatchling's build hooks as the installation uses."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.warnings: list[str] = []
        self.app = SimpleNamespace(display_warning=self.warnings.append)


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The hook that an installation runs, on a copy of the sources."""
    name = "hatchling.builders.hooks.plugin.interface"
    interface = ModuleType(name)
    interface.BuildHookInterface = Hook  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tmp_path / "src/glognn/native"
    folder.mkdir(parents=True)
    for path in (*build.FOLDER.glob("*.?pp"), build.FOLDER / "build.py"):
        (folder / path.name).write_bytes(path.read_bytes())
    return module.NativeBuildHook(tmp_path)


def test_an_installation_builds_for_its_platform(hook: Any, compiler: Path) -> None:
    data: dict[str, Any] = {}
    hook.initialize("standard", data)
    assert hook.warnings == []
    assert data["pure_python"] is False
    assert data["artifacts"] == ["src/glognn/native/*.so"]
    assert data["tag"].startswith("py3-none-")
    assert len(list(Path(hook.root).rglob("*.so"))) == len(build.levels())


def test_a_wheel_for_every_platform_leaves_it_out_where_there_is_a_compiler(
    hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOGNN_PURE", "1")
    kept = tmp_path / "src/glognn/native/core-baseline.so"
    kept.write_bytes(b"of whoever works here")
    data: dict[str, Any] = {}
    hook.initialize("standard", data)
    assert data == {}
    assert hook.warnings == []
    assert list(tmp_path.rglob("*.so")) == [kept]


def test_an_installation_without_a_compiler_leaves_it_out_in_one_line(
    hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    stale = tmp_path / "src/glognn/native/core-baseline.so"
    stale.write_bytes(b"of another source")
    data: dict[str, Any] = {}
    hook.initialize("standard", data)
    assert data == {}
    assert not stale.exists()
    [warning] = hook.warnings
    assert warning.startswith("The native core is left out, training will use PyTorch alone: ")


@pytest.mark.skipif(platform.system() != "Linux" or shutil.which("objdump") is None, reason="needs Linux and objdump")
def test_a_wheel_needs_no_more_of_a_system_than_the_documents_say() -> None:
    paths = [path for level in build.levels() if (path := build.library_path(level)).is_file()]
    if not paths:
        pytest.skip("the core is not built")
    shown = subprocess.run(["objdump", "-p", "-T", *paths], capture_output=True, text=True, check=True).stdout
    needed = {name.split(".so")[0] for name in re.findall(r"NEEDED +(\S+)", shown)}
    everywhere = {"libstdc++", "libm", "libgcc_s", "libc", "libpthread"}
    assert {name for name in needed if not name.startswith("ld-linux")} <= everywhere
    made_with = platform.libc_ver()[1]
    if not made_with or _numbers(made_with) > (2, 36):
        pytest.skip(f"the versions are those of Debian 12, with glibc 2.36, not of {made_with or 'another libc'}")
    for library, highest in {"GLIBC": (2, 29), "GLIBCXX": (3, 4, 30)}.items():
        assert max(map(_numbers, re.findall(rf"\b{library}_([0-9.]+)", shown))) <= highest
    assert "glibc 2.29 and the libstdc++ of GCC 12" in (ROOT / "docs/install.md").read_text(encoding="utf-8")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
