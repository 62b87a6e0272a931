"""Connection proofs over the network, beyond the table's single proofs: whose, for which socket, and how often."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.refusals.kit.peers import Ended
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import BrowserKey, Maker

Json = dict[str, Any]
GONE = object()
"""Marks a proof that is left out of the frame."""

FORBIDDEN, NONCE, BAD_FRAME = 4403, 4440, 4400


def connect(service: Service, shop: Shop, **claims: Any) -> Ended:
    """Open a socket, and connect with an honest token and a proof with these claims changed."""
    token = shop.token()
    with service.socket() as peer:
        return peer.connect(token, peer.prove(shop.key, token, **claims))


def said(frame: Json) -> str:
    return f"{frame['message']} {frame.get('cause', '')}"


# the form


@pytest.mark.parametrize(
    "proof",
    [
        pytest.param(GONE, id="PRF-001"),
        pytest.param({"payload": "e30", "signatures": []}, id="PRF-003-json-object"),
        pytest.param(None, id="PRF-004-null"),
        pytest.param(7, id="PRF-004-number"),
        pytest.param({}, id="PRF-004-object"),
        pytest.param([], id="PRF-004-list"),
    ],
)
def test_a_frame_whose_proof_is_no_text_is_refused(service: Service, shop: Shop, make: Maker, proof: object) -> None:
    token = shop.token()
    with service.socket() as honest, service.socket() as faulty:
        accepted = honest.ask({"type": "connect", "token": token, "proof": honest.prove(shop.key, token)})
        faulty.say(make.merged({"type": "connect", "token": token}, {} if proof is GONE else {"proof": proof}))

        ended = faulty.end()

    assert accepted["type"] == "ready"
    assert ended.refusal == ("frame_invalid", BAD_FRAME)
    assert "proof" in said(ended.last)


@pytest.mark.row("PRF-107")
def test_the_token_itself_is_no_proof(service: Service, shop: Shop) -> None:
    token = shop.token()
    with service.socket() as peer:
        assert peer.connect(token, token).refusal == ("proof_typ", FORBIDDEN)
    assert service.try_token(token, shop.key).granted


# the claims


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(-10, id="PRF-071-past"),
        pytest.param(10, id="PRF-071-future"),
        pytest.param(-3600, id="an-hour-back"),
        pytest.param(3600, id="an-hour-ahead"),
    ],
)
def test_iat_only_measures_how_far_the_clock_is_off(service: Service, shop: Shop, seconds: int) -> None:
    """F133: a clock that is an hour off is accepted with this connection's own nonce, and the difference is logged."""
    assert connect(service, shop, iat=int(service.now()) + seconds).granted

    assert abs(service.heard("socket.ready")["facts"]["skew"] - seconds) <= 2


def test_the_hash_of_another_token_is_refused(service: Service, shop: Shop) -> None:
    """F128: a proof belongs to one token, even if both tokens are bound to its key."""
    token, another = shop.token(), shop.token(uid="another")
    with service.socket() as one, service.socket() as other:
        assert one.connect(token, one.prove(shop.key, token)).granted
        ended = other.connect(token, other.prove(shop.key, another))

    assert ended.refusal == ("proof_ath", FORBIDDEN)


@pytest.mark.row("PRF-093")
def test_a_visitors_proof_needs_the_tokens_hash_as_a_members_does(service: Service, shop: Shop, make: Maker) -> None:
    token = shop.visitor_token()

    assert service.try_token(token, shop.key).granted
    with service.socket() as peer:
        ended = peer.connect(token, peer.prove(shop.key, token, ath=make.removed))

    assert ended.refusal == ("proof_claims", FORBIDDEN)


# the nonce, and single use


@pytest.mark.row("PRF-081")
def test_the_nonce_of_another_connection_is_refused(service: Service, shop: Shop) -> None:
    token = shop.token()
    with service.socket() as other, service.socket() as mine:
        refused = mine.connect(token, mine.prove(shop.key, token, nonce=other.nonce))
        accepted = other.connect(token, other.prove(shop.key, token))

    assert refused.refusal == ("proof_nonce", NONCE)
    assert accepted.granted


@pytest.mark.row("PRF-082")
def test_the_nonce_of_a_connection_to_another_provider_is_refused(service: Service, shop: Shop) -> None:
    elsewhere = service.shop()
    token = shop.token()
    with service.socket() as other, service.socket() as mine:
        theirs = elsewhere.token()
        assert other.connect(theirs, other.prove(elsewhere.key, theirs)).granted
        refused = mine.connect(token, mine.prove(shop.key, token, nonce=other.nonce))

    assert refused.refusal == ("proof_nonce", NONCE)
    assert service.try_token(token, shop.key).granted


@pytest.mark.row("PRF-062")
def test_a_proof_opens_one_socket_and_a_jti_is_not_remembered(service: Service, shop: Shop) -> None:
    """F125: the same proof is refused on another socket, and the first socket stays open."""
    token = shop.token()
    with service.socket() as first, service.socket() as second, service.socket() as third:
        proof = first.prove(shop.key, token, jti="the-same")
        assert first.connect(token, proof).granted

        assert second.connect(token, proof).refusal == ("proof_nonce", NONCE)
        assert first.ask({"type": "ping"})["type"] == "pong"
        signed_again = third.prove(shop.key, token, jti="the-same", iat=int(service.now()) + 1)
        assert third.connect(token, signed_again).granted  # with this connection's own nonce it is no replay


