"""GET requests with the browser's `fetch`, without cookies and referrer."""

import asyncio
from typing import Any, Final

import js
from pyodide.ffi import JsException

from chatkey_widget.browser.host import LocalBlock
from chatkey_widget.browser.js_values import member, to_object
from chatkey_widget.json_text import read_json
from chatkey_widget.ports import Answer, LocalNetworkBlocked, Unreachable

TOLD_SECONDS: Final = 0.05
"""The pause after a failed request, in seconds.

If the page's policy blocked the request, the browser reports the violation a moment after the failure.
"""


class BrowserHttp:
    """Sends requests with `fetch`, and uses the responses that `sdk.js` requested before Python ran."""

    def __init__(self, prefetched: Any, local_block: LocalBlock) -> None:
        self._prefetched = prefetched
        self._local_block = local_block

    async def get(self, url: str) -> Answer:
        controller = js.AbortController.new()
        try:
            response = await (self._take_prefetched(url) or _fetch(url, controller.signal))
            text = await response.text()
        except (JsException, OSError) as error:
            await asyncio.sleep(TOLD_SECONDS)
            address = url.partition("?")[0]
            failure = LocalNetworkBlocked if await self._local_block(url) else Unreachable
            raise failure(f"{address} could not be reached ({error}).") from None
        finally:
            controller.abort()  # abort the request if this call was cancelled
        return Answer(response.status, _json(text), _seconds(response.headers.get("retry-after")))

    def _take_prefetched(self, url: str) -> Any:
        promise = member(self._prefetched, url)
        if promise:
            js.Reflect.deleteProperty(self._prefetched, url)
        return promise


def _fetch(url: str, signal: Any) -> Any:
    options = {"credentials": "omit", "referrerPolicy": "no-referrer", "signal": signal}
    return js.fetch(url, to_object(options))


def _json(text: str) -> object:
    try:
        return read_json(text)
    except ValueError:
        return None


def _seconds(header: object) -> float | None:
    return float(header) if isinstance(header, str) and header.isascii() and header.isdigit() else None
