"""One HTTP call and its response, as plain values. This module sends nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from enum import StrEnum
from urllib.parse import urljoin, urlsplit

from chatkey_check import reading
from chatkey_check.shape import EXAMPLE_TOKEN

Header = tuple[str, str]
REDIRECTS = frozenset({301, 302, 303, 307, 308})
KEEPS_METHOD = frozenset({307, 308})
TOO_MANY = 429
BUSY = 503
SERVER_FAILS = 500
LIMITS = frozenset({413, 414, TOO_MANY, 431, BUSY})
"""Statuses that say that a request is too large, or that there are too many requests."""
TOO_LARGE = re.compile(
    r"(?:header|cookie|entity|payload|body|ur[il]|request)\b.{0,40}\b(?:too (?:large|long|big)|exceed)|limit request",
    re.IGNORECASE | re.DOTALL,
)
"""Texts with which nginx, Apache and gunicorn answer 400 to a header or an address that is too large."""
NGINX_LIMIT = re.compile(r"<h1>503 Service Temporarily Unavailable</h1>.*\bnginx\b", re.DOTALL)
"""The page with which nginx's limit_req and limit_conn refuse a call, unless limit_req_status is set."""
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `label` says in a few words why the request is sent."""

    label: str
    method: str
    url: str
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    jkt: str = ""
    """The thumbprint in the request, wherever it is sent. Empty if there is none, or if it is not a string."""
    token_at: tuple[str, ...] = EXAMPLE_TOKEN
    """The path to the token in the JSON of the answer. An empty path means that the whole answer is the token."""

    def with_url(self, url: str) -> Request:
        return replace(self, url=url)


@dataclass(frozen=True, slots=True)
class Response:
    """A response. `body` is decompressed."""

    status: int
    headers: tuple[Header, ...]
    body: bytes

    def all(self, name: str) -> list[str]:
        """Return all values of a header, in order. `name` must be in lower case."""
        return [value for found, value in self.headers if found.lower() == name]

    def get(self, name: str) -> str | None:
        """Return the first value of a header, or None. `name` must be in lower case."""
        return next(iter(self.all(name)), None)


class Broken(StrEnum):
    """The reasons why there is no response."""

    TIMEOUT = "no answer in time"
    UNENDED = "the answer did not end in time"
    CUT = "the connection was closed without an answer"
    GARBLED = "the answer is not HTTP"
    FRAMES = "the server speaks only HTTP/2"
    SHORT = "the connection was closed in the middle of the body"
    UNPACKABLE = "the body does not match its Content-Encoding"


class Missing:
    """Stands for a JSON member that does not exist. A member that is null is not `Missing`."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


