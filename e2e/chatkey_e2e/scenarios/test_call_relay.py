"""Tests a man in the middle: a relay between the widget and the service changes the signals of a call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import WebSocketRoute, expect

from chatkey_e2e import tone
from chatkey_e2e.annotations import NewContext
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_peer.key import BrowserKey, unb64
from chatkey_stack.stack import Stack

Frame = dict[str, Any]
Change = Callable[[Frame], None]

MINE = ":".join(["5A"] * 32)
"""The fingerprint of the relay's own certificate."""
LINE = re.compile(r"(a=fingerprint:sha-256 )[0-9A-Fa-f:]+")


class Relay:
    """Sits between the page and the service, and changes offers and answers."""

    def __init__(self, *, offer: Change | None = None, answer: Change | None = None) -> None:
        self._offer, self._answer = offer, answer
        self.changed = 0

    def between(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda text: server.send(self._passed(text, "action", "answer", self._answer)))
        server.on_message(lambda text: socket.send(self._passed(text, "event", "offer", self._offer)))

    def _passed(self, text: str | bytes, member: str, wanted: str, change: Change | None) -> str | bytes:
        frame = json.loads(text)
        if change is None or frame["type"] != "signal" or frame.get(member) != wanted:
            return text
        change(frame)
        self.changed += 1
        return json.dumps(frame)


def swap(frame: Frame) -> None:
    frame["sdp"] = LINE.sub(rf"\g<1>{MINE}", frame["sdp"])


def swap_with_vouched(frame: Frame) -> None:
    swap(frame)
    frame["fingerprint"] = MINE


def sign_with_my_key(frame: Frame) -> None:
    """Swap the fingerprint, and sign it with the relay's own key."""
    swap(frame)
    claims = _claims(frame["proof"])
    frame["proof"] = BrowserKey().prove_call(
        call_id=frame["call_id"],
        nonce=claims["nonce"],
        fingerprint=MINE,
        peer_fingerprint=claims["peer_fingerprint"],
    )


def change_the_claims(frame: Frame) -> None:
    """Swap the fingerprint also in the signed claims, and keep the signature."""
    swap(frame)
    header, _, signature = frame["proof"].split(".")
    key = BrowserKey()
    forged = key.jws({}, {**_claims(frame["proof"]), "fingerprint": MINE}).split(".")[1]
    frame["proof"] = f"{header}.{forged}.{signature}"


def _claims(proof: str) -> Frame:
    claims: Frame = json.loads(unb64(proof.split(".")[1]))
    return claims


@pytest.mark.long
@pytest.mark.needs("kit")
@pytest.mark.contract("D-22/bound")
@pytest.mark.parametrize(
    ("relay", "code"),
    [
        pytest.param(Relay(offer=swap), "call_unsafe", id="offer"),
        pytest.param(Relay(offer=swap_with_vouched), "proof_fingerprint", id="offer-and-vouched"),
        pytest.param(Relay(answer=swap), "proof_fingerprint", id="answer"),
        pytest.param(Relay(answer=sign_with_my_key), "proof_key_mismatch", id="foreign-key"),
        pytest.param(Relay(answer=change_the_claims), "proof_signature", id="forged-claims"),
    ],
)
def test_a_relay_that_changes_signals_ends_the_call_before_any_sound(
    shop: ShopPage, new_context: NewContext, stack: Stack, relay: Relay, code: str
) -> None:
    """F246: The call must end with the code of the broken rule, and neither side may hear anything."""
    tone.play_instead_of_microphone(shop.page, 440)
    shop.page.route_web_socket(re.compile(r"/v1/socket"), relay.between)
    context = new_context()
    tone.play_instead_of_microphone(context, 880)
    agent = AgentPage(context.new_page(), stack.service.browser_url)
    agent.sign_in()
    widget = shop.open()

    widget.call()
    agent.take_call(widget.uid)

    expect(agent.page.get_by_role("button", name="Hang up")).to_be_hidden()
    assert relay.changed == 1
    widget.wait_for_error(code)
    assert (tone.loudest(widget.page), tone.loudest(agent.page)) == (tone.NOTHING, tone.NOTHING)
