"""Endpoints whose tokens have wrong times or are valid for too long."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.check.mutants.mutant_backend import BROKEN, Backend, Claims, register, with_claims, without

broken = register(BROKEN)


def with_exp(name: str, value: Any) -> None:
    """Register a backend whose exp is this value. If the value is a function, it is called with iat."""
    with_claims(BROKEN, name, lambda claims: {**claims, "exp": value(claims["iat"]) if callable(value) else value})


def with_iat(name: str, value: Any) -> None:
    """Register a backend whose iat is this value. If the value is a function, it is called with the correct iat."""
    with_claims(BROKEN, name, lambda claims: {**claims, "iat": value(claims["iat"]) if callable(value) else value})


def shifted(name: str, seconds: int) -> None:
    """Register a backend that moves both iat and exp by this many seconds."""
    with_claims(BROKEN, name, lambda claims: {**claims, "iat": claims["iat"] + seconds, "exp": claims["exp"] + seconds})


def iso(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


with_exp("exp-ms", lambda now: (now + 3600) * 1000)
with_exp("exp-us", lambda now: (now + 3600) * 1_000_000)
with_exp("exp-string", lambda now: str(now + 3600))
with_exp("exp-iso", lambda now: iso(now + 3600))
with_exp("exp-float", lambda now: now + 3600.5)
with_exp("exp-true", True)
with_exp("exp-null", None)
with_exp("exp-relative", 3600)
with_exp("exp-negative", -1)
with_exp("exp-zero", 0)
with_exp("exp-24h", lambda now: now + 86_400)
with_exp("exp-30d", lambda now: now + 30 * 86_400)
with_exp("exp-60s", lambda now: now + 60)
with_exp("exp-jsonwebtoken", lambda now: now + 4)
with_exp("exp-hour-of-ms", lambda now: now + 3_600_000)
with_exp("exp-2h", lambda now: now + 7200)
with_exp("exp-30min", lambda now: now + 1800)
with_exp("exp-8h", lambda now: now + 8 * 3600)
with_exp("exp-is-iat", lambda now: now)
with_exp("exp-45min", lambda now: now + 2700)
with_exp("exp-70min", lambda now: now + 4200)
with_exp("exp-past", lambda now: now - 10)
with_exp("exp-zone-only", lambda now: now + 3600 + 5 * 3600)
with_claims(BROKEN, "exp-missing", lambda claims: without(claims, "exp"))
with_claims(BROKEN, "exp-renamed", lambda claims: {**without(claims, "exp"), "expires": claims["exp"]})
shifted("zone-ahead", 2 * 3600)
shifted("zone-behind", -int(5.5 * 3600))
shifted("iat-future", 600)
shifted("iat-two-minutes-ahead", 120)
with_iat("iat-zero", 0)
with_iat("iat-ms", lambda now: now * 1000)
with_iat("iat-string", str)
with_iat("iat-float", float)
with_iat("iat-iso", iso)
with_iat("iat-account", lambda now: now - 400 * 86_400)
with_iat("iat-ahead-alone", lambda now: now + 300)
with_claims(BROKEN, "iat-missing", lambda claims: without(claims, "iat"))
with_claims(BROKEN, "nbf-future", lambda claims: {**claims, "nbf": claims["iat"] + 300})
with_claims(BROKEN, "nbf-string", lambda claims: {**claims, "nbf": str(claims["iat"])})
with_claims(BROKEN, "nbf-ms", lambda claims: {**claims, "nbf": claims["iat"] * 1000})


class Boot(Backend):
    """Reads the time when the program starts instead of at each call."""

    ago = 0

    def claims(self, person: Claims, jkt: Any) -> Claims:
        started = int(self.started) - self.ago
        started += started % 60 == 0  # a time on the full minute would look rounded
        return {**super().claims(person, jkt), "iat": started, "exp": started + 3600}


@broken("exp-at-boot")
class ExpAtBoot(Boot):
    ago = 1800


@broken("exp-at-boot-just-now")
class ExpAtBootJustNow(Boot):
    pass


@broken("exp-at-boot-ended")
class ExpAtBootEnded(Boot):
    ago = 7300


@broken("exp-frozen")
class ExpFrozen(Backend):
    """Computes exp from the time of the login instead of the time of the call."""

    def claims(self, person: Claims, jkt: Any) -> Claims:
        began = int(self.started) + (int(self.started) % 60 == 0)
        return {**super().claims(person, jkt), "exp": began + 3600}


@broken("exp-shrinks")
class ExpShrinks(Backend):
    """Reduces the lifetime by four minutes at each call from the same browser."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen: dict[str, int] = {}

    def claims(self, person: Claims, jkt: Any) -> Claims:
        times = self.seen[jkt] = self.seen.get(jkt, 0) + 1
        made = super().claims(person, jkt)
        return {**made, "exp": made["exp"] - 240 * (times - 1)}  # too small a difference to look like another worker


@broken("stale-cache")
class StaleCache(Backend):
    """Creates tokens in advance, and returns a token that is about twenty minutes old."""

    def claims(self, person: Claims, jkt: Any) -> Claims:
        made = super().claims(person, jkt)
        return {**made, "iat": made["iat"] - 1234, "exp": made["exp"] - 1234}
