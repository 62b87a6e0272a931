"""The rates of one server: who is counted for what. Each process counts for itself, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from chatkey_server.limits.allowances import Allowances, Charge, give_all_back, take_all
from chatkey_server.limits.clients import client_of
from chatkey_server.limits.turns import Turns

if TYPE_CHECKING:
    from litestar.types import Scope

    from chatkey_server.clock import Now
    from chatkey_server.settings import Limits

MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
KILOBYTE: Final = 1000

SIGN_INS_PER_MINUTE: Final = 10
SEARCHES_AT_ONCE: Final = 2
"""Of all searches of the process, so that they never have all connections to the database."""
SEARCHES_WAITING: Final = 50


class RateLimit:
    """So many requests a minute from each client, a minute's worth of them at once; 0 means no limit."""

    def __init__(self, per_minute: int, now: Now, *, ipv6_prefix: int = 64) -> None:
        self._per_minute = per_minute
        self._allowances = Allowances(per_minute, MINUTE)
        self._now = now
        self._ipv6_prefix = ipv6_prefix

    def check(self, scope: Scope) -> None:
        """Count one request of the client of this connection. Raises `RateLimited` when it is one too many."""
        if not self._per_minute:
            return
        client = client_of(scope, self._ipv6_prefix)
        take_all([Charge(self._allowances, client, 1, "Too many requests from this address")], self._now())

    def reset(self) -> None:
        """Forget every client."""
        self._allowances.clear()


class Questions:
    """So many questions a minute of each person and from each client, a minute's worth at once; 0 means no limit."""

    def __init__(self, asking: str, per_identity: int, per_address: int, now: Now) -> None:
        self._asking = asking
        self._now = now
        self._per_identity = Allowances(per_identity, MINUTE)
        self._per_address = Allowances(per_address, MINUTE)

    def check(self, party: str, address: str) -> None:
        """Count one. Raises `RateLimited`, saying whose allowance is used up."""
        take_all(
            [
                Charge(self._per_identity, party, 1, f"You {self._asking} too often"),
                Charge(self._per_address, address, 1, f"Those who share this address {self._asking} too often"),
            ],
            self._now(),
        )

    def reset(self) -> None:
        """Forget everybody."""
        self._per_identity.clear()
        self._per_address.clear()


class Quotas:
    """How much may be stored in a day: of each person, from each client, for each business; an hour's worth at once.

    A business's visitors and its members are counted apart: what strangers write does not silence its customers.
    """

    def __init__(self, limits: Limits, now: Now) -> None:
        self._now = now
        self._messages = {
            "identity": _a_day(limits.messages_per_identity),
            "address": _a_day(limits.messages_per_address),
            "provider": _a_day(limits.messages_per_provider),
        }
        self._bytes = {
            "identity": _a_day(limits.kilobytes_per_identity * KILOBYTE),
            "address": _a_day(limits.kilobytes_per_address * KILOBYTE),
            "provider": _a_day(limits.kilobytes_per_provider * KILOBYTE),
        }

    @contextmanager
    def stored(self, *, party: str, address: str, provider: str, login: str, size: int) -> Iterator[None]:
        """Count a message of so many bytes while it is being stored; if it is not, it costs nothing.

        Raises `RateLimited`, saying whose quota is used up.
        """
        names = {
            "identity": (party, "You have written as much as you may for now"),
            "address": (address, "As much has been written from this address as may be for now"),
            "provider": (
                f"{provider}:{'visitor' if login == 'visitor' else 'member'}",
                "This chat has taken as much as it may for now",
            ),
        }
        charges = [
            Charge(allowances[kind], name, amount, whose)
            for allowances, amount in ((self._messages, 1), (self._bytes, size))
            for kind, (name, whose) in names.items()
        ]
        take_all(charges, self._now())
        try:
            yield
        except BaseException:
            give_all_back(charges)
            raise

    def reset(self) -> None:
        """Forget everybody."""
        for allowances in (*self._messages.values(), *self._bytes.values()):
            allowances.clear()


class Rates:
    """All of them, one of each for the life of the process."""

    def __init__(self, limits: Limits, now: Now) -> None:
        self.ipv6_prefix = limits.ipv6_prefix
        self.tokens = self._limit(limits.token_rate, now)
        """For the token endpoints."""
        self.oauth = self._limit(limits.oauth_rate, now)
        """For the OAuth endpoints."""
        self.agent_sign_ins = self._limit(SIGN_INS_PER_MINUTE, now)
        self.admin_sign_ins = self._limit(SIGN_INS_PER_MINUTE, now)
        self.searches = Questions("search", limits.searches_per_identity, limits.searches_per_address, now)
        self.search_turns = Turns("searches", at_once=SEARCHES_AT_ONCE, waiting=SEARCHES_WAITING)
        self.histories = Questions("read", limits.histories_per_identity, limits.histories_per_address, now)
        self.quotas = Quotas(limits, now)

    def client_of(self, scope: Scope) -> str:
        """Return whom the limits of a connection are counted for."""
        return client_of(scope, self.ipv6_prefix)

    def reset(self) -> None:
        """Forget everybody."""
        for rate in (
            self.tokens,
            self.oauth,
            self.agent_sign_ins,
            self.admin_sign_ins,
            self.searches,
            self.histories,
            self.quotas,
        ):
            rate.reset()

    def _limit(self, per_minute: int, now: Now) -> RateLimit:
        return RateLimit(per_minute, now, ipv6_prefix=self.ipv6_prefix)


def _a_day(most: int) -> Allowances:
    return Allowances(most, DAY, at_once=most * HOUR / DAY)
