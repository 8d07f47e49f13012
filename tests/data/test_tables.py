"""Tables become the graph they describe, or an error says why not."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather, parquet

from glognn.data import edge_tables
from glognn.data import ids as ids_module
from glognn.data import tables as tables_module
from glognn.data.classes import Classes
from glognn.data.edge_tables import read_edges
from glognn.data.frames import Frame
from glognn.data.ids import positions, unique_ids
from glognn.data.table_changes import read_changes
from glognn.data.table_graph import KeptTables, TableOptions, find_nodes, graph_from_tables, read_labels
from glognn.data.tables import read_table, write_table
from glognn.errors import InputError
from glognn.graph.graph import Graph


def table(**columns: Any) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


IDS = {
    "numbers": [30, 10, 20],
    "sparse numbers": [2**62, -5, 7],
    "text": ["x", "y z", 'with, "quotes"'],
    "unicode": ["ä", "日本", "🐞"],
    "zeros first": ["007", "7", "0"],
    "uuids": [str(uuid.UUID(int=number)) for number in (1, 2**100, 3)],
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet", ".feather"])
@pytest.mark.parametrize("kind", IDS)
def test_ids_of_any_kind_are_found(kind: str, suffix: str, tmp_path: Path) -> None:
    given_ids = IDS[kind]
    nodes, edges = tmp_path / f"nodes{suffix}", tmp_path / f"edges{suffix}"
    write_table(table(id=given_ids), nodes)
    order = [2, 0, 0, 1], [0, 1, 1, 1]
    write_table(table(note=["-"] * 4, a=[given_ids[k] for k in order[0]], b=[given_ids[k] for k in order[1]]), edges)
    ids = unique_ids(read_table(nodes, ids=["id"])["id"], "here")
    assert ids.to_pylist() == given_ids
    found = read_edges(edges, ids, source="a", target="b")
    assert found.index.tolist() == [list(side) for side in order]


SPELLINGS = [
    "7",
    "007",
    "07",
    " 7",
    "7 ",
    "+7",
    "0x7",
    "7.0",
    "7e0",
    "7_0",
    "70",
    "0",
    "00",
    "-0",
    "-7",
    "７",
    "NA",
    "nan",
    "x",
]
WRITTEN = st.one_of(
    st.sampled_from(SPELLINGS),
    st.integers(-(2**64), 2**64).map(str),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4),
)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    known=st.lists(st.one_of(WRITTEN, st.integers(-20, 20).map(str)), min_size=2, max_size=12, unique=True),
    others=st.lists(WRITTEN, max_size=6),
    block=st.sampled_from([1 << 6, 1 << 24]),
)
def test_two_texts_are_one_id_if_and_only_if_they_are_equal(
    known: list[str], others: list[str], block: int, tmp_path: Path
) -> None:
    """At every door, in every format, in files of one block and of many."""
    asked = [*known, *others]
    expected = [known.index(text) if text in known else -1 for text in asked]
    labels = [str(row % 2) for row in range(len(known))]
    classes = Classes.learn(pa.chunked_array([labels]), "here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables_module, "_BLOCK", block)
        patch.setattr(edge_tables, "column_names", lambda *_: ["a", "b"])  # whose block is smaller than a row
        for suffix in (".csv", ".tsv.gz", ".parquet", ".feather"):
            nodes, edges = tmp_path / f"nodes{suffix}", tmp_path / f"edges{suffix}"
            write_table(table(a=known, b=labels), nodes)
            ids = unique_ids(read_table(nodes, ids=["a"])["a"], "here")
            assert ids.cast(pa.string()).to_pylist() == known
            write_table(table(a=asked, b=[known[0]] * len(asked)), edges)
            found = read_edges(edges, ids, unknown="drop")
            assert found.index[0].tolist() == [place for place in expected if place >= 0]
            assert found.unknown == expected.count(-1)
            assert positions(read_table(edges, ids=["a"])["a"], ids).tolist() == expected
            assert read_labels(ids, classes, nodes, "a", "b")[0].tolist() == list(range(len(known)))
            strange = [text for text, place in zip(asked, expected, strict=True) if place < 0]
            if strange:
                with pytest.raises(InputError, match="must be nodes of the graph") as error:
                    find_nodes(read_table(edges, ids=["a"])["a"], ids, "here")
                assert repr(strange[0]) in str(error.value)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("text", ["007", "0x7", "00", "-0", " 7", "7 ", "+7", "7.0", "0X7"])
@pytest.mark.parametrize("beside", ["7", "x"])
def test_ends_that_only_look_like_an_id_are_unknown_and_shown(
    text: str, beside: str, suffix: str, tmp_path: Path
) -> None:
    """With numbers alone and with a word in the column."""
    path = tmp_path / f"edges{suffix}"
    write_table(table(a=["7", text, beside], b=["0", "7", "7"]), path)
    with pytest.raises(InputError) as error:
        read_edges(path, pa.array([0, 7]))
    usual = "0" if text in ("00", "-0") else "7"
    assert f"({text!r}" in str(error.value)
    assert f"{text!r} is not {usual!r}" in str(error.value)


@pytest.mark.parametrize("known", [["7", "8"], ["7", "x"]])
def test_new_nodes_are_new_unless_their_text_is_known(known: list[str], tmp_path: Path) -> None:
    nodes, edges, new = tmp_path / "nodes.csv", tmp_path / "edges.csv", tmp_path / "new.csv"
    write_table(table(id=[*known, "9", "10"], v=[1, 2, 3, 4], y=["a", "b", "a", "b"]), nodes)
    write_table(table(a=known, b=["9", "10"]), edges)
    kept, _ = graph_from_tables(TableOptions(nodes=nodes, edges=edges, label="y"))
    write_table(table(id=["007", " 7", "+7"], v=[1, 2, 3]), new)
    write_table(table(a=["007", " 7"], b=["7", "+7"]), edges)
    found = read_changes(kept, new, edges)
    assert found.new_ids.to_pylist() == ["007", " 7", "+7"]
    assert found.new.edge_index.tolist() == [[4, 5], [0, 6]]
    write_table(table(id=[7], v=[1]), new)
    again = read_changes(kept, new, None)
    assert (again.known.tolist(), len(again.new_ids)) == ([0], 0)


def test_typed_ids_keep_their_type_and_fractions_are_refused(tmp_path: Path) -> None:
    for given_ids, kind in ((["1", "2"], pa.string()), ([1, 2], pa.int32()), ([2**64 - 1, 2**63], pa.uint64())):
        path = tmp_path / "nodes.parquet"
        write_table(pa.table({"id": pa.array(given_ids, kind)}), path)
        ids = unique_ids(read_table(path, ids=["id"])["id"], "here")
        assert ids.to_pylist() == given_ids
        write_table(table(a=[str(each) for each in given_ids], b=[str(each) for each in given_ids]), path)
        assert read_edges(path, ids).index.tolist() == [[0, 1], [0, 1]]
    write_table(table(a=[1.0, 2.0], b=[2.0, None]), tmp_path / "edges.parquet")
    with pytest.raises(InputError, match=r"Got fractions such as 1.0 instead: store them as whole numbers"):
        read_edges(tmp_path / "edges.parquet", pa.array([1, 2]))


def hashes(values: pa.Array) -> np.ndarray[Any, Any]:
    """Of whole numbers, or of texts of 16 bytes, as Arrow's hash tables compute them."""
    first, second = np.uint64(14029467366897019727), np.uint64(11400714785074694791)
    if pa.types.is_integer(values.type):
        return (values.to_numpy().view(np.uint64) * second).byteswap()
    halves = np.frombuffer(b"".join(values.cast(pa.binary()).to_pylist()), np.uint64).reshape(-1, 2)
    found: np.ndarray[Any, Any] = (halves[:, 0] * first).byteswap() ^ (halves[:, 1] * second).byteswap()
    return found


