"""One HTTP call and what came back, as values; nothing here sends anything."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from enum import StrEnum
from urllib.parse import urljoin, urlsplit

from chatkey_check import reading
from chatkey_check.shape import EXAMPLE_TOKEN

Header = tuple[str, str]
REDIRECTS = frozenset({301, 302, 303, 307, 308})
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `label` says in a few words why."""

    label: str
    method: str
    url: str
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    jkt: str = ""
    """The fingerprint in it, wherever it stands; empty where there is none, or no text."""
    token_at: tuple[str, ...] = EXAMPLE_TOKEN
    """Where the token stands in the JSON of the answer; without any name the answer is the token."""

    def with_url(self, url: str) -> Request:
        """Return the same request to another address."""
        return replace(self, url=url)


@dataclass(frozen=True, slots=True)
class Response:
    """What came back; `body` is decompressed."""

    status: int
    headers: tuple[Header, ...]
    body: bytes

    def all(self, name: str) -> list[str]:
        """Return the values of a header, in the order in which they came."""
        return [value for found, value in self.headers if found.lower() == name]

    def get(self, name: str) -> str | None:
        """Return the first value of a header; `name` is written in lower case."""
        return next(iter(self.all(name)), None)


class Broken(StrEnum):
    """Why there is no response."""

    TIMEOUT = "no answer in time"
    CUT = "the connection was closed without an answer"
    GARBLED = "what came back is not HTTP"
    SHORT = "the connection was closed in the middle of the body"
    UNPACKABLE = "the body is not packed as its Content-Encoding says"


class Missing:
    """Stands for a JSON member that is not there, which null is not."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


@dataclass(frozen=True)
class Exchange:
    """A request with its response, or the reason why there is none. Times are seconds since the epoch, by our clock."""

    request: Request
    response: Response | None
    broken: Broken | None
    sent_at: float
    seconds: float
    hops: tuple[str, ...] = ()
    """Where redirects that keep the method led before this response, all on the same origin."""
    _memo: dict[str, object] = field(default_factory=dict[str, object], repr=False, compare=False)

    @property
    def status(self) -> int:
        """The status, or 0 where nothing came back."""
        return self.response.status if self.response else 0

    @property
    def succeeded(self) -> bool:
        """Whether the status is a 2xx."""
        return 200 <= self.status < 300

    @property
    def redirected(self) -> bool:
        """Whether the answer sends the caller elsewhere."""
        return self.status in REDIRECTS

    @property
    def location(self) -> str:
        """Where a redirect leads, absolute."""
        target = (self.response.get("location") if self.response else None) or ""
        try:
            return urljoin(self.request.url, target)
        except ValueError:  # no address at all
            return target

    @property
    def answered_at(self) -> float:
        """When the response was there."""
        return self.sent_at + self.seconds

    @property
    def asks_for_password(self) -> bool:
        """Whether a browser opens its own window for a name and a password (WWW-Authenticate: Basic, or Digest)."""
        schemes = self.response.all("www-authenticate") if self.response and self.status == 401 else []
        return any(scheme.lower().startswith(("basic", "digest")) for scheme in schemes)

    @property
    def patience(self) -> float:
        """How many seconds the answer asks to wait (Retry-After: seconds, or a date by its own clock), or infinity."""
        said = (self.response.get("retry-after") if self.response else None) or ""
        if said.isascii() and said.isdigit():
            return float(said)
        until = moment(said)
        return math.inf if until is None else max(0.0, until - self.dated_at)

    @property
    def dated_at(self) -> float:
        """When the response was made: by the clock that made it, or by ours where it does not say."""
        said = moment((self.response.get("date") if self.response else None) or "")
        return self.answered_at if said is None else said

    @property
    def text(self) -> str:
        """The body as a browser's `response.text()` reads it."""
        return reading.body_text(self.response.body) if self.response else ""

    @property
    def json(self) -> object:
        """The body as a browser's `response.json()` reads it. Raises `reading.Unreadable`."""
        if "json" not in self._memo:
            self._memo["json"] = reading.browser_json(self.text)
        return self._memo["json"]

    @property
    def member(self) -> object:
        """What stands where the token should, or `MISSING`; null on the way to a place of one's own is null there."""
        path = self.request.token_at
        if not path:
            return _bare(self.text.strip())
        try:
            found = self.json
        except reading.Unreadable:
            return MISSING
        for name in path:
            if found is None and path != EXAMPLE_TOKEN and name != path[0]:
                return None
            found = found.get(name, MISSING) if isinstance(found, dict) else MISSING
        return found

    @property
    def token(self) -> str | None:
        """The token that was given out, if one was: any text with two dots or more, at the place of the contract."""
        member = self.member
        return member if isinstance(member, str) and member.count(".") >= 2 else None

    @property
    def minted(self) -> bool:
        """Whether somebody got something that says who he is."""
        return self.token is not None

    @property
    def claims(self) -> dict[str, object]:
        """What the token says, read leniently and unverified; empty without a token."""
        return reading.lenient_claims(self.token) if self.token else {}

    @property
    def uid(self) -> object:
        """The claim `uid`, or None."""
        return self.claims.get("uid")

    @property
    def jkt(self) -> object:
        """The claim `cnf.jkt`, or None."""
        cnf = self.claims.get("cnf")
        return cnf.get("jkt") if isinstance(cnf, dict) else None


def _bare(text: str) -> object:
    """Return what an answer says that is the token itself, as text or as a JSON string; nothing, or null, is null."""
    if text.startswith("<"):
        return MISSING
    try:
        return reading.browser_json(text) if text else None
    except reading.Unreadable:
        return text


def moment(date: str) -> float | None:
    """Return the time that an HTTP date names (RFC 9110 5.6.7), or None for what is none."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def origin(url: str) -> str:
    """Return the serialised origin of an address, as a browser writes it; `null` for what is none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "null"
    host = (parts.hostname or "").lower()
    shown = f"[{host}]" if ":" in host else host
    tail = "" if port is None or port == DEFAULT_PORTS.get(parts.scheme) else f":{port}"
    return f"{parts.scheme}://{shown}{tail}"


def header_lines(headers: Iterable[Header]) -> str:
    """Return headers as they stand on the wire."""
    return "\n".join(f"{name}: {value}" for name, value in headers)
