"""Ways to damage a file, those of any file and those that know its format."""

from __future__ import annotations

import io
import json
import random
import tomllib
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import tomli_w
from pyarrow import feather, parquet

Damage = Callable[[bytes, random.Random], bytes]

ODD_VALUES: list[Any] = [
    None, True, -1, 0, 2**31, 2**63, 2**70, -(2**63), 10**400, 1.5, 1e308, 1e-320, "", "x", "0", "\x00", "\x1b[31m",
    "../x", "/etc/passwd", "a" * 5000, "\ud7ff\u202e", [], [[]], [1, "x", None], {}, {"": {}}, {"name": 3},
]  # fmt: skip
ODD_FIELDS = [
    b'"', b'""', b'"a\nb"', b"\r", b"\r\n", b"\n\n", b"\x00", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff", b",", b",,,",
    b"\t",
    b"1e400", b"-1e400", b"nan", b"inf", b"-0", b"007", b"0x7", b" 7", b"9" * 30, b"1_000", b"18446744073709551617",
    b"\x1b[31m", b"[/month]", b"=cmd()", b"x" * 70_000, "\u202e".encode(), b"true", b"2020-01-01", b"NA", b"null",
]  # fmt: skip


def any_bytes(content: bytes, chance: random.Random) -> bytes:
    found = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 8])):
        start = chance.randrange(len(found) + 1)
        length = min(chance.choice([1, 2, 4, 8, 64, 1000]), len(found) - start)
        match chance.randrange(7):
            case 0 if length:
                found[start] ^= 1 << chance.randrange(8)
            case 1:
                del found[start:]
            case 2:
                del found[start : start + length]
            case 3:
                found[start:start] = chance.randbytes(length)
            case 4:
                found[start:start] = found[start : start + length] * chance.choice([1, 3])
            case 5:
                found[start : start + length] = bytes(length)
            case _:
                odd = chance.choice([0, 1, 2**31 - 1, 2**32 - 1, 2**40, 2**63, 2**64 - 1])
                found[start : start + 8] = odd.to_bytes(8, "little")
    return bytes(found)


def change(tree: Any, chance: random.Random) -> Any:
    """A copy of nested tables and lists, one or two of whose values are odd, absent, twice there or elsewhere."""
    tree = json.loads(json.dumps(tree))
    for _ in range(chance.choice([1, 1, 2])):
        places = list(_places(tree))
        if not places:
            return chance.choice(ODD_VALUES)
        inner, key = chance.choice(places)
        match chance.randrange(5):
            case 0:
                del inner[key]
            case 1:
                other, name = chance.choice(places)
                inner[key] = json.loads(json.dumps(other.get(name) if isinstance(other, dict) else other[name]))
            case 2 if isinstance(inner, list):
                inner.insert(key, inner[key])
            case 2:
                inner[chance.choice(["more", "", *map(str, inner)])] = inner[key]
            case _:
                inner[key] = chance.choice(ODD_VALUES)
    return tree


def _places(tree: Any) -> Any:
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, each in inner:
        yield tree, key
        yield from _places(each)


def json_text(content: bytes, chance: random.Random) -> bytes:
    text = json.dumps(change(json.loads(content), chance))
    return text.replace("1.5", chance.choice(["1.5", "NaN", "1e999", "-Infinity"])).encode()


def toml_text(content: bytes, chance: random.Random) -> bytes:
    return tomli_w.dumps(change(tomllib.loads(content.decode()), chance)).encode()


def journal(content: bytes, chance: random.Random) -> bytes:
    """Lines that are absent, twice there, in another order, or changed."""
    lines = content.splitlines(keepends=True)
    place = chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            del lines[place]
        case 1:
            lines.insert(place, lines[place])
        case 2:
            other = chance.randrange(len(lines))
            lines[place], lines[other] = lines[other], lines[place]
        case _:
            lines[place] = json_text(lines[place], chance) + b"\n"
    return b"".join(lines)


def csv_text(content: bytes, chance: random.Random) -> bytes:
    """Fields that are absent, elsewhere, or of what spreadsheets and people write."""
    rows = [row.split(b",") for row in content.split(b"\n")]
    for _ in range(chance.choice([1, 1, 2, 5])):
        row = chance.choice(rows)
        place = chance.randrange(len(row)) if row else 0
        match chance.randrange(5):
            case 0 if row:
                del row[place]
            case 1:
                row.insert(place, chance.choice(ODD_FIELDS))
            case 2 if row:
                row[place] += chance.choice(ODD_FIELDS)
            case 3:
                rows.insert(chance.randrange(len(rows)), list(row))
            case _ if row:
                row[place] = chance.choice(ODD_FIELDS)
    text = chance.choice([b"\n"] * 8 + [b"\r", b"\r\n"]).join(b",".join(row) for row in rows)
    return text.replace(b",", chance.choice([b","] * 8 + [b";", b"\t"]))


