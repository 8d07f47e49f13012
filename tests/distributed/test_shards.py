"""Folders of parts that are not what was written: refused by the name of the file, before it is followed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather
from typer.testing import CliRunner

from glognn.cli.main import app
from glognn.data.npz import write_npz
from glognn.distributed.ranks import Ranks
from glognn.distributed.shards import Shards
from glognn.errors import InputError
from tests.conftest import make_data


@pytest.fixture(params=["dense", "sparse"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    data = make_data(num_nodes=40, num_splits=2)
    if request.param == "sparse":
        data.x = data.x.relu().to_sparse_csr()
    write_npz(data, tmp_path / "graph.npz")
    done = CliRunner().invoke(app, ["shard", str(tmp_path / "graph.npz"), str(tmp_path / "shards"), "--parts", "2"])
    assert done.exit_code == 0, done.output
    return tmp_path / "shards"


def put(table: Any, name: str, value: Any) -> Any:
    """The same table with another first value in a column."""
    place = table.schema.get_field_index(name)
    return table.set_column(place, name, pa.array([value, *table[name].to_pylist()[1:]]))


FILES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "an entry to no node": (
        "edges",
        lambda table: put(table, "place", 2**50),
        r"'place' must be in the range",
    ),
    "an entry before the first node": ("edges", lambda table: put(table, "place", -1), r"'place' must be in the range"),
    "entries that are gone": ("edges", lambda table: table.slice(1), "rows. It has"),
    "entries of another type": (
        "edges",
        lambda table: put(table, "place", None),
        "of whole numbers, none",
    ),
    "nodes that are gone": ("nodes", lambda table: table.slice(1), "nodes. It has"),
    "no count of entries": ("nodes", lambda table: table.drop(["entries"]), "a column 'entries'"),
    "fewer than no entries": ("nodes", lambda table: put(table, "entries", -5), "'entries' must be in the range"),
    "a class that there is not": ("nodes", lambda table: put(table, "y", 77), "'y' must be in the range"),
    "a set that there is not": ("nodes", lambda table: put(table, "split_1", 9), "'split_1' must be in the range"),
}


def forget_files(folder: Path) -> None:
    """Leave no sha256 in a folder, as earlier versions did."""
    record = json.loads((folder / "shards.json").read_text())
    del record["files"]
    (folder / "shards.json").write_text(json.dumps(record))


@pytest.mark.parametrize("case", FILES)
def test_files_of_a_part_that_do_not_fit_are_refused(case: str, folder: Path) -> None:
    name, damage, message = FILES[case]
    forget_files(folder)
    path = folder / "part-00000" / f"{name}.arrow"
    feather.write_feather(damage(feather.read_table(path, memory_map=False)), str(path), compression="uncompressed")
    for read in (lambda shards: shards.read_for(Ranks()), lambda shards: shards.whole()):
        with pytest.raises(InputError, match=rf"{name}\.arrow' is damaged: .*{message}") as raised:
            read(Shards.open(folder))
        assert "\n" not in str(raised.value)


def test_a_number_that_was_changed_into_another_possible_one_is_refused(folder: Path) -> None:
    path = folder / "part-00001/nodes.arrow"
    table, content = feather.read_table(path, memory_map=False), path.read_bytes()
    other = 1 - max(0, table["y"][0].as_py())
    feather.write_feather(put(table, "y", other), str(path), compression="uncompressed")
    for damaged in (path.read_bytes(), content[:-40] + bytes([content[-40] ^ 1]) + content[-39:]):
        path.write_bytes(damaged)
        for read in (lambda shards: shards.read_for(Ranks()), lambda shards: shards.whole()):
            with pytest.raises(InputError, match=r"nodes\.arrow' was changed: .*'glognn shard'"):
                read(Shards.open(folder))
        told = CliRunner().invoke(app, ["verify", str(folder)], env={"COLUMNS": "200"})
        assert told.exit_code == 1
        assert "1 changed" in told.output
    path.write_bytes(content)
    assert CliRunner().invoke(app, ["verify", str(folder)]).exit_code == 0
    graph = Shards.open(folder).whole()
    forget_files(folder)
    assert Shards.open(folder).whole().fingerprint() == graph.fingerprint()
    assert "not recorded" in CliRunner().invoke(app, ["verify", str(folder)]).output


def test_a_node_in_two_parts_is_refused(folder: Path) -> None:
    forget_files(folder)
    path = folder / "part-00000/nodes.arrow"
    table = feather.read_table(path, memory_map=False)
    feather.write_feather(put(table, "node", table["node"][1].as_py()), str(path), compression="uncompressed")
    with pytest.raises(InputError, match="are damaged: every node must be in one of them"):
        Shards.open(folder).whole()


@pytest.mark.parametrize(
    ("name", "value"),
    [("starts", [0, 50, 20]), ("starts", [5, 20, 40]), ("sizes", []), ("sizes", [{}, {}]), ("edge_counts", {"a": 1}),
     ("num_classes", 2**70), ("class_names", ["a"]), ("num_features", -1), ("dtype", "int8"), ("fingerprints", {}),
     ("graph", {"directed": "maybe"}), ("files", {}), ("files", {"../x": {"bytes": 1, "sha256": ""}})],
)  # fmt: skip
def test_a_record_that_cannot_be_is_refused(name: str, value: Any, folder: Path) -> None:
    record = json.loads((folder / "shards.json").read_text())
    (folder / "shards.json").write_text(json.dumps(record | {name: value}))
    with pytest.raises(InputError, match=r"shards\.json' is damaged: "):
        Shards.open(folder)


def test_counts_that_a_later_version_may_add_say_nothing(folder: Path) -> None:
    record = json.loads((folder / "shards.json").read_text())
    record["edge_counts"]["more"] = record["sizes"][0]["more"] = 1
    before = Shards.open(folder)
    (folder / "shards.json").write_text(json.dumps(record))
    after = Shards.open(folder)
    assert (after.edge_counts, after.sizes) == (before.edge_counts, before.sizes)
