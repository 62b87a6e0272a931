"""The calls of a run. Each call is made when the first check needs it, and shared by all checks that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple, Unpack

from chatkey_check.calls import logins
from chatkey_check.calls.caller import Caller, Limited
from chatkey_check.calls.memo import once
from chatkey_check.calls.record import BANS, ahead
from chatkey_check.calls.requests import PLAIN, Variation
from chatkey_check.calls.sessions import IN_HEADER, Session
from chatkey_check.calls.token import Token
from chatkey_check.exchange import BUSY, SERVER_FAILS, Exchange, Request
from chatkey_check.model import Blocked, Skipped
from chatkey_check.target import Login

FOREIGN: Final = "https://evil.example"
ABROAD: Final = (("Origin", FOREIGN), ("Referer", f"{FOREIGN}/"), ("Sec-Fetch-Site", "cross-site"))
"""The headers that a browser sends when a page of another site makes the call."""
APART: Final = 1.1
"""Seconds between two calls whose times are compared. `exp` is in whole seconds, so it changes within this time."""
PARALLEL: Final = 24
AS_FAST: Final = 1.5
"""An endpoint answers calls at once as fast as one alone, if none takes more than so many times as long."""
IN_A_PAGE: Final = "{meta:"
ALLOW: Final = "A firewall may take this program for an attacker: allow its User-Agent, chatkey-check"
UNKNOWN: Final = frozenset({401, 403})
WORKERS: Final = 6
"""Number of calls in a row after which every worker of the endpoint should have answered one."""


class Earlier(NamedTuple):
    """The results of two logins in the same browser. One person logs in first, and then another person."""

    session: Session
    of_member: Exchange
    of_other: Exchange | None = None
    """The second person's call with the jkt of the first person's call; None if the second login failed."""
    of_other_anew: Exchange | None = None
    """The same call with another jkt."""
    asked: bool = False
    """Whether the login page had a form for the second person while the first one was logged in."""


@dataclass(frozen=True, eq=False)
class Calls(Caller):
    """All calls to one endpoint in one run."""

    on_token: Callable[[], None] = lambda: None
    """Called once the normal call has returned a token, so that the run will go on to its end."""

    # who calls

    @once
    def member(self) -> Session:
        """The first login. Raises `Skipped` if none was given."""
        if self.target.login is None:
            raise Skipped("the session of a logged-in person is needed", "--login 'Cookie: …' or --login-url")
        if not self.target.login.url:
            return self._logged_in("the login", self.target.login)
        earlier = self.earlier  # comes first: a site may keep only a person's newest session, which must be this one
        try:
            return self._logged_in("the login", self.target.login)
        except logins.LoginError:
            if not earlier.of_member.minted or earlier.of_other is not None:
                raise
            return earlier.session  # the site allows one session per person, which is this one

    @once
    def other(self) -> Session:
        """The second person's login. Raises `Skipped` if none was given."""
        if self.target.login_b is None:
            raise Skipped("the session of a second person is needed", "--login-b 'Cookie: …'")
        try:
            return self._logged_in("the second login", self.target.login_b)
        except logins.LoginError:
            earlier = self.earlier if self.target.login and self.target.login.url else None
            if earlier is None or earlier.of_other is None:
                raise
            return earlier.session  # the site allows one session per person, which is this one

    @once
    def earlier(self) -> Earlier:
        """The result of an earlier login of the first person. Then the second person logs in with the same browser.

        Raises `Skipped` without a login form.
        """
        login, login_b = self.target.login, self.target.login_b
        if login is None or not login.url:
            raise Skipped("a second login of the same person is needed", "--login-url with --login-field")
        session = Session("an earlier login of the same person", login.headers, home=self.target.url)
        jkt = self.new_jkt()
        logins.log_in(self, session, login, jkt)
        of_member = self.ask("a call after an earlier login of the same person", session, jkt=jkt)
        if login_b is None or not login_b.url or not of_member.minted:
            return Earlier(session, of_member)
        try:
            asked = logins.log_in(self, session, login_b, jkt)
        except logins.LoginError:
            return Earlier(session, of_member)
        label = "a call after the second person logged in at the same browser"
        return Earlier(session, of_member, self.ask(label, session, jkt=jkt), self.ask(label, session), asked=asked)

    @once
    def nobody(self) -> Session:
        """A session without a login. It ignores the cookies that answers set.

        It has the cookies of the site's page if a header from --header repeats one of them, as against forged requests.
        """
        nobody = Session("nobody", home=self.target.url)
        if self._page and any(IN_HEADER.search(value) for _, value in self.target.headers):
            self.fetch("a visitor opens a page, for the value of a header", self._page, nobody)
        return nobody.with_cookies(nobody.cookies)

    @property
    def _page(self) -> str:
        """The address of a page of the site, if one was given."""
        return self.target.page_url or (self.target.login.url if self.target.login else "")

    @once
    def visitor(self) -> Session:
        """A browser in which nobody logs in. It keeps cookies, as every browser does."""
        return Session("a visitor", home=self.target.url, obeys=True)

    @property
    def _same_browser(self) -> str:
        """The jkt of the first call if there is one. A second person in the same browser has the same jkt."""
        return self.new_jkt() if self.target.login is None else self.first.request.jkt

    @property
    def anybody(self) -> Session:
        """The first login, or the anonymous session if no login was given."""
        return self.nobody if self.target.login is None else self.member

    def ask(self, label: str, session: Session, **how: Unpack[Variation]) -> Exchange:
        """Call the endpoint as a session. Raises `Blocked` if anonymous calls have timed out before."""
        if session is self.nobody and self.anonymous.timed_out:
            raise Blocked("anon.no-5xx")
        return super().ask(label, session, **how)

    # the calls that the checks share

    @once
    def first(self) -> Exchange:
        """The normal call: the endpoint is called with the first login, as a correct page calls it."""
        answer = self.ask("a normal call", self.member)
        if answer.minted:
            self.on_token()
        return answer

    @once
    def second(self) -> Exchange:
        """The normal call from another browser, which has another jkt."""
        jkt = self.new_jkt()
        # Some patterns refuse or strip `-` at the beginning, and some firewalls refuse or remove every `--`.
        jkt = f"--{jkt[2:20]}--{jkt[22:]}"
        return self.ask("the same call from another browser (another jkt)", self.member, jkt=jkt)

    @once
    def unknown_again(self) -> Exchange | None:
        """The last repetition of the normal call, if the session stopped working after the first call; otherwise None.

        The first call is repeated several times in a row: if the endpoint has several workers, one of them may still
        know the session. If any repetition works, the result is None.
        """
        if not self.first.minted or not _unknown(self.second):
            return None
        last = None
        for last in self._in_a_row("the first call again", self.member, self.first.request.jkt, WORKERS):
            if not _unknown(last):
                return None
        return last

    @once
    def anonymous(self) -> Exchange:
        """The normal call without a login."""
        label = "a visitor's call, without cookies"
        try:
            return super().ask(label, self.nobody, jkt=self._same_browser, measured=True)
        except Limited as limited:
            if not self._only_visitors(limited.answer):
                raise
            return limited.answer

    @once
    def returning(self) -> Exchange:
        """The second call of the visitor: with the cookies of the first answer, and those of the site's own page."""
        first, page = self.anonymous, self._page
        if first.response is None or first.throttled:
            return first
        if page:
            self.fetch("a visitor opens a page of the site", page, self.visitor)
        self._learn(self.visitor, first)
        return self.ask("the same visitor's second call, with the cookies", self.visitor, jkt=first.request.jkt)

    def _only_visitors(self, refused: Exchange) -> bool:
        """Return whether visitors are refused while members get answers. If so, waiting would not lift the limit."""
        if self.target.login is None:
            return False
        by_turns = [self.request("a member's call, while visitors are refused", self.member), refused.request] * 2
        with self.lanes.alone():
            done = [self.wire.send(request) for request in by_turns]
        self.record.note(*done)
        members, visitors = done[::2], done[1::2]
        return all(one.succeeded for one in members) and all(one.throttled for one in visitors)

    @once
    def of_other(self) -> Exchange:
        """The normal call of the second person."""
        label = "a normal call by the second login, from the same browser"
        return self.ask(label, self.other, jkt=self._same_browser, measured=True)

    def _in_a_row(self, label: str, session: Session, jkt: str, times: int) -> Iterator[Exchange]:
        """Repeat a call as long as the caller iterates, with no other call in between."""
        request = self.request(label, session, jkt=jkt)
        request = request.with_url(self.first.hops[-1]) if self.first.hops else request
        with self.lanes.alone():
            for _ in range(times):
                done = self.wire.send(request)
                self.record.note(done)
                yield done

    @once
    def made_up(self) -> Exchange:
        """The call with a session that was never issued by the site."""
        return self.ask("a made-up session", self.member.garbage())

    @property
    def later(self) -> Exchange:
        """A normal call from another browser, a second after the first call."""
        return self._afterwards[0]

    @property
    def renewal(self) -> Exchange:
        """Another normal call from the same browser, made one second later than the first call."""
        return self._afterwards[1]

    @once
    def _afterwards(self) -> tuple[Exchange, Exchange]:
        self._let_pass(APART, "the token's times are in whole seconds")
        asks = (
            partial(self.ask, f"a call {APART:g} s later, with another jkt", self.member),
            partial(self.ask, f"a call {APART:g} s later, with the same jkt", self.member, jkt=self.first.request.jkt),
        )
        later, renewal = self.ask_each(asks)
        return later, renewal

    @once
    def cross_site(self) -> Exchange:
        """The call as a page of another site would make it."""
        return self.ask("the call as a page of another site makes it", self.anybody, headers=ABROAD)

    @once
    def together(self) -> list[tuple[Session, Exchange]]:
        """Many simultaneous calls of the person, the second person if there is one, and a visitor.

        If a session's cookie changes with each answer, the calls of that session are made one after the other.
        """
        who = [self.member, *([self.other] if self.target.login_b else []), *([self.nobody] if self._lively else [])]
        for session in who:
            self.alone(session)  # shows whether the session's cookie changes
        at_once = [session for session in who * (PARALLEL // len(who)) if not session.rotates]
        requests = [self.request(f"one of {PARALLEL} calls at once", session) for session in at_once]
        if self.first.hops:
            requests = [request.with_url(self.first.hops[-1]) for request in requests]
        with self.lanes.alone():
            done = self._at_once(requests)
            self.record.overrun.extend(one for one in done if one.fails)
            done = self._heard(done)
        self.record.note(*done)
        alone = max(self.alone(session).seconds for session in who)
        if at_once and all(one.succeeded and one.seconds <= AS_FAST * alone for one in done):
            self.lanes.widen_further()
        in_turn = [session for session in who * 2 if session.rotates]
        return [
            *zip(at_once, done, strict=True),
            *((session, self.ask("one of several calls in a row", session)) for session in in_turn),
        ]

    def _at_once(self, requests: list[Request]) -> list[Exchange]:
        """Send requests at once. If an answer is 5xx, send all of them again, because one crash may be an accident."""
        done = self.wire.send_together(requests) if requests else []
        crashed = [one for one in done if _crashed(one)]
        if not crashed:
            return done
        again = self.wire.send_together(requests)
        if any(map(_crashed, again)):
            return done
        self.record.flaky.extend(crashed)
        self.record.log.extend(done)
        return again

    def _heard(self, done: list[Exchange]) -> list[Exchange]:
        """Repeat, one by one, the calls that got no response, because the server may have had no capacity for them.

        A server with a short backlog or a single thread has no capacity for many calls. If a repeated call gets no
        response either, capacity is not the cause, and the other calls are not repeated.
        """
        heard: list[Exchange] = []
        hope = True
        for one in done:
            again = self.wire.send(one.request) if one.response is None and hope else one
            hope = hope and again.response is not None
            heard.append(again)
        return heard

    @property
    def _lively(self) -> bool:
        """Whether visitors get answers. If they get none, further calls of visitors would only wait."""
        try:
            return self.anonymous.response is not None and not self.anonymous.throttled
        except Limited:
            return False

    @property
    def makes_guests(self) -> bool:
        """Whether visitors get tokens, at least sometimes. anon.null reports such tokens."""
        return any(answer.minted for answer in self.answers_to(self.nobody))

    @property
    def shut_out(self) -> str | None:
        """Why no more calls can be judged, if the endpoint now refuses even calls that it has answered before.

        Firewalls refuse everything from a program for a while, if it has sent calls like those of an attacker.
        """
        if not (self.first.minted and self.anonymous.succeeded):
            return None
        with self.lanes.alone():
            again = [self.wire.send(done.request) for done in (self.first, self.anonymous)]
        self.record.note(*again)
        if not all(one.status in BANS for one in again):
            return None
        return f"after {len(self.record.log)} calls, the endpoint refuses every call ({again[0].status}). {ALLOW}"

    def answers_to(self, session: Session) -> list[Exchange]:
        """Return the answers to all normal calls of a session, which should be of the same kind.

        Of the calls that were made at once, those are left out that failed or met a limit.
        """
        second = [self.second] if session is self.member else []
        at_once = [answer for caller, answer in self.together if caller is session]
        return [
            self.alone(session),
            *second,
            *(one for one in at_once if one.status and not (one.fails or one.limited)),
        ]

    def repeated(self, done: Exchange) -> list[Exchange]:
        """Repeat a call several times in a row, so that every worker should answer one. Return all answers."""
        request = replace(done.request, label="the same call again, to compare the answers")
        with self.lanes.alone():
            again = [self.wire.send(request) for _ in range(2 * WORKERS)]
        self.record.note(*again)
        return [done, *again]

    def alone(self, session: Session) -> Exchange:
        """Return the exchange of a session's call that is made while no other call is in progress."""
        if session is self.member:
            return self.first
        return self.anonymous if session is self.nobody else self.of_other

    @once
    def service_skew(self) -> float:
        """How many seconds the clock of --service-url is ahead of ours; 0 without such a service."""
        live = self.target.live
        if live is None or live.service_url is None:
            return 0.0
        request = Request("the service, for its clock", "GET", live.service_url, PLAIN)
        return ahead(self.wire.send(request)) or 0.0

    def now_at(self, exchange: Exchange) -> float:
        """Return the time at which the call's token was issued, by the clock with which the token has to agree."""
        return self.record.now_at(exchange, self.service_skew)

    # the content of the normal call

    @property
    def token(self) -> Token:
        """The token of the normal call."""
        return Token(self.first)

    @property
    def provider_id(self) -> str:
        """The provider id from the options, or otherwise from the token."""
        return self.target.provider_id or str(self.token.claims.get("pid"))

    # calls that take time

    def after(self, seconds: float) -> Exchange:
        """Make a normal call from another browser, at least `seconds` after the first call."""
        self._let_pass(seconds, "the token's times may be rounded")
        return self.ask(f"a call {seconds:g} s after the first, with another jkt", self.member)

    def _let_pass(self, seconds: float, why: str) -> None:
        """Wait until `seconds` after the normal call."""
        missing = self.first.answered_at + seconds - self.now()
        if missing > 0:
            self.wait(missing, why)

    def _logged_in(self, name: str, login: Login) -> Session:
        session = Session(name, login.headers, home=self.target.url)
        self.masks.add(*session.secrets)
        if login.url:
            logins.log_in(self, session, login)
        elif self.target.page_url and any(IN_A_PAGE in value for _, value in self.target.headers):
            self.fetch(f"{name}: the page, for the value of a header", self.target.page_url, session)
        return session


def _crashed(done: Exchange) -> bool:
    """Return whether the handler failed. 503 may mean that there are too many calls at once."""
    return done.status >= SERVER_FAILS and done.status != BUSY


def _unknown(done: Exchange) -> bool:
    """Return whether a call is answered as if nobody were logged in."""
    return (done.succeeded and done.member is None) or done.status in UNKNOWN