def crafted(kind: str, count: int = 500) -> pa.Array:
    """Different ids that a hash table of Arrow puts into few places: numbers, or texts with one hash."""
    generator = np.random.default_rng(0)
    first, second = np.uint64(14029467366897019727), np.uint64(11400714785074694791)
    back = np.uint64(pow(int(second), -1, 2**64))
    if kind == "numbers":
        return pa.array(((np.arange(count, dtype=np.uint64) << np.uint64(44)).byteswap() * back).view(np.int64))
    left = generator.integers(97, 123, (count * 4000, 8), dtype=np.uint8).view(np.uint64).ravel()
    right = ((left * first).byteswap() ^ np.uint64(1)).byteswap() * back
    texts = np.stack([left, right], axis=1).view(np.uint8).reshape(-1, 16)
    readable = texts[((texts > 31) & (texts < 127)).all(axis=1)][:count]
    return pa.array([bytes(text).decode() for text in readable])


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_ids_chosen_to_collide_do_not_collide(kind: str) -> None:
    """Collisions are counted, not seconds: an id's place is asked of Arrow under a map that its author cannot know."""
    ids = crafted(kind)
    assert len(ids) == 500
    places = np.uint64(2**20 - 1)
    assert len(np.unique(hashes(ids) & places)) == 1
    assert len(np.unique(hashes(ids_module._unforeseen(ids)) & places)) > 400
    assert positions(ids, ids).tolist() == list(range(500))
    assert unique_ids(pa.chunked_array([ids]), "here") == ids


