"""The browser's WebSockets."""

import asyncio
from typing import Any, Final

import js
from pyodide.ffi import JsException

from chatkey_protocol.names import SUBPROTOCOL
from chatkey_widget.browser.host import LocalBlock
from chatkey_widget.browser.js_values import Listeners
from chatkey_widget.ports import Unreachable, WireListener

HANDSHAKE_SECONDS: Final = 5.0
"""The time in seconds, from the start of the attempt, that an unneeded socket may take to open."""


class BrowserWire:
    def __init__(self, socket: Any, listener: WireListener, local_block: LocalBlock) -> None:
        self._socket = socket
        self._listener = listener
        self._local_block = local_block
        self._has_opened = False
        self._failing: asyncio.Task[None] | None = None
        self._gives_up_at = asyncio.get_running_loop().time() + HANDSHAKE_SECONDS
        self._listeners = Listeners()
        self._listeners.add(socket, "open", self._opened)
        self._listeners.add(socket, "message", self._received)
        self._listeners.add(socket, "close", self._closed)

    def send(self, text: str) -> None:
        """Send a text message. A socket that is closing ignores the message, and reports its close event later."""
        if self._socket.readyState == js.WebSocket.OPEN:
            self._socket.send(text)

    def close(self, code: int) -> None:
        """Close the socket. The socket's listener is not called again.

        A socket that is still opening is closed after it has opened. Closing it earlier would print an error in the
        page's console. A browser opens only one socket to an address at a time, so a socket that does not open would
        delay the next one. It is therefore closed after `HANDSHAKE_SECONDS`.
        """
        self._listeners.remove_all()
        if self._failing is not None:
            self._failing.cancel()
        elif self._socket.readyState == js.WebSocket.CONNECTING:
            patience = asyncio.get_running_loop().call_at(self._gives_up_at, self._socket.close)
            self._listeners.add(self._socket, "open", lambda _event: self._socket.close(code))
            self._listeners.add(self._socket, "close", lambda _event: self._let_go(patience))
        else:
            self._socket.close(code)

    def _let_go(self, patience: asyncio.TimerHandle) -> None:
        self._listeners.remove_all()
        patience.cancel()

    def _opened(self, _event: Any) -> None:
        self._has_opened = True
        self._listener.opened()

    def _received(self, event: Any) -> None:
        self._listener.received(event.data if isinstance(event.data, str) else None)

    def _closed(self, event: Any) -> None:
        self._listeners.remove_all()
        if self._has_opened:
            self._listener.closed(event.code)
        else:
            self._failing = asyncio.ensure_future(self._fail(event.code))

    async def _fail(self, code: int) -> None:
        """Report that the socket did not open, with the reason if the browser keeps the page from the service."""
        if await self._local_block(self._socket.url):
            self._listener.blocked()
        self._listener.closed(code)


class BrowserWires:
    def __init__(self, local_block: LocalBlock) -> None:
        self._local_block = local_block

    def open(self, uri: str, listener: WireListener) -> BrowserWire:
        """Begin to open a WebSocket. Raises `Unreachable` if the page may not open it."""
        try:
            return BrowserWire(js.WebSocket.new(uri, SUBPROTOCOL), listener, self._local_block)
        except JsException as error:
            raise Unreachable(f"The browser refused to open {uri} ({error}).") from None
