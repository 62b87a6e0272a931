"""Makes calls of one endpoint: what is in a request, what is remembered, when to wait."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypedDict, Unpack
from urllib.parse import urlencode, urlsplit, urlunsplit

from chatkey_e2e.gettoken import reading
from chatkey_e2e.gettoken.calls.forms import Forms
from chatkey_e2e.gettoken.calls.sessions import Session
from chatkey_e2e.gettoken.evidence.masks import Masks
from chatkey_e2e.gettoken.evidence.shown import evidence
from chatkey_e2e.gettoken.exchange import Broken, Exchange, Header, Request, moment, origin
from chatkey_e2e.gettoken.model import Evidence, Skipped
from chatkey_e2e.gettoken.target import Target
from chatkey_e2e.gettoken.wire.http import Wire
from chatkey_e2e.gettoken.words import duration, plural

JSON: Final = "application/json"
FORM_TYPE: Final = (("Content-Type", "application/x-www-form-urlencoded"),)
WITH_BODY: Final = frozenset({"POST", "PUT"})
MOST_HOPS: Final = 3
TOO_MANY: Final = 429
SERVER_FAILS: Final = 500
PATIENCE: Final = 10.0
"""Seconds that are waited when the endpoint limits calls."""
KEEPS_METHOD: Final = frozenset({307, 308})
MAX_SKEW: Final = 86_400.0
"""A `Date` further off than a day is no clock."""


def fails(done: Exchange) -> bool:
    """Tell whether a call was answered 5xx, or the connection was closed; that it took too long is no accident."""
    return done.status >= SERVER_FAILS or done.broken is Broken.CUT


def random_jkt() -> str:
    """Return what a thumbprint looks like, with the characters that mistakes show on: both cases, `-` and `_`."""
    while True:
        made = reading.encoded(secrets.token_bytes(32))
        if "-" in made and "_" in made and made[0] not in "-_":
            return made


class Variation(TypedDict, total=False):
    """How a call differs from an honest one.

    The body is `raw`, or `body` as JSON, or an object with `jkt`, by default a new one. `headers` replace those of the
    same name.
    """

    jkt: object
    body: object
    raw: bytes
    method: str
    query: Sequence[tuple[str, str]]
    headers: Iterable[Header]
    content_type: str | None


class Caller:
    """Calls one endpoint, and remembers every call."""

    def __init__(
        self,
        target: Target,
        wire: Wire,
        *,
        now: Callable[[], float],
        sleep: Callable[[float], None],
        make_jkt: Callable[[], str] = random_jkt,
    ) -> None:
        self.target = target
        self.wire = wire
        self.masks = Masks()
        self.log: list[Exchange] = []
        self.flaky: list[Exchange] = []
        """Calls that failed, and did not when they were repeated."""
        self.waited = 0.0
        self.on_wait: Callable[[float, str], None] = lambda _seconds, _why: None
        """Is told of every declared wait before it begins."""
        self._now = now
        self._sleep = sleep
        self.new_jkt = make_jkt
        self._limit = ""
        self._hide_what_is_secret()

    def close(self) -> None:
        """Close the connection that was kept for the next call."""
        self.wire.close()

    # time

    @property
    def skew_if_known(self) -> float | None:
        """By how many seconds the endpoint's clock is ahead of ours, from the first `Date` it sent."""
        for exchange in self.log:
            date = exchange.response.get("date") if exchange.response else None
            said = moment(date) if date else None
            if said is not None:
                ahead = said + 0.5 - (exchange.sent_at + exchange.seconds / 2)
                return ahead if abs(ahead) <= MAX_SKEW else None
        return None

    def now_at(self, exchange: Exchange, claims: dict[str, object]) -> float:
        """Return the time by the clock that made a token: the endpoint's, where its `Date` and the token's iat agree.

        A `Date` may come from a proxy, or from nowhere.
        """
        ours = exchange.answered_at
        theirs = ours + (self.skew_if_known or 0.0)
        issued = claims.get("iat")
        if not isinstance(issued, int) or abs(issued - ours) <= abs(issued - theirs) + 1:
            return ours
        return theirs

    def wait(self, seconds: float, why: str) -> None:
        """Let time pass, and say so."""
        self.on_wait(seconds, why)
        self._sleep(seconds)
        self.waited += seconds

    # asking

    def ask(self, label: str, session: Session, **how: Unpack[Variation]) -> Exchange:
        """Call the endpoint as a session."""
        return self.send(self.request(label, session, **how), session)

    def send(self, request: Request, session: Session | None = None) -> Exchange:
        """Send a request, follow redirects that keep the method on the same origin, and let the session learn."""
        done = self._sent(request)
        hops: tuple[str, ...] = ()
        while done.status in KEEPS_METHOD and len(hops) < MOST_HOPS and origin(done.location) == origin(request.url):
            hops += (done.location,)
            done = self._sent(done.request.with_url(done.location))
        done = replace(done, hops=hops) if hops else done
        self.log.append(done)
        if session is not None and done.response is not None:
            session.learn(done.response, done.request.url)
            self.masks.add(*session.secrets)
        return done

    def _sent(self, request: Request) -> Exchange:
        """Send a request, once more if it fails, or after a while if the endpoint asks for patience.

        Raises `Skipped` where it goes on refusing for its rate limits, once it has answered before.
        """
        done = self.wire.send(request)
        if done.status == TOO_MANY and done.patience <= PATIENCE:
            self.wait(done.patience, "the endpoint limits calls (429)")
            done = self.wire.send(request)
        if fails(done):
            done = self._again(done)
        if done.status == TOO_MANY and any(exchange.succeeded for exchange in self.log):
            raise Skipped(self.limited_by(done))
        return done

    def _again(self, failed: Exchange) -> Exchange:
        """Repeat a call that failed: what does not fail again is no answer to what was asked."""
        done = self.wire.send(failed.request)
        if not fails(done):
            self.flaky.append(failed)
            self.log.append(failed)
        return done

    def limited_by(self, refused: Exchange) -> str:
        """Return what is said where rate limits stand in the way: the same, whichever call was the first to show it."""
        if not self._limit:
            again = f"come again in {duration(refused.patience)}" if refused.patience < math.inf else "no Retry-After"
            answered = sum(exchange.status != TOO_MANY for exchange in self.log)
            after = f"429 after {plural(answered, 'call')}"
            self._limit = f"the endpoint limits calls: {after}, {again}; raise its limits for the checker"
        return self._limit

    def fetch(
        self,
        label: str,
        url: str,
        session: Session | None,
        *,
        method: str = "GET",
        body: bytes = b"",
        headers: Sequence[Header] = FORM_TYPE,
    ) -> Exchange:
        """Send a plain request to another address of the site; a session's headers go to the site's hosts only.

        `headers` are for POST.
        """
        known = {urlsplit(self.target.url).hostname, urlsplit(self.target.page).hostname}
        ours = urlsplit(url).hostname in known
        own = session.headers if session and ours else ()
        given: Sequence[Header] = self._plain_headers()
        if method == "POST" and session and ours:
            given = replaced([*given, ("Origin", self.target.page), *headers], self._added(session))
        done = self.wire.send(Request(label, method, url, (*given, *own), body))
        self.log.append(done)
        if session is not None and ours and done.response is not None:
            session.learn(done.response, done.request.url)
            session.read(Forms(done.text).metas if "html" in (done.response.get("content-type") or "") else {})
            self.masks.add(*session.secrets)
        return done

    def jkt_of(self, exchange: Exchange) -> str:
        """Return the jkt that a call sent."""
        sent = json.loads(exchange.request.body)
        return str(sent["jkt"])

    def evidence(self, exchange: Exchange) -> Evidence:
        """Return what may be shown of a call."""
        return evidence(exchange, self.target, self.masks)

    def request(self, label: str, session: Session, **how: Unpack[Variation]) -> Request:
        """Return the request that `ask` sends."""
        content, headers = self._content(how), tuple(how.get("headers", ()))
        content_type = how.get("content_type", JSON)
        given = self._page_headers()
        given += [("Content-Type", content_type)] if content_type and content else []
        sent = replaced([*replaced(given, self._added(session)), *session.headers], headers)
        url = _with_query(self.target.url, how.get("query", ()))
        return Request(label, how.get("method", "POST"), url, tuple(sent), content)

    def _content(self, how: Variation) -> bytes:
        if how.get("method", "POST") not in WITH_BODY:
            return b""
        if "raw" in how:
            return how["raw"]
        asked = how["body"] if "body" in how else {"jkt": how["jkt"] if "jkt" in how else self.new_jkt()}
        return json.dumps(asked, ensure_ascii=False).encode()

    def _added(self, session: Session) -> list[Header]:
        """Return the headers of --header; one for which the session has no cookie is left out."""
        filled = ((name, session.filled(value)) for name, value in self.target.headers)
        return [header for header in filled if header[1]]

    def _plain_headers(self) -> list[Header]:
        return [("Accept", "*/*"), ("Accept-Encoding", "gzip, deflate"), ("User-Agent", "chatkey-check")]

    def _page_headers(self) -> list[Header]:
        return [
            *self._plain_headers(),
            ("Origin", self.target.page),
            ("Referer", f"{self.target.page}/"),
            ("Sec-Fetch-Site", "same-origin"),
            ("Sec-Fetch-Mode", "cors"),
            ("Sec-Fetch-Dest", "empty"),
        ]

    def _hide_what_is_secret(self) -> None:
        target = self.target
        self.masks.add(*target.other_secrets.values(), *([target.secret] if target.secret else []))
        for login in filter(None, (target.login, target.login_b)):
            for name, _ in login.headers:
                self.masks.add_header(name)
        for name, _ in target.headers:
            self.masks.add_header(name)


def replaced(headers: Iterable[Header], by: Iterable[Header]) -> list[Header]:
    """Return headers in which others take the place of those of the same name."""
    by = tuple(by)
    names = {name.lower() for name, _ in by}
    return [*(header for header in headers if header[0].lower() not in names), *by]


def _with_query(url: str, query: Sequence[tuple[str, str]]) -> str:
    if not query:
        return url
    parts = urlsplit(url)
    joined = "&".join(filter(None, (parts.query, urlencode(query))))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, joined, ""))
