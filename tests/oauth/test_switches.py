"""Tests of the switches that change a provider's behaviour."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.switches import Position, Switch, SwitchError, Switches, read_switch
from chatkey_oauth.providers import NAMES, declared_switches

if TYPE_CHECKING:
    from chatkey_oauth.app import App

DECLARED = {"one": (Switch("a", True, "A."), Switch("b", False, "B.")), "other": ()}


@pytest.fixture
def switches() -> Switches:
    """A provider with two switches, and a provider without switches."""
    return Switches(lambda: DECLARED)


def test_a_switch_has_its_declared_position_until_it_is_set(switches: Switches) -> None:
    before = switches.is_on("one.b", default=False)

    position = switches.set("one.b", on=True)

    assert before is False
    assert position == Position("one.b", True, False, "B.")
    assert switches.is_on("one.b", default=False) is True
    assert switches.all() == [Position("one.a", True, True, "A."), position]


def test_a_reset_restores_the_positions_at_the_start() -> None:
    switches = Switches(lambda: DECLARED, {"one.a": False})
    switches.set("one.a", on=True)
    switches.set("one.b", on=True)

    switches.reset()

    assert [position.on for position in switches.all()] == [False, False]


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("third.a", "'third.a': there is no provider 'third'. Available: one, other."),
        ("one.c", "'one.c': one has no switch 'c'. Available: a, b."),
        ("other.a", "'other.a': other has no switch 'a'. Available: none."),
        ("one", "'one': one has no switch ''. Available: a, b."),
    ],
)
def test_an_unknown_switch_is_refused_with_the_list(switches: Switches, key: str, told: str) -> None:
    with pytest.raises(SwitchError) as refused:
        switches.set(key, on=True)

    assert str(refused.value) == told


@pytest.mark.parametrize(("text", "read"), [("one.a=on", ("one.a", True)), ("one.b=off", ("one.b", False))])
def test_a_switch_is_read_with_its_position(text: str, read: tuple[str, bool]) -> None:
    assert read_switch(text) == read


@pytest.mark.parametrize("text", ["one.a", "one.a=", "one.a=yes", "=", ""])
def test_an_unknown_position_is_refused(text: str) -> None:
    with pytest.raises(SwitchError, match=re.escape(f"{text!r} is not a valid switch setting: write ")):
        read_switch(text)


def test_settings_set_switches_of_one_provider_and_not_of_another(make_fake: Callable[..., App]) -> None:
    fake = make_fake(switches={"x.rate-limit": True, "google.iss": False})

    assert fake.provider("x").on("rate-limit")
    assert not fake.provider("google").on("iss")
    assert fake.provider("github").on("iss")


def test_a_reset_of_the_fake_resets_its_switches(discord: Visitor) -> None:
    discord.switch("iss", on=False)

    discord.fake.reset()

    assert "iss" in discord.callback()


def test_an_unknown_switch_in_the_settings_is_refused(make_fake: Callable[..., App]) -> None:
    with pytest.raises(SwitchError, match=r"discord has no switch 'is'\. Available: iss"):
        make_fake(switches={"discord.is": True})


def test_every_switch_has_a_name_of_its_own_and_says_what_it_does() -> None:
    for name, switches in declared_switches().items():
        assert name in NAMES
        assert len({switch.name for switch in switches}) == len(switches)
        for switch in switches:
            assert re.fullmatch(r"[a-z0-9-]+", switch.name)
            assert switch.summary.endswith(".")
