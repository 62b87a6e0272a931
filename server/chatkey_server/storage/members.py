"""Stores member records (contract 2.7, D-11). OAuth callbacks and, for custom logins, the chat write them."""

from __future__ import annotations

from typing import Final, Literal

from piccolo.columns import Column
from piccolo.querystring import QueryString

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import MAX_UID_CHARS
from chatkey_server.storage.engine import transaction
from chatkey_server.storage.tables import UNIQUE, ChatCustomer
from chatkey_server.storage.text import fit, fold

SHOWN_CHARS: Final = 255
AVATAR_CHARS: Final = 2048
TOLD: Final = (ChatCustomer.auth_provider, ChatCustomer.name, ChatCustomer.email, ChatCustomer.avatar)
"""The columns that a login may update."""


async def upsert(
    *,
    provider: str,
    login: Literal["custom", "social"],
    uid: str,
    auth_provider: str | None,
    name: str | None,
    email: str | None,
    avatar: str | None,
    now: float,
) -> ChatCustomer:
    """Create or update the member record for (provider, login, uid), safely under concurrency, and return the record.

    A later login updates the values that it supplies; None leaves a value unchanged. Raises
    `Refused(parameter_invalid)` for a `uid` that cannot be stored, because a shortened uid could belong to someone
    else.
    """
    _check_uid(uid)
    seconds = int(now)
    record = ChatCustomer(
        provider=provider,
        login=login,
        uid=uid,
        auth_provider=auth_provider,
        name=fit(name, SHOWN_CHARS),
        email=fit(email, SHOWN_CHARS),
        avatar=fit(avatar, AVATAR_CHARS),
        created_at=seconds,
        updated_at=seconds,
    )
    async with transaction():
        await ChatCustomer.insert(record).on_conflict(
            target=UNIQUE[ChatCustomer][0],
            action="DO UPDATE",
            values=[*map(_told_or_kept, TOLD), ChatCustomer.updated_at],
        )
        stored = await ChatCustomer.objects().get(
            (ChatCustomer.provider == provider) & (ChatCustomer.login == login) & (ChatCustomer.uid == uid)
        )
        assert stored is not None  # noqa: S101 - written in this very transaction
        await _make_findable(stored)
    return stored


def _check_uid(uid: str) -> None:
    if not uid or len(uid) > MAX_UID_CHARS or uid != fit(uid, MAX_UID_CHARS):
        raise Refused(
            Code.PARAMETER_INVALID, f"uid must be 1 to {MAX_UID_CHARS} characters of plain text.", member="uid"
        )


def _told_or_kept(column: Column) -> tuple[Column, QueryString]:
    name = column._meta.name  # noqa: SLF001 - Piccolo keeps a column's name there
    return column, QueryString(f"COALESCE(EXCLUDED.{name}, chat_customer.{name})")


async def _make_findable(member: ChatCustomer) -> None:
    folded = fold("\n".join(filter(None, (member.name, member.email, member.uid))))
    if folded != member.folded:
        await ChatCustomer.update({ChatCustomer.folded: folded}).where(ChatCustomer.id == member.id)
