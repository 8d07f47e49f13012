"""The portfolio: that each member is a model with settings it has, and what is wrong with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from glognn.errors import InputError
from glognn.experiments.config import RunConfig
from glognn.experiments.portfolio import Member, check_given, choose_members, read_portfolio


@pytest.mark.parametrize("member", read_portfolio(), ids=lambda member: member.name)
def test_every_member_is_a_model_with_settings_it_has(member: Member) -> None:
    config = member.resolve({"epochs": 3}, "pairs", "0")
    assert isinstance(config, RunConfig)
    assert config.model.name == member.model
    settings = config.graph.as_dict() | config.model.as_dict() | config.training.as_dict()
    assert {name: settings[name] for name in member.settings if name != "epochs"} == {
        name: value for name, value in member.settings.items() if name != "epochs"
    }
    assert config.training.epochs == 3


def test_qualities_are_the_first_members_in_their_order() -> None:
    members = read_portfolio()
    assert [len(choose_members(members, quality)) for quality in ("fast", "good", "best")] == [3, *[len(members)] * 2]
    assert choose_members(members, "fast") == members[:3]
    with pytest.raises(InputError, match=r"one of fast, good, best\. Got 'great' instead"):
        choose_members(members, "great")


def test_a_setting_given_by_hand_is_that_of_members_that_have_it() -> None:
    gcn, mlp = Member("a", "gcn", {"dropout": 0.1}), Member("b", "glognn++", {})
    given = {"gamma": 0.7, "dropout": 0.3, "epochs": 2}
    check_given([gcn, mlp], given)
    assert gcn.resolve(given, "pairs", None).model.as_dict()["dropout"] == 0.3
    assert mlp.resolve(given, "pairs", None).model.as_dict()["gamma"] == 0.7
    with pytest.raises(InputError, match="No member of the portfolio has a setting 'gamma'"):
        check_given([gcn], given)


WRONG = {
    "no table": ("[[member]", "is not a readable TOML file"),
    "no member": ("member = []", "members of different names. Got none instead"),
    "no name": ("[[member]]\nmodel = 'mlp'", "name is missing"),
    "a path": (
        "[[member]]\nname = '../x'\nmodel = 'mlp'",
        r"as folders are named, in at most 100 bytes. Got '../x' instead",
    ),
    "a long name": (f"[[member]]\nname = '{'x' * 101}'\nmodel = 'mlp'", "as folders are named, in at most 100 bytes"),
    "an unknown model": ("[[member]]\nname = 'x'\nmodel = 'gcm'", "The member 'x' of .* Did you mean 'gcn'"),
    "twice": ("[[member]]\nname = 'x'\nmodel = 'mlp'\n" * 2, "Got x, x instead"),
    "an unknown setting": ("[[member]]\nname = 'x'\nmodel = 'mlp'\nbeta1 = 1.0", "The member 'x' of the portfolio"),
    "a wrong value": ("[[member]]\nname = 'x'\nmodel = 'mlp'\ndropout = 7.0", "'dropout' parameter"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_portfolio_is_refused_in_words(name: str, tmp_path: Path) -> None:
    text, wanted = WRONG[name]
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(InputError, match=wanted):
        read_portfolio(tmp_path / "p.toml")


def test_a_portfolio_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no portfolio"):
        read_portfolio(tmp_path / "absent.toml")
