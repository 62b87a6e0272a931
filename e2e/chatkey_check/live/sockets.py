"""Opens a socket of the service with a token and a key, without a browser."""

from __future__ import annotations

import socket
from typing import Final
from urllib.parse import urlsplit

from websockets.exceptions import WebSocketException

from chatkey_check.model import Unusable
from chatkey_check.wire.http import HttpWire, Unreachable
from chatkey_peer.key import BrowserKey
from chatkey_peer.peer import Outcome, opened

SECONDS: Final = 5.0


def connected(wire: HttpWire, uri: str, *, page: str, token: str, key: BrowserKey) -> Outcome:
    """Open a socket as a page would, send the token with a proof that the key has signed, and return the outcome.

    Raises `Unusable` if no socket can be opened.
    """
    try:
        return _dialogue(wire, uri, page, token, key)
    except (OSError, Unreachable, WebSocketException) as error:
        raise Unusable(f"The socket at {uri} could not be opened: {error or type(error).__name__}.") from error


def _dialogue(wire: HttpWire, uri: str, page: str, token: str, key: BrowserKey) -> Outcome:
    address, secure = urlsplit(uri), uri.startswith("wss:")
    reached = wire.reach(uri.replace("ws", "http", 1))
    raw = socket.create_connection((reached, address.port or (443 if secure else 80)), SECONDS)
    with opened(uri, raw, origin=page, tls=wire.tls if secure else None) as peer:
        return peer.connect_with(token, key)
