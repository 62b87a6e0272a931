"""The page that embeds the widget: the page's configuration, `getToken`, and listeners."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal

import js
from pyodide.ffi import JsException, JsProxy, jsnull

from chatkey_widget.browser.js_values import call, member, thrown, to_object, to_plain
from chatkey_widget.effects import Reason
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import Unusable
from chatkey_widget.ports import HostFailed

LocalBlock = Callable[[str], Awaitable[Literal["denied", "prompt"] | None]]
"""The type of `BrowserHost.local_block`."""

REASON_CHARS: Final = 200
"""The maximum number of characters that are quoted from an error of the page."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CLASS: Final = re.compile(r"class[\s{]")
"""Matches the source text of a class. A class cannot be called without `new`."""


class BrowserHost:
    """The embedding page, accessed through the object that `sdk.js` passes."""

    def __init__(self, host: Any) -> None:
        self._host = host
        self._config = member(host, "config")

    @property
    def provider_id(self) -> str:
        """The provider id in the configuration, or an empty text.

        An id with an unpaired surrogate is treated as missing, because it cannot be part of an address.
        """
        value = member(self._config, "providerId")
        return value if isinstance(value, str) and not _SURROGATE.search(value) else ""

    @property
    def has_get_token(self) -> bool:
        """Whether the configuration has a `getToken` that can be called."""
        value = member(self._config, "getToken")
        return callable(value) and not _CLASS.match(js.Function.prototype.toString.call(value))

    @property
    def _says_get_token(self) -> bool:
        """Whether the configuration has a member `getToken`.

        The value `undefined` counts as a member; null does not.
        """
        there = js.Reflect.has(self._config, "getToken")
        return bool(there) and member(self._config, "getToken") is not jsnull

    @property
    def blocked(self) -> list[tuple[str, str]]:
        """The requests that the page's policy blocked before Python ran, each with address and directive."""
        return [(address, directive) for address, directive in self._host.blocked]

    @property
    def messages(self) -> list[Any]:
        """The messages that sign-in windows sent before Python ran. An earlier page may have opened such a window."""
        return list(self._host.messages)

    @property
    def locale(self) -> str:
        """The language tag in the configuration, or an empty text."""
        value = member(self._config, "locale")
        return value if isinstance(value, str) else ""

    @property
    def fault(self) -> WidgetError | None:
        """The error in the configuration, or None (contract 4.8)."""
        if not self.provider_id:
            return WidgetError(
                Fault.CONFIG_INVALID, "providerId must be a non-empty string without half a surrogate pair."
            )
        if self._says_get_token and not self.has_get_token:
            return WidgetError(Fault.CONFIG_INVALID, "getToken must be a function, or be omitted.")
        if member(self._config, "locale") and not self.locale:
            return WidgetError(Fault.CONFIG_INVALID, "locale must be a language tag, such as 'de' or 'en-GB'.")
        return None

    async def get_token(self, jkt: str, reason: Reason, attempt: int) -> str | Unusable | None:
        """Call the page's `getToken`. If this call is cancelled, the `signal` that the page received is aborted.

        Raises `HostFailed`.
        """
        controller = js.AbortController.new()
        argument = {"jkt": jkt, "reason": reason, "attempt": attempt, "signal": controller.signal}
        try:
            fulfilled, value = await call(self._config.getToken, self._config, to_object(argument))
        except JsException as error:
            raise HostFailed(thrown(error)[:REASON_CHARS]) from None
        except asyncio.CancelledError:
            controller.abort()
            raise
        if not fulfilled:
            raise HostFailed(js.String(value)[:REASON_CHARS])
        return _usable(value)

    async def local_block(self, address: str) -> Literal["denied", "prompt"] | None:
        """Return the state of the missing permission, if it may be the reason why this address cannot be reached."""
        return await self._host.localBlock(address) or None

    def emit(self, name: str, detail: Mapping[str, object]) -> None:
        self._host.emit(name, to_plain(detail))


def _usable(value: Any) -> str | Unusable | None:
    if value is jsnull:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, JsProxy):
        hint = " with a member 'token' (return data.token)" if isinstance(member(value, "token"), str) else ""
        return Unusable(f"an object{hint}")
    if value is None:
        return Unusable("undefined (is a return statement missing?)")
    return Unusable("a boolean" if isinstance(value, bool) else "a number")
