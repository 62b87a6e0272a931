"""Applies the lab's fault rules to requests and to frames between browser and server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import structlog
from litestar.enums import ScopeType

from chatkey_protocol.names import SUBPROTOCOL
from chatkey_server.public.answers import ANY_ORIGIN, JSON, NO_STORE, Answer, error_body
from chatkey_serving.site import SAY, connection_of

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, ReceiveMessage, Scope, Send

    from chatkey_lab.faults import Faults, Rule

log = structlog.stdlib.get_logger()


class FaultyApp:
    """An ASGI application that applies the fault rules to requests, and logs each response for the event feed."""

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or apply a fault rule. Requests to the lab itself are exempt."""
        if scope["path"].startswith("/lab/"):
            await self._app(scope, receive, send)
            return
        is_socket = scope["type"] == ScopeType.WEBSOCKET
        rule = self._faults.hit_path(scope["path"])
        if rule is not None and rule.action == "delay":
            await asyncio.sleep(rule.seconds)
        elif rule is not None:
            if is_socket:
                await _spoil_handshake(rule, scope, receive, send)
            else:
                await _spoil_request(rule, scope, receive, send)
            return
        if is_socket:
            (scope.get("extensions") or {}).pop(SAY, None)  # it would bypass the rules
            socket = FaultySocket(self._faults, receive, send)
            await self._app(scope, socket.receive, socket.send)
        else:
            await self._app(scope, receive, _telling(scope, send))


class FaultySocket:
    """Receives and sends the messages of a socket, and applies the fault rules for frames."""

    def __init__(self, faults: Faults, receive: Receive, send: Send) -> None:
        self._faults = faults
        self._receive = receive
        self._send = send
        self._is_closed = False

    async def receive(self) -> ReceiveMessage:
        """Return the peer's next message that no rule drops."""
        while True:
            message = await self._receive()
            if not await self._is_swallowed(message):
                return message

    async def send(self, message: Message) -> None:
        if not self._is_closed and not await self._is_swallowed(message):
            await self._send(message)

    async def _is_swallowed(self, message: Message | ReceiveMessage) -> bool:
        rule = self._faults.hit_frame(cast("str | None", message.get("text")))
        if rule is None:
            return False
        if rule.action == "delay":
            await asyncio.sleep(rule.seconds)
            return False
        if rule.action == "close":
            self._is_closed = True
            await self._send({"type": "websocket.close", "code": rule.code, "reason": "lab"})
        return True


async def _spoil_request(rule: Rule, scope: Scope, receive: Receive, send: Send) -> None:
    if rule.action == "status":
        body = error_body("lab_fault", f"A fault rule of the lab answers {rule.status} here.")
        await Answer(body, (JSON, NO_STORE, ANY_ORIGIN), rule.status)(scope, receive, _telling(scope, send))
    else:
        await _cut(scope, receive)


async def _spoil_handshake(rule: Rule, scope: Scope, receive: Receive, send: Send) -> None:
    if rule.action == "drop":
        await _cut(scope, receive)
        return
    await receive()
    if rule.action == "close":
        await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL, "headers": []})
        await send({"type": "websocket.close", "code": rule.code, "reason": "lab"})
    else:
        await send({"type": "websocket.http.response.start", "status": rule.status, "headers": []})
        await send({"type": "websocket.http.response.body", "body": b"", "more_body": False})


async def _cut(scope: Scope, receive: Receive) -> None:
    """Break the connection without sending anything."""
    connection_of(scope).transport.abort()
    while (await receive())["type"] not in {"http.disconnect", "websocket.disconnect"}:
        pass


def _telling(scope: Scope, send: Send) -> Send:
    async def telling(message: Message) -> None:
        if message["type"] == "http.response.start":
            log.debug("http.answered", method=scope.get("method"), path=scope["path"], status=message["status"])
        await send(message)

    return telling
