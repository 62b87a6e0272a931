"""Runs the table of proof verdicts against our function. `tests/refusals` runs the same table against a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from chatkey_conform.making.proof_making import Handshake
from chatkey_conform.making.proof_verdicts import ACCEPTED, REFUSED, REFUSED_BY_VERIFY, Honest, Verdict
from chatkey_peer.key import BrowserKey
from chatkey_server.identity import proofs
from chatkey_server.identity.errors import Refused

if TYPE_CHECKING:
    from chatkey_peer.key import Json


def each(rows: tuple[Verdict | Honest, ...]) -> list[Any]:
    return [pytest.param(row, id=row.id) for row in rows]


@pytest.fixture
def handshake() -> Handshake:
    """A handshake whose clock stands still."""
    nonce, htu = "the-nonce-of-this-connection", "ws://localhost:8800/v1/socket"
    return Handshake(BrowserKey(), "head.payload.mac", nonce, htu, 1_795_000_020.0)


def verify(handshake: Handshake, proof: str) -> proofs.Proof:
    wanted: Json = {"token": handshake.token, "nonce": handshake.nonce, "htu": handshake.htu, "now": handshake.now}
    return proofs.verify(proof, jkt=handshake.key.jkt, **wanted)


@pytest.mark.contract("D-04/one-spelling", "D-10/checks", "D-10/proof")
@pytest.mark.parametrize("verdict", each((*REFUSED, *REFUSED_BY_VERIFY)))
def test_a_proof_with_one_mistake_is_refused_with_its_code(handshake: Handshake, verdict: Verdict) -> None:
    assert verify(handshake, handshake.prove()).jkt == handshake.key.jkt

    with pytest.raises(Refused) as refused:
        verify(handshake, verdict.make(handshake))

    told = refused.value
    assert told.code == verdict.code
    assert told.member == verdict.member
    assert verdict.cause in (told.cause or "") if verdict.cause else told.cause is None
    assert verdict.says in told.message


@pytest.mark.parametrize("honest", each(ACCEPTED))
def test_an_unusual_but_correct_proof_is_accepted(handshake: Handshake, honest: Honest) -> None:
    assert verify(handshake, honest.make(handshake)).jkt == handshake.key.jkt
