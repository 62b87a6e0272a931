"""The pages of the lab's agent. Each page can accept a call, negotiate its sound, and keep the signals it receives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from chatkey_server.chat.events import AGENTS, read_event
from chatkey_server.panel.answering import Answering
from chatkey_server.panel.panel_frames import HandleCall, PanelSignal

if TYPE_CHECKING:
    from chatkey_server.services import Services
    from chatkey_server.storage.agent_sessions import SignedIn

MOST_PAGES: Final = 100


class AgentPage:
    """A page without a socket. It has at most one call at a time, as in the panel."""

    def __init__(self, services: Services) -> None:
        self.signals: list[Mapping[str, object]] = []
        self._hub = services.hub
        self._answering = Answering(services, uuid4().hex, self.signals.append)
        self._call_id = ""
        self._hub.add(AGENTS, self._deliver)

    async def accept(self, conversation: UUID, agent: SignedIn) -> None:
        """Accept the call of a conversation. Raises `Refused`."""
        frame = HandleCall(type="call", conversation=conversation, id=uuid4().hex, action="accept")
        accepted = await self._answering.call(frame, agent)
        self._call_id = str((accepted or {}).get("call_id"))

    def offer(self, sdp: str, nonce: str) -> None:
        """Send the caller an offer. Raises `Refused`."""
        self._answering.signal(PanelSignal(type="signal", call_id=self._call_id, action="offer", sdp=sdp, nonce=nonce))

    def add_candidate(self, candidate: str) -> None:
        """Send the caller an ICE candidate. Raises `Refused`."""
        self._answering.signal(
            PanelSignal(type="signal", call_id=self._call_id, action="candidate", candidate=candidate)
        )

    def close(self) -> None:
        """End the page's call, and receive nothing more."""
        self._hub.remove(AGENTS, self._deliver)
        self._answering.left(signed_out=True)

    def _deliver(self, payload: bytes) -> None:
        event = read_event(payload)
        if event.call is not None and event.call[1] == "ended":
            self._answering.ended(event.call[0])


class AgentPages:
    """The pages by the name that a test has chosen. If there are too many, the oldest page is closed."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._pages: dict[str, AgentPage] = {}

    def named(self, name: str) -> AgentPage:
        """Return the page with this name, and open it if necessary."""
        if name not in self._pages:
            while len(self._pages) >= MOST_PAGES:
                self._pages.pop(next(iter(self._pages))).close()
            self._pages[name] = AgentPage(self._services)
        return self._pages[name]
