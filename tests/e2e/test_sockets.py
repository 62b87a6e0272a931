"""Tests how the harness turns a page script's reports about sockets into sockets and frames."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from playwright.sync_api import BrowserContext

from chatkey_e2e.sockets import BINDING, Sent, Socket, watch_sockets

URI = "wss://chat.localhost/v1/socket"


class Context:
    """A fake browser context through which a test reports events as a page would."""

    def expose_binding(self, name: str, told: Callable[[object, dict[str, Any]], None]) -> None:
        self.name, self.told = name, told

    def add_init_script(self, script: str) -> None:
        self.script = script


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
def seen(context: Context) -> list[Socket | Sent]:
    seen: list[Socket | Sent] = []
    watch_sockets(cast("BrowserContext", context), seen.append, seen.append)
    return seen


def test_frames_belong_to_the_socket_they_were_sent_on(context: Context, seen: list[Socket | Sent]) -> None:
    context.told({}, {"id": "p 1", "url": URI})
    context.told({}, {"id": "p 2", "url": f"{URI}?second"})
    context.told({}, {"id": "p 1", "text": '{"type": "ping"}'})

    assert seen == [Socket(URI), Socket(f"{URI}?second"), Sent(URI, '{"type": "ping"}')]
    assert Sent(URI, '{"type": "ping"}').frame == {"type": "ping"}


def test_a_socket_counts_as_closed_once_its_page_got_the_event(context: Context, seen: list[Socket | Sent]) -> None:
    context.told({}, {"id": "p 1", "url": URI})
    context.told({}, {"id": "p 2", "url": URI})
    context.told({}, {"id": "p 1", "closed": True})

    assert [socket.is_closed() for socket in seen if isinstance(socket, Socket)] == [True, False]


def test_frames_from_the_service_are_recorded(context: Context) -> None:
    heard: list[str] = []
    watch_sockets(cast("BrowserContext", context), lambda _: None, lambda _: None, heard.append)

    context.told({}, {"id": "p 1", "heard": '{"type": "ack", "id": "m-1"}'})

    assert heard == ['{"type": "ack", "id": "m-1"}']


def test_pages_report_through_the_binding_and_store_nothing(context: Context, seen: list[Socket | Sent]) -> None:
    assert seen == []
    assert context.name == BINDING
    assert f"delete window.{BINDING};" in context.script
