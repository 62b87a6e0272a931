"""HTTP transport to the social providers: trusted certificates, and limits on the size and type of responses."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, cast

from chatkey_server.social.authlib_client import httpx
from chatkey_server.social.person import Unusable

if TYPE_CHECKING:
    import ssl

MAX_ANSWER_BYTES: Final = 256 * 1024

_JSON: Final = re.compile(r"application/(?:[a-z0-9.+-]+\+)?json", re.IGNORECASE)
_SECONDS: Final = re.compile(r"[0-9]{1,6}")


class AnswerTooLarge(Exception):
    """A social provider sent more data than any token, profile or key set needs."""


class TooManyRequests(Exception):
    """A social provider refuses more requests. `retry_after` is in seconds, or None if the provider names no time."""

    def __init__(self, status: int, retry_after: int | None) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.retry_after = retry_after


async def judge(response: httpx.Response) -> None:
    """Check a response's headers. Raises `TooManyRequests` (RFC 6585 4), or `Unusable` if the type is not JSON."""
    headers = response.headers
    spent = response.status_code == 403 and (headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers)
    if response.status_code == 429 or spent:  # GitHub reports it as 403
        seconds = _SECONDS.fullmatch(headers.get("retry-after", ""))
        raise TooManyRequests(response.status_code, int(seconds[0]) if seconds else None)
    media_type = headers.get("content-type", "").partition(";")[0].strip()
    if response.is_success and not _JSON.fullmatch(media_type):
        raise Unusable("the content type of the response is not JSON")


def trust(ca_file: str) -> ssl.SSLContext:
    """Return an SSL context that trusts the usual authorities and, if set, those in `ca_file`."""
    context = httpx.create_ssl_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


class BoundedTransport(httpx.AsyncHTTPTransport):
    """An httpx transport that stops reading a response at `MAX_ANSWER_BYTES`."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Reading a response that is too large raises `AnswerTooLarge`."""
        response = await super().handle_async_request(request)
        response.stream = _Bounded(cast("httpx.AsyncByteStream", response.stream))
        return response


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for chunk in self._stream:
            received += len(chunk)
            if received > MAX_ANSWER_BYTES:
                raise AnswerTooLarge
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
