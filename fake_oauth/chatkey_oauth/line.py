"""Sends responses late, never or incompletely. This needs the connection, to which ASGI gives no access."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import TYPE_CHECKING, Final

from chatkey_oauth.engine.http import send_answer, send_head

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer, Receive, Scope, Send

LINE: Final = "chatkey.line"
"""The key of the request's `Line` among the extensions of the ASGI scope."""


class Line:
    """The connection of a request. `held` is true while the response is being withheld."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.held = False

    def reset(self) -> None:
        """Abort the connection at once, with RST instead of FIN."""
        connection = self._transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

    def close(self) -> None:
        """Close the connection after everything that was written has been sent."""
        self._transport.close()


async def misbehave(scope: Scope, receive: Receive, send: Send, answer: Answer) -> None:
    """Send a response after its delay. If the response has a `cut`, stop sending at that point."""
    line: Line | None = scope.get("extensions", {}).get(LINE)
    if answer.delay != 0 and await gone(receive, line, answer.delay):
        return
    if not answer.cut:
        await send_answer(send, answer)
        return
    if line is None:
        raise ConnectionAbortedError("A fault cuts this response off, but this server cannot cut connections.")
    if answer.cut == "midway":
        await send_head(send, answer)
        await send({"type": "http.response.body", "body": answer.body[: len(answer.body) // 2], "more_body": True})
        line.close()
    else:
        line.reset()
    await disconnected(receive)


async def gone(receive: Receive, line: Line | None, seconds: float | None) -> bool:
    """Wait for `seconds`. If `seconds` is None, wait forever. Return whether the client disconnected meanwhile."""
    if line is not None:
        line.held = True
    try:
        async with asyncio.timeout(seconds):
            await disconnected(receive)
    except TimeoutError:
        return False
    finally:
        if line is not None:
            line.held = False
    return True


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
