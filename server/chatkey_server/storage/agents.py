"""The people who answer in the agent panel."""

from __future__ import annotations

import asyncio
import re
from functools import cache
from typing import Final

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.engine import snapshot, transaction
from chatkey_server.storage.passwords import hash_password, verify_password
from chatkey_server.storage.tables import Agent

USERNAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
PASSWORD_CHARS: Final = (8, 1024)


async def add_agent(username: str, password: str) -> None:
    """Make an agent. Raises `Refused(parameter_invalid)` naming the member, when it cannot be or is taken."""
    if not USERNAME.fullmatch(username):
        raise _invalid("username", "must be 1 to 64 of A-Z a-z 0-9 . _ @ -, beginning with a letter or digit")
    least, most = PASSWORD_CHARS
    if not least <= len(password) <= most:
        raise _invalid("password", f"must have {least} to {most} characters")
    hashed = await asyncio.to_thread(hash_password, password)
    async with transaction():
        added = (
            await Agent.insert(Agent(username=username, password_hash=hashed))
            .on_conflict(target=Agent.username, action="DO NOTHING")
            .returning(Agent.id)
        )
    if not added:
        raise _invalid("username", f"{username!r} is taken; choose another")


async def check_agent(username: str, password: str) -> Agent | None:
    """Return the agent with this name and password, or None; it takes as long for a name that does not exist."""
    agent = None
    if USERNAME.fullmatch(username):
        async with snapshot():
            agent = await Agent.objects().get(Agent.username == username)
    stored = agent.password_hash if agent is not None else _nobody()
    matches = await asyncio.to_thread(verify_password, password[: PASSWORD_CHARS[1] + 1], stored)
    return agent if matches else None


@cache
def _nobody() -> str:
    return hash_password("the password of nobody")


def _invalid(member: str, reason: str) -> Refused:
    return Refused(Code.PARAMETER_INVALID, f"{member} {reason}.", member=member)
