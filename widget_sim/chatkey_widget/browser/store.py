"""The cached member token in localStorage, and the channel on which tabs tell each other of a logout."""

from typing import Any

import js
from pyodide.ffi import JsException

from chatkey_protocol.storage_keys import LOGOUT_CHANNEL_PREFIX, MEMBER_TOKEN_PREFIX


class BrowserStore:
    """localStorage; where the browser refuses it, this page's memory."""

    def __init__(self, provider_id: str) -> None:
        self.key = MEMBER_TOKEN_PREFIX + provider_id
        self.channel = _channel(LOGOUT_CHANNEL_PREFIX + provider_id)
        self._memory: str | None = None

    def read(self) -> str | None:
        """Return the cached token."""
        try:
            value = js.localStorage.getItem(self.key)
        except (AttributeError, JsException):
            return self._memory
        return value if isinstance(value, str) else self._memory

    def write(self, token: str) -> None:
        """Cache the token."""
        try:
            js.localStorage.setItem(self.key, token)
        except (AttributeError, JsException):
            self._memory = token

    def drop(self) -> None:
        """Delete the cached token."""
        self._memory = None
        try:
            js.localStorage.removeItem(self.key)
        except (AttributeError, JsException):
            return  # what cannot be written was not written either

    def announce_logout(self) -> None:
        """Tell the other tabs, which also see the token disappear."""
        if self.channel is not None:
            self.channel.postMessage("logout")


def _channel(name: str) -> Any:
    """Open the channel, or return None where the browser or an opaque origin has none."""
    try:
        return js.BroadcastChannel.new(name)
    except (AttributeError, JsException):
        return None