def safetensors(content: bytes, chance: random.Random) -> bytes:
    """Another head over the same tensors: names, types, shapes, places, and the values that are kept with them."""
    size = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + size])
    values = head.get("__metadata__", {}).get("glognn")
    if values is not None:
        kept = json.loads(values)
        kept.pop("sha256", None)  # of values and tensors, without which they are read as those of earlier versions are
        head["__metadata__"]["glognn"] = json.dumps(change(kept, chance) if chance.random() < 0.6 else kept)
    if chance.random() < 0.4:
        head = change(head, chance)
    text = json.dumps(head).encode()
    length = chance.choice([len(text)] * 9 + [0, 2**63, size])
    return length.to_bytes(8, "little") + text + content[8 + size :]


def npz(content: bytes, chance: random.Random) -> bytes:
    """Arrays that are absent, of other types, shapes, values and names, and heads that say what is not there."""
    arrays: dict[str, Any] = dict(np.load(io.BytesIO(content)))
    forged = {}
    for _ in range(chance.choice([1, 1, 2])):
        if not arrays:
            break
        name = chance.choice(sorted(arrays))
        array = arrays[name]
        match chance.randrange(8):
            case 0:
                del arrays[name]
            case 1:
                kinds = ["?", "i1", "u8", "f2", "f4", "f8", "c16", "U3", "S2", ">i4", "M8[s]", "V3"]
                arrays[name] = array.astype(chance.choice(kinds), casting="unsafe") if array.size else array
            case 2:
                arrays[name] = chance.choice(
                    [array.T, array[..., None], array.ravel(), array[:-1], array[:0], array[0]]
                )
            case 3:
                arrays[name] = np.full_like(array, chance.choice([0, 1, -1 if array.dtype.kind != "u" else 0]))
            case 4 if array.dtype.kind == "f" and array.size:
                array.flat[chance.randrange(array.size)] = chance.choice([np.nan, np.inf, 1e38, -0.0])
            case 4 if array.dtype.kind == "i" and array.size:
                array.flat[chance.randrange(array.size)] = chance.choice([-1, -5, 10**6, 2**31, 2**62])
            case 5:
                arrays[chance.choice([*arrays, "edge_weight", "feat_data", "more", "../x"])] = array
            case 6:
                shape = chance.choice([(2**40,), (2, 2**33), (-1,), (2**62, 4), (), (1, 1, 1)])
                forged[name] = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {shape}, }}"
            case _:
                forged[name] = chance.choice(
                    ["{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "{}", "x" * 99]
                )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", chance.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, array in arrays.items():
            one = io.BytesIO()
            np.lib.format.write_array(one, np.asarray(array), allow_pickle=False)
            data = one.getvalue()
            if name in forged:
                size = int.from_bytes(data[8:10], "little")
                head = forged[name].encode().ljust(size - 1) + b"\n"
                data = data[:8] + len(head).to_bytes(2, "little") + head + data[10 + size :]
            archive.writestr(f"{name}.npy", data)
    return file.getvalue()


def _columns(table: Any, chance: random.Random) -> Any:
    """Columns that are absent, twice there, or of another type."""
    place = chance.randrange(table.num_columns)
    rows, name = table.num_rows, table.schema.names[place]
    match chance.randrange(5):
        case 0:
            return table.remove_column(place)
        case 1:
            return table.append_column(name, table.column(place))
        case 2:
            return table.slice(0, chance.choice([0, 1, rows - 1]))
        case 3:
            return table.rename_columns([chance.choice(["", "\x1b[31m", "id", each]) for each in table.schema.names])
    odd: list[Any] = [
        pa.nulls(rows), pa.array([[1]] * rows), pa.array([{"a": 1}] * rows), pa.array([b"\xff"] * rows),
        pa.array(["x"] * rows).dictionary_encode(), pa.array([True] * rows), pa.array([float("nan")] * rows),
        pa.array([2**63 + 1] * rows, pa.uint64()), pa.array([0] * rows, pa.timestamp("s")),
        pa.array([0] * rows, pa.date32()), pa.array([1] * rows, pa.decimal128(38, 0)),
        pa.array([1.0] * rows, pa.float16()), pa.array([0] * rows, pa.duration("s")),
        pa.array([None, *["x"] * (rows - 1)]),
    ]  # fmt: skip
    return table.set_column(place, name, chance.choice(odd))


def parquet_table(content: bytes, chance: random.Random) -> bytes:
    file = io.BytesIO()
    parquet.write_table(_columns(parquet.read_table(io.BytesIO(content)), chance), file)
    return file.getvalue()


def feather_table(content: bytes, chance: random.Random) -> bytes:
    file = io.BytesIO()
    feather.write_feather(_columns(feather.read_table(io.BytesIO(content)), chance), file)
    return file.getvalue()


def damaged(content: bytes, knowing: Damage, chance: random.Random) -> bytes:
    """A file damaged with or without knowledge of its format, or both."""
    for _ in range(chance.choice([1, 1, 1, 2])):
        how = knowing if chance.random() < 0.7 else any_bytes
        try:
            content = how(content, chance)
        except Exception:  # what has become of it has no such format any more
            content = any_bytes(content, chance)
    return content
