"""Tests of a widget's socket where the suite does not reach: time, a slow database, the log, and what remains."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import weakref
from typing import Any

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from chatkey_protocol.codes import Close
from chatkey_server import logs
from chatkey_server.chat.service import Chat
from chatkey_server.settings import Limits
from chatkey_server.socket import customer_socket

NOW = 1_800_000_030.0

Fixture = Any


async def ending(socket: Fixture) -> tuple[str, int, str]:
    """Return three values: the code of the error frame, the close code, and the reason of the close."""
    error = await socket.next()
    assert error["type"] == "error"
    closed = await socket.next()
    assert closed["type"] == "closed"
    return error["code"], closed["code"], closed["reason"]


class TestTime:
    async def test_a_silent_socket_is_closed_as_idle(
        self, make_client: Fixture, join: Fixture, browser: Fixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loop, early = asyncio.get_running_loop(), [0.1]
        call_later = loop.call_later

        def look_once_too_early(delay: float, *called: Any) -> asyncio.TimerHandle:
            return call_later(early.pop() if early and delay == 1 else delay, *called)

        monkeypatch.setattr(loop, "call_later", look_once_too_early)
        async with make_client(limits=Limits(idle_timeout=1)) as client:
            socket = await join(browser.custom_token(), client=client)
            said_at = loop.time()
            assert (await socket.ask({"type": "ping"}))["type"] == "pong"

            ended = await ending(socket)

            assert ended == ("idle_timeout", Close.AUTH_TIMEOUT, "idle_timeout")
            assert loop.time() - said_at >= 1
            assert early == []

    @pytest.mark.contract("2.6/refresh")
    async def test_a_socket_refreshed_in_time_stays(self, join: Fixture, browser: Fixture, clock: Fixture) -> None:
        socket = await join(browser.visitor_token())

        for _ in range(4):
            clock.advance(50)
            refreshed = await socket.ask({"type": "refresh", "token": browser.visitor_token(now=clock())})
            assert refreshed["type"] == "refreshed"

        assert (await socket.ask({"type": "ping"}))["server_time"] == int(NOW) + 200

    async def test_a_token_shorter_than_the_wait_for_connect_still_ends_on_time(
        self, join: Fixture, browser: Fixture, clock: Fixture
    ) -> None:
        socket = await join(browser.custom_token(lifetime=3))
        assert (await socket.next())["type"] == "reauth"

        clock.advance(3)

        assert await ending(socket) == ("token_expired", Close.TOKEN_EXPIRED, "token_expired")


class TestEnding:
    async def test_closed_sockets_leave_nothing_behind(self, shop: Fixture, join: Fixture, browser: Fixture) -> None:
        before, alarms = {*shop.services.hub._listeners}, {*shop.services.clock.alarms}
        sockets = [await join(browser.custom_token(f"u{n}")) for n in range(5)]
        assert len(shop.services.sockets) == 5

        for socket in sockets:
            await socket.leave()

        assert len(shop.services.sockets) == 0
        assert (len(shop.services.sockets.parties), len(shop.services.sockets.addresses)) == (0, 0)
        assert {*shop.services.hub._listeners} == before
        assert shop.services.clock.alarms == alarms

    async def test_a_closed_socket_is_freed_without_garbage_collection(
        self, shop: Fixture, join: Fixture, browser: Fixture
    ) -> None:
        gc.disable()
        try:
            socket = await join(browser.custom_token())
            (served,) = map(weakref.ref, shop.services.sockets._open)
            assert served() is not None

            await socket.leave()

            assert served() is None
        finally:
            gc.enable()

    async def test_one_socket_too_many_of_an_address_is_refused_and_leaves_the_others_counted(
        self, make_client: Fixture, open_socket: Fixture
    ) -> None:
        async with make_client(limits=Limits(sockets_per_address=1)) as client:
            first = await open_socket(client, "/v1/socket")
            assert (await first.next())["type"] == "hello"
            second = await open_socket(client, "/v1/socket")

            refused = await ending(second)
            await second.leave()

            assert refused == ("too_many_sockets", Close.RATE_LIMITED, "too_many_sockets")
            assert len(client.services.sockets.addresses) == 1
            await first.leave()


class TestLog:
    async def test_opened_and_closed_sockets_are_logged_without_tokens(self, join: Fixture, browser: Fixture) -> None:
        token = browser.custom_token("ann")
        written = io.StringIO()
        logs.configure("info", stream=written)
        socket = await join(token)
        await socket.send({"type": "refresh", "token": browser.custom_token("bob")})
        await ending(socket)
        await socket.leave()
        logs.configure("debug", stream=io.StringIO())

        events = [json.loads(line) for line in written.getvalue().splitlines()]
        told = [event for event in events if event["event"].startswith("socket.")]
        assert {event.pop("request") for event in told} != {""}
        assert all(event.pop("timestamp").endswith("Z") for event in told)
        who = {"provider": "prov", "login": "custom", "uid": "ann", "level": "info"}
        assert told == [
            {"event": "socket.ready", "skew": 0.0, **who},
            {"event": "socket.refused", "code": "identity_changed", "member": "uid", "cause": None, **who},
            {"event": "socket.closed", "seconds": 0.0, **who},
        ]
        assert token.split(".")[1] not in written.getvalue()

    async def test_the_log_of_a_refused_connect_names_the_provider_of_the_token(
        self, join: Fixture, browser: Fixture
    ) -> None:
        with capture_logs() as events:
            await join(f"{browser.custom_token('ann')[:-6]}AAAAAA")

        (told,) = [event for event in events if event["event"] == "socket.refused"]
        assert (told["code"], told["provider"]) == ("token_signature", "prov")


def count_of(name: str, **labels: str) -> float:
    """Return how many values a histogram has observed."""
    return REGISTRY.get_sample_value(f"{name}_count", labels) or 0.0


class TestMetrics:
    async def test_each_connect_and_each_acknowledgement_is_timed_and_no_refusal(
        self, join: Fixture, browser: Fixture
    ) -> None:
        names = {"chatkey_connect_seconds": {}, "chatkey_acknowledgement_seconds": {"peer": "customer"}}
        before = [count_of(name, **labels) for name, labels in names.items()]

        socket = await join(browser.custom_token("ann"))
        for number, body in enumerate(("hello", "hello again", " ")):
            await socket.ask({"type": "message", "id": f"m{number}", "body": body})
        await join("no.token.atall")

        after = [count_of(name, **labels) for name, labels in names.items()]
        assert [now - then for now, then in zip(after, before, strict=True)] == [1, 2]


class TestRetold:
    @pytest.mark.contract("D-15/deaf")
    async def test_a_message_published_twice_reaches_a_socket_once(
        self, shop: Fixture, join: Fixture, browser: Fixture
    ) -> None:
        """The rule covers repeated messages, messages from the history, and the socket's own messages."""
        writer, reader = await join(browser.custom_token()), await join(browser.custom_token())
        first, second, third = ({"type": "message", "id": name, "body": name} for name in ("one", "two", "three"))

        for frame in (first, second, first):
            await writer.ask(frame)
        heard = [(await reader.next())["id"] for _ in range(2)]
        late = await join(browser.custom_token())
        page = await late.ask({"type": "history", "id": "h"})
        await late.ask(third)
        for frame in (first, second):
            await writer.send(frame)
        await late.ask({"type": "message", "id": "four", "body": "four"})
        heard += [(await reader.next())["id"] for _ in range(2)]

        assert heard == ["one", "two", "three", "four"]
        assert [entry["id"] for entry in page["messages"]] == ["one", "two"]
        assert await late.ask({"type": "ping"}) == {"type": "pong", "server_time": int(shop.services.clock())}


