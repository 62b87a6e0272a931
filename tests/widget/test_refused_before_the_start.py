"""Tests of a business that is switched off.

The service refuses the first request, before the widget has a key or an identity.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, KEY, NOW, SETTINGS, VISITOR, Driver

from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events

if TYPE_CHECKING:
    from chatkey_widget.effects import CallGetToken

WITH_LOGIN = replace(SETTINGS, custom_login=True)
OFF = events.ConfigurationFailed(403, "provider_off", "Switched off.")


@pytest.fixture(params=["cached", "asked"])
def member_of_a_business_that_is_off(request: pytest.FixtureRequest) -> Driver:
    """A person with a cached login or with `getToken`, on the page of a business that is switched off."""

    def page(call: CallGetToken) -> events.Event:
        return events.GetTokenReturned(call.ref, widget.custom())

    widget = Driver(WITH_LOGIN, page=page)
    widget.stored = widget.custom() if request.param == "cached" else None
    widget.machine.handle(events.Started(secure=True), NOW)
    widget.feed(OFF, events.KeyReady(KEY, widget.stored))
    return widget


def test_nobody_is_connected_when_the_key_comes(member_of_a_business_that_is_off: Driver) -> None:
    """F207: the panel must say that chat is off, and must not show a person as signed in.

    The widget must send no more requests.
    """
    widget = member_of_a_business_that_is_off
    widget.advance(3600)

    assert widget.view.link == "stopped"
    assert widget.view.notice == "The chat is switched off at the moment."
    assert widget.view.person.name is None
    assert widget.errors() == ["provider_off"]
    assert widget.all(effects.LoadVisitorToken) + widget.all(effects.OpenSocket) == []
    assert widget.calls() == []


@pytest.mark.contract("D-12/always-chat")
def test_opening_the_panel_starts_again_like_a_reload(member_of_a_business_that_is_off: Driver) -> None:
    """The business has been switched on again.

    When the panel is opened, the member must be connected, and the notice must disappear.
    """
    widget = member_of_a_business_that_is_off

    widget.feed(events.PanelToggled(open=True))

    assert widget.identity == ADA
    assert widget.view.link == "online"
    assert widget.view.notice is None


def test_a_business_that_is_still_off_is_reported_again(member_of_a_business_that_is_off: Driver) -> None:
    """When the panel is opened, the widget must send one request. After the refusal, it must stop again."""
    widget = member_of_a_business_that_is_off
    widget.answers_frames = False

    for effect in widget.machine.handle(events.PanelToggled(open=True), widget.now):
        widget.done.append(effect)
    widget.feed(OFF)

    assert len(widget.all(effects.LoadConfiguration)) == 1
    assert widget.view.link == "stopped"
    assert widget.view.notice == "The chat is switched off at the moment."


def test_messages_written_meanwhile_are_sent_then() -> None:
    """The widget must keep these messages as long as the page is open."""
    widget = Driver(SETTINGS)
    widget.machine.handle(events.Started(secure=True), NOW)
    widget.feed(OFF, events.KeyReady(KEY, None), events.MessageWritten("Are you there?"))
    assert [(line.body, line.state) for line in widget.view.lines] == [("Are you there?", "sending")]

    widget.feed(events.PanelToggled(open=True))

    assert widget.identity == VISITOR
    assert [frame["body"] for frame in widget.frames(Kind.MESSAGE)] == ["Are you there?"]
