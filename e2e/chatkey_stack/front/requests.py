"""Forwards requests. The response comes from the service, or from a fault rule."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import httpx

from chatkey_lab.faults import Rule
from chatkey_serving.site import connection_of
from chatkey_stack.front.upstream import Header, Upstream, passed_on

ANY_ORIGIN: Final[Header] = (b"access-control-allow-origin", b"*")
SECONDS: Final = 120.0
"""Timeout of one request. It is long, because the service and its caller have their own timeouts."""


def client(upstream: Upstream) -> httpx.AsyncClient:
    """Return an HTTP client that does not follow redirects, decode bodies, keep cookies or add headers."""
    return httpx.AsyncClient(verify=upstream.trusted, trust_env=False, timeout=SECONDS, follow_redirects=False)


async def answer(asking: httpx.AsyncClient, upstream: Upstream, scope: Any, receive: Any, send: Any) -> None:
    """Forward a request, and return the response unchanged. If the service does not respond, answer with 502."""
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    request = httpx.Request(
        scope["method"],
        httpx.URL(upstream.url).copy_with(raw_path=scope["raw_path"] + query),
        headers=[*passed_on(scope["headers"]), (b"host", upstream.host.encode())],
        content=_body(receive) if _has_body(scope) else None,
    )
    try:
        answered = await asking.send(request, stream=True)
    except httpx.HTTPError as error:
        await tell(send, 502, f"The front could not reach the service at {upstream.url}: {type(error).__name__}.")
        return
    try:
        headers = passed_on(answered.headers.raw)
        await send({"type": "http.response.start", "status": answered.status_code, "headers": headers})
        async for part in answered.aiter_raw():
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    finally:
        await answered.aclose()


async def spoil(rule: Rule, scope: Any, receive: Any, send: Any) -> None:
    """Answer with the status of the rule, or break the connection without a response."""
    if rule.action == "status":
        await tell(send, rule.status, f"A rule of the front sets status {rule.status} for this request.")
    else:
        await cut(scope, receive)


async def tell(send: Any, status: int, message: str) -> None:
    """Answer with an error of the front, in the service's format. Every page may read the answer (CORS)."""
    body = json.dumps({"error": {"code": "front_fault", "message": message}}).encode()
    headers = [(b"content-type", b"application/json"), (b"cache-control", b"no-store"), ANY_ORIGIN]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def cut(scope: Any, receive: Any) -> None:
    """Break the connection without a response."""
    connection_of(scope).transport.abort()
    while (await receive())["type"] not in {"http.disconnect", "websocket.disconnect"}:
        pass


def _has_body(scope: Any) -> bool:
    return any(name in {b"content-length", b"transfer-encoding"} for name, _ in scope["headers"])


async def _body(receive: Any) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return
