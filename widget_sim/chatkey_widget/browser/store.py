"""The cached member token in localStorage, and the channel on which tabs notify each other of a logout."""

from typing import Any, Literal

import js
from pyodide.ffi import JsException

from chatkey_protocol.storage_keys import (
    CALL_PREFIX,
    LOGOUT_CHANNEL_PREFIX,
    MEMBER_TOKEN_PREFIX,
    SIGN_IN_PREFIX,
    SIGNED_OUT_PREFIX,
    UNSENT_PREFIX,
)
from chatkey_widget.browser.js_values import thrown_name

Storage = Literal["localStorage", "sessionStorage"]


class BrowserStore:
    """Stores the token in localStorage.

    If the browser refuses to store the token, or if the key is only in memory, the token stays in memory.
    """

    def __init__(self, provider_id: str) -> None:
        self.key = MEMBER_TOKEN_PREFIX + provider_id
        self._sign_in_key = SIGN_IN_PREFIX + provider_id
        self._signed_out_key = SIGNED_OUT_PREFIX + provider_id
        self._unsent_key = UNSENT_PREFIX + provider_id
        self._call_key = CALL_PREFIX + provider_id
        self.channel = _channel(LOGOUT_CHANNEL_PREFIX + provider_id)
        self._memory: str | None = None
        self._only_memory = False

    def keep_in_memory(self) -> None:
        """Keep the token in memory from now on. The key is only in memory, so no other tab could use the token."""
        self._only_memory = True

    def read(self) -> str | None:
        """Return the cached token. A token in memory is newer than one in localStorage."""
        if self.is_alone:
            return self._memory
        try:
            value = js.localStorage.getItem(self.key)
        except (AttributeError, JsException):
            return None
        return value if isinstance(value, str) else None

    @property
    def is_alone(self) -> bool:
        """Whether the token is only in memory, so that other tabs can neither see nor delete it."""
        return self._only_memory or self._memory is not None

    def write(self, token: str) -> str | None:
        """Cache the token. If the browser refuses, keep the token in memory and return the browser's reason."""
        self._memory = token
        if self._only_memory:
            return None
        try:
            js.localStorage.removeItem(self._signed_out_key)
            js.localStorage.setItem(self.key, token)
        except AttributeError:
            return "missing"
        except JsException as error:
            return thrown_name(error)
        self._memory = None
        return None

    def drop(self, token: str) -> None:
        """Delete this token from the cache. If the cache contains a different token, that token stays."""
        if self.read() == token:
            self._delete()

    def announce_logout(self) -> None:
        """Delete the cached token, and notify the other tabs. The other tabs also receive the storage event."""
        self._delete()
        _keep("localStorage", self._signed_out_key, "1")
        if self.channel is not None:
            self.channel.postMessage("logout")

    def is_signed_out(self) -> bool:
        """Return whether the last member of this browser has logged out, in any tab."""
        return _read("localStorage", self._signed_out_key) is not None

    def sign_in(self) -> str | None:
        """Return the data of an unfinished social login that an earlier page of this tab stored."""
        return _read("sessionStorage", self._sign_in_key)

    def keep_sign_in(self, sign_in: str | None) -> None:
        """Store the data for this tab's next page. None deletes the data.

        If the data cannot be stored, a reload ends the login.
        """
        _keep("sessionStorage", self._sign_in_key, sign_in)

    def unsent(self) -> str | None:
        """Return the messages that an earlier page of this tab could not send."""
        return _read("sessionStorage", self._unsent_key)

    def keep_unsent(self, unsent: str | None) -> None:
        """Store the messages for this tab's next page. None deletes them."""
        _keep("sessionStorage", self._unsent_key, unsent)

    def call(self) -> str | None:
        """Return what an earlier page of this tab stored of its call."""
        return _read("sessionStorage", self._call_key)

    def keep_call(self, call: str | None) -> None:
        """Store the call for this tab's next page, so that it can join the call. None deletes it."""
        _keep("sessionStorage", self._call_key, call)

    def _delete(self) -> None:
        self._memory = None
        try:
            js.localStorage.removeItem(self.key)
        except (AttributeError, JsException):
            return  # a storage that refuses this has refused the token, too


def _read(storage: Storage, key: str) -> str | None:
    try:
        value = getattr(js, storage).getItem(key)
    except (AttributeError, JsException):
        return None
    return value if isinstance(value, str) else None


def _keep(storage: Storage, key: str, value: str | None) -> None:
    """Store a value, if the browser allows it. None deletes the value."""
    try:
        if value is None:
            getattr(js, storage).removeItem(key)
        else:
            getattr(js, storage).setItem(key, value)
    except (AttributeError, JsException):
        return


def _channel(name: str) -> Any:
    """Open the channel. Return None if the browser has no channels or if the page has an opaque origin."""
    try:
        return js.BroadcastChannel.new(name)
    except (AttributeError, JsException):
        return None
