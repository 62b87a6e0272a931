"""Forwards sockets with one task for each direction. The tasks apply the fault rules to the frames."""

import asyncio
from contextlib import suppress
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from chatkey_lab.faults import Faults, Rule
from chatkey_stack.front.requests import cut
from chatkey_stack.front.upstream import Upstream, of_a_socket

OPENING: Final = 60
"""Time limit for opening, in seconds. It is long, because the service and the widget have their own time limits."""
NO_STATUS, ABNORMAL, NORMAL = 1005, 1006, 1000


async def answer(upstream: Upstream, faults: Faults, scope: Any, receive: Any, send: Any) -> None:
    """Open a socket to the service, and forward frames both ways until one end closes."""
    await receive()
    try:
        connection = await _opened(upstream, scope)
    except InvalidStatus as refused:
        headers = [(name.encode(), value.encode()) for name, value in refused.response.headers.raw_items()]
        await _refuse(send, refused.response.status_code, headers, bytes(refused.response.body or b""))
        return
    except (OSError, WebSocketException):
        await _refuse(send, 502, [], b"")
        return
    await send({"type": "websocket.accept", "subprotocol": connection.subprotocol, "headers": []})
    await _Line(connection, faults, scope, receive, send).carry()


async def spoil_handshake(rule: Rule, scope: Any, receive: Any, send: Any) -> None:
    """Apply a rule to the handshake: refuse it with a status, accept and close at once, or break the connection."""
    if rule.action == "drop":
        await cut(scope, receive)
        return
    await receive()
    if rule.action == "status":
        await _refuse(send, rule.status, [], b"")
        return
    subprotocol = next(iter(scope["subprotocols"]), None)
    await send({"type": "websocket.accept", "subprotocol": subprotocol, "headers": []})
    await send({"type": "websocket.close", "code": rule.code, "reason": "front"})


class _EndedHere(Exception):
    """A rule has closed the socket, so that both directions must end."""


class _Line:
    """One socket, forwarded from the browser to the service."""

    def __init__(self, connection: ClientConnection, faults: Faults, scope: Any, receive: Any, send: Any) -> None:
        self._service = connection
        self._faults = faults
        self._scope = scope
        self._receive = receive
        self._send = send

    async def carry(self) -> None:
        """Forward frames in both directions. When one end closes, close the other end in the same way."""
        pumps = [asyncio.create_task(pump) for pump in (self._to_service(), self._to_browser())]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            with suppress(_EndedHere):
                for pump in done:
                    pump.result()
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._service.transport.abort()

    async def _to_service(self) -> None:
        while (message := await self._receive())["type"] != "websocket.disconnect":
            content = message.get("text")
            if content is None:
                content = message["bytes"]
            if not await self._is_swallowed(content):
                with suppress(ConnectionClosed):  # the other task reports how the socket closed
                    await self._service.send(content)
        code = message.get("code", ABNORMAL)
        if code != ABNORMAL:
            await self._service.close(NORMAL if code == NO_STATUS else code, message.get("reason") or "")

    async def _to_browser(self) -> None:
        try:
            while True:
                content = await self._service.recv()
                if not await self._is_swallowed(content):
                    kind = "text" if isinstance(content, str) else "bytes"
                    await self._send({"type": "websocket.send", kind: content})
        except ConnectionClosed as closed:
            await self._end(closed)

    async def _end(self, closed: ConnectionClosed) -> None:
        if closed.rcvd is None:
            await cut(self._scope, self._receive)
        else:
            code = NORMAL if closed.rcvd.code == NO_STATUS else closed.rcvd.code
            await self._send({"type": "websocket.close", "code": code, "reason": closed.rcvd.reason})

    async def _is_swallowed(self, content: str | bytes) -> bool:
        rule = self._faults.hit_frame(content)
        if rule is None:
            return False
        if rule.action == "delay":
            await asyncio.sleep(rule.seconds)
            return False
        if rule.action == "close":
            await self._send({"type": "websocket.close", "code": rule.code, "reason": "front"})
            raise _EndedHere
        return True


async def _opened(upstream: Upstream, scope: Any) -> ClientConnection:
    host, port = upstream.address
    scheme = "wss" if upstream.is_tls else "ws"
    query = f"?{scope['query_string'].decode('ascii')}" if scope["query_string"] else ""
    return await connect(
        f"{scheme}://{upstream.host}{scope['raw_path'].decode('ascii')}{query}",
        host=host,
        port=port,
        ssl=upstream.trusted if upstream.is_tls else None,
        server_hostname=host if upstream.is_tls else None,
        additional_headers=of_a_socket(scope["headers"]),
        user_agent_header=None,
        subprotocols=[Subprotocol(name) for name in scope["subprotocols"]] or None,
        max_size=None,
        ping_interval=None,
        open_timeout=OPENING,
        proxy=None,
    )


async def _refuse(send: Any, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    kept = [
        (name, value)
        for name, value in headers
        if name.lower() not in {b"connection", b"content-length", b"transfer-encoding"}
    ]
    await send({"type": "websocket.http.response.start", "status": status, "headers": kept})
    await send({"type": "websocket.http.response.body", "body": body, "more_body": False})
