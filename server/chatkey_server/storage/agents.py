"""The people who answer in the agent panel."""

from __future__ import annotations

from chatkey_server.storage import accounts
from chatkey_server.storage.tables import Agent


async def add_agent(username: str, password: str) -> None:
    """Make an agent. Raises `Refused(parameter_invalid)` naming the member, when it cannot be or is taken."""
    await accounts.add(Agent, username, password)


async def check_agent(username: str, password: str) -> Agent | None:
    """Return the agent with this name and password, or None; it takes as long for a name that does not exist."""
    return await accounts.check(Agent, username, password)
