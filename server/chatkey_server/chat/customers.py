"""Finds or writes the member record of a conversation's owner (contract 2.7, D-11)."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from chatkey_server.identity.tokens import SocketIdentity
from chatkey_server.storage import members
from chatkey_server.storage.tables import ChatCustomer
from chatkey_server.storage.text import fit


class Told(NamedTuple):
    """Personal data from a token. None leaves a value of the record unchanged."""

    name: str | None = None
    email: str | None = None
    avatar: str | None = None


async def customer_of(identity: SocketIdentity, name: str | None, now: float) -> UUID | None:
    """Return the id of the member's record, or None for a visitor. For a custom login, create or update the record.

    For a social login, the record is only looked up, because the OAuth callback writes it. `name` is the name in the
    widget's `headers`.
    """
    if identity.login == "visitor":
        return None
    known = await _known(identity)
    if identity.login == "social":
        return _id(known) if known is not None else None
    shown = told(identity, name)
    if known is not None and all(value in {None, getattr(known, member)} for member, value in shown._asdict().items()):
        return _id(known)
    record = await members.upsert(
        provider=identity.pid,
        login=identity.login,
        uid=identity.uid,
        auth_provider=None,
        now=now,
        **shown._asdict(),
    )
    return _id(record)


def told(identity: SocketIdentity, name: str | None) -> Told:
    """Return the data that a member's record must contain when the member writes. `name` is as in `customer_of`."""
    if identity.login != "custom":
        return Told()
    profile = identity.profile
    return Told(
        fit(name or profile.name, members.SHOWN_CHARS),
        fit(profile.email, members.SHOWN_CHARS),
        fit(profile.avatar, members.AVATAR_CHARS),
    )


def _id(record: ChatCustomer) -> UUID:
    primary_key: UUID = record.id
    return primary_key


async def _known(identity: SocketIdentity) -> ChatCustomer | None:
    return (
        await ChatCustomer.objects()
        .where(
            ChatCustomer.provider == identity.pid,
            ChatCustomer.login == identity.login,
            ChatCustomer.uid == identity.uid,
        )
        .first()
    )
