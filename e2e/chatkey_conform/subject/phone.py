"""One call between a member's socket and a page of an agent, for the cases about the audio of calls."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from chatkey_conform.judging.verdict import Broken, expect, expect_that
from chatkey_conform.making.call_verdicts import Offered
from chatkey_conform.subject.peer import WAIT, Peer
from chatkey_peer.key import BrowserKey, Json

if TYPE_CHECKING:
    from chatkey_conform.subject.shop import Shop
    from chatkey_conform.subject.subject import Subject

CALLER: Final = ":".join(f"{byte:02X}" for byte in range(32))
AGENT: Final = ":".join(f"{byte:02X}" for byte in range(224, 256))
STARTED: Final = "the-call"
"""The `id` of the frame that starts the call."""
ANSWERED: Final = "the-answer"
POLL_SECONDS: Final = 0.2


def description(*fingerprints: str, media: str = "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\n") -> str:
    """Return a session description with these SHA-256 fingerprints."""
    lines = "".join(f"a=fingerprint:sha-256 {fingerprint}\r\n" for fingerprint in fingerprints)
    return f"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n{media}c=IN IP4 0.0.0.0\r\n{lines}a=mid:0\r\n"


class Phone:
    """The caller's socket, and the agent's page with the name `page`."""

    def __init__(self, subject: Subject, shop: Shop, peer: Peer) -> None:
        self.subject = subject
        self.shop = shop
        self.peer = peer
        self.page = secrets.token_hex(6)
        self.other_key = BrowserKey()
        self.nonce = ""
        self.call_id = str(peer.granted({"type": "call", "id": STARTED, "action": "start"}, "call")["call_id"])

    # the agent

    def agent(self, do: str, *, page: str = "", **members: str) -> Mapping[str, Any]:
        """Act as an agent in this conversation, with this phone's page or another one."""
        return self.subject.agent(self.shop, do, page=page or self.page, **members)

    def accept(self) -> None:
        """Accept the call, and wait until the caller receives the news."""
        expect(self.agent("accept").get("refused"), None, "The refusal of the agent who accepts the call")
        expect(self.told("call")["state"], "active", "state of the call that was accepted")

    def offer(self, *, sdp: str = "", nonce: str = "") -> Json:
        """Send an offer of the agent's page, and return the frame that the caller receives."""
        self.nonce = nonce or secrets.token_urlsafe(18)
        self.agent("offer", sdp=sdp or description(AGENT), nonce=self.nonce)
        return self.told("signal")

    def heard(self, action: str) -> Mapping[str, Any]:
        """Return the first signal with this action that the agent's page receives. Raises `Broken`."""
        until = time.monotonic() + WAIT
        while time.monotonic() < until:
            for signal in self.signals():
                if signal.get("action") == action:
                    return signal
            threading.Event().wait(POLL_SECONDS)
        raise Broken(f"The agent's page does not receive the caller's signal {action!r}")

    def signals(self) -> list[Mapping[str, Any]]:
        """Return all signals that the agent's page has received."""
        return list(self.agent("read").get("signals") or ())

    # the caller

    def signal(self, action: str, **members: object) -> Json:
        return {"type": "signal", "id": "s-1", "call_id": self.call_id, "action": action, **members}

    def offered(self) -> Offered:
        """Return the values for a valid proof."""
        return Offered(self.shop.key, self.other_key, self.call_id, self.nonce, CALLER, AGENT, self.subject.now())

    def answer(self, proof: str, *, sdp: str = "") -> Json:
        """Answer the offer with this proof, and return the service's answer."""
        sent = self.signal("answer", sdp=sdp or description(CALLER), proof=proof)
        return self.peer.ask({**sent, "id": ANSWERED})

    def told(self, kind: str) -> Json:
        """Return the next frame of this type that answers no request of the caller."""
        while (frame := self.peer.next())["type"] != kind or "id" in frame:
            continue
        return frame

    # what must follow

    def connects(self) -> None:
        """Check that the agent's page and the caller can negotiate the audio."""
        frame = self.offer()
        expect(frame.get("event"), "offer", "event of the signal that the caller receives")
        expect(self.answer(self.offered().prove()).get("event"), "passed", "event of the answer to a valid proof")
        expect(self.heard("answer").get("fingerprint"), CALLER, "The fingerprint that the agent's page receives")

    def ends(self, code: str | None, peer: Peer | None = None) -> None:
        """Check that the socket, by default the caller's, is told that the call has ended with this code."""
        while (frame := (peer or self.peer).next())["type"] != "call" or frame.get("state") != "ended":
            continue
        expect((frame.get("call_id"), frame.get("code")), (self.call_id, code), "call_id and code of the ended call")

    def is_refused(self, refusal: Json, code: str) -> None:
        """Check that an answer was refused, that the call has ended, and that the agent's page did not receive it."""
        came = (refusal["type"], refusal.get("code"), refusal.get("id"))
        expect(came, ("error", code, ANSWERED), "type, code and id of the reaction to the answer")
        stays_unknown = self.peer.ask(self.signal("ask"))
        expect(stays_unknown.get("code"), "call_unknown", f"code of a signal after {code} has ended the call")
        expect_that(
            not [signal for signal in self.signals() if signal.get("action") == "answer"],
            "The agent's page receives an answer that was refused",
        )


@contextmanager
def ringing(subject: Subject, shop: Shop | None = None, token: str | None = None) -> Iterator[Phone]:
    """Start a call as a member, which rings until an agent accepts it."""
    caller = shop or subject.shop()
    with subject.joined(caller, token) as peer:
        phone = Phone(subject, caller, peer)
        yield phone
        phone.peer.say({"type": "call", "id": "over", "action": "end"})


@contextmanager
def accepted(subject: Subject, shop: Shop | None = None, token: str | None = None) -> Iterator[Phone]:
    """Start a call as a member, and accept it as an agent."""
    with ringing(subject, shop, token) as phone:
        phone.accept()
        yield phone
