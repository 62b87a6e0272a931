"""A log of the newest requests to the providers, without secrets. Tests can read the log and wait for requests."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from binascii import Error as Base64Error
from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.flows import Leg
from chatkey_oauth.engine.text import clean, fingerprint

RING: Final = 2000
"""The maximum number of stored requests."""

PLAIN: Final = frozenset(
    {
        # parameters of the protocol
        *("client_id", "code_challenge_method", "display", "grant_type", "login_hint", "max_age", "prompt"),
        *("redirect_uri", "response_mode", "response_type", "scope", "token_type_hint", "ui_locales"),
        # parameters of individual providers
        *("access_type", "allow_signup", "approval_prompt", "auth_type", "client_key", "disable_auto_auth"),
        *("disable_guild_select", "enable_granular_consent", "expansions", "fields", "guild_id", "hd"),
        *("include_granted_scopes", "integration_type", "interactive", "language", "lang", "locale", "login"),
        *("permissions", "popup", "return_scopes", "scope_data", "tweet.fields", "user.fields"),
        # fields of the consent page
        *("account", "decision", "email_choice", "flow", "misbehave", "offered", "share", "stop_using"),
    }
)
"""Parameters whose values are logged. Other values are replaced by fingerprints."""

CLIENT_NAMES: Final = ("client_id", "client_key")
HEADERS: Final = ("accept", "content-type", "user-agent")

LONG: Final = 4096
"""Requests with more characters than this are redacted at once, so that the log does not keep them in memory."""


class Entry(msgspec.Struct, frozen=True):
    """One request and the status of its response.

    `authorization` has the scheme, the client id, and fingerprints of secrets. If the request belongs to a login,
    `flow` is the id of the login, and `leg` is the step of the login.
    """

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
    flow: str | None
    leg: Leg | None


class Noted(msgspec.Struct, frozen=True, gc=False):
    """A request as it was received. It contains secrets, and becomes an `Entry` when someone reads the log."""

    number: int
    at: float
    provider: str
    method: str
    path: str
    query_string: str
    body: bytes
    headers: tuple[str | None, ...]
    authorization: str
    status: int
    flow: str | None
    leg: Leg | None

    def entry(self) -> Entry:
        """Return the request without its secrets."""
        headers = {name: clean(value) for name, value in zip(HEADERS, self.headers, strict=True) if value is not None}
        call = Call(self.method, self.path, self.query_string, headers, self.body)
        authorization, client_id = redact_authorization(self.authorization)
        return Entry(
            number=self.number,
            at=self.at,
            provider=self.provider,
            method=self.method,
            path=clean(self.path),
            query=redact(call.query),
            form=redact(call.form),
            headers=headers,
            authorization=authorization,
            client_id=clean(named_client(call) or client_id),
            status=self.status,
            flow=self.flow,
            leg=self.leg,
        )


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A filter for entries. An entry must be newer than `after` and match all given fields. `path` is a prefix."""

    after: int = 0
    provider: str | None = None
    path: str = ""
    method: str | None = None
    status: int | None = None
    client_id: str | None = None
    flow: str | None = None
    leg: Leg | None = None

    def matches(self, entry: Entry) -> bool:
        return (
            entry.number > self.after
            and entry.path.startswith(self.path)
            and self.provider in {None, entry.provider}
            and self.method in {None, entry.method}
            and self.status in {None, entry.status}
            and self.client_id in {None, entry.client_id}
            and self.flow in {None, entry.flow}
            and self.leg in {None, entry.leg}
        )


ALL: Final = Wanted()


class RequestLog:
    """The newest requests, numbered from 1. Requests are redacted when someone reads them."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._entries: deque[Entry | Noted] = deque(maxlen=RING)
        self._news: asyncio.Event | None = None
        self.last = 0

    def add(self, provider: str, call: Call, status: int, leg: Leg | None, flow: str | None) -> None:
        """Log a request with its step and flow, and notify all waiting readers."""
        self.last += 1
        given = call.headers.get
        noted = Noted(
            self.last,
            self._clock(),
            provider,
            call.method,
            call.path,
            call.query_string,
            call.body,
            (given("accept"), given("content-type"), given("user-agent")),
            given("authorization", ""),
            status,
            flow,
            leg,
        )
        self._entries.append(noted if len(call.query_string) + len(call.body) <= LONG else noted.entry())
        if self._news is not None:
            self._news.set()
            self._news = None

    def find(self, wanted: Wanted = ALL) -> list[Entry]:
        entries = [one.entry() if isinstance(one, Noted) else one for one in self._entries]
        self._entries = deque(entries, maxlen=self._entries.maxlen)
        return [entry for entry in entries if wanted.matches(entry)]

    async def wait(self, wanted: Wanted, seconds: float) -> list[Entry]:
        """Return the matching entries as soon as there are any. After `seconds`, return an empty list."""
        try:
            async with asyncio.timeout(seconds):
                while not (found := self.find(wanted)):
                    if self._news is None:
                        self._news = asyncio.Event()
                    await self._news.wait()
        except TimeoutError:
            return self.find(wanted)
        return found

    def clear(self) -> None:
        """Remove all entries. The numbering continues."""
        self._entries.clear()


def named_client(call: Call) -> str:
    """Return the client id in the parameters. TikTok calls this parameter `client_key`."""
    values = (params.get(name) for params in (call.form, call.query) for name in CLIENT_NAMES)
    return next(filter(None, values), "")


def redact(params: Mapping[str, str]) -> dict[str, str]:
    """Replace all parameter values with fingerprints, except values of parameters that are known to be harmless."""
    return {clean(name): clean(value) if name in PLAIN else stand_in(value) for name, value in params.items()}


def redact_authorization(header: str) -> tuple[str, str]:
    """Return the header with a fingerprint in place of the secret, and the client id of a Basic header."""
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
    """Return the fingerprint that is logged instead of a secret. Equal secrets have equal fingerprints."""
    return f"[{fingerprint(value, 8)}]" if value else ""
