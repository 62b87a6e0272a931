"""Custom login: when the widget calls the page's `getToken`, and how it checks the results."""

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
"""A member's token is renewed this number of seconds before the token expires."""

LEAST_SECONDS: Final = 10.0
"""The shortest time between two renewals, in seconds. A cached token must be valid for at least this time."""

LOCK_SECONDS: Final = 12.0
"""The time in seconds for which other tabs wait for a tab that calls `getToken`.

A call takes at most 10 seconds unless the tab is frozen. The wait is a random time between once and twice this value,
so that waiting tabs do not all call at once.
"""

TOKENS_BORNE: Final = 2
"""The number of consecutive unusable tokens after which the widget stops calling `getToken`."""

_TIMERS: Final[tuple[LoginTimer, ...]] = ("getToken", "renew")


@dataclass(frozen=True, slots=True)
class Flight:
    """One call of `getToken`. It begins when the tab waits for the lock, and ends with the result.

    `cached` is the token that was known at the beginning.
    """

    ref: int
    reason: Reason
    attempt: int
    cached: str | None = field(repr=False)


class Login:
    """Calls `getToken`, one call at a time."""

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
        """Whether the last call of `getToken` failed and another call is planned."""
        return self._failures > 0

    def awaits(self, ref: int) -> bool:
        """Return whether this `ref` belongs to the call in progress."""
        return self._flight is not None and self._flight.ref == ref

    def ask(self, reason: Reason, cached: str | None) -> bool:
        """Call `getToken`, unless a call is in progress. Return whether there will be a result."""
        if not self._ctx.settings.custom_login:
            return False
        if self._flight is None:
            self._call(reason, cached)
        return True

    def ask_afresh(self, cached: str | None) -> bool:
        """Call `getToken` because the page says that its user may have changed. A call in progress is cancelled."""
        self.cancel()
        self._useless = 0
        return self.ask("refresh", cached)

    def again(self, cached: str | None) -> None:
        self.ask(self._reason, cached)

    def turn_came(self, ref: int, stored: str | None) -> str | None:
        """Call `getToken`.

        If another tab has cached a new token meanwhile, return that token without a call (D-12). If the reason is
        `refresh`, always call, because another tab cannot know whether this page's user has changed.
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
        """Cancel the call in progress and all planned calls."""
        if self._flight is not None:
            self._ctx.do(AbortGetToken(self._flight.ref))
        self._flight = None
        self._failures = 0
        for name in _TIMERS:
            self._ctx.cancel_timer(name)

    def spared(self) -> None:
        """Cancel the call, because another tab has provided a token.

        A call that the page asked for (`refresh`) continues.
        """
        if self._flight is None or self._flight.reason != "refresh":
            self.cancel()

    def settled(self) -> None:
        """Reset the count of unusable tokens, because the token was valid until its renewal was due."""
        self._useless = 0

    def ended(self) -> None:
        """Handle the expiry of the token in use.

        If the token was requested a while ago, reset the count of unusable tokens.
        """
        if self._ctx.now - self._asked_at > MARGIN_SECONDS:
            self._useless = 0

    def answered(self) -> None:
        """End the call and reset the count of failures, because `getToken` has returned a result."""
        self._flight = None
        self._failures = 0

    def failed(self, error: WidgetError) -> None:
        """Report to the page that `getToken` failed, and plan the next call."""
        self._flight = None
        self._failures += 1
        self._ctx.report(error)
        self._ctx.set_timer("getToken", equal_jitter(self._failures, fraction=self._ctx.chance.fraction()))

    def useless(self) -> bool:
        """Count an unusable token. Return whether the widget should ask for another one."""
        self._useless += 1
        return self._useless < TOKENS_BORNE

    def plan_renewal(self, member: Custom) -> None:
        """Set the timer that renews the token before it expires (contract 3)."""
        left = member.claims.expires_at - self._ctx.server_now
        if left <= MARGIN_SECONDS and not self._warned:
            self._warned = True
            self._ctx.emit("warning", code="short_lifetime", seconds=round(left))
        self._ctx.set_timer(
            "renew", max(LEAST_SECONDS, left - MARGIN_SECONDS if left > 2 * MARGIN_SECONDS else left / 2)
        )

    def read(self, value: str | Unusable) -> Custom:
        """Check the result of `getToken` as the server would check it, except for the times. Raises `WidgetError`."""
        if isinstance(value, Unusable):
            raise WidgetError(Fault.TOKEN_WRONG_TYPE, f"getToken returned {value.what} instead of a string or null.")
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
    """Read a member's token of either kind (D-06), without checking times. Raises `WidgetError`."""
    claims = tokens.read(token)
    if claims.type not in {"user", "identity"}:
        raise WidgetError(Fault.TOKEN_CLAIMS, f"type must be 'user', but it is {claims.type!r}.")
    tokens.check_binding(claims, pid=ctx.settings.provider_id, jkt=ctx.connection_key.jkt)
    return Custom(token, claims) if claims.type == "user" else Social(token, claims)