class TestSlowAnswer:
    """A ping checks whether the connection is alive. A slow database must not delay the pong."""

    @pytest.fixture
    def database_is_back(self, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
        back, post = asyncio.Event(), Chat.post

        async def slow(self: Chat, *args: Any, **named: Any) -> Any:
            await back.wait()
            return await post(self, *args, **named)

        monkeypatch.setattr(Chat, "post", slow)
        monkeypatch.setattr(customer_socket, "PONG_SECONDS", 0)
        return back

    @staticmethod
    def message(name: str) -> dict[str, str]:
        return {"type": "message", "id": name, "body": name}

    async def test_a_ping_is_answered_while_messages_wait_for_the_database(
        self, join: Fixture, browser: Fixture, database_is_back: asyncio.Event
    ) -> None:
        socket = await join(browser.custom_token())
        for name in ("one", "two"):
            await socket.send(self.message(name))

        pong = await socket.ask({"type": "ping"})
        database_is_back.set()
        acks = [await socket.next() for _ in range(2)]

        assert pong["type"] == "pong"
        assert [(ack["type"], ack["id"], ack["seq"]) for ack in acks] == [("ack", "one", 1), ("ack", "two", 2)]

    async def test_messages_before_a_bad_frame_are_stored_and_answered_first(
        self, join: Fixture, browser: Fixture, database_is_back: asyncio.Event
    ) -> None:
        socket = await join(browser.custom_token())
        await socket.send(self.message("one"))
        await socket.send({"type": "history"})
        await socket.send({"type": "ping"})

        database_is_back.set()

        assert (await socket.next())["type"] == "ack"
        assert (await ending(socket))[0] == "frame_invalid"

    async def test_messages_sent_before_the_page_closed_are_stored(
        self, join: Fixture, browser: Fixture, database_is_back: asyncio.Event
    ) -> None:
        leaves, stays = await join(browser.custom_token()), await join(browser.custom_token())
        for name in ("one", "two"):
            await leaves.send(self.message(name))
        leaving = asyncio.create_task(leaves.leave())

        database_is_back.set()

        assert [(await stays.next())["id"] for _ in range(2)] == ["one", "two"]
        await leaving

    async def test_where_the_database_is_quick_answers_come_in_order(self, join: Fixture, browser: Fixture) -> None:
        socket = await join(browser.custom_token())
        for frame in (self.message("one"), {"type": "ping"}, self.message("two")):
            await socket.send(frame)

        assert [(await socket.next())["type"] for _ in range(3)] == ["ack", "pong", "ack"]

    async def test_an_internal_error_in_an_answer_is_sent_and_closes_the_socket(
        self, join: Fixture, browser: Fixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def fails(*_: Any, **__: Any) -> Any:
            raise LookupError("a mistake")

        monkeypatch.setattr(Chat, "post", fails)
        socket = await join(browser.custom_token())

        with capture_logs() as events:
            await socket.send(self.message("one"))
            closed = await ending(socket)

        assert closed == ("internal", Close.TRY_LATER, "internal")
        assert [event["event"] for event in events if event["log_level"] == "error"] == ["socket.failed"]
