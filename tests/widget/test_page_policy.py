"""Tests of pages whose policy, or whose browser, does not let them reach the service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_widget import effects, events

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget


ADDRESS = "https://chat.test/v1/public/provider/prov_1/token?uid=v_1"
BLOCKED = pytest.mark.parametrize(
    "blocked",
    [events.PolicyBlocked(ADDRESS, "connect-src"), events.LocalNetworkBlocked(ADDRESS)],
    ids=["policy", "local"],
)


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("https://chat.test/v1/public/provider/prov_1/token?uid=v_1", "https://chat.test"),
        ("https://chat.test", "https://chat.test"),
        ("wss://chat.test/v1/socket", "wss://chat.test"),
        ("wss://sockets.test/v1/socket", "wss://sockets.test"),
    ],
)
def test_a_policy_that_blocks_the_service_is_told_once_and_nothing_is_tried_again(
    make_widget: MakeWidget, address: str, source: str
) -> None:
    """F208: a page's policy never changes. The widget must not report a blocked request as an unreachable service."""
    widget = make_widget(answers_tokens=False, answers_frames=False).start()
    configured = {"socket_uri": "wss://sockets.test/v1/socket"}
    widget.feed(events.ConfigurationLoaded(configured), events.PolicyBlocked(address, "connect-src"))
    widget.feed(events.PolicyBlocked(address, "connect-src"), events.ConfigurationFailed(0, message="No answer."))
    before = len(widget.done)

    widget.advance(3600)

    told = widget.emitted("error")
    assert [(error["code"], error["remediation"]) for error in told] == [
        ("csp_blocked", f"Add {source} to its connect-src.")
    ]
    assert widget.done[before:] == []
    assert widget.view.notice == "The chat is not available here."


def test_a_retry_that_was_planned_before_is_not_made(make_widget: MakeWidget) -> None:
    """F208: some browsers report the policy violation a moment after the request has failed."""
    widget = make_widget(answers_tokens=False).start()
    widget.feed(events.ConfigurationFailed(0, message="No answer."))
    asked = len(widget.all(effects.LoadConfiguration))

    widget.feed(events.PolicyBlocked("https://chat.test/v1/public/provider/prov_1", "connect-src"))
    widget.advance(3600)

    assert len(widget.all(effects.LoadConfiguration)) == asked


def test_a_request_that_fails_after_the_policy_error_is_not_reported(make_widget: MakeWidget) -> None:
    """F208: on a slow computer, the request may fail after the panel was opened.

    The widget must report only the policy.
    """
    widget = make_widget(answers_tokens=False, answers_frames=False).start()
    widget.feed(events.PolicyBlocked("https://chat.test/v1/public/provider/prov_1", "connect-src"))
    widget.feed(events.PanelToggled(open=True))

    widget.feed(events.ConfigurationFailed(0, message="No answer."))

    assert [error["code"] for error in widget.emitted("error")] == ["csp_blocked"]


@pytest.mark.parametrize("address", ["https://chat.test.evil/v1", "https://shop.test/api", "wss", "inline", ""])
def test_blocked_requests_of_the_page_itself_are_ignored(make_widget: MakeWidget, address: str) -> None:
    """Pages often violate their own policies. The widget must ignore such violations."""
    widget = make_widget(answers_tokens=False).start()

    widget.feed(events.PolicyBlocked(address, "connect-src"))

    assert widget.errors() == []
    assert widget.view.link == "connecting"


def test_a_blocked_picture_does_not_stop_the_chat(make_widget: MakeWidget) -> None:
    widget = make_widget(answers_tokens=False).start()

    widget.feed(events.PolicyBlocked("https://chat.test/avatar.png", "img-src"))

    assert widget.errors() == []


@pytest.mark.contract("D-12/always-chat")
@BLOCKED
def test_opening_the_panel_tries_again_what_was_blocked(make_widget: MakeWidget, blocked: events.Event) -> None:
    """F208, F249: each opening of the panel must try once, because the access may be allowed by then."""
    widget = make_widget(answers_tokens=False).start()
    widget.feed(blocked)
    widget.answers_tokens = True

    widget.feed(events.PanelToggled(open=True))

    assert (widget.view.link, widget.view.notice) == ("online", None)


@BLOCKED
def test_a_connected_widget_goes_on(visitor: Driver, blocked: events.Event) -> None:
    """Another address of the service is blocked. The open connection is not affected."""
    visitor.feed(blocked)

    assert (visitor.errors(), visitor.view.link) == ([], "online")
    assert visitor.all(effects.CloseSocket) == []
