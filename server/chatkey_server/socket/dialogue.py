"""The frames of the chat, each answered by the chat (D-10, 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from chatkey_protocol import frames as wire
from chatkey_server.identity.errors import Refused
from chatkey_server.peers.writer import error
from chatkey_server.socket import frames

if TYPE_CHECKING:
    from chatkey_server.chat.service import Chat
    from chatkey_server.identity.tokens import SocketIdentity


async def answer(
    chat: Chat, identity: SocketIdentity, frame: frames.ChatFrame, source: str, address: str
) -> Mapping[str, object]:
    """Return the answer to one frame; what the chat refuses is an `error` with the frame's id, and the socket stays."""
    try:
        return await _answer(chat, identity, frame, source, address)
    except Refused as refused:
        return error(refused, frame.id)


async def _answer(
    chat: Chat, identity: SocketIdentity, frame: frames.ChatFrame, source: str, address: str
) -> Mapping[str, object]:
    match frame:
        case frames.SendMessage(id=frame_id, body=body, headers=headers):
            entry = await chat.post(identity, frame_id, body, name=headers.name, source=source, address=address)
            return wire.Ack(type="ack", id=frame_id, seq=entry["seq"], sent_at=entry["sent_at"])
        case frames.AskHistory(id=frame_id, before=before, limit=limit):
            messages, more = await chat.history(identity, before, limit, address=address)
            return wire.History(type="history", id=frame_id, messages=messages, more=more)
        case frames.AskSearch(id=frame_id, query=query):
            found = await chat.search(identity, query, address=address)
            return wire.SearchResult(type="search", id=frame_id, messages=found)
        case frames.AskCall(id=frame_id, action="start", headers=headers):
            event = await chat.call(identity, name=headers.name, source=source, address=address)
            return {**event, "id": frame_id}
        case frames.AskCall(id=frame_id):
            event = await chat.hang_up(identity, source=source)
            return {**event, "id": frame_id}
