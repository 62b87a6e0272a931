"""Stores calls in the database: ringing, active or ended. A conversation has at most one call that has not ended."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple
from uuid import UUID

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import CallEvent, CallState
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.tables import Call

RING_SECONDS: Final = 60
"""How long a call rings before it ends with `call_unanswered`."""
REJOIN_SECONDS: Final = 20
"""How long one side of an active call may be away."""
KEEP_SECONDS: Final = 5
"""How often each process records which callers it has, and ends the calls that are over."""


class Changed(NamedTuple):
    """The state of a call. `fresh` is false if the call was already in this state."""

    event: CallEvent
    fresh: bool


class Caller(NamedTuple):
    """The tab that calls: the id of the frame that started the call, and the thumbprint of the socket's key."""

    started_by: str
    jkt: str


class Overdue(NamedTuple):
    """A call that must end although nobody hung up, and the code of the reason."""

    id: UUID
    conversation: UUID
    code: Code


async def ring(conversation: UUID, now: float, caller: Caller) -> Changed:
    """Start a call, or return the state of the call in progress. The caller must hold the conversation's lock."""
    call = await _open(conversation)
    if call is not None:
        return Changed(event_of(call.id, call.state), fresh=False)
    call = Call(
        conversation=conversation,
        state="ringing",
        started_at=int(now),
        started_by=caller.started_by,
        jkt=caller.jkt,
        seen_at=int(now),
    )
    await call.save()
    return Changed(event_of(call.id, "ringing"), fresh=True)


async def accept(conversation: UUID, now: float, accepted_by: str, *, again: bool = False) -> Changed:
    """Accept the ringing call. With `again`, the call must be active already.

    Raises `Refused` if there is no such call, or if another page of an agent has accepted it. The caller must hold the
    conversation's lock.
    """
    call = await _known(conversation)
    if again and call.state != "active":
        raise unknown()
    if call.state == "active" and call.accepted_by != accepted_by:
        raise taken()
    if call.state == "active":
        return Changed(event_of(call.id, "active"), fresh=False)
    await Call.update(
        {Call.state: "active", Call.answered_at: int(now), Call.accepted_by: accepted_by},
    ).where(Call.id == call.id)
    return Changed(event_of(call.id, "active"), fresh=True)


async def join(conversation: UUID, now: float, caller: Caller) -> CallEvent:
    """Let the caller's tab continue its active call on a new socket. Raises `Refused`.

    The caller must hold the conversation's lock.
    """
    call = await _known(conversation)
    if call.state != "active":
        raise unknown()
    if (call.started_by, call.jkt) != caller:
        raise taken()
    await Call.update({Call.seen_at: int(now)}).where(Call.id == call.id)
    return event_of(call.id, "active")


async def end(
    conversation: UUID, now: float, *, call_id: str | None = None, code: str | None = None, only: str | None = None
) -> Changed:
    """End the call, or only the call `call_id`, or only a call in the state `only`. `code` says why, if nobody hung up.

    Raises `Refused(call_unknown)`. Needs the conversation's lock.
    """
    call = await _known(conversation)
    if call_id not in {None, str(call.id)} or only not in {None, call.state}:
        raise unknown()
    await Call.update({Call.state: "ended", Call.ended_at: int(now), Call.code: code}).where(Call.id == call.id)
    return Changed(event_of(call.id, "ended", code), fresh=True)


async def seen(call_ids: Collection[UUID], now: float) -> None:
    """Record that the callers of these calls still have a socket."""
    if call_ids:
        await Call.update({Call.seen_at: int(now)}).where(Call.id.is_in([*call_ids]), Call.state != "ended")


async def overdue(now: float) -> list[Overdue]:
    """Return the calls that nobody answers, and the calls whose caller is gone, even if the caller's process died."""
    rows = await Call.select(Call.id, Call.conversation, Call.state, Call.started_at, Call.seen_at).where(
        Call.state != "ended"
    )
    return [
        Overdue(row["id"], row["conversation"], code)
        for row in rows
        if (code := _why_over(row["state"], row["started_at"], row["seen_at"], now)) is not None
    ]


def unknown() -> Refused:
    """Build the refusal for a call that does not exist."""
    return Refused(Code.CALL_UNKNOWN, "There is no call to take or to end.", member="action")


def taken() -> Refused:
    """Build the refusal for a call of another tab or another agent."""
    return Refused(
        Code.CALL_TAKEN, "The call belongs to another tab, or another agent has accepted it.", member="action"
    )


async def _open(conversation: UUID) -> Call | None:
    return await Call.objects().where(Call.conversation == conversation, Call.state != "ended").first()


async def _known(conversation: UUID) -> Call:
    call = await _open(conversation)
    if call is None:
        raise unknown()
    return call


def _why_over(state: str, started_at: int, seen_at: int | None, now: float) -> Code | None:
    # A server of the previous release does not write `seen_at`, and ends its callers' calls itself.
    if seen_at is not None and seen_at <= now - REJOIN_SECONDS - KEEP_SECONDS:
        return Code.CALL_LOST
    return Code.CALL_UNANSWERED if state == "ringing" and started_at <= now - RING_SECONDS else None


def event_of(call: UUID, state: str, code: str | None = None) -> CallEvent:
    event = CallEvent(type="call", call_id=str(call), state=_state(state))
    return {**event, "code": code} if code else event


def _state(state: str) -> CallState:
    return state  # type: ignore[return-value]  # only the three are written
