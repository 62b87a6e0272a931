"""Calls one endpoint: builds the requests, records the exchanges, and waits when the endpoint limits the rate."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from statistics import median
from typing import Final, TypedDict, Unpack
from urllib.parse import urlsplit

from chatkey_check import reading
from chatkey_check.calls.forms import Forms
from chatkey_check.calls.lanes import Lanes
from chatkey_check.calls.sessions import Session
from chatkey_check.evidence.masks import Masks
from chatkey_check.evidence.shown import evidence
from chatkey_check.exchange import Broken, Exchange, Header, Request, moment, origin
from chatkey_check.model import Evidence, Skipped
from chatkey_check.shape import FORM, JSON
from chatkey_check.target import Target
from chatkey_check.wire.http import Wire
from chatkey_check.words import duration, plural

FORM_TYPE: Final = (("Content-Type", FORM),)
WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "OPTIONS"})
MOST_HOPS: Final = 3
TOO_MANY: Final = 429
SERVER_FAILS: Final = 500
PATIENCE: Final = 10.0
"""Longest time, in seconds, to wait when the endpoint limits the rate of calls."""
KEEPS_METHOD: Final = frozenset({307, 308})
MAX_SKEW: Final = 86_400.0
"""A clock difference in seconds. A `Date` that is further off than a day is ignored."""


def fails(done: Exchange) -> bool:
    """Return whether a call was answered with 5xx or the connection was closed. A timeout does not count."""
    return done.status >= SERVER_FAILS or done.broken is Broken.CUT


def random_jkt() -> str:
    """Return a random thumbprint that shows encoding mistakes: it has upper and lower case, `-` and `_`."""
    while True:
        made = reading.encoded(secrets.token_bytes(32))
        if "-" in made and "_" in made and made[0] not in "-_":
            return made


class Limited(Skipped):
    """The endpoint keeps refusing calls because of its rate limit. `answer` is the last refusal."""

    def __init__(self, reason: str, answer: Exchange) -> None:
        super().__init__(reason)
        self.answer = answer


class Variation(TypedDict, total=False):
    """How a call differs from an honest call, which is the call that a correct page makes.

    The body is `raw` if given. Otherwise it follows the endpoint's shape, with `jkt` (by default a new one) and the
    members of `more`. `query` is added to the address. `headers` replace headers of the same name. `cookies`
    replace the session's cookies. The session then ignores the cookies that the answer sets, unless its cookies
    change with each answer. No other call is under way during a `measured` call.
    """

    jkt: object
    more: Mapping[str, object]
    raw: bytes
    method: str
    query: Sequence[tuple[str, str]]
    headers: Iterable[Header]
    cookies: Mapping[str, str]
    content_type: str | None
    measured: bool


class Caller:
    """Calls one endpoint, and records every call."""

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
        """Calls that failed, but succeeded when they were repeated."""
        self.crowded: list[Exchange] = []
        """Calls that failed while others were under way, but succeeded alone: there may just have been too many."""
        self.lanes = Lanes()
        self._answered: list[Exchange] = []
        self.waited = 0.0
        self.on_wait: Callable[[float, str], None] = lambda _seconds, _why: None
        """Called with the seconds and the reason before each wait."""
        self._now = now
        self._sleep = sleep
        self.new_jkt = make_jkt
        self._limit = ""
        self._hangs = False
        """Whether a call timed out even on its own. Calls that time out are then no longer repeated."""
        self._hide_what_is_secret()

    def close(self) -> None:
        """Close the connection that was kept for the next call."""
        self.wire.close()

    # time

    @property
    def skew_if_known(self) -> float | None:
        """Seconds by which the endpoint's clock is ahead of ours, from the first `Date` it sent; None if unknown."""
        for exchange in self.log:
            date = exchange.response.get("date") if exchange.response else None
            said = moment(date) if date else None
            if said is not None:
                ahead = said + 0.5 - (exchange.sent_at + exchange.seconds / 2)
                return ahead if abs(ahead) <= MAX_SKEW else None
        return None

    def now_at(self, exchange: Exchange, claims: dict[str, object]) -> float:
        """Return the time when the token was issued, in seconds, by the clock of the server that issued it.

        This is the endpoint's clock if its `Date` fits the token's `iat` better than our clock does. A `Date` alone
        proves nothing, because it may come from a proxy.
        """
        ours = exchange.answered_at
        theirs = ours + (self.skew_if_known or 0.0)
        issued = claims.get("iat")
        if not isinstance(issued, int) or abs(issued - ours) <= abs(issued - theirs) + 1:
            return ours
        return theirs

    def wait(self, seconds: float, why: str) -> None:
        """Report the wait to `on_wait`, and sleep."""
        self.on_wait(seconds, why)
        self._sleep(seconds)
        self.waited += seconds

    # asking

    def ask(self, label: str, session: Session, **how: Unpack[Variation]) -> Exchange:
        """Call the endpoint as a session."""
        with session.turn():
            before = session.changes
            done = self.send(self.request(label, session, **how), measured=how.get("measured", False))
            overtaken = session.changes > before  # meanwhile another answer replaced our cookies
            if session.rotates or "cookies" not in how:
                self._learn(session, done)
        return self.ask(label, session, **how) if overtaken else done

    def ask_each(self, asks: Iterable[Callable[[], Exchange]]) -> Iterator[Exchange]:
        """Make independent calls, several at a time, and yield the exchanges in order.

        When the caller stops iterating, the calls that have not begun are cancelled.
        """
        if self.lanes.width == 1:
            yield from (ask() for ask in asks)
            return
        pool = ThreadPoolExecutor(self.lanes.width)
        try:
            yield from pool.map(lambda ask: ask(), asks)
        finally:
            pool.shutdown(cancel_futures=True)

    def spread(self) -> None:
        """Allow several calls at a time: as many as suit the speed of the endpoint so far."""
        if self.log:
            self.lanes.widen(median(done.seconds for done in self.log), self.target.timeout)
            self.wire.spread()

    def send(self, request: Request, *, measured: bool = False) -> Exchange:
        """Send a request, and follow redirects that keep the method and stay on the same origin."""
        done = self._sent(request, measured=measured)
        hops: tuple[str, ...] = ()
        while done.status in KEEPS_METHOD and len(hops) < MOST_HOPS and origin(done.location) == origin(request.url):
            hops += (done.location,)
            done = self._sent(done.request.with_url(done.location), measured=measured)
        done = replace(done, hops=hops) if hops else done
        self.log.append(done)
        return done

    def _learn(self, session: Session, done: Exchange) -> None:
        if done.response is not None:
            session.learn(done.response, done.request.url)
            self.masks.add(*session.secrets)

    def _sent(self, request: Request, *, measured: bool) -> Exchange:
        """Send a request. Repeat it once if it fails, or after a wait if the endpoint limits the rate.

        Raises `Skipped` if the rate limit still applies after the wait and the endpoint has answered earlier calls.
        """
        with self.lanes.alone() if measured else self.lanes.one() as company:
            done = self.wire.send(request)
            if fails(done) and not company.there:
                done = self._again(done)
            self.note_answered(done)
        if company.there and (fails(done) or (done.broken is Broken.TIMEOUT and not self._hangs)):
            done = self._without_company(done)
        if done.status == TOO_MANY:
            done = self._with_patience(done)
        return done

    def _with_patience(self, refused: Exchange) -> Exchange:
        """Repeat a call after the wait that the endpoint asks for.

        No other call is made during the wait, and from then on calls are made one at a time.
        """
        self.lanes.narrow()
        done = refused
        if refused.patience <= PATIENCE:
            with self.lanes.alone():
                self.wait(refused.patience, "the endpoint limits calls (429)")
                done = self.wire.send(refused.request)
        if done.status == TOO_MANY and any(exchange.succeeded for exchange in self.log):
            raise Limited(self.limited_by(done), done)
        return done

    def _again(self, failed: Exchange) -> Exchange:
        """Repeat a call that failed. If it succeeds now, the first failure is recorded as flaky."""
        done = self.wire.send(failed.request)
        if not fails(done):
            self.flaky.append(failed)
            self.log.append(failed)
        return done

    def _without_company(self, failed: Exchange) -> Exchange:
        """Repeat, alone, a call that failed among others. If it succeeds, calls are made one at a time from now on."""
        with self.lanes.alone():
            done = self.wire.send(failed.request)
        self._hangs = self._hangs or done.broken is Broken.TIMEOUT
        if done.broken is not Broken.TIMEOUT and not fails(done):
            self.lanes.narrow()
            self.crowded.append(failed)
            self.log.append(failed)
        return done

    def note_answered(self, *done: Exchange) -> None:
        """Count the calls that were not refused because of a rate limit."""
        self._answered += [one for one in done if one.status != TOO_MANY]

    def limited_by(self, refused: Exchange) -> str:
        """Return the message about the rate limit. It is the same whichever call was the first to be refused."""
        if not self._limit:
            again = f"come again in {duration(refused.patience)}" if refused.patience < math.inf else "no Retry-After"
            with self.lanes.alone():  # the calls under way have to end first, to be counted
                after = f"429 after {plural(len(self._answered), 'call')}"
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
        """Send a plain request to another address. The session's headers are only sent to the site's own hosts.

        `headers` are used for POST only.
        """
        known = {urlsplit(self.target.url).hostname, urlsplit(self.target.page).hostname}
        ours = urlsplit(url).hostname in known
        own = session.headers if session and ours else ()
        given: Sequence[Header] = self._plain_headers()
        if method == "POST" and session and ours:
            given = replaced([*given, ("Origin", self.target.page), *headers], self._added(session))
        with self.lanes.one():
            done = self.wire.send(Request(label, method, url, (*given, *own), body))
            self.note_answered(done)
        self.log.append(done)
        if session is not None and ours and done.response is not None:
            self._learn(session, done)
            session.read(Forms(done.text).metas if "html" in (done.response.get("content-type") or "") else {})
        return done

    def jkt_of(self, exchange: Exchange) -> str:
        """Return the jkt that a call sent."""
        return exchange.request.jkt

    def evidence(self, exchange: Exchange) -> Evidence:
        """Return what a report may show of a call."""
        return evidence(exchange, self.target, self.masks)

    def request(self, label: str, session: Session, **how: Unpack[Variation]) -> Request:
        """Return the request that `ask` sends."""
        shape, jkt = self.target.shape, how["jkt"] if "jkt" in how else self.new_jkt()
        method = how.get("method", shape.method)
        content = self._content(how, method, jkt)
        headers = tuple(how.get("headers", ()))
        own = session.with_cookies(how["cookies"]).headers if "cookies" in how else session.headers
        content_type = how.get("content_type", shape.content_type or JSON)
        given = self._page_headers()
        given += [("Content-Type", content_type)] if content_type and content else []
        sent = replaced([*replaced(given, self._added(session)), *own], headers)
        url = shape.address(self.target.url, jkt, tuple(how.get("query", ())))
        known = jkt if isinstance(jkt, str) else ""
        return Request(label, method, url, tuple(sent), content, known, shape.token_at)

    def _content(self, how: Variation, method: str, jkt: object) -> bytes:
        if method in WITHOUT_BODY:
            return b""
        return how["raw"] if "raw" in how else self.target.shape.content(jkt, how.get("more", {}))

    def _added(self, session: Session) -> list[Header]:
        """Return the headers of --header with their placeholders filled in. A header that ends up empty is left out."""
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
    """Return the headers with those in `by` added. They replace headers of the same name."""
    by = tuple(by)
    names = {name.lower() for name, _ in by}
    return [*(header for header in headers if header[0].lower() not in names), *by]
