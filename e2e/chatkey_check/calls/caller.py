"""Calls one endpoint, records the exchanges, and waits if the endpoint limits the rate."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final, Unpack

from chatkey_check import reading
from chatkey_check.calls.forms import Forms
from chatkey_check.calls.lanes import Lanes
from chatkey_check.calls.memo import Lasting, Memo, once
from chatkey_check.calls.record import Record
from chatkey_check.calls.requests import FORM_TYPE, Variation, plain, varied
from chatkey_check.calls.sessions import Session, replaced_cookies
from chatkey_check.evidence.masks import Masks
from chatkey_check.exchange import BUSY, KEEPS_METHOD, Exchange, Header, Request, origin
from chatkey_check.model import Skipped
from chatkey_check.target import Target
from chatkey_check.wire.http import Wire
from chatkey_check.words import duration, plural

MOST_HOPS: Final = 3
PATIENCE: Final = 10.0
"""Longest time, in seconds, to wait when the endpoint limits the rate of calls."""
PAUSE: Final = 2.0
"""Seconds to wait when the endpoint does not say how long."""


def random_jkt() -> str:
    """Return a random thumbprint. Upper and lower case, `-` and `_` in the thumbprint reveal encoding mistakes."""
    while True:
        made = reading.encoded(secrets.token_bytes(32))
        if "-" in made and "_" in made and made[0] not in "-_":
            return made


class Limited(Skipped, Lasting):
    """The endpoint still refuses calls because of its rate limit. `answer` is the last refusal."""

    def __init__(self, reason: str, answer: Exchange) -> None:
        super().__init__(reason)
        self.answer = answer


@dataclass(frozen=True, eq=False)
class Caller:
    """Calls one endpoint, and notes in `record` what happens."""

    target: Target
    wire: Wire
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    new_jkt: Callable[[], str] = random_jkt
    on_wait: Callable[[float, str], None] = lambda _seconds, _why: None
    """Called with the seconds and the reason before each wait."""
    record: Record = field(default_factory=Record)
    lanes: Lanes = field(default_factory=Lanes)
    memo: Memo = field(default_factory=Memo)

    @once
    def masks(self) -> Masks:
        """The values that no report may show. Sessions add their own values."""
        return Masks.of(self.target)

    def wait(self, seconds: float, why: str) -> None:
        """Report the wait to `on_wait`, and sleep."""
        self.on_wait(seconds, why)
        self.sleep(seconds)
        self.record.waits.append(seconds)

    def request(self, label: str, session: Session, **how: Unpack[Variation]) -> Request:
        """Return the request that `ask` would send."""
        return varied(self.target, label, session, how["jkt"] if "jkt" in how else self.new_jkt(), how)

    def ask(self, label: str, session: Session, **how: Unpack[Variation]) -> Exchange:
        """Call the endpoint as a session."""
        with session.turn():
            before = session.changes
            done = self.send(self.request(label, session, **how), measured=how.get("measured", False))
            overtaken = session.changes > before  # meanwhile another answer replaced our cookies
            if (session.rotates or "cookies" not in how) and not self._is_for_another_site(session, done):
                self._learn(session, done)
        return self.ask(label, session, **how) if overtaken else done

    def _is_for_another_site(self, session: Session, done: Exchange) -> bool:
        """Return whether an answer to another site starts a session of its own, while ours stays valid.

        Rack's protection of Sinatra does so. Sites that replace the session with every answer end ours.
        """
        if ("Origin", self.target.page) in done.request.headers or not replaced_cookies(done):
            return False
        again = self.send(self.request("a normal call, after the one of another site", session))
        if again.minted:
            self._learn(session, again)
        return again.minted

    def ask_each(self, asks: Iterable[Callable[[], Exchange]]) -> Iterator[Exchange]:
        """Make independent calls, several at a time, and yield the exchanges in order.

        When the caller stops iterating, calls that have not started are cancelled.
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
        """Allow several calls at a time. The number depends on how fast the endpoint has been so far."""
        if self.record.log:
            self.lanes.widen(median(done.seconds for done in self.record.log), self.target.timeout)
        self.wire.spread()  # two threads must not share a kept connection

    def fetch(
        self,
        label: str,
        url: str,
        session: Session | None,
        *,
        form: bytes | None = None,
        headers: Sequence[Header] = FORM_TYPE,
    ) -> Exchange:
        """Get another address, or post a form to it. Other hosts get only the cookies that they set themselves."""
        with self.lanes.one():
            done = self.wire.send(plain(self.target, label, url, session, form=form, headers=headers))
            self.record.note(done)
        if session is not None and done.response is not None:
            self._learn(session, done, obeying=True)
            session.read(Forms(done.text).metas if "html" in (done.response.get("content-type") or "") else {})
        return done

    def send(self, request: Request, *, measured: bool = False) -> Exchange:
        """Send a request, and follow redirects that keep the method and stay on the same origin."""
        done = self._sent(request, measured=measured)
        hops: tuple[str, ...] = ()
        while done.status in KEEPS_METHOD and len(hops) < MOST_HOPS and origin(done.location) == origin(request.url):
            hops += (done.location,)
            done = self._sent(done.request.with_url(done.location), measured=measured)
        done = replace(done, hops=hops) if hops else done
        self.record.log.append(done)
        return done

    def _learn(self, session: Session, done: Exchange, *, obeying: bool = False) -> None:
        if done.response is not None:
            session.learn(done.response, done.request.url, obeying=obeying)
            self.masks.add(*session.secrets)

    def _sent(self, request: Request, *, measured: bool) -> Exchange:
        """Send a request. Repeat the request once if it fails, or after a wait if the endpoint limits the rate.

        Raises `Limited` if the rate limit still applies after the wait.
        """
        with self.lanes.alone() if measured else self.lanes.one() as company:
            done = self.wire.send(request)
            if done.fails and not company.there:
                done = self._again(done)
            self.record.count(done)
        if company.there and (done.fails or (done.timed_out and not self.record.hung)):
            done = self._without_company(done)
        return self._with_patience(done) if done.throttled else done

    def _again(self, failed: Exchange) -> Exchange:
        """Repeat a call that failed. If the repeated call succeeds, record the first failure as flaky."""
        done = self.wire.send(failed.request)
        if not done.fails:
            self.record.flaky.append(failed)
            self.record.log.append(failed)
        return done

    def _without_company(self, failed: Exchange) -> Exchange:
        """Repeat a call that failed while other calls were in progress.

        If the repeated call succeeds, only one call at a time is made from then on. If the repeated call times out,
        calls that time out are no longer repeated.
        """
        with self.lanes.alone():
            done = self.wire.send(failed.request)
        if done.timed_out:
            self.record.hung.append(done)
        elif not done.fails:
            self.lanes.narrow()
            self.record.crowded.append(failed)
            self.record.log.append(failed)
        return done

    def _with_patience(self, refused: Exchange) -> Exchange:
        """Repeat a call after the wait that the endpoint asks for; without Retry-After, after a short wait.

        No other call is made during the wait. Afterwards, calls are made one at a time.
        """
        if self.record.unserved:
            return refused
        self.lanes.narrow()
        done = refused
        unsaid = math.isinf(refused.patience) and sum(self.record.waits) < PATIENCE
        seconds = PAUSE if unsaid else refused.patience
        if seconds <= PATIENCE:
            with self.lanes.alone():
                missing = refused.answered_at + seconds - self.now()  # another call may have waited meanwhile
                if missing > 0:
                    self.wait(missing, f"the endpoint limits the rate of calls ({refused.status})")
                done = self.wire.send(refused.request)
        if done.throttled and self._root_is_refused(done):
            self.record.unserved.append(done)
            return done
        if done.throttled:
            self.record.log.append(done)
            raise Limited(self.limited_by(done), done)
        return done

    def _root_is_refused(self, refused: Exchange) -> bool:
        """Return whether nginx answers 503 to every call, and to the root of the site, because no backend runs.

        nginx's limit_req answers with the same page, but a limit for the whole site would allow one call after a wait.
        """
        if self.record.answered or refused.status != BUSY or refused.response is None:
            return False
        if refused.response.get("retry-after") is not None:
            return False
        root = plain(
            self.target,
            "the root of the site, to tell a limit from a missing backend",
            _root(refused),
            None,
            form=None,
            headers=(),
        )
        with self.lanes.alone():
            return self.wire.send(root).throttled

    def limited_by(self, refused: Exchange) -> str:
        """Return the message about the rate limit. Every call that is refused gets the same message."""
        return self.memo.get("limited_by", lambda: self._limit(refused))

    def _limit(self, refused: Exchange) -> str:
        if not self.record.answered and refused.status == BUSY:
            return "nginx answers every call with 503: no backend runs behind it, or its limit_req allows no call"
        asked = refused.patience < math.inf
        again = f"Retry-After asks for {duration(refused.patience)}" if asked else "no Retry-After"
        with self.lanes.alone():  # the calls under way have to end first, to be counted
            after = f"{refused.status} after {plural(len(self.record.answered), 'call')}"
        return f"the endpoint limits the rate of calls ({after}, {again}); raise the limit for this program"


def _root(done: Exchange) -> str:
    return f"{origin(done.request.url)}/"
