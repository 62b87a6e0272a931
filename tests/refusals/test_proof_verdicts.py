"""Checks the table of verdicts on proofs, at the function that verifies them and over the network."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from chatkey_conform.making.honest import BrowserKey
from chatkey_conform.making.proof_making import Handshake
from chatkey_conform.making.proof_verdicts import ACCEPTED, REFUSED, REFUSED_BY_VERIFY, Honest, Verdict
from chatkey_server.identity import proofs
from chatkey_server.identity.errors import Refused

if TYPE_CHECKING:
    from tests.refusals.kit.peers import Peer
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import Json

FORBIDDEN, NONCE = 4403, 4440


def each(rows: tuple[Verdict | Honest, ...]) -> list[Any]:
    """Return a test case for each row."""
    return [pytest.param(row, id=row.id) for row in rows]


@pytest.fixture
def handshake(key: BrowserKey) -> Handshake:
    """A handshake with a clock that stands still."""
    nonce, htu = "the-nonce-of-this-connection", "ws://localhost:8800/v1/socket"
    return Handshake(key, "head.payload.mac", nonce, htu, 1_795_000_020.0)


def verify(handshake: Handshake, proof: str) -> proofs.Proof:
    """Verify a proof for this handshake."""
    wanted: Json = {"token": handshake.token, "nonce": handshake.nonce, "htu": handshake.htu, "now": handshake.now}
    return proofs.verify(proof, jkt=handshake.key.jkt, **wanted)


@contextmanager
def connection(service: Service, shop: Shop) -> Iterator[tuple[Peer, Handshake]]:
    """Open a socket, and prepare an honest handshake for it."""
    with service.socket() as peer:
        yield peer, Handshake(shop.key, shop.token(), peer.nonce, service.socket_uri, service.now())


def check(verdict: Verdict, told: Json) -> None:
    """Compare a refusal with its row in the table."""
    assert told["member"] == verdict.member
    assert verdict.cause in told["cause"] if verdict.cause else told["cause"] is None
    assert verdict.says in told["message"]


@pytest.mark.contract("D-04/one-spelling", "D-10/checks", "D-10/proof")
@pytest.mark.parametrize("verdict", each((*REFUSED, *REFUSED_BY_VERIFY)))
def test_a_proof_that_is_wrong_in_one_thing_is_refused_for_that(handshake: Handshake, verdict: Verdict) -> None:
    assert verify(handshake, handshake.prove()).jkt == handshake.key.jkt

    with pytest.raises(Refused) as refused:
        verify(handshake, verdict.make(handshake))

    told = refused.value
    assert told.code == verdict.code
    check(verdict, {"message": told.message, "member": told.member, "cause": told.cause})


@pytest.mark.contract("D-10/checks")
@pytest.mark.parametrize("verdict", each(REFUSED))
def test_over_the_wire_it_is_refused_for_the_same(service: Service, shop: Shop, verdict: Verdict) -> None:
    with connection(service, shop) as (peer, honest):
        assert peer.connect(honest.token, honest.prove()).granted

    with connection(service, shop) as (peer, handshake):
        ended = peer.connect(handshake.token, verdict.make(handshake))

    assert ended.refusal == (verdict.code, NONCE if verdict.code == "proof_nonce" else FORBIDDEN)
    check(verdict, service.told("socket.refused", ended.last))


@pytest.mark.parametrize("honest", each(ACCEPTED))
def test_an_unusual_but_honest_proof_holds(handshake: Handshake, honest: Honest) -> None:
    assert verify(handshake, honest.make(handshake)).jkt == handshake.key.jkt


@pytest.mark.parametrize("honest", each(ACCEPTED))
def test_over_the_wire_it_holds_as_well(service: Service, shop: Shop, honest: Honest) -> None:
    with connection(service, shop) as (peer, handshake):
        assert peer.connect(handshake.token, honest.make(handshake)).granted
