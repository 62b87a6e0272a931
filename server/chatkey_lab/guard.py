"""Protects a lab from other machines, from callers without the token, and from other web pages (D-14)."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chatkey_lab.hosts import host_name, is_loopback

Scope = Mapping[str, Any]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application of any framework. Each framework has its own types for the three parameters."""

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
FORWARDING: Final = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip"}
)
"""Headers that only proxies add (RFC 7239, RFC 9110 7.6.3), besides those that begin with `x-forwarded-`."""
TOKEN_VARIABLE: Final = "CHATKEY_LAB_TOKEN"  # noqa: S105 - its name
LEAST_TOKEN_CHARS: Final = 16


@dataclass(frozen=True, slots=True)
class Denied:
    """The error response for a request that is refused."""

    status: int
    code: str
    message: str

    @property
    def body(self) -> bytes:
        return json.dumps({"data": None, "error": {"code": self.code, "message": self.message}}).encode()

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The headers, without the length of the body."""
        asking = ("Bearer", "Basic") if self.status == 401 else ()
        return (
            ("content-type", JSON),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            *(("www-authenticate", f'{scheme} realm="lab"') for scheme in asking),
        )


class LabRules:
    """Decides which requests may use a lab.

    Without a token, the peer's address and the `Host` must belong to this machine. The `Host` is checked because
    another name can resolve to this machine (DNS rebinding). A request that a proxy forwarded is refused, because every
    client behind the proxy seems to be on this machine. With a token, a request must contain the token as a bearer
    token or as the password of HTTP Basic authentication. A request from a web page must have the server's own origin.
    A request that writes must have the media type `takes`. No page can send this media type without a preflight (CORS).
    """

    def __init__(self, *, takes: str = JSON, token: str = "", origins: Collection[str] = ()) -> None:
        self._takes = takes
        self._token = token.encode()
        self._origins = frozenset(origins)

    def denied(self, scope: Scope) -> Denied | None:
        """Return why the request is refused, or None if it is allowed."""
        headers = _headers(scope)
        return self._whose(scope, headers) or self._from_where(scope, headers) or self._what(scope, headers)

    def _whose(self, scope: Scope, headers: dict[str, list[str]]) -> Denied | None:
        if not self._token:
            return _elsewhere(scope, headers)
        if hmac.compare_digest(_presented(headers).encode(), self._token):
            return None
        return Denied(
            401, "token_required", f"The lab requires a token: send the value of {TOKEN_VARIABLE} as a bearer token."
        )

    def _from_where(self, scope: Scope, headers: dict[str, list[str]]) -> Denied | None:
        own = {f"{scope['scheme']}://{host}" for host in headers.get("host", [])} | self._origins
        foreign = [origin for origin in headers.get("origin", []) if origin not in own]
        if not foreign:
            return None
        message = f"Origin: pages of {foreign[0]!r} may not use the lab. Call it from a test or from the command line."
        return Denied(403, "origin_foreign", message)

    def _what(self, scope: Scope, headers: dict[str, list[str]]) -> Denied | None:
        if scope["method"] in SAFE:
            return None
        types = [given.partition(";")[0].strip().lower() for given in headers.get("content-type", [])]
        has_body = headers.get("content-length", ["0"]) != ["0"] or "transfer-encoding" in headers
        if types == [self._takes] or not (types or has_body):
            return None
        return Denied(415, "media_type_unsupported", f"Content-Type: this lab accepts only {self._takes}.")


class LabGuard:
    """An ASGI application that passes requests for paths below `under` on only if `LabRules` allow them."""

    def __init__(
        self, app: Asgi, *, under: str = "/lab", takes: str = JSON, token: str = "", origins: Collection[str] = ()
    ) -> None:
        self._app = app
        self._under = under
        self._rules = LabRules(takes=takes, token=token, origins=origins)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        denied = self._rules.denied(scope) if scope["type"] == "http" and self._is_about(scope["path"]) else None
        if denied is None:
            await self._app(scope, receive, send)
        else:
            await _refuse(denied, send)

    def _is_about(self, path: str) -> bool:
        return path == self._under or path.startswith(f"{self._under}/")


def bearer(token: str) -> dict[str, str]:
    """Return the headers with which a client presents the token, or no headers for an empty token."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def check_token(token: str) -> str:
    """Return the token if it is usable. Raises `ValueError` with the reason. The message does not contain the token."""
    if len(token) < LEAST_TOKEN_CHARS or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(f"must be at least {LEAST_TOKEN_CHARS} visible ASCII characters; make a random one")
    return token


def _headers(scope: Scope) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return headers


def _elsewhere(scope: Scope, headers: dict[str, list[str]]) -> Denied | None:
    """Return the refusal for a request that does not come from this machine, or None for a request that does."""
    peer = scope["client"][0] if scope.get("client") else ""
    if not is_loopback(peer):
        return Denied(
            403,
            "peer_foreign",
            f"The lab only answers requests from its own machine, and this request came from {peer!r}.",
        )
    if forwarding := sorted(filter(_is_forwarding, headers)):
        return Denied(
            403,
            "proxied",
            f"{forwarding[0]}: this request came through a proxy, so its real sender is unknown. Call the lab "
            f"directly, or set {TOKEN_VARIABLE}.",
        )
    hosts = headers.get("host", [])
    if len(hosts) != 1 or not is_loopback(host_name(hosts[0])):
        return Denied(
            403,
            "host_foreign",
            f"Host: {', '.join(hosts)!r} is not a name of this machine. Call the lab at 127.0.0.1 or localhost.",
        )
    return None


def _is_forwarding(header: str) -> bool:
    return header in FORWARDING or header.startswith("x-forwarded-")


def _presented(headers: dict[str, list[str]]) -> str:
    """Return the token that a request presents (RFC 6750 2.1, RFC 7617 2), or an empty text."""
    given = headers.get("authorization", [])
    scheme, _, credentials = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    if scheme.lower() == "bearer":
        return credentials.strip()
    if scheme.lower() != "basic":
        return ""
    try:
        return b64decode(credentials.strip(), validate=True).decode().partition(":")[2]
    except ValueError:
        return ""


async def _refuse(denied: Denied, send: Callable[[Any], Awaitable[None]]) -> None:
    body = denied.body
    headers = [(name.encode(), value.encode()) for name, value in denied.headers]
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": denied.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
