"""Stores sessions of the agent panel (D-21). Only token hashes are stored, because a hash cannot be used to sign in."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple
from uuid import UUID

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.agents import providers_of
from chatkey_server.storage.engine import snapshot, transaction
from chatkey_server.storage.tables import Agent, AgentSession

LIFETIME_SECONDS: Final = 12 * 3600
LAB_AGENT: Final = "lab agent"
"""The name of the lab's agent, who needs no password. No account can have it, because it contains a space."""


class SignedIn(NamedTuple):
    """An agent's session at the time when it was read. `confirm` checks whether the session has changed since then."""

    session: str
    """The id of the session in the database: the hash of its token."""
    name: str
    providers: frozenset[str] | None
    """The businesses the agent answers for; None means all."""
    is_lab: bool = False
    """Whether this is the lab's agent, who has no account."""

    def answers_for(self, provider: str) -> bool:
        return self.providers is None or provider in self.providers


async def begin(agent: Agent, now: float) -> str | None:
    """Sign in an agent whose password was checked, and return the session's token.

    Returns None if the agent was removed or the password was changed after the check.
    """
    async with transaction():
        return await _begin(agent.id, now) if await _hold(agent) else None


async def begin_for_lab(now: float) -> str:
    """Sign in the lab's agent, and return the session's token."""
    async with transaction():
        return await _begin(None, now)


async def end(token: str) -> bool:
    """End the session of this token. Returns False, without writing, if there is no such session."""
    async with snapshot():
        is_there = await AgentSession.exists().where(AgentSession.id == _hash(token))
    if is_there:
        async with transaction():
            await AgentSession.delete().where(AgentSession.id == _hash(token))
    return is_there


async def of_token(token: str, now: float) -> SignedIn | None:
    """Return the agent of a session that has not expired, otherwise None."""
    session = _hash(token)
    return (await standing({session}, now)).get(session)


async def confirm(agent: SignedIn, now: float) -> None:
    """Raise `Refused(sign_in_required)` if the session has ended or the agent's businesses have changed."""
    if (await standing({agent.session}, now)).get(agent.session) != agent:
        raise over()


def over() -> Refused:
    """Build the refusal for a session that has ended or changed."""
    return Refused(
        Code.SIGN_IN_REQUIRED, "This session has ended, or the agent's businesses have changed; reload the page."
    )


async def standing(sessions: Collection[str], now: float) -> dict[str, SignedIn]:
    """Return the current state of each session that is still valid."""
    agent = AgentSession.agent._
    async with snapshot():
        rows = await AgentSession.select(
            AgentSession.id,
            AgentSession.agent,
            agent.username.as_alias("name"),
            agent.all_providers.as_alias("all_providers"),
        ).where(AgentSession.id.is_in([*sessions]), AgentSession.expires_at > int(now))
        given = await providers_of({row["agent"] for row in rows if row["name"] and not row["all_providers"]})
    return {row["id"]: _signed_in(row, given) for row in rows if _is_lab(row) or row["name"]}


def _is_lab(row: dict[str, Any]) -> bool:
    """Return whether a session belongs to the lab. The session of a removed agent does not."""
    return row["agent"] is None


def _signed_in(row: dict[str, Any], given: Mapping[UUID, set[str]]) -> SignedIn:
    if _is_lab(row):
        return SignedIn(row["id"], LAB_AGENT, None, is_lab=True)
    providers = None if row["all_providers"] else frozenset(given.get(row["agent"], ()))
    return SignedIn(row["id"], row["name"], providers)


async def _begin(agent: UUID | None, now: float) -> str:
    await AgentSession.delete().where(AgentSession.expires_at <= int(now))  # these have expired
    token = secrets.token_urlsafe(32)
    await AgentSession.insert(
        AgentSession(id=_hash(token), agent=agent, expires_at=int(now) + LIFETIME_SECONDS),
    )
    return token


async def _hold(agent: Agent) -> bool:
    """Lock the agent's row until the transaction ends. Returns False if the password has changed since the check."""
    # An update that changes nothing locks the row on both databases.
    return bool(
        await Agent.update({Agent.password_hash: agent.password_hash})
        .where(Agent.id == agent.id, Agent.password_hash == agent.password_hash)
        .returning(Agent.id)
    )


def _hash(token: str) -> str:
    return sha256(token.encode()).hexdigest()
