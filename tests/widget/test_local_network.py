"""Tests of pages that the browser keeps from a service in the local network (Local Network Access in Chrome)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.widget.world import URI, World, run

from chatkey_widget import events
from chatkey_widget.ports import LocalNetworkBlocked

if TYPE_CHECKING:
    from tests.widget.driver import MakeWidget

ADDRESS = "http://localhost:8000/v1/public/provider/prov_1/token"


def test_a_blocked_service_is_reported_once_and_nothing_is_tried_again(make_widget: MakeWidget) -> None:
    """F249: the browser would block each further request, too."""
    widget = make_widget(answers_tokens=False).start()
    widget.feed(events.LocalNetworkBlocked(ADDRESS), events.ConfigurationFailed(0, message="No answer."))
    widget.feed(events.LocalNetworkBlocked(ADDRESS))
    before = len(widget.done)

    widget.advance(3600)

    (error,) = widget.emitted("error")
    assert (error["code"], error["phase"], error["retryable"]) == ("local_network_blocked", "socket", True)
    assert ADDRESS in str(error["message"])
    assert widget.done[before:] == []
    assert widget.view.notice == (
        "The chat is in your local network, and your browser may keep this page from it. "
        "Allow access in the site settings."
    )


async def test_the_runtime_reports_a_blocked_request_with_its_address() -> None:
    """F249: both requests at the start are blocked, and the page must get one error."""
    world = World(refuse=LocalNetworkBlocked("It could not be reached."))
    runtime = run(world)

    await world.until(lambda: "error" in world.names())

    assert world.errors() == ["local_network_blocked"]
    runtime.feed(events.ShutdownAsked())


async def test_the_runtime_reports_a_blocked_socket_with_its_address() -> None:
    """F249: since Chrome 147, the browser also blocks sockets. The socket may be on another host than the tokens."""
    world = World()
    world.opens = False
    runtime = run(world)
    await world.until(lambda: world.listener is not None)
    assert world.listener is not None

    world.listener.blocked()
    world.listener.closed(1006)

    (error,) = [detail for name, detail in world.told if name == "error"]
    assert error["code"] == "local_network_blocked"
    assert URI in str(error["message"])
    runtime.feed(events.ShutdownAsked())
