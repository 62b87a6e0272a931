"""Custom login: when the page's `getToken` is asked, what of its answers is believed, and when it is asked again."""

from dataclasses import dataclass, field
from typing import Final

from chatkey_widget import tokens
from chatkey_widget.backoff import equal_jitter
from chatkey_widget.context import Context
from chatkey_widget.effects import AbortGetToken, AwaitTurn, CallGetToken, Reason
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import Unusable
from chatkey_widget.principal import Custom, Member, Social
from chatkey_widget.timers import LoginTimer

MARGIN_SECONDS: Final = 60.0
"""A member's token is renewed this long before its end."""

LEAST_SECONDS: Final = 10.0
"""Tokens are not renewed more often than this, and a cached one must last at least as long."""

LOCK_SECONDS: Final = 12.0
"""A tab that asks `getToken` is done within 10 seconds, unless it is frozen: from then on, other tabs do not wait.

Twice as long at most, so that the tabs which waited do not ask all at once.
"""

TOKENS_BORNE: Final = 2
"""Tokens in a row that may turn out useless before `getToken` is left alone."""

_TIMERS: Final[tuple[LoginTimer, ...]] = ("getToken", "renew")


@dataclass(frozen=True, slots=True)
class Flight:
    """One asking of `getToken`, from the wait for its turn to its answer; `cached` is the token known when it began."""

    ref: int
    reason: Reason
    attempt: int
    cached: str | None = field(repr=False)


class Login:
    """Asks `getToken`, one flight at a time."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._flight: Flight | None = None
        self._reason: Reason = "load"
        self._failures = 0
        self._useless = 0
        self._asked_at = 0.0
        self._warned = False

    @property
    def failing(self) -> bool:
        """Whether `getToken` failed last time and is to be tried again."""
        return self._failures > 0

    def awaits(self, ref: int) -> bool:
        """Tell whether this turn, or this answer, is the one awaited."""
        return self._flight is not None and self._flight.ref == ref

    def ask(self, reason: Reason, cached: str | None) -> bool:
        """Call `getToken` unless it is being called; tell whether an answer will come."""
        if not self._ctx.settings.custom_login:
            return False
        if self._flight is None:
            self._call(reason, cached)
        return True

    def ask_afresh(self, cached: str | None) -> bool:
        """Call `getToken` because the page says that its user may have changed; what was under way is dropped."""
        self.cancel()
        self._useless = 0
        return self.ask("refresh", cached)

    def again(self, cached: str | None) -> None:
        """Call once more after a failure."""
        self.ask(self._reason, cached)

    def turn_came(self, ref: int, stored: str | None) -> str | None:
        """Call `getToken`, unless another tab has brought a token meanwhile: return that one instead (D-12).

        What the page says of its own user (`refresh`) no other tab can know.
        """
        flight = self._flight
        if flight is None or flight.ref != ref:
            return None
        if flight.reason != "refresh" and stored is not None and stored != flight.cached:
            self._flight = None
            return stored
        self._ctx.do(CallGetToken(flight.ref, self._ctx.connection_key.jkt, flight.reason, flight.attempt))
        return None

    def cancel(self) -> None:
        """Drop the call under way and whatever was planned."""
        if self._flight is not None:
            self._ctx.do(AbortGetToken(self._flight.ref))
        self._flight = None
        self._failures = 0
        for name in _TIMERS:
            self._ctx.cancel_timer(name)

    def spared(self) -> None:
        """Another tab brought a token, so none is asked for here; but what the page wants to know, it is told."""
        if self._flight is None or self._flight.reason != "refresh":
            self.cancel()

    def settled(self) -> None:
        """A token lasted until its renewal was due: earlier useless ones are forgotten."""
        self._useless = 0

    def ended(self) -> None:
        """The token in use came to its end: if it was asked for a while ago, that says nothing against the next one."""
        if self._ctx.now - self._asked_at > MARGIN_SECONDS:
            self._useless = 0

    def answered(self) -> None:
        """End the flight: `getToken` answered, so earlier failures are forgotten."""
        self._flight = None
        self._failures = 0

    def failed(self, error: WidgetError) -> None:
        """Tell the page that `getToken` failed, and plan the next try."""
        self._flight = None
        self._failures += 1
        self._ctx.report(error)
        self._ctx.set_timer("getToken", equal_jitter(self._failures, fraction=self._ctx.chance.fraction()))

    def useless(self) -> bool:
        """Count a token that cannot be used; tell whether another is worth asking for."""
        self._useless += 1
        return self._useless < TOKENS_BORNE

    def plan_renewal(self, member: Custom) -> None:
        """Set the timer for the token's renewal before its end (contract 3)."""
        left = member.claims.expires_at - self._ctx.server_now
        if left <= MARGIN_SECONDS and not self._warned:
            self._warned = True
            self._ctx.emit("warning", code="short_lifetime", seconds=round(left))
        self._ctx.set_timer(
            "renew", max(LEAST_SECONDS, left - MARGIN_SECONDS if left > 2 * MARGIN_SECONDS else left / 2)
        )

    def read(self, value: str | Unusable) -> Custom:
        """Check what `getToken` returned as the server would. Raises `WidgetError`; time is judged apart."""
        if isinstance(value, Unusable):
            raise WidgetError(Fault.TOKEN_WRONG_TYPE, f"getToken returned {value.what} instead of a text or null.")
        member = read_member(value, self._ctx)
        if isinstance(member, Social):
            raise WidgetError(Fault.TOKEN_CLAIMS, "type must be 'user', but it is 'identity'.")
        return member

    def _call(self, reason: Reason, cached: str | None) -> None:
        self._ctx.cancel_timer("getToken")
        self._reason = reason
        self._asked_at = self._ctx.now
        attempt = self._failures + 1
        self._flight = Flight(self._ctx.new_ref(), reason, attempt, cached)
        self._ctx.emit("token:requested", reason=reason, attempt=attempt)
        self._ctx.do(AwaitTurn(self._flight.ref, LOCK_SECONDS * (1 + self._ctx.chance.fraction())))


def read_member(token: str, ctx: Context) -> Member:
    """Read a member's token as it is cached, of either kind (D-06). Raises `WidgetError`; time is judged apart."""
    claims = tokens.read(token)
    if claims.type not in {"user", "identity"}:
        raise WidgetError(Fault.TOKEN_CLAIMS, f"type must be 'user', but it is {claims.type!r}.")
    tokens.check_binding(claims, pid=ctx.settings.provider_id, jkt=ctx.connection_key.jkt)
    return Custom(token, claims) if claims.type == "user" else Social(token, claims)