@pytest.mark.row("PRF-066")
def test_a_proof_from_the_future_is_as_little_good_later(service: Service, shop: Shop) -> None:
    with service.socket() as first:
        token = shop.token()
        proof = first.prove(shop.key, token, iat=int(service.now()) + 55)
        assert first.connect(token, proof).granted
    service.advance(130)

    with service.socket() as second:
        assert second.connect(token, proof).refusal == ("proof_nonce", NONCE)


@pytest.mark.row("PRF-067")
def test_a_jti_in_somebody_elses_bad_proof_is_not_taken_from_its_owner(
    service: Service, shop: Shop, key: BrowserKey
) -> None:
    token = shop.token()
    with service.socket() as thief:
        assert thief.connect(token, thief.prove(key, token, jti="of-the-owner")).refusal == (
            "proof_key_mismatch",
            FORBIDDEN,
        )

    assert connect(service, shop, jti="of-the-owner").granted


@pytest.mark.row("PRF-083")
def test_a_stale_nonce_is_gone_with_its_connection_and_the_next_has_a_fresh_one(service: Service, shop: Shop) -> None:
    """F126: a connection is never given a second nonce."""
    with service.socket() as slow:
        service.advance(10)
        assert slow.end().refusal == ("auth_timeout", 4408)
    token = shop.token()

    with service.socket() as again, service.socket() as fresh:
        assert again.connect(token, again.prove(shop.key, token, nonce=slow.nonce)).refusal == ("proof_nonce", NONCE)
        assert fresh.nonce not in {slow.nonce, again.nonce}
        assert fresh.connect(token, fresh.prove(shop.key, token)).granted


@pytest.mark.row("PRF-061")
def test_a_jti_of_a_megabyte_is_not_even_read(service: Service, shop: Shop) -> None:
    token = shop.token()
    with service.socket() as peer:
        peer.say({"type": "connect", "token": token, "proof": peer.prove(shop.key, token, jti="j" * 1_048_576)})

        ended = peer.end()

    assert (ended.frames, ended.close) == ([], 1009)
    assert connect(service, shop, jti="j").granted


@pytest.mark.row("PRF-108")
def test_an_honest_user_connects_after_twenty_rejected_proofs(service: Service, shop: Shop, key: BrowserKey) -> None:
    token = shop.token()
    for _ in range(20):
        assert service.try_token(token, key).refusal == ("proof_key_mismatch", FORBIDDEN)

    assert connect(service, shop).granted


# whose key


@pytest.mark.row("PRF-100", "PRF-101")
def test_a_token_with_the_key_of_somebody_else_is_refused(
    service: Service, shop: Shop, key: BrowserKey, row: str
) -> None:
    """F123: the token is not bound to the thief's key. Its owner can still connect."""
    stolen = shop.token(uid="alice")

    assert service.try_token(stolen, key).refusal == ("proof_key_mismatch", FORBIDDEN)
    assert service.try_token(stolen, shop.key).granted


def of(members: Json, spaces: bool = False) -> bytes:
    return json.dumps(members, separators=None if spaces else (",", ":")).encode()


@pytest.mark.parametrize(
    ("thumbprint", "code"),
    [
        pytest.param(
            lambda jwk, make: make.b64(hashlib.sha256(of({**ordered(jwk), "use": "sig"})).digest()),
            "proof_key_mismatch",
            id="PRF-102-extra-member",
        ),
        pytest.param(
            lambda jwk, make: make.b64(hashlib.sha256(of({n: jwk[n] for n in ("kty", "crv", "x", "y")})).digest()),
            "proof_key_mismatch",
            id="PRF-102-order",
        ),
        pytest.param(
            lambda jwk, make: make.b64(hashlib.sha256(of(ordered(jwk), spaces=True)).digest()),
            "proof_key_mismatch",
            id="PRF-102-white-space",
        ),
        pytest.param(
            lambda jwk, make: make.b64(hashlib.sha1(of(ordered(jwk))).digest()),
            "proof_binding_missing",
            id="PRF-102-sha-1",
        ),
        pytest.param(
            lambda jwk, make: hashlib.sha256(of(ordered(jwk))).hexdigest(), "proof_binding_missing", id="PRF-102-hex"
        ),
    ],
)
def test_a_thumbprint_made_otherwise_is_another_key(
    service: Service, shop: Shop, make: Maker, thumbprint: Callable[[Json, Maker], str], code: str
) -> None:
    honest = make.b64(hashlib.sha256(of(ordered(shop.key.jwk))).digest())
    wrong = thumbprint(shop.key.jwk, make)

    assert service.try_token(shop.token(cnf={"jkt": honest}), shop.key).granted
    assert service.try_token(shop.token(cnf={"jkt": wrong}), shop.key).refusal == (code, FORBIDDEN)


def ordered(jwk: Json) -> Json:
    return {name: jwk[name] for name in ("crv", "kty", "x", "y")}


@pytest.mark.row("PRF-103", "PRF-104")
def test_a_visitors_token_needs_the_key_that_its_uid_is_made_of(
    service: Service, shop: Shop, key: BrowserKey, row: str
) -> None:
    token = shop.visitor_token()

    assert service.try_token(token, key).refusal == ("proof_key_mismatch", FORBIDDEN)
    assert service.try_token(token, shop.key).last["uid"] == shop.key.uid


def test_a_uid_beside_the_token_has_no_say(service: Service, shop: Shop, key: BrowserKey) -> None:
    token = shop.visitor_token()
    with service.socket() as peer:
        proof = peer.prove(shop.key, token)

        ready = peer.ask({"type": "connect", "token": token, "proof": proof, "uid": key.uid})

    assert (ready["type"], ready["uid"]) == ("ready", shop.key.uid)
