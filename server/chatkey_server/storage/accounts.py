"""The names and passwords of agents and administrators, which are in separate tables."""

from __future__ import annotations

import asyncio
import re
from functools import cache
from typing import Final, TypeVar

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.engine import snapshot, transaction
from chatkey_server.storage.passwords import hash_password, verified
from chatkey_server.storage.tables import Administrator, AdminSession, Agent, AgentSession

USERNAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
PASSWORD_CHARS: Final = (8, 1024)

Account = TypeVar("Account", Agent, Administrator)
AnyAccount = type[Agent | Administrator]


async def add(table: type[Account], username: str, password: str) -> None:
    """Create and store an account. Raises the refusals of `new` and `insert`."""
    account = await new(table, username, password)
    await insert(account)


async def new(table: type[Account], username: str, password: str) -> Account:
    """Create an account without storing it. Raises `Refused(parameter_invalid)`, which names the invalid member."""
    if not USERNAME.fullmatch(username):
        raise _invalid(
            "username", "must be 1 to 64 characters from A-Z a-z 0-9 . _ @ -, and begin with a letter or digit"
        )
    return table(username=username, password_hash=await _hashed(password))


async def insert(account: Agent | Administrator) -> None:
    """Store an account. Raises `Refused(parameter_invalid)` if the name is taken."""
    table: AnyAccount = type(account)
    async with transaction():
        added = (
            await table.insert(account)  # type: ignore[arg-type]  # it is of this very table
            .on_conflict(target=table.username, action="DO NOTHING")
            .returning(table.id)
        )
        if added and table is Administrator:
            # SQLite reuses the number of a deleted row, and sessions of that number may still exist.
            await AdminSession.delete().where(AdminSession.user_id == added[0]["id"])
    if not added:
        raise _invalid("username", f"{account.username!r} is taken; choose another")


async def check(table: type[Account], username: str, password: str) -> Account | None:
    """Return the account with this name and password, or None. Unknown names take as long as wrong passwords."""
    account = None
    if USERNAME.fullmatch(username):
        async with snapshot():
            account = await table.objects().get(table.username == username)
    stored = account.password_hash if account is not None else _nobody()
    matches = await verified(password[: PASSWORD_CHARS[1] + 1], stored)
    return account if matches else None


async def set_password(table: AnyAccount, username: str, password: str) -> None:
    """Set a new password, and end all sessions of the account. Raises the same refusals as `new`."""
    hashed = await _hashed(password)
    async with transaction():
        changed = (
            await table.update({table.password_hash: hashed}).where(table.username == username).returning(table.id)
        )
        if not changed:
            raise unknown(table, username)
        if table is Agent:
            await AgentSession.delete().where(AgentSession.agent == changed[0]["id"])
        else:
            await AdminSession.delete().where(AdminSession.user_id == changed[0]["id"])


async def remove(table: AnyAccount, username: str) -> None:
    """Remove an account, which also ends its sessions. Raises `Refused` if there is no such account."""
    async with transaction():
        removed = await table.delete().where(table.username == username).returning(table.username)
    if not removed:
        raise unknown(table, username)


def unknown(table: AnyAccount, username: str) -> Refused:
    """Build the refusal for an account that does not exist."""
    return _invalid("username", f"{username!r} is not the name of an {table.__name__.lower()}")


async def _hashed(password: str) -> str:
    least, most = PASSWORD_CHARS
    if not least <= len(password) <= most:
        raise _invalid("password", f"must have {least} to {most} characters")
    return await asyncio.to_thread(hash_password, password)


@cache
def _nobody() -> str:
    return hash_password("the password of nobody")


def _invalid(member: str, reason: str) -> Refused:
    return Refused(Code.PARAMETER_INVALID, f"{member} {reason}.", member=member)
