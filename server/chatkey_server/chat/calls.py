"""Stores calls in the database: ringing, active or ended. A conversation has at most one call that has not ended."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import CallEvent, CallState
from chatkey_server.identity.errors import Refused
from chatkey_server.storage.tables import Call


class Changed(NamedTuple):
    """The state of a call. `fresh` is false if the call was already in this state."""

    event: CallEvent
    fresh: bool


async def ring(conversation: UUID, now: float) -> Changed:
    """Start a call, or return the state of the call in progress. The caller must hold the conversation's lock."""
    call = await _open(conversation)
    if call is not None:
        return Changed(event_of(call.id, call.state), fresh=False)
    call = Call(conversation=conversation, state="ringing", started_at=int(now))
    await call.save()
    return Changed(event_of(call.id, "ringing"), fresh=True)


async def accept(conversation: UUID, now: float) -> Changed:
    """Accept the ringing call. Raises `Refused(call_unknown)`. The caller must hold the conversation's lock."""
    call = await _known(conversation)
    if call.state == "active":
        return Changed(event_of(call.id, "active"), fresh=False)
    await Call.update({Call.state: "active", Call.answered_at: int(now)}).where(Call.id == call.id)
    return Changed(event_of(call.id, "active"), fresh=True)


async def end(conversation: UUID, now: float, *, call_id: str | None = None) -> Changed:
    """End the call, or only the call `call_id`. Raises `Refused(call_unknown)`. Needs the conversation's lock."""
    call = await _known(conversation)
    if call_id not in {None, str(call.id)}:
        raise unknown()
    await Call.update({Call.state: "ended", Call.ended_at: int(now)}).where(Call.id == call.id)
    return Changed(event_of(call.id, "ended"), fresh=True)


def unknown() -> Refused:
    """Build the refusal for a call that does not exist."""
    return Refused(Code.CALL_UNKNOWN, "There is no call to take or to end.", member="action")


async def _open(conversation: UUID) -> Call | None:
    return await Call.objects().where(Call.conversation == conversation, Call.state != "ended").first()


async def _known(conversation: UUID) -> Call:
    call = await _open(conversation)
    if call is None:
        raise unknown()
    return call


def event_of(call: UUID, state: str) -> CallEvent:
    return CallEvent(type="call", call_id=str(call), state=_state(state))


def _state(state: str) -> CallState:
    return state  # type: ignore[return-value]  # only the three are written