def test_ids_of_the_two_tables_may_be_stored_differently(tmp_path: Path) -> None:
    write_table(table(a=["3", "1"], b=["2", "3"]), tmp_path / "edges.parquet")
    assert read_edges(tmp_path / "edges.parquet", pa.array([1, 2, 3])).index.tolist() == [[2, 0], [1, 2]]
    write_table(table(a=[3, 1], b=[2, 3]), tmp_path / "edges.csv")
    assert read_edges(tmp_path / "edges.csv", pa.array(["1", "2", "3", "x"])).index.tolist() == [[2, 0], [1, 2]]
    coded = pa.table({"a": pa.array(["x", "1"]).dictionary_encode(), "b": pa.array(["1", "x"], pa.large_string())})
    write_table(coded, tmp_path / "edges.feather")
    assert read_edges(tmp_path / "edges.feather", pa.array(["1", "x"])).index.tolist() == [[1, 0], [0, 1]]


def test_row_numbers_that_pandas_writes_are_no_columns(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [5, 6], "b": [6, 5]}, index=[1, 0])
    frame.to_csv(tmp_path / "edges.csv")
    frame.to_parquet(tmp_path / "edges.parquet")
    for name in ("edges.csv", "edges.parquet"):
        assert read_edges(tmp_path / name, pa.array([0, 1, 5, 6])).index.tolist() == [[2, 3], [3, 2]]


