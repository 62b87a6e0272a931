"""The wire to the social providers: trusted certificates, bounded answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final, cast

from chatkey_server.social.authlib_client import httpx

if TYPE_CHECKING:
    import ssl

MAX_ANSWER_BYTES: Final = 256 * 1024


class AnswerTooLarge(Exception):
    """A social provider sent more than any token, profile or key set needs."""


def trust(ca_file: str) -> ssl.SSLContext:
    """Return a context that trusts the usual authorities, and those in `ca_file` when one is set."""
    context = httpx.create_ssl_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


class BoundedTransport(httpx.AsyncHTTPTransport):
    """An httpx transport that stops reading an answer at `MAX_ANSWER_BYTES`."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; reading its answer raises `AnswerTooLarge` past the bound."""
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
