"""Selects the secrets that verify a token while a provider's secret is being rotated (D-05)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Protocol, TypeVar

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Secrets

REREAD_SECONDS: Final = 1


class Signer(Protocol):
    """A provider's id and secrets, as they were when the provider was read."""

    @property
    def id(self) -> str: ...

    @property
    def secrets(self) -> Secrets: ...


S = TypeVar("S", bound=Signer)
T = TypeVar("T")


async def judged(provider: S, rule: Callable[[S], T], find: Callable[[str, float], Awaitable[S | None]]) -> T:
    """Return the result of `rule` for a provider. If `rule` refuses the signature, try again with newer secrets.

    Therefore a token that was signed right after a rotation is accepted, even if another process rotated the secret.
    `find` takes an id and a maximum age in seconds, and returns the provider. Bad tokens cost at most one query per
    second.
    """
    try:
        return rule(provider)
    except Refused as refused:
        if refused.code is not Code.TOKEN_SIGNATURE:
            raise
        newer = await find(provider.id, REREAD_SECONDS)
        if newer is None or newer.secrets == provider.secrets:
            raise
    return rule(newer)