def test_unknown_edges_are_counted_when_dropped(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b,w\n1,2,0.5\n1,9,1\nx,1,2\n2,2,3\n")
    ids = pa.array([1, 2])
    with pytest.raises(InputError, match="2 of 4 edges to unknown ids"):
        read_edges(tmp_path / "edges.csv", ids)
    found = read_edges(tmp_path / "edges.csv", ids, weight=["w"], unknown="drop")
    assert (found.index.tolist(), found.unknown) == ([[0, 1], [1, 1]], 2)
    assert found.weight is not None
    assert found.weight.tolist() == [0.5, 3.0]


def test_numbers_may_be_categories_and_keep_their_zeros(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(
        "id,zip,y\n" + "".join(f"{k},{'01' if k % 2 else '1'},{k % 2}\n" for k in range(8))
    )
    (tmp_path / "edges.csv").write_text("a,b\n1,2\n")
    options = {"nodes": tmp_path / "nodes.csv", "edges": tmp_path / "edges.csv", "label": "y"}
    tables, _ = graph_from_tables(TableOptions(**options, category_columns=["zip"]))
    assert tables.encoding.columns[0].values == ("01", "1")


LABELS = {
    "zeros first": ["01", "1", "1.0", " 1", "+1"],
    "above 2**63": [str(2**63), str(2**63 + 1), str(2**64 + 1)],
    "truth values": ["true", "True", "TRUE"],
    "numbers": ["10", "9", "-1"],
    "words": ["a", "a ", "A", "a\n"],
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv.gz", ".parquet", ".feather"])
@pytest.mark.parametrize("kind", LABELS)
def test_labels_that_are_written_differently_are_different_classes(kind: str, suffix: str, tmp_path: Path) -> None:
    texts = LABELS[kind]
    nodes, edges, truth = (tmp_path / f"{name}{suffix}" for name in ("nodes", "edges", "truth"))
    labels = texts * 8
    write_table(table(id=[f"n{row}" for row in range(len(labels))], y=labels), nodes)
    write_table(table(a=["n1"], b=["n2"]), edges)
    kept, data = graph_from_tables(TableOptions(nodes=nodes, edges=edges, label="y"))
    kept = KeptTables(**{**vars(kept), "classes": Classes.from_dict(kept.classes.as_dict())})
    assert kept.classes.column(data.y.numpy()).cast(pa.string()).to_pylist() == labels
    write_table(table(id=["n0", "n1"], y=[texts[1], texts[0]]), truth)
    _, found = read_labels(kept.ids, kept.classes, truth, "id", "y")
    assert [str(kept.classes.names[place]) for place in found] == [texts[1], texts[0]]
    write_table(table(id=["n0", "n1"], y=["001", texts[0]]), truth)
    with pytest.raises(InputError, match="Got '001' instead"):
        read_labels(kept.ids, kept.classes, truth, "id", "y")


@pytest.mark.parametrize("options", [1.0, {"separator": ["a"]}, {"separator": 0}, {"decimal": "to"}])
def test_kept_tables_whose_options_are_damaged_are_refused_by_name(options: Any, tmp_path: Path) -> None:
    write_table(table(id=["a", "b"], y=["u", "v"]), tmp_path / "nodes.csv")
    write_table(table(source=["a"], target=["b"]), tmp_path / "edges.csv")
    given = TableOptions(nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv", label="y")
    kept, data = graph_from_tables(given)
    KeptTables(**{**vars(kept), "read": {**kept.read, "options": options}}).save(tmp_path, data)
    with pytest.raises(InputError, match=r"tables\.json' is damaged: .*[^.]\.$"):
        KeptTables.load(tmp_path)


def test_large_whole_numbers_of_a_typed_column_come_back() -> None:
    column = pa.chunked_array([pa.array([2**63 + 1, 2**63, 5, None], pa.uint64())])
    classes = Classes.from_dict(Classes.learn(column, "here").as_dict())
    numbers = classes.numbers(column, "here")
    assert numbers.tolist() == [2, 1, 0, -1]
    assert classes.column(numbers[:3]).to_pylist() == column.to_pylist()[:3]
    assert classes.array().tolist() == [5, 2**63, 2**63 + 1]


@pytest.mark.parametrize(
    "values",
    [["b", None, "a", ""], [3, None, -1, 3], [True, None, False, True], [0.5, None, 2.0, 2], [0.0, -0.0, 2.0, None]],
)
def test_labels_come_back(values: list[Any]) -> None:
    column = pa.chunked_array([pa.array(values)])
    classes = Classes.from_dict(Classes.learn(column, "here").as_dict())
    numbers = classes.numbers(column, "here")
    known = [value for value in values if value not in (None, "")]
    back = classes.column(numbers[numbers >= 0]).to_pylist()
    assert back == known
    assert [type(value) for value in back] == [type(known[0])] * len(back)
    with pytest.raises(InputError, match="must be classes"):
        Classes.learn(pa.chunked_array([pa.array(np.arange(200) / 7)]), "here")


def test_labels_that_no_record_can_hold_are_refused() -> None:
    with pytest.raises(InputError, match="The labels in here must be finite. Got infinity instead"):
        Classes.learn(pa.chunked_array([pa.array([1.0, np.inf, None])]), "here")


def test_sets_of_a_column_and_what_is_kept(tmp_path: Path) -> None:
    sets = ["train"] * 4 + ["Val", "validation", "test", "test", None]
    frame = pd.DataFrame({"n": range(9), "x": np.arange(9) % 4, "y": [0, 1] * 4 + [0], "set": sets})
    frame.to_csv(tmp_path / "nodes.csv", index=False)
    (tmp_path / "edges.csv").write_text("a,b\n1,2\n2,2\n1,2\n")
    options = {"nodes": tmp_path / "nodes.csv", "edges": tmp_path / "edges.csv", "label": "y", "split_column": "set"}
    tables, data = graph_from_tables(TableOptions(**options))
    assert [int(data[f"{name}_mask"].sum()) for name in ("train", "val", "test")] == [4, 2, 2]
    tables.save(tmp_path / "run", data)
    again = KeptTables.load(tmp_path / "run")
    assert again.ids.to_pylist() == list(range(9))
    assert (again.encoding, again.classes, again.read) == (tables.encoding, tables.classes, tables.read)


CELLS = st.one_of(
    st.integers(-3, 12).map(str),
    st.sampled_from(["", "NA", "nan", "inf", "1e999", "true", "2020-02-30", '"', "a\nb", "x" * 90, "\x00", "é", ","]),
    st.text(max_size=4),
)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=5), max_size=12)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    nodes=ROWS, edges=ROWS, damage=st.binary(max_size=6), place=st.integers(0, 200), separator=st.sampled_from(",\t;")
)
def test_any_table_becomes_a_graph_or_one_clear_error(
    tmp_path: Path, nodes: list[list[str]], edges: list[list[str]], damage: bytes, place: int, separator: str
) -> None:
    def text(header: str, rows: list[list[str]]) -> bytes:
        return "\n".join([header, *(separator.join(row) for row in rows)]).encode("utf-8", "surrogatepass")

    content = text("id,y,p,q", nodes)
    (tmp_path / "nodes.csv").write_bytes(content[:place] + damage + content[place:])
    (tmp_path / "edges.csv").write_bytes(text("a,b", edges))
    options = TableOptions(nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv", label="y", unknown_edges="drop")
    try:
        tables, data = graph_from_tables(options)
    except InputError:
        return
    graph = Graph.from_data(data)
    assert graph.num_nodes == len(tables.ids)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    ids=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), min_size=4, unique=True),
    values=st.lists(st.one_of(st.none(), st.floats(width=32), st.integers(-(2**40), 2**40)), min_size=4),
    words=st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "cc"])), min_size=4),
)
def test_valid_tables_give_finite_features_for_every_node(
    ids: list[str], values: list[float | None], words: list[str | None], tmp_path: Path
) -> None:
    count = min(len(ids), len(values), len(words))
    numbers = [None if value is None else float(value) for value in values[:count]]
    frame = table(id=ids[:count], y=[k % 2 for k in range(count)], v=numbers, w=words[:count])
    write_table(frame, tmp_path / "nodes.parquet")
    write_table(table(a=ids[: count - 1], b=ids[1:count]), tmp_path / "edges.parquet")
    options = TableOptions(nodes=tmp_path / "nodes.parquet", edges=tmp_path / "edges.parquet", label="y")
    if any(value is not None and np.isinf(value) for value in numbers):
        with pytest.raises(InputError, match="finite"):
            graph_from_tables(options)
        return
    tables, data = graph_from_tables(options)
    assert data.edge_index.tolist() == [list(range(count - 1)), list(range(1, count))]
    assert (0 if data.x is None else data.x.shape[1]) == tables.encoding.num_features
    assert data.x is None or bool(data.x.isfinite().all())


