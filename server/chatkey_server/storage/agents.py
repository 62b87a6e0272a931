"""Stores the accounts of the agent panel, and the businesses that each agent answers for (D-21)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from uuid import UUID

from chatkey_server.storage import accounts
from chatkey_server.storage.engine import snapshot, transaction
from chatkey_server.storage.providers import unknown
from chatkey_server.storage.tables import Agent, AgentProvider, Provider


class AgentEntry(NamedTuple):
    """An agent in a list. `providers` is None if the agent answers for all businesses."""

    name: str
    providers: list[str] | None


async def add_agent(username: str, password: str, providers: Collection[str] | None = None) -> None:
    """Create an agent for these businesses, or for all businesses.

    Raises `Refused(parameter_invalid)` for an invalid name or password and for a name that is taken, and
    `Refused(provider_unknown)` for a business that does not exist.
    """
    agent = await accounts.new(Agent, username, password)
    agent.all_providers = providers is None
    async with transaction():
        await accounts.insert(agent)
        await _give(agent.id, providers or ())


async def check_agent(username: str, password: str) -> Agent | None:
    """Return the agent with this name and password, or None. Unknown names take as long as wrong passwords."""
    return await accounts.check(Agent, username, password)


async def set_providers(username: str, providers: Collection[str] | None) -> None:
    """Set the businesses that an agent answers for; None means all. Raises the same refusals as `add_agent`."""
    async with transaction():
        changed = (
            await Agent.update({Agent.all_providers: providers is None})
            .where(Agent.username == username)
            .returning(Agent.id)
        )
        if not changed:
            raise accounts.unknown(Agent, username)
        agent = changed[0]["id"]
        await AgentProvider.delete().where(AgentProvider.agent == agent)
        await _give(agent, providers or ())


async def listed() -> list[AgentEntry]:
    """Return all agents, sorted by name."""
    async with snapshot():
        rows = await Agent.select(Agent.id, Agent.username, Agent.all_providers).order_by(Agent.username)
        given = await providers_of({row["id"] for row in rows})
    return [
        AgentEntry(row["username"], None if row["all_providers"] else sorted(given.get(row["id"], ()))) for row in rows
    ]


async def providers_of(agents: Collection[UUID]) -> dict[UUID, set[str]]:
    """Return the businesses of each agent who does not answer for all businesses."""
    given: dict[UUID, set[str]] = {}
    if agents:
        rows = await AgentProvider.select(AgentProvider.agent, AgentProvider.provider).where(
            AgentProvider.agent.is_in([*agents])
        )
        for row in rows:
            given.setdefault(row["agent"], set()).add(row["provider"])
    return given


async def _give(agent: UUID, providers: Collection[str]) -> None:
    for provider in dict.fromkeys(providers):
        if not await Provider.exists().where(Provider.id == provider):
            raise unknown(provider, member="provider")
        await AgentProvider.insert(AgentProvider(agent=agent, provider=provider))
