"""All rate limits of one server.

Each process counts in its own memory. With Redis, the limits that protect the service as a whole are counted over
all processes: password attempts, sign-ins at social providers, and stored data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chatkey_server.limits.allowances import Allowances, Charge, take_all
from chatkey_server.limits.clients import client_of
from chatkey_server.limits.counting import Counting
from chatkey_server.limits.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from litestar.types import Scope

    from chatkey_server.clock import Now
    from chatkey_server.limits.counting import Tally
    from chatkey_server.settings import Limits

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
KILOBYTE: Final = 1000

SIGN_INS_PER_MINUTE: Final = 10
SEARCHES_AT_ONCE: Final = 2
"""The most concurrent searches in a process, so that they cannot occupy all database connections."""
SEARCHES_WAITING: Final = 50


class RateLimit:
    """Limits the requests of each client per minute.

    A client may send all requests of a minute at once. 0 means no limit.
    """

    def __init__(self, per_minute: int, now: Now, *, ipv6_prefix: int = 64, kind: str = "") -> None:
        self._allowances = Allowances(per_minute, MINUTE, kind=kind)
        self._now = now
        self._ipv6_prefix = ipv6_prefix

    def check(self, scope: Scope) -> None:
        """Count one request of this connection's client. Raises `RateLimited` above the limit."""
        if self._allowances.is_limit:
            take_all([self._charge(scope)], self._now())

    def reset(self) -> None:
        self._allowances.clear()

    def _charge(self, scope: Scope) -> Charge:
        client = client_of(scope, self._ipv6_prefix)
        return Charge(self._allowances, client, 1, "Too many requests from this address")


class SharedRateLimit(RateLimit):
    """A `RateLimit` that is counted over all processes together."""

    def __init__(self, per_minute: int, now: Now, counting: Counting, *, kind: str, ipv6_prefix: int = 64) -> None:
        super().__init__(per_minute, now, ipv6_prefix=ipv6_prefix, kind=kind)
        self._counting = counting

    async def count(self, scope: Scope) -> None:
        """Count one request as `check` does, over all processes. Raises `RateLimited` above the limit."""
        if self._allowances.is_limit:
            await self._counting.take(self._charge(scope))


class Questions:
    """Limits one kind of request per minute, per person and per client. All requests of a minute may come at once."""

    def __init__(self, asking: str, per_identity: int, per_address: int, now: Now) -> None:
        self._asking = asking
        self._now = now
        self._per_identity = Allowances(per_identity, MINUTE)
        self._per_address = Allowances(per_address, MINUTE)

    def check(self, party: str, address: str) -> None:
        """Count one request. Raises `RateLimited`, which says whose limit is reached."""
        take_all(
            [
                Charge(self._per_identity, party, 1, f"You {self._asking} too often"),
                Charge(self._per_address, address, 1, f"Clients that share your address {self._asking} too often"),
            ],
            self._now(),
        )

    def reset(self) -> None:
        self._per_identity.clear()
        self._per_address.clear()


class Quotas:
    """Limits the data stored per day, for each person, client and business.

    Up to 1/24 of the daily limit, which is the share of one hour, may be stored in one burst.

    A business's visitors and members are counted separately, so that visitors cannot use up the members' quota.
    """

    def __init__(self, limits: Limits, counting: Counting) -> None:
        self._counting = counting
        self._messages = {
            "identity": _a_day(limits.messages_per_identity, "messages:identity"),
            "address": _a_day(limits.messages_per_address, "messages:address"),
            "provider": _a_day(limits.messages_per_provider, "messages:provider"),
        }
        self._bytes = {
            "identity": _a_day(limits.kilobytes_per_identity * KILOBYTE, "bytes:identity"),
            "address": _a_day(limits.kilobytes_per_address * KILOBYTE, "bytes:address"),
            "provider": _a_day(limits.kilobytes_per_provider * KILOBYTE, "bytes:provider"),
        }

    def stored(self, *, party: str, address: str, provider: str, login: str, size: int) -> AbstractContextManager[None]:
        """Count a message of `size` bytes while it is stored. If storing fails, the count is undone.

        Raises `RateLimited`, which says whose quota is used up.
        """
        names = {
            "identity": (party, "You have sent as many messages as the limit allows for now"),
            "address": (address, "As many messages were sent from this address as the limit allows for now"),
            "provider": (
                f"{provider}:{'visitor' if login == 'visitor' else 'member'}",
                "This chat has received as many messages as the limit allows for now",
            ),
        }
        charges = [
            Charge(allowances[kind], name, amount, whose)
            for allowances, amount in ((self._messages, 1), (self._bytes, size))
            for kind, (name, whose) in names.items()
        ]
        return self._counting.counted(charges)

    def reset(self) -> None:
        for allowances in (*self._messages.values(), *self._bytes.values()):
            allowances.clear()


class Rates:
    """One instance of each rate limit, for the lifetime of the process."""

    def __init__(
        self, limits: Limits, now: Now, tally: Tally | None = None, processes: Callable[[], int] = lambda: 1
    ) -> None:
        self.ipv6_prefix = limits.ipv6_prefix
        self.counting = Counting(now, tally, processes)
        self.tokens = RateLimit(limits.token_rate, now, ipv6_prefix=self.ipv6_prefix)
        """For the token endpoints."""
        self.oauth = self._shared(limits.oauth_rate, now, "oauth")
        """For the OAuth endpoints."""
        self.agent_sign_ins = self._shared(SIGN_INS_PER_MINUTE, now, "agents")
        self.admin_sign_ins = self._shared(SIGN_INS_PER_MINUTE, now, "administrators")
        self.searches = Questions("search", limits.searches_per_identity, limits.searches_per_address, now)
        self.search_turns = Turns("searches", at_once=SEARCHES_AT_ONCE, waiting=SEARCHES_WAITING)
        self.histories = Questions("read", limits.histories_per_identity, limits.histories_per_address, now)
        self.quotas = Quotas(limits, self.counting)

    def client_of(self, scope: Scope) -> str:
        return client_of(scope, self.ipv6_prefix)

    def reset(self) -> None:
        for rate in (
            self.tokens,
            self.oauth,
            self.agent_sign_ins,
            self.admin_sign_ins,
            self.searches,
            self.histories,
            self.quotas,
            self.counting,
        ):
            rate.reset()

    def _shared(self, per_minute: int, now: Now, kind: str) -> SharedRateLimit:
        return SharedRateLimit(per_minute, now, self.counting, kind=kind, ipv6_prefix=self.ipv6_prefix)


def _a_day(most: int, kind: str) -> Allowances:
    return Allowances(most, DAY, at_once=most * HOUR / DAY, kind=kind)