@pytest.mark.parametrize("kind", ["close", "sparse", "negative", "text", "long text"])
def test_places_of_ids(kind: str) -> None:
    """Every id at its place, in slices and chunks too, others nowhere."""
    generator = np.random.default_rng(0)
    numbers = generator.choice({"close": 600, "negative": 600}.get(kind, 10**12), 500, replace=False)
    numbers = numbers - 300 if kind == "negative" else numbers
    end = "é" * 20 if kind == "long text" else ""
    values = [f"{number}{end}" for number in numbers] if "text" in kind else numbers.tolist()
    strange = ["", "ü", f"{numbers[0]}x"] if "text" in kind else [10**13, -(2**63), 2**63 - 1]
    wanted = generator.integers(0, 500, 2000)
    asked = pa.array([values[place] for place in wanted] + strange)
    chunks = pa.chunked_array([asked.slice(0, 7), asked.slice(7, 900), asked.slice(907)])
    expected = [*wanted, -1, -1, -1]
    assert positions(chunks, pa.array(values)).tolist() == expected
    assert positions(asked.slice(5), pa.array([values[0], *values]).slice(1)).tolist() == expected[5:]


LINES = {
    "plain": "a,b,c\n1,x,2\n3,y,1\n",
    "no last end of line": "a,b,c\n1,x,2\n3,y,1",
    "ends of lines of Windows": "a,b,c\r\n1,x,2\r\n3,y,1\r\n",
    "ends of lines of old": "a,b,c\r1,x,2\r3,y,1\r",
    "quoted": '"a","b","c"\n"1","x","2"\n"3","y","1"\n',
    "quotes inside": 'a,b,c\n1,"x ""y"", z",2\n3,y,1\n',
    "an empty line": "a,b,c\n1,x,2\n\n3,y,1\n",
    "a mark of byte order": "\ufeffa,b,c\n1,x,2\n3,y,1\n",
}


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES.keys())
def test_edges_are_the_same_however_they_are_written(lines: str, tmp_path: Path) -> None:
    for ids in (pa.array([1, 2, 3]), pa.array(["1", "2", "3"])):
        path = tmp_path / "edges.csv"
        path.write_bytes(lines.encode())
        assert read_edges(path, ids, target="c").index.tolist() == [[0, 2], [1, 0]]


