"""Stores social logins in progress: data that the callback needs and may read only once (D-07)."""

from __future__ import annotations

import hashlib
from typing import Final

from chatkey_protocol.codes import Code
from chatkey_server.identity import encoding
from chatkey_server.identity.errors import RateLimited, Refused, UnderWay
from chatkey_server.identity.oauth_state import LIFETIME_SECONDS
from chatkey_server.storage.engine import transaction
from chatkey_server.storage.tables import OAuthFlow

MOST: Final = 100_000
"""The most logins in progress. More logins are an attack. Refusing new logins protects the logins in progress."""
REPEAT_SECONDS: Final = 60
"""How long a second request with the same code counts as a repetition of the first, which may still be answered."""


async def start(id: str, *, provider: str, social: str, verifier: str, oidc_nonce: str, now: float) -> None:  # noqa: A002 - the column's name
    """Store a login that was sent to the social provider, and delete expired logins.

    Raises `RateLimited` if too many logins are in progress, until the oldest one expires.
    """
    over = int(now) - LIFETIME_SECONDS
    async with transaction():
        await OAuthFlow.delete().where(OAuthFlow.created_at <= over)
        if await OAuthFlow.count() >= MOST:
            oldest = await OAuthFlow.select(OAuthFlow.created_at).order_by(OAuthFlow.created_at).first()
            raise RateLimited(oldest["created_at"] - over if oldest else 0, "Too many logins are in progress")
        await OAuthFlow.insert(
            OAuthFlow(
                id=id,
                provider=provider,
                social=social,
                verifier=verifier,
                oidc_nonce=oidc_nonce,
                created_at=int(now),
                used_at=None,
                code_digest=None,
            )
        )


async def take(id: str, code: str | None, *, now: float) -> OAuthFlow:  # noqa: A002 - the column's name
    """Return the login with this id, once. If several callbacks have the same state, only one of them gets the login.

    Raises `Refused(state_used)`, `Refused(state_expired)`, or `Refused(state_invalid)` if the login was never started
    here. If the first callback had the same code and is recent, `Refused(state_used)` is an `UnderWay`.
    """
    digest = encoding.encode(hashlib.sha256(code.encode("utf-8", "replace")).digest()) if code else None
    oldest = int(now) - LIFETIME_SECONDS
    async with transaction():
        taken = (
            await OAuthFlow.update({OAuthFlow.used_at: int(now), OAuthFlow.code_digest: digest})
            .where(
                (OAuthFlow.id == id)
                & OAuthFlow.used_at.is_null()
                & (OAuthFlow.created_at > int(now) - LIFETIME_SECONDS)
            )
            .returning(OAuthFlow.id)
        )
        flow = await OAuthFlow.objects().get(OAuthFlow.id == id)
    if flow is None:
        raise Refused(Code.STATE_INVALID, "This login was not started on this server; start it again.", member="state")
    if taken:
        return flow
    if flow.created_at <= oldest:
        raise Refused(Code.STATE_EXPIRED, "This login took longer than ten minutes; start it again.", member="state")
    if digest and digest == flow.code_digest and int(now) - (flow.used_at or 0) < REPEAT_SECONDS:
        raise UnderWay
    raise Refused(Code.STATE_USED, "This login was already completed; start it again.", member="state")
