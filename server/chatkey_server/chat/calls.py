"""Calls in the database: ringing, active, ended; one at a time in a conversation."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import CallEvent, CallState
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.tables import Call


class Changed(NamedTuple):
    """Where a call stands. `fresh` is false when it stood there before."""

    event: CallEvent
    fresh: bool


async def ring(conversation: UUID, now: float) -> Changed:
    """Start a call, or say where the one stands that is on. The conversation must be held."""
    call = await _open(conversation)
    if call is not None:
        return Changed(event_of(call.id, call.state), fresh=False)
    call = Call(conversation=conversation, state="ringing", started_at=int(now))
    await call.save()
    return Changed(event_of(call.id, "ringing"), fresh=True)


async def accept(conversation: UUID, now: float) -> Changed:
    """Take the call that rings; refuses with `call_unknown`. The conversation must be held."""
    call = await _known(conversation)
    if call.state == "active":
        return Changed(event_of(call.id, "active"), fresh=False)
    await Call.update({Call.state: "active", Call.answered_at: int(now)}).where(Call.id == call.id)
    return Changed(event_of(call.id, "active"), fresh=True)


async def end(conversation: UUID, now: float, *, call_id: str | None = None) -> Changed:
    """End the call that is on, or that one only; refuses with `call_unknown`. The conversation must be held."""
    call = await _known(conversation)
    if call_id not in {None, str(call.id)}:
        raise unknown()
    await Call.update({Call.state: "ended", Call.ended_at: int(now)}).where(Call.id == call.id)
    return Changed(event_of(call.id, "ended"), fresh=True)


def unknown() -> Refused:
    """Refuse to take or end a call that is not there."""
    return Refused(Code.CALL_UNKNOWN, "There is no call that could be taken or ended.", member="action")


async def _open(conversation: UUID) -> Call | None:
    return await Call.objects().where(Call.conversation == conversation, Call.state != "ended").first()


async def _known(conversation: UUID) -> Call:
    call = await _open(conversation)
    if call is None:
        raise unknown()
    return call


def event_of(call: UUID, state: str) -> CallEvent:
    """Return what is told of a call."""
    return CallEvent(type="call", call_id=str(call), state=_state(state))


def _state(state: str) -> CallState:
    return state  # type: ignore[return-value]  # only the three are written
