"""Pickles: what published files hold is read, everything else raises and runs nothing."""

from __future__ import annotations

import io
import os
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from glognn.data.readers.pickles import read_object_array, read_pickle
from glognn.errors import InputError


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_the_types_of_published_files(protocol: int) -> None:
    assert np.array_equal(read_pickle(pickle.dumps(np.eye(3), protocol)), np.eye(3))
    assert read_pickle(pickle.dumps(np.float64(2.5), protocol)) == 2.5
    graph = defaultdict(list, {0: [1, 2], 1: [0]})
    assert read_pickle(pickle.dumps(graph, protocol)) == graph
    matrix = sp.csr_matrix(np.array([[0, 1.5], [2, 0]]))
    protocol = max(protocol, 2)  # older ones hold no sparse matrices in published files
    assert np.array_equal(read_pickle(pickle.dumps(matrix, protocol)).toarray(), matrix.toarray())


def test_splits_of_any_kind() -> None:
    splits = np.array([{"train": np.arange(3), "valid": [3]}, {"train": [], "valid": np.arange(2)}], dtype=object)
    file = io.BytesIO()
    np.save(file, splits, allow_pickle=True)
    found = read_object_array(file.getvalue())
    assert found[0]["train"].tolist() == [0, 1, 2]
    assert found[0]["valid"] == [3]
    plain = io.BytesIO()
    np.save(plain, np.arange(4))
    assert read_object_array(plain.getvalue()).tolist() == [0, 1, 2, 3]


class Call:
    """Pickles to a call of anything."""

    def __init__(self, function, *arguments: object) -> None:
        self.how = (function, arguments)

    def __reduce__(self):
        return self.how


def attacks(mark: Path) -> dict[str, object]:
    command = f"touch {mark}"
    return {
        "os.system": Call(os.system, command),
        "eval": Call(eval, f"open({str(mark)!r}, 'w').close()"),
        "exec": Call(exec, f"open({str(mark)!r}, 'w').close()"),
        "open": Call(open, str(mark), "w"),
        "nested in a list": [np.eye(2), {"deep": Call(os.system, command)}],
        "as a dict's key": {Call(os.system, command): 1},
        "in an object array": np.array([Call(os.system, command)], dtype=object),
        "in a defaultdict": Call(defaultdict, Call(os.system, command)),
        "getattr": Call(getattr, "", "join"),
        "numpy.load": Call(np.load, str(mark)),
        "pathlib": Call(Path.touch, mark),
    }


@pytest.mark.parametrize("name", attacks(Path("x")))
@pytest.mark.parametrize("form", ["pickle", "npy"])
def test_malicious_pickles_raise_and_run_nothing(name: str, form: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    content, read = pickle.dumps(attacks(mark)[name], 2), read_pickle
    if form == "npy":
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "|O", "fortran_order": False, "shape": (1,)})
        content, read = header.getvalue() + content, read_object_array
    with pytest.raises(InputError, match="asks to call .* nothing was run"):
        read(content)
    assert not mark.exists()


def test_stack_global_and_outside_objects_are_refused_too(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'posix\.system'|'nt\.system'"):
        read_pickle(pickle.dumps(os.system, 4))
    with pytest.raises(InputError, match="outside object"):
        read_pickle(b"\x80\x02X\x01\x00\x00\x00aQ.")
