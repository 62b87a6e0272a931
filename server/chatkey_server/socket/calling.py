"""The calling socket's part in a call: it joins the call, relays signals, and verifies the proof of the audio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import structlog

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import SendSignal, Signal
from chatkey_server.chat import calls
from chatkey_server.chat.events import PROVIDERS
from chatkey_server.chat.lines import Line, Said
from chatkey_server.identity import call_proofs
from chatkey_server.identity.call_proofs import Ends
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.fingerprints import fingerprint_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chatkey_protocol.frames import AskCall, CallEvent
    from chatkey_server.identity.tokens import SocketIdentity
    from chatkey_server.services import Services


log: Final = structlog.get_logger("chatkey.socket")


class Calling:
    """A socket has at most one call that it started or joined. The sockets of other tabs cannot send its signals."""

    def __init__(self, services: Services, source: str, tell: Callable[[Mapping[str, object]], None]) -> None:
        self._services = services
        self._source = source
        self._tell = tell
        self._line: Line | None = None
        self._offer = Said("offer")
        self._asked: Said | None = None
        self._identity: SocketIdentity | None = None
        self._checking: asyncio.Task[None] | None = None

    async def call(self, identity: SocketIdentity, frame: AskCall, name: str | None, address: str) -> CallEvent:
        """Do what a `call` frame asks for, and return the state of the call."""
        chat = self._services.chat
        if frame["action"] == "end":
            return await chat.hang_up(identity, source=self._source, code=frame.get("code"))
        if frame["action"] == "join":
            event = await chat.join(identity, frame.get("started", ""))
            self._begin(identity, event["call_id"])
            return event
        changed = await chat.call(identity, name=name, source=self._source, started_by=frame["id"], address=address)
        if changed.fresh:
            self._begin(identity, changed.event["call_id"])
        return changed.event

    async def signal(self, identity: SocketIdentity, frame: SendSignal, now: float) -> Signal:
        """Relay a signal to the agent's page. An answer is verified first; if it is refused, the call ends."""
        line = self._line
        if line is None or not line.is_open or line.call_id != frame["call_id"]:
            raise calls.unknown()
        try:
            line.say(self._said(identity, frame, now))
        except Refused as refused:
            if frame["action"] == "answer":
                await self._services.chat.hang_up(identity, source="", call_id=line.call_id, code=refused.code)
            raise
        return Signal(type="signal", id=frame["id"], call_id=line.call_id, event="passed")

    def ended(self, call_id: str) -> None:
        """Forget the call, because it has ended."""
        if self._line is not None and self._line.call_id == call_id:
            self.leave()

    def leave(self) -> str | None:
        """Stop relaying, and return the id of the call that this socket had."""
        line, self._line = self._line, None
        self._services.hub.remove(PROVIDERS, self._provider_changed)
        if line is None or not line.is_open:
            return None
        line.close()
        self._services.keeper.release(line.call_id)
        return line.call_id

    def _begin(self, identity: SocketIdentity, call_id: str) -> None:
        self.leave()
        self._identity = identity
        self._services.hub.add(PROVIDERS, self._provider_changed)
        self._offer, self._asked = Said("offer"), None
        self._line = Line(self._services.hub, call_id, "caller", self._source, self._heard)
        self._services.keeper.hold(call_id)

    def _provider_changed(self, changed: bytes) -> None:
        if self._identity is not None and changed.decode() in {"", self._identity.pid}:
            self._checking = asyncio.create_task(self._check_provider(self._identity))

    async def _check_provider(self, identity: SocketIdentity) -> None:
        """End the call if the business was switched off. The socket stays open until its token ends."""
        try:
            if not (await self._services.providers.get(identity.pid)).enabled and self._line is not None:
                call_id, code = self._line.call_id, Code.PROVIDER_OFF
                await self._services.chat.hang_up(identity, source="", call_id=call_id, code=code)
        except Refused as refused:
            log.info("call.unchecked", code=refused.code, provider=identity.pid)

    def _said(self, identity: SocketIdentity, frame: SendSignal, now: float) -> Said:
        if frame["action"] == "answer":
            return self._answer(identity, frame, now)
        if frame["action"] == "ask":
            self._asked = Said("ask", nonce=frame["id"])
            return self._asked
        return Said("candidate", candidate=frame.get("candidate", ""))

    def _answer(self, identity: SocketIdentity, frame: SendSignal, now: float) -> Said:
        """Verify the caller's answer to the newest offer. An offer can be answered once."""
        offer, self._offer = self._offer, Said("offer")
        sdp, proof = frame.get("sdp", ""), frame.get("proof", "")
        fingerprint = fingerprint_of(sdp)
        ends = Ends(caller=fingerprint, agent=offer.fingerprint, nonce=offer.nonce or None)
        call_proofs.verify(proof, ends, call_id=frame["call_id"], jkt=identity.jkt, now=now)
        return Said("answer", sdp=sdp, fingerprint=fingerprint, nonce=offer.nonce, jkt=identity.jkt)

    def _heard(self, said: Said) -> None:
        """Pass on what the agent's page says."""
        if self._line is None:
            return
        call_id = self._line.call_id
        if said.action == "here":
            if self._asked is not None:  # the agent's page answers it once, and again after a reload
                self._line.say(self._asked)
            return
        if said.action != "offer":
            self._tell(Signal(type="signal", call_id=call_id, event="candidate", candidate=said.candidate))
            return
        self._offer = said
        settings = self._services.settings
        offer = Signal(
            type="signal",
            call_id=call_id,
            event="offer",
            sdp=said.sdp,
            nonce=said.nonce,
            fingerprint=said.fingerprint,
            ice_servers=[*settings.ice_servers],
        )
        self._tell({**offer, "relay_only": True} if settings.ice_relay_only else offer)
