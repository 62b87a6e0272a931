"""What the providers were asked, without the secrets: a ring that tests read and wait on."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from binascii import Error as Base64Error
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from chatkey_oauth.engine.http import clean
from chatkey_oauth.engine.people import fingerprint

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer, Call

RING: Final = 2000
"""How many requests are remembered."""

PLAIN: Final = frozenset(
    {
        *("access_type", "account", "allow_signup", "approval_prompt", "auth_type", "client_id", "client_key"),
        *("code_challenge_method", "decision", "display", "fields", "grant_type", "hd", "include_granted_scopes"),
        *("login", "login_hint", "offered", "prompt", "redirect_uri", "response_mode", "response_type"),
        *("return_scopes", "scope", "share", "token_type_hint"),
    }
)
"""Parameters whose values are written down; of all others only a fingerprint is."""

HEADERS: Final = ("accept", "content-type", "user-agent")


class Entry(msgspec.Struct, frozen=True):
    """One request and the status of its answer. `authorization` has the scheme, a client id, and fingerprints."""

    number: int
    at: float
    provider: str
    method: str
    path: str
    query: dict[str, str]
    form: dict[str, str]
    headers: dict[str, str]
    authorization: str
    client_id: str
    status: int


class RequestLog:
    """The newest requests, numbered from 1."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: deque[Entry] = deque(maxlen=RING)
        self._news = asyncio.Event()
        self.last = 0

    def add(self, provider: str, call: Call, answer: Answer) -> None:
        """Write a request down and wake whoever waits."""
        self.last += 1
        authorization, client_id = redact_authorization(call.headers.get("authorization", ""))
        self._entries.append(
            Entry(
                number=self.last,
                at=self._clock(),
                provider=provider,
                method=call.method,
                path=clean(call.path),
                query=redact(call.query),
                form=redact(call.form),
                headers={name: clean(call.headers[name]) for name in HEADERS if name in call.headers},
                authorization=authorization,
                client_id=clean(call.form.get("client_id") or call.query.get("client_id") or client_id),
                status=answer.status,
            )
        )
        self._news.set()
        self._news = asyncio.Event()

    def find(self, *, after: int = 0, provider: str = "", path: str = "", client_id: str = "") -> list[Entry]:
        """The entries newer than a number that match everything given; `path` is a beginning."""
        return [
            entry
            for entry in self._entries
            if entry.number > after
            and provider in {"", entry.provider}
            and client_id in {"", entry.client_id}
            and entry.path.startswith(path)
        ]

    async def wait(self, find: Callable[[], list[Entry]], seconds: float) -> list[Entry]:
        """What `find` brings, as soon as that is something, or after so many seconds nothing."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := find()):
                    await self._news.wait()
        except TimeoutError:
            return find()
        return found

    def clear(self) -> None:
        """Forget all entries; numbers go on."""
        self._entries.clear()


def redact(params: Mapping[str, str]) -> dict[str, str]:
    """Parameters with only those values that are known to be harmless."""
    return {clean(name): clean(value) if name in PLAIN else stand_in(value) for name, value in params.items()}


def redact_authorization(header: str) -> tuple[str, str]:
    """The header without its secret, and the client id of a Basic one."""
    scheme, _, credentials = header.partition(" ")
    if not credentials:
        return "", ""
    if scheme.lower() != "basic":
        return clean(f"{scheme} {stand_in(credentials)}"), ""
    try:
        client_id, _, secret = b64decode(credentials, validate=True).decode().partition(":")
    except (Base64Error, UnicodeDecodeError):
        return f"Basic {stand_in(credentials)}", ""
    return f"Basic {client_id}:{stand_in(secret)}", client_id


def stand_in(value: str) -> str:
    """What is written for a secret: equal values look equal, and nothing leads back to them."""
    return f"[{fingerprint(value, 8)}]" if value else ""
