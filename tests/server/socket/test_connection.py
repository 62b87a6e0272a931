"""Tests of the state machine of one socket, without a network: what depends on time, and transitions that meet."""

from __future__ import annotations

from typing import Any

import pytest

from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import unverified
from chatkey_server.settings import Limits
from chatkey_server.socket.connection import Connection, State

NOW = 1_800_000_030.0
HOUR = 3600

Make = Any


def refusal(code: Code, close: Close, member: str | None = None) -> Any:
    """Return a context that expects a refusal with this code, close code and member."""

    def matches(refused: Refused) -> bool:
        return (refused.code, refused.meaning.close, refused.member) == (code, close, member)

    return pytest.RaisesExc(Refused, check=matches)


def test_two_origins_are_refused() -> None:
    with refusal(Code.PARAMETER_REPEATED, Close.BAD_FRAME, "Origin"):
        Connection("wss://chat.test/v1/socket", Limits(), now=NOW).arrive(["https://a.test", "https://b.test"], b"")


def test_a_refused_proof_spends_the_nonce(peer: Make, browser: Make, other_browser: Make) -> None:
    token, nonce = browser.custom_token(), peer.nonce
    with refusal(Code.PROOF_KEY_MISMATCH, Close.FORBIDDEN, "jwk"):
        peer.connect(token, other_browser.proof(token, nonce))

    with refusal(Code.PROOF_NONCE, Close.NONCE, "nonce"):
        peer.connect(token, browser.proof(token, nonce))


def test_a_connection_closed_while_the_provider_was_looked_up_does_not_become_ready(peer: Make, browser: Make) -> None:
    token = browser.custom_token()
    frame = peer.machine.receive(peer.text(Kind.CONNECT, token=token, proof=browser.proof(token, peer.nonce)), NOW)
    peer.machine.close()

    with refusal(Code.FRAME_UNEXPECTED, Close.BAD_FRAME, "type"):
        peer.machine.connect(frame, unverified(token), peer.provider, NOW)
    assert peer.machine.state is State.CLOSED


@pytest.mark.contract("D-10/auth-timeout", "D-10/reauth")
@pytest.mark.parametrize("says", [True, False], ids=["a frame", "the timer"])
@pytest.mark.parametrize(
    ("is_ready", "seconds", "code", "close"),
    [(False, 10, Code.AUTH_TIMEOUT, Close.AUTH_TIMEOUT), (True, HOUR, Code.TOKEN_EXPIRED, Close.TOKEN_EXPIRED)],
    ids=["no connect", "no newer token"],
)
def test_at_its_end_a_connection_is_refused(
    *, peer: Make, browser: Make, is_ready: bool, seconds: int, code: Code, close: Close, says: bool
) -> None:
    if is_ready:
        peer.join(browser.custom_token())
    assert peer.machine.wakes_at == NOW + seconds - (30 if is_ready else 0)
    peer.machine.tick(NOW + seconds - 0.1)

    with refusal(code, close):
        if says:
            peer.machine.receive(peer.text(Kind.PING), NOW + seconds)
        else:
            peer.machine.tick(NOW + seconds)


@pytest.mark.contract("D-10/reauth")
def test_a_newer_token_is_asked_for_once_before_the_end_and_once_more_after_a_refresh(
    peer: Make, browser: Make
) -> None:
    peer.join(browser.custom_token())
    end = int(NOW) + HOUR
    assert peer.machine.tick(end - 31) is None

    assert peer.machine.tick(end - 30) == {"type": "reauth", "deadline": end}
    assert peer.machine.tick(end - 29) is None
    assert peer.machine.wakes_at == end

    peer.now = end - 20
    refreshed = peer.refresh(browser.custom_token(now=peer.now))
    assert refreshed["expires_at"] == peer.machine.ends_at == end - 20 + HOUR
    assert peer.machine.tick(peer.now) is None
    assert peer.machine.wakes_at == peer.machine.ends_at - 30


def test_a_token_that_ends_within_the_warning_is_asked_for_at_once(peer: Make, browser: Make) -> None:
    peer.join(browser.custom_token(lifetime=20))

    assert peer.machine.tick(NOW) == {"type": "reauth", "deadline": int(NOW) + 20}


def test_a_newer_token_may_be_as_long_as_the_first(make_peer: Make, browser: Make) -> None:
    token = browser.custom_token()
    peer = make_peer(limits=Limits(token_bytes=len(token)))
    peer.join(token)

    peer.refresh(token)
    with refusal(Code.TOKEN_TOO_LARGE, Close.TOKEN):
        peer.refresh(f"{token}A")
