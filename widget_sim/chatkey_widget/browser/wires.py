"""WebSockets of the browser."""

import asyncio
from typing import Any, Final

import js
from pyodide.ffi import JsException

from chatkey_protocol.names import SUBPROTOCOL
from chatkey_widget.browser.js_values import Listeners
from chatkey_widget.ports import Unreachable, WireListener

HANDSHAKE_SECONDS: Final = 5.0
"""How long a socket may take to open once it is no longer wanted, counted from when it began."""


class BrowserWire:
    """One WebSocket."""

    def __init__(self, socket: Any, listener: WireListener) -> None:
        self._socket = socket
        self._listener = listener
        self._gives_up_at = asyncio.get_running_loop().time() + HANDSHAKE_SECONDS
        self._listeners = Listeners()
        self._listeners.add(socket, "open", lambda _event: listener.opened())
        self._listeners.add(socket, "message", self._received)
        self._listeners.add(socket, "close", self._closed)

    def send(self, text: str) -> None:
        """Send a text message; a socket that is closing takes none, and says so by its close event."""
        if self._socket.readyState == js.WebSocket.OPEN:
            self._socket.send(text)

    def close(self, code: int) -> None:
        """Close it; nothing more is heard of it. One that is still opening is closed when it is open.

        Browsers print an error into the page's console when a socket is closed before. But they open one socket to an
        address at a time, so one that never opens does not keep the next one waiting for long.
        """
        self._listeners.remove_all()
        if self._socket.readyState == js.WebSocket.CONNECTING:
            patience = asyncio.get_running_loop().call_at(self._gives_up_at, self._socket.close)
            self._listeners.add(self._socket, "open", lambda _event: self._socket.close(code))
            self._listeners.add(self._socket, "close", lambda _event: self._let_go(patience))
        else:
            self._socket.close(code)

    def _let_go(self, patience: asyncio.TimerHandle) -> None:
        self._listeners.remove_all()
        patience.cancel()

    def _received(self, event: Any) -> None:
        self._listener.received(event.data if isinstance(event.data, str) else None)

    def _closed(self, event: Any) -> None:
        self._listeners.remove_all()
        self._listener.closed(event.code)


class BrowserWires:
    """Opens the WebSockets of this page."""

    def open(self, uri: str, listener: WireListener) -> BrowserWire:
        """Begin to open a WebSocket. Raises `Unreachable` where the page may not."""
        try:
            return BrowserWire(js.WebSocket.new(uri, SUBPROTOCOL), listener)
        except JsException as error:
            raise Unreachable(f"{uri} may not be opened ({error}).") from None
