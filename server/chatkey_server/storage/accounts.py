"""The names and passwords of those who sign in here: agents and administrators, each kind in a table of its own."""

from __future__ import annotations

import asyncio
import re
from functools import cache
from typing import Final, TypeVar

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.engine import snapshot, transaction
from chatkey_server.storage.passwords import hash_password, verify_password
from chatkey_server.storage.tables import Administrator, AdminSession, Agent

USERNAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
PASSWORD_CHARS: Final = (8, 1024)

Account = TypeVar("Account", Agent, Administrator)


async def add(table: type[Account], username: str, password: str) -> None:
    """Make an account. Raises `Refused(parameter_invalid)` naming the member, when it cannot be or is taken."""
    if not USERNAME.fullmatch(username):
        raise _invalid("username", "must be 1 to 64 of A-Z a-z 0-9 . _ @ -, beginning with a letter or digit")
    hashed = await _hashed(password)
    async with transaction():
        added = (
            await table.insert(table(username=username, password_hash=hashed))
            .on_conflict(target=table.username, action="DO NOTHING")
            .returning(table.username)
        )
    if not added:
        raise _invalid("username", f"{username!r} is taken; choose another")


async def check(table: type[Account], username: str, password: str) -> Account | None:
    """Return the account with this name and password, or None; it takes as long for a name that does not exist."""
    account = None
    if USERNAME.fullmatch(username):
        async with snapshot():
            account = await table.objects().get(table.username == username)
    stored = account.password_hash if account is not None else _nobody()
    matches = await asyncio.to_thread(verify_password, password[: PASSWORD_CHARS[1] + 1], stored)
    return account if matches else None


async def set_password(username: str, password: str) -> None:
    """Give an administrator another password, and sign them out everywhere. Raises `Refused` like `add`."""
    hashed = await _hashed(password)
    async with transaction():
        changed = (
            await Administrator.update({Administrator.password_hash: hashed})
            .where(Administrator.username == username)
            .returning(Administrator.id)
        )
        if not changed:
            raise _unknown(username)
        await AdminSession.delete().where(AdminSession.user_id == changed[0]["id"])


async def remove(username: str) -> None:
    """Remove an administrator, who is signed out everywhere by that. Raises `Refused` when there is none."""
    async with transaction():
        removed = (
            await Administrator.delete().where(Administrator.username == username).returning(Administrator.username)
        )
    if not removed:
        raise _unknown(username)


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


def _unknown(username: str) -> Refused:
    return _invalid("username", f"{username!r} is no administrator")
