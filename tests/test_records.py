"""Records and settings are read, or refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from glognn.errors import InputError, TooLargeError, WriteError, about
from glognn.experiments.config import resolve
from glognn.records import misfit, read_record, read_toml


@pytest.mark.parametrize("number", ["1" + 400 * "0", "-1" + 400 * "0", "9" * 5000, "1e999", "NaN", "-Infinity"])
def test_numbers_that_no_float_can_hold(number: str, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    path.write_text(f'{{"epochs": [{number}]}}')
    with pytest.raises(InputError, match=r"record\.json' cannot be read: ") as raised:
        read_record(path, {})
    assert len(str(raised.value)) < len(str(path)) + 200


def test_whole_numbers_of_settings_that_no_float_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f"[training]\nepochs = 1{400 * '0'}")
    with pytest.raises(InputError, match=r"settings\.toml' is not a readable TOML file: a number of 1,329 bits"):
        read_toml(path)
    with pytest.raises(InputError, match="The 'epochs' parameter of training must be"):
        resolve(["mlp"], None, {"epochs": 10**400}, None, None)


def test_wrong_settings_name_their_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("[training]\nepochs = 0")
    with pytest.raises(InputError, match=r"^With the settings of '.*settings\.toml': The 'epochs' parameter"):
        resolve([], str(path), {}, None, None)


def test_words_of_a_form() -> None:
    form = {"kind": {"run", "splits"}}
    assert misfit({"kind": "run"}, form) == ""
    for wrong in ("x", None, 3, []):
        assert misfit({"kind": wrong}, form) == f"kind must be one of run, splits, not {wrong!r}"


@pytest.mark.parametrize("kind", [InputError, WriteError])
def test_messages_are_one_line(kind: type[Exception]) -> None:
    error = kind("Column 'a\nb\r\n  c\u2028d' of\n\n'x.csv'")
    assert str(error) == "Column 'a b c d' of 'x.csv'"


def test_messages_name_what_they_are_about_once() -> None:
    for message in ("It is too large.", "'x.npz' is too large."):
        with pytest.raises(TooLargeError, match=r"^'x\.npz'(: It)? is too large\.$"), about("'x.npz'"):
            raise TooLargeError(message)
