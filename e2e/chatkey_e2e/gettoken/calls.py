"""The calls of a run: each made once, when the first check asks for it, and shared by all that look at it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import cached_property
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlencode, urlsplit, urlunsplit

from chatkey_e2e.gettoken import logins, reading
from chatkey_e2e.gettoken.evidence import evidence
from chatkey_e2e.gettoken.exchange import Exchange, Header, Request, origin
from chatkey_e2e.gettoken.masks import Masks
from chatkey_e2e.gettoken.model import Blocked, Evidence, Skipped
from chatkey_e2e.gettoken.sessions import Session
from chatkey_e2e.gettoken.target import Login, Target
from chatkey_e2e.gettoken.wire import HttpWire, Wire

JSON: Final = "application/json"
FOREIGN: Final = "https://evil.example"
ABROAD: Final = (("Origin", FOREIGN), ("Referer", f"{FOREIGN}/"), ("Sec-Fetch-Site", "cross-site"))
"""What a browser says when a page of another site makes the call."""
APART: Final = 2.0
"""Seconds between two calls whose times are compared: `exp` counts whole seconds."""
PARALLEL: Final = 24
MOST_HOPS: Final = 3
TOO_MANY: Final = 429
PATIENCE: Final = 10.0
"""Seconds that are waited when the endpoint limits calls."""
KEEPS_METHOD: Final = frozenset({307, 308})
MAX_SKEW: Final = 86_400.0
"""A `Date` further off than a day is no clock."""


def random_jkt() -> str:
    """Return what a thumbprint looks like, with the characters that mistakes show on: both cases, `-` and `_`."""
    while True:
        made = reading.encoded(secrets.token_bytes(32))
        if "-" in made and "_" in made and made[0] not in "-_":
            return made


class Calls:
    """Everything that is asked of one endpoint in one run."""

    def __init__(
        self,
        target: Target,
        *,
        wire: Wire | None = None,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
        make_jkt: Callable[[], str] = random_jkt,
    ) -> None:
        self.target = target
        self.wire = wire or HttpWire(target, now=now)
        self.masks = Masks()
        self.log: list[Exchange] = []
        self.waited = 0.0
        self.on_wait: Callable[[float, str], None] = lambda _seconds, _why: None
        self.ending = ExitStack()
        """Closed with the calls; whatever a check starts goes in here."""
        self.ending.callback(self.wire.close)
        self._now = now
        self._sleep = sleep
        self.new_jkt = make_jkt
        self._hide_what_is_secret()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ending.close()

    # who calls

    @cached_property
    def member(self) -> Session:
        """The first login. Raises `Skipped` without one."""
        if self.target.login is None:
            raise Skipped("it takes somebody who is logged in", "--login 'Cookie: …' or --login-url")
        return self._logged_in("the login", self.target.login)

    @cached_property
    def other(self) -> Session:
        """The second person. Raises `Skipped` without one."""
        if self.target.login_b is None:
            raise Skipped("it takes a second person who is logged in", "--login-b 'Cookie: …'")
        return self._logged_in("the second login", self.target.login_b)

    @cached_property
    def member_again(self) -> Session:
        """The first person, logged in once more. Raises `Skipped` where that cannot be done."""
        login = self.target.login
        if login is None or not login.url:
            raise Skipped("it takes a second login of the same person", "--login-url with --login-field")
        try:
            return self._logged_in("the same person's second login", login)
        except logins.LoginError as error:
            raise Skipped(f"a second login of the same person fails: {error}") from error

    @cached_property
    def nobody(self) -> Session:
        """Somebody without any session."""
        return Session("nobody")

    @property
    def _same_browser(self) -> str | None:
        """The jkt of the first call: whoever sits at that browser next has the same."""
        return None if self.target.login is None else self.jkt_of(self.first)

    @property
    def anybody(self) -> Session:
        """The first login, or nobody where there is none."""
        return self.nobody if self.target.login is None else self.member

    # what is asked, and shared

    @cached_property
    def first(self) -> Exchange:
        """The honest call."""
        return self.ask("an honest call", self.member)

    @cached_property
    def second(self) -> Exchange:
        """The honest call from another browser."""
        return self.ask("the same from another browser (another jkt)", self.member)

    @cached_property
    def anonymous(self) -> Exchange:
        """The honest call of somebody who is not logged in."""
        return self.ask("the call of a visitor, without cookies", self.nobody, jkt=self._same_browser)

    @cached_property
    def of_other(self) -> Exchange:
        """The honest call of the second person."""
        label = "an honest call of the second login, from the same browser"
        return self.ask(label, self.other, jkt=self._same_browser)

    @cached_property
    def later(self) -> Exchange:
        """An honest call, seconds after the first, from another browser."""
        self._let_time_pass()
        return self.ask(f"{APART:g} s later, another jkt", self.member)

    @cached_property
    def renewal(self) -> Exchange:
        """The honest call once more, seconds after the first, from the same browser."""
        self._let_time_pass()
        return self.ask(f"{APART:g} s later, the same jkt", self.member, jkt=self.jkt_of(self.first))

    @cached_property
    def cross_site(self) -> Exchange:
        """The call as a page of another site would make it."""
        return self.ask("the call of a page of another site", self.anybody, headers=ABROAD)

    @cached_property
    def together(self) -> list[tuple[Session, Exchange]]:
        """Many calls at once by everybody there is; a session whose cookie changes with each answer calls in turn."""
        who = [self.member, self.other if self.target.login_b else self.nobody]
        at_once = [session for session in who * (PARALLEL // 2) if not session.rotates]
        requests = [self._request(f"one of {PARALLEL} calls at once", session) for session in at_once]
        if self.first.hops:
            requests = [request.with_url(self.first.hops[-1]) for request in requests]
        done = self.wire.send_together(requests) if requests else []
        self.log += done
        in_turn = [session for session in who * 2 if session.rotates]
        return [
            *zip(at_once, done, strict=True),
            *((session, self.ask("one of many calls in a row", session)) for session in in_turn),
        ]

    # what the honest call says

    @property
    def token(self) -> str:
        """The token of the honest call. Raises `Blocked` where there is none."""
        token = self.first.token
        if token is None:
            raise Blocked("jwt.compact")
        return token

    @cached_property
    def compact(self) -> reading.Compact:
        """The token's three segments. Raises `Blocked` where it has not got them."""
        try:
            return reading.compact(self.token)
        except reading.Unreadable:
            raise Blocked("jwt.compact") from None

    @cached_property
    def header(self) -> dict[str, object]:
        """The token's header, duplicates and all. Raises `Blocked` where it is no JSON object."""
        try:
            value = reading.browser_json(self.compact.header.decode("utf-8-sig", "replace"))
        except reading.Unreadable:
            raise Blocked("jwt.alg") from None
        if not isinstance(value, dict):
            raise Blocked("jwt.alg")
        return value

    @cached_property
    def claims(self) -> dict[str, object]:
        """The token's claims. Raises `Blocked` where they cannot be read strictly."""
        try:
            return reading.strict_object(self.compact.payload)
        except reading.Unreadable:
            raise Blocked("jwt.payload") from None

    @property
    def uid(self) -> object:
        """Who the honest call says it is."""
        return self.claims.get("uid")

    # time

    @property
    def skew_if_known(self) -> float | None:
        """By how many seconds the endpoint's clock is ahead of ours, from the first `Date` it sent."""
        for exchange in self.log:
            date = exchange.response.get("date") if exchange.response else None
            moment = _moment(date) if date else None
            if moment is not None:
                ahead = moment + 0.5 - (exchange.sent_at + exchange.seconds / 2)
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

    def _let_time_pass(self) -> None:
        missing = self.first.answered_at + APART - self._now()
        if missing > 0:
            self._wait(missing, "times are compared in whole seconds")

    def _wait(self, seconds: float, why: str) -> None:
        self.on_wait(seconds, why)
        self._sleep(seconds)
        self.waited += seconds

    # asking

    def ask(
        self,
        label: str,
        session: Session,
        *,
        jkt: object = None,
        body: object = None,
        raw: bytes | None = None,
        method: str = "POST",
        query: Sequence[tuple[str, str]] = (),
        headers: Iterable[Header] = (),
        content_type: str | None = JSON,
    ) -> Exchange:
        """Call the endpoint as a session.

        The body is `raw`, or `body` as JSON, or an object with `jkt`, by default a new one. `headers` replace those
        of the same name.
        """
        request = self._request(
            label,
            session,
            jkt=jkt,
            body=body,
            raw=raw,
            method=method,
            query=query,
            headers=headers,
            content_type=content_type,
        )
        return self.send(request, session)

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
            session.learn(done.response)
            self.masks.add(*session.secrets)
        return done

    def _sent(self, request: Request) -> Exchange:
        """Send a request, once more after a while if the endpoint asks for patience.

        Raises `Skipped` where it goes on refusing for its rate limits, once it has answered before.
        """
        done = self.wire.send(request)
        if done.status == TOO_MANY and done.patience <= PATIENCE:
            self._wait(done.patience, "the endpoint limits calls (429)")
            done = self.wire.send(request)
        if done.status == TOO_MANY and any(exchange.succeeded for exchange in self.log):
            raise Skipped("the endpoint limits calls (429): raise its limits for this check")
        return done

    def fetch(
        self, label: str, url: str, session: Session | None, *, method: str = "GET", body: bytes = b""
    ) -> Exchange:
        """Send a plain request to another address of the site; a session's headers go to the site's hosts only."""
        known = {urlsplit(self.target.url).hostname, urlsplit(self.target.page).hostname}
        ours = urlsplit(url).hostname in known
        headers = [*self._plain_headers(), *(session.headers if session and ours else ())]
        headers += [("Content-Type", "application/x-www-form-urlencoded"), ("Origin", self.target.page)] if body else []
        done = self.wire.send(Request(label, method, url, tuple(headers), body))
        self.log.append(done)
        if session is not None and ours and done.response is not None:
            session.learn(done.response)
            self.masks.add(*session.secrets)
        return done

    def jkt_of(self, exchange: Exchange) -> str:
        """Return the jkt that a call sent."""
        sent = json.loads(exchange.request.body)
        return str(sent["jkt"])

    def evidence(self, exchange: Exchange) -> Evidence:
        """Return what may be shown of a call."""
        return evidence(exchange, self.target, self.masks)

    def _request(
        self,
        label: str,
        session: Session,
        *,
        jkt: object = None,
        body: object = None,
        raw: bytes | None = None,
        method: str = "POST",
        query: Sequence[tuple[str, str]] = (),
        headers: Iterable[Header] = (),
        content_type: str | None = JSON,
    ) -> Request:
        content = b""
        if method == "POST":
            asked = body if body is not None else {"jkt": jkt if jkt is not None else self.new_jkt()}
            content = raw if raw is not None else json.dumps(asked, ensure_ascii=False).encode()
        given = [*self._page_headers(), *((name, session.filled(value)) for name, value in self.target.headers)]
        given += [("Content-Type", content_type)] if content_type and content else []
        replaced = {name.lower() for name, _ in headers}
        kept = [header for header in (*given, *session.headers) if header[0].lower() not in replaced]
        return Request(label, method, _with_query(self.target.url, query), (*kept, *headers), content)

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

    def _logged_in(self, name: str, login: Login) -> Session:
        session = Session(name, login.headers)
        self.masks.add(*session.secrets)
        if login.url:
            logins.log_in(self, session, login)
        return session

    def _hide_what_is_secret(self) -> None:
        target = self.target
        self.masks.add(*target.other_secrets.values(), *([target.secret] if target.secret else []))
        for login in filter(None, (target.login, target.login_b)):
            for name, _ in login.headers:
                self.masks.add_header(name)
        for name, _ in target.headers:
            self.masks.add_header(name)


def _with_query(url: str, query: Sequence[tuple[str, str]]) -> str:
    if not query:
        return url
    parts = urlsplit(url)
    joined = "&".join(filter(None, (parts.query, urlencode(query))))
    return urlunsplit((parts.scheme, parts.netloc, parts.path, joined, ""))


def _moment(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