@dataclass(frozen=True)
class Exchange:
    """A request with its response, or with the reason why there is no response.

    Times are epoch seconds of our clock.
    """

    request: Request
    response: Response | None
    broken: Broken | None
    sent_at: float
    seconds: float
    hops: tuple[str, ...] = ()
    """The addresses of redirects that kept the method and led to this response, all on the same origin."""
    http2: bool = False
    """Whether the call was made over HTTP/2, because the server does not speak HTTP/1.1."""
    _memo: dict[str, object] = field(default_factory=dict[str, object], repr=False, compare=False)

    @property
    def status(self) -> int:
        """The status, or 0 without a response."""
        return self.response.status if self.response else 0

    @property
    def result(self) -> str:
        """The status in words, or the reason why there is no response."""
        return f"status {self.status}" if self.response else str(self.broken or "nothing")

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status < 300

    @property
    def fails(self) -> bool:
        """Whether the status is 5xx or the connection was closed. Timeouts and rate limits do not count as failures."""
        return (self.status >= SERVER_FAILS and not self.throttled) or self.broken is Broken.CUT

    @property
    def timed_out(self) -> bool:
        return self.broken in {Broken.TIMEOUT, Broken.UNENDED}

    @property
    def throttled(self) -> bool:
        """Whether there are too many calls: 429, or 503 with Retry-After or from nginx's limit_req, or to HEAD."""
        if self.status != BUSY or self.response is None:
            return self.status == TOO_MANY
        bodiless = self.request.method == "HEAD"
        return bodiless or self.response.get("retry-after") is not None or NGINX_LIMIT.search(self.text) is not None

    @property
    def limited(self) -> bool:
        """Whether a limit refused the call. Then the answer says nothing about the content of the call."""
        return self.status in LIMITS or (self.status == 400 and TOO_LARGE.search(self.text) is not None)

    @property
    def redirected(self) -> bool:
        return self.status in REDIRECTS

    @property
    def location(self) -> str:
        """The target of a redirect, as an absolute address."""
        target = (self.response.get("location") if self.response else None) or ""
        try:
            return urljoin(self.request.url, target)
        except ValueError:  # the target is not a valid address
            return target

    @property
    def answered_at(self) -> float:
        """The time at which the response was received, in seconds since the epoch."""
        return self.sent_at + self.seconds

    @property
    def asks_for_password(self) -> bool:
        """Whether a browser would ask for a name and a password (WWW-Authenticate: Basic or Digest)."""
        schemes = self.response.all("www-authenticate") if self.response and self.status == 401 else []
        return any(scheme.lower().startswith(("basic", "digest")) for scheme in schemes)

    @property
    def patience(self) -> float:
        """How many seconds Retry-After asks the client to wait, or infinity.

        Retry-After is a number, or a date by the server's clock.
        """
        said = (self.response.get("retry-after") if self.response else None) or ""
        if said.isascii() and said.isdigit():
            return float(said)
        until = moment(said)
        return math.inf if until is None else max(0.0, until - self.dated_at)

    @property
    def dated_at(self) -> float:
        """The time of the response, by the server's clock if there is a `Date` header, otherwise by our clock."""
        said = moment((self.response.get("date") if self.response else None) or "")
        return self.answered_at if said is None else said

    @property
    def text(self) -> str:
        """The body in the form in which a browser's `response.text()` returns it."""
        return reading.body_text(self.response.body) if self.response else ""

    @property
    def json(self) -> object:
        """The body as a browser's `response.json()` parses it. Raises `reading.Unreadable`."""
        if "json" not in self._memo:
            self._memo["json"] = reading.browser_json(self.text)
        return self._memo["json"]

    @property
    def member(self) -> object:
        """The JSON value at the place of the token, or `MISSING`.

        If the integrator chose the place with --token-at, a null on the path to this place counts as a null token.
        """
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
        """The token in the answer, or None. At the token's place, any string with at least two dots is a token."""
        member = self.member
        return member if isinstance(member, str) and member.count(".") >= 2 else None

    @property
    def minted(self) -> bool:
        return self.token is not None

    @property
    def claims(self) -> dict[str, object]:
        """The claims of the token, read leniently and without verification. Empty without a token."""
        return reading.lenient_claims(self.token) if self.token else {}

    @property
    def uid(self) -> object:
        return self.claims.get("uid")

    @property
    def jkt(self) -> object:
        cnf = self.claims.get("cnf")
        return cnf.get("jkt") if isinstance(cnf, dict) else None


def _bare(text: str) -> object:
    """Return the token of an answer that consists of nothing but a token, as text or as a JSON string.

    An empty answer counts as null. HTML counts as `MISSING`.
    """
    if text.startswith("<"):
        return MISSING
    try:
        return reading.browser_json(text) if text else None
    except reading.Unreadable:
        return text


def moment(date: str) -> float | None:
    """Return the time of an HTTP date (RFC 9110 5.6.7) in epoch seconds, or None if the text is not such a date."""
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def origin(url: str) -> str:
    """Return the origin of an address as a browser serialises it, or `null` if the address is invalid."""
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
    return "\n".join(f"{name}: {value}" for name, value in headers)