@pytest.mark.parametrize(
    ("row", "message"),
    [("9,1", "1 of 2,001 edges to unknown ids"), (",1", "must have an id"), ("1", "cannot be read")],
)
def test_bad_rows_are_found_wherever_they_are(row: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "edges.csv"
    path.write_text("a,b\n" + "1,2\n" * 1999 + row + "\n2,1\n")
    with pytest.raises(InputError, match=message):
        read_edges(path, pa.array([1, 2]))
    path.write_text("a,b\n" + "1,2\n" * 1999 + "2,1\n")
    assert read_edges(path, pa.array([1, 2])).index.tolist() == [[0] * 1999 + [1], [1] * 1999 + [0]]


@pytest.mark.parametrize("tail", ["", "\n"])
def test_a_field_is_compared_to_its_end_and_shown_to_the_width_of_a_screen(tail: str, tmp_path: Path) -> None:
    """However long it is: one that begins as an id is another one."""
    path = tmp_path / "edges.csv"
    path.write_text(f'a,b\n1,2\n"{"7" * 200_000}{tail}",1\n')
    with pytest.raises(InputError, match=r"unknown ids \('7{80}'\.\.\. \(200,00. characters\)\)") as raised:
        read_edges(path, pa.array([1, 2, 7, 77777777]))
    assert len(str(raised.value)) < 500


def test_a_field_whose_length_32_bits_do_not_hold_is_refused() -> None:
    """Of 2**32 + 3 bytes, of which the last 32 bits say 3."""
    try:
        letters = np.zeros(2**32 + 3, np.uint8)  # which takes memory where it is written to, and never is
    except MemoryError:
        pytest.skip("this machine does not promise memory that it may not have")
    ends = pa.py_buffer(np.array([0, len(letters)], np.int64))
    long = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(letters)])
    frame = Frame("edge table", pa.table({"a": long, "b": ["x"]}))
    with pytest.raises(InputError, match=r"must have less than 2 GiB in one piece. Got 4.0 GiB"):
        read_edges(frame, pa.array(["\0\0\0", "x"]))


@pytest.mark.parametrize("suffix", [".feather", ".parquet"])
def test_places_and_letters_that_cannot_be_are_refused_before_they_are_read(suffix: str, tmp_path: Path) -> None:
    """Arrow itself follows them, and its process ends."""
    path = tmp_path / f"nodes{suffix}"
    texts = table(id=["a", "bbb", "cccccc"])
    if suffix == ".feather":
        feather.write_feather(texts, path, compression="uncompressed")
        whole, forged = (np.array([0, 1, 4, last], np.int32).tobytes() for last in (10, 2**30))
    else:
        parquet.write_table(texts, path, compression="none", use_dictionary=False, write_statistics=False)
        whole, forged = b"cccccc", b"\xff" * 6
    content = path.read_bytes()
    assert content.count(whole) == 1
    path.write_bytes(content.replace(whole, forged))
    with pytest.raises(InputError, match=r"nodes.*' (cannot be read: .* offsets|is not in UTF-8)"):
        read_table(path)


def test_unknown_ends_of_two_types_are_named(tmp_path: Path) -> None:
    write_table(table(a=[1, 9], b=["2", "x"]), tmp_path / "edges.parquet")
    with pytest.raises(InputError, match=r"1 of 2 edges to unknown ids \('9', 'x'\)"):
        read_edges(tmp_path / "edges.parquet", pa.array([1, 2]))
