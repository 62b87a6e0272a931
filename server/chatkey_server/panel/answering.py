"""The agent's part in a call: one page answers a call at a time, sends offers, and receives verified answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from chatkey_protocol.codes import Code
from chatkey_server.chat import calls
from chatkey_server.chat.lines import Line, Said
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.fingerprints import fingerprint_of

if TYPE_CHECKING:
    from chatkey_server.clock import Alarm
    from chatkey_server.panel.panel_frames import HandleCall, PanelSignal
    from chatkey_server.services import Services
    from chatkey_server.storage.agent_sessions import SignedIn

Tell = Callable[[Mapping[str, object]], None]

_ending: Final[set[asyncio.Task[None]]] = set()


class Answering:
    """The call that one page of an agent has accepted, if there is one.

    If the page's socket is lost, the page has some time to join the call again on a new socket.
    """

    def __init__(self, services: Services, source: str, tell: Tell) -> None:
        self._services = services
        self._source = source
        self._tell = tell
        self._line: Line | None = None
        self._conversation: UUID | None = None
        self._alarm: Alarm | None = None

    async def call(self, frame: HandleCall, agent: SignedIn) -> Mapping[str, object] | None:
        """Accept, join or end a call.

        If the frame has an id, returns the frame which says that the call belongs to this page.
        """
        chat, conversation = self._services.chat, frame["conversation"]
        if frame["action"] == "end":
            await chat.end_call(conversation, agent=agent, code=frame.get("code"))
            return None
        if self._is_busy and conversation != self._conversation:
            raise Refused(Code.CALL_BUSY, "You are in another call; end that call first.", member="action")
        event = await chat.take_call(
            conversation, agent=agent, accepted_by=frame.get("id") or uuid4().hex, again=frame["action"] == "join"
        )
        self._drop()
        self._conversation = conversation
        self._line = Line(self._services.hub, event["call_id"], "agent", self._source, self._heard)
        self._line.say(Said("here"))
        if "id" not in frame:
            return None
        return {"type": "accepted", "conversation": str(conversation), "call_id": event["call_id"]}

    def signal(self, frame: PanelSignal) -> None:
        """Relay an offer or a candidate to the caller. The server adds the fingerprint that it vouches for."""
        if self._line is None or not self._line.is_open or self._line.call_id != frame["call_id"]:
            raise calls.unknown()
        if frame["action"] == "candidate":
            self._line.say(Said("candidate", candidate=frame.get("candidate", "")))
            return
        sdp, nonce = frame.get("sdp", ""), frame.get("nonce")
        if nonce is None:
            raise Refused(Code.PARAMETER_MISSING, "An offer needs a nonce.", member="nonce")
        self._line.say(Said("offer", sdp=sdp, nonce=nonce, fingerprint=fingerprint_of(sdp)))

    def ended(self, call_id: str) -> None:
        """Forget the call, because it has ended."""
        if self._line is not None and self._line.call_id == call_id:
            self._drop()

    def left(self, *, signed_out: bool) -> None:
        """End the call at once if the agent was signed out. Otherwise, wait for the page to join the call again."""
        if not self._is_busy:
            return
        seconds = 0 if signed_out else calls.REJOIN_SECONDS
        self._alarm = self._services.clock.call_at(self._services.clock() + seconds, self._give_up)

    @property
    def _is_busy(self) -> bool:
        return self._line is not None and self._line.is_open

    def _give_up(self) -> None:
        line, conversation = self._line, self._conversation
        if line is None or conversation is None or not line.is_open:
            return  # another socket of the page has taken over
        line.close()
        dropping = asyncio.create_task(self._services.chat.drop_call(conversation, line.call_id, Code.CALL_LOST))
        _ending.add(dropping)
        dropping.add_done_callback(_ending.discard)

    def _drop(self) -> None:
        if self._line is not None:
            self._line.close()
        self._line = None
        if self._alarm is not None:
            self._alarm.cancel()

    def _heard(self, said: Said) -> None:
        if self._line is None or said.action == "here":
            return
        frame = {"type": "signal", "call_id": self._line.call_id, "action": said.action}
        if said.action == "answer":
            frame |= {"sdp": said.sdp, "nonce": said.nonce, "fingerprint": said.fingerprint, "jkt": said.jkt}
        elif said.action == "ask":
            frame |= {"id": said.nonce}
        elif said.action == "candidate":
            frame |= {"candidate": said.candidate}
        self._tell(frame)
