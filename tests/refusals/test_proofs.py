"""Connection proofs, over the wire: every way to be wrong is refused for its own reason, and nothing else is said."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from honest import BrowserKey, Maker
    from peers import Ended
    from shipped import Service
    from shop import Shop

Json = dict[str, Any]
GONE = object()
"""As the value of a member in these tables: it is left out."""

FORBIDDEN, NONCE, BAD_FRAME = 4403, 4440, 4400
SOCKET = "ws://{host}/v1/socket"


def connect(service: Service, shop: Shop, make: Maker, **claims: Any) -> Ended:
    """Open a socket with an honest token, and a proof with these claims changed, and members of its `header`."""
    header: Json = claims.pop("header", {})
    token = shop.token()
    with service.socket() as peer:
        return peer.connect(token, peer.prove(shop.key, token, header=known(header, make), **known(claims, make)))


def known(members: Json, make: Maker) -> Json:
    return {name: make.removed if value is GONE else value for name, value in members.items()}


def at_port(claims: Json, service: Service) -> Json:
    """Write the service's port into addresses."""

    def written(value: str) -> str:
        return value.replace("{host}", f"localhost:{service.port}").replace("{port}", str(service.port))

    return {name: written(value) if isinstance(value, str) else value for name, value in claims.items()}


def said(frame: Json) -> str:
    return f"{frame['message']} {frame.get('cause', '')}"


# the form


@pytest.mark.parametrize(
    ("proof", "code"),
    [
        pytest.param(GONE, "frame_invalid", id="PRF-001"),
        pytest.param("not a token", "proof_malformed", id="PRF-003-text"),
        pytest.param("e30.e30", "proof_malformed", id="PRF-003-two-segments"),
        pytest.param("e30.e30.e30.e30.e30", "proof_malformed", id="PRF-003-jwe"),
        pytest.param('{"payload":"e30","signatures":[]}', "proof_malformed", id="PRF-003-json"),
        pytest.param({"payload": "e30", "signatures": []}, "frame_invalid", id="PRF-003-json-object"),
        pytest.param(None, "frame_invalid", id="PRF-004-null"),
        pytest.param(7, "frame_invalid", id="PRF-004-number"),
        pytest.param({}, "frame_invalid", id="PRF-004-object"),
        pytest.param([], "frame_invalid", id="PRF-004-list"),
        pytest.param("", "proof_malformed", id="PRF-004-empty"),
    ],
)
def test_what_is_no_compact_jws_is_refused(service: Service, shop: Shop, make: Maker, proof: object, code: str) -> None:
    token = shop.token()
    with service.socket() as honest, service.socket() as faulty:
        accepted = honest.ask({"type": "connect", "token": token, "proof": honest.prove(shop.key, token)})
        faulty.say(make.merged({"type": "connect", "token": token}, {} if proof is GONE else {"proof": proof}))

        ended = faulty.end()

    assert accepted["type"] == "ready"
    assert ended.refusal == (code, BAD_FRAME if code == "frame_invalid" else FORBIDDEN)
    assert "proof" in said(ended.last)


@pytest.mark.row("PRF-107")
def test_the_token_itself_is_no_proof(service: Service, shop: Shop) -> None:
    token = shop.token()
    with service.socket() as peer:
        assert peer.connect(token, token).refusal == ("proof_typ", FORBIDDEN)
    assert service.try_token(token, shop.key).granted


# the claims


def case(row: str, code: str, **claims: Any) -> Any:
    return pytest.param(claims, code, id=row)


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        case("PRF-040-missing", "proof_htm", htm=GONE),
        case("PRF-040-other", "proof_htm", htm="POST"),
        case("PRF-040-lower-case", "proof_htm", htm="get"),
        case("PRF-040-number", "proof_htm", htm=1),
        case("PRF-040-list", "proof_htm", htm=["GET"]),
        case("PRF-041-missing", "proof_htu", htu=GONE),
        case("PRF-041-number", "proof_htu", htu=8800),
        case("PRF-041-relative", "proof_htu", htu="/v1/socket"),
        case("PRF-041-empty", "proof_htu", htu=""),
        case("PRF-041-8-kb", "proof_malformed", htu=f"{SOCKET}?{'x' * 8192}"),
        case("PRF-042-host", "proof_htu", htu="ws://other.example:{port}/v1/socket"),
        case("PRF-042-suffix", "proof_htu", htu="ws://localhost.evil.example:{port}/v1/socket"),
        case("PRF-042-port", "proof_htu", htu="ws://localhost:1/v1/socket"),
        case("PRF-042-no-port", "proof_htu", htu="ws://localhost/v1/socket"),
        case("PRF-042-path", "proof_htu", htu="ws://{host}/v1/public"),
        case("PRF-042-prefix", "proof_htu", htu="ws://{host}/v1/sock"),
        case("PRF-042-longer", "proof_htu", htu="ws://{host}/v1/socket2"),
        case("PRF-043-http", "proof_htu", htu="http://{host}/v1/socket"),
        case("PRF-043-https", "proof_htu", htu="https://{host}/v1/socket"),
        case("PRF-043-wss", "proof_htu", htu="wss://{host}/v1/socket"),
        case("PRF-048-dots", "proof_htu", htu="ws://{host}/v1/a/../socket"),
        case("PRF-048-dot", "proof_htu", htu="ws://{host}/v1/./socket"),
        case("PRF-048-encoded", "proof_htu", htu="ws://{host}/v1/%73ocket"),
        case("PRF-049", "proof_htu", htu="ws://{host}/v1/socket/"),
        case("PRF-050", "proof_htu", htu="ws://a@{host}/v1/socket"),
        case("PRF-050-password", "proof_htu", htu="ws://a:b@{host}/v1/socket"),
        case("PRF-050-other-host", "proof_htu", htu="ws://{host}@evil.example/v1/socket"),
        case("PRF-060-missing", "proof_claims", jti=GONE),
        case("PRF-060-empty", "proof_claims", jti=""),
        case("PRF-060-number", "proof_claims", jti=1),
        case("PRF-060-null", "proof_claims", jti=None),
        case("PRF-060-list", "proof_claims", jti=["a"]),
        case("PRF-061-257", "proof_claims", jti="j" * 257),
        case("PRF-061-10-kb", "proof_malformed", jti="j" * 10_240),
        case("PRF-070-missing", "proof_claims", iat=GONE),
        case("PRF-070-string", "proof_claims", iat="1800000000"),
        case("PRF-070-float", "proof_claims", iat=1800000000.5),
        case("PRF-070-true", "proof_claims", iat=True),
        case("PRF-070-null", "proof_claims", iat=None),
        case("PRF-070-negative", "proof_claims", iat=-1),
        case("PRF-070-milliseconds", "proof_claims", iat=1_800_000_000_000),
        case("PRF-074-exp", "proof_claims", exp=1_000_000_000),
        case("PRF-074-nbf", "proof_claims", nbf=9_000_000_000),
        case("PRF-084-null", "proof_nonce", nonce=None),
        case("PRF-084-number", "proof_nonce", nonce=5),
        case("PRF-084-empty", "proof_nonce", nonce=""),
        case("PRF-085", "proof_nonce", nonce="AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"),
        case("PRF-087", "proof_nonce", nonce=GONE, iat=1_900_000_000),
        case("PRF-090", "proof_ath", ath=GONE),
        case("PRF-090-null", "proof_ath", ath=None),
    ],
)
def test_a_proof_with_one_wrong_claim_is_refused_for_that(
    service: Service, shop: Shop, make: Maker, claims: Json, code: str
) -> None:
    """F127, F128: `htu` of another place, and a proof without `ath`, among others."""
    assert connect(service, shop, make).granted
    ended = connect(service, shop, make, **at_port(claims, service))

    assert ended.refusal == (code, NONCE if code == "proof_nonce" else FORBIDDEN)
    assert code == "proof_malformed" or next(iter(claims)) in said(ended.last)


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        pytest.param({}, {"htu": SOCKET + "?a=1"}, id="PRF-044-query"),
        pytest.param({}, {"htu": SOCKET + "#a"}, id="PRF-044-fragment"),
        pytest.param({}, {"htu": "WS://LOCALHOST:{port}/v1/socket"}, id="PRF-042-same-in-capitals"),
        pytest.param({}, {"jti": "j" * 256}, id="PRF-061-256"),
        pytest.param({"extra": {"a": [1]}}, {"extra": {"b": None}, "aud": "x", "uid": "someone"}, id="PRF-075"),
    ],
)
def test_a_proof_that_is_only_unusual_is_accepted(
    service: Service, shop: Shop, make: Maker, header: Json, claims: Json
) -> None:
    """F127: `htu` is compared without query, fragment and case of scheme and host."""
    assert connect(service, shop, make, header=header, **at_port(claims, service)).granted


@pytest.mark.parametrize(
    "seconds",
    [
        pytest.param(-10, id="PRF-071-past"),
        pytest.param(10, id="PRF-071-future"),
        pytest.param(-3600, id="an-hour-back"),
        pytest.param(3600, id="an-hour-ahead"),
    ],
)
def test_iat_only_measures_how_far_the_clock_is_off(service: Service, shop: Shop, make: Maker, seconds: int) -> None:
    """F133: an hour off, with this connection's nonce, is accepted, and logged."""
    assert connect(service, shop, make, iat=int(service.now()) + seconds).granted

    assert abs(service.heard("socket.ready")["facts"]["skew"] - seconds) <= 2


@pytest.mark.parametrize(
    ("spelled", "cause"),
    [
        pytest.param(lambda token, make: hashlib.sha256(token).hexdigest(), "hex", id="PRF-092-hex"),
        pytest.param(
            lambda token, make: make.b64(hashlib.sha256(token).digest()) + "=", "padding", id="PRF-092-padded"
        ),
        pytest.param(lambda token, make: make.b64(hashlib.sha512(token).digest()), "SHA-512", id="PRF-092-sha-512"),
        pytest.param(
            lambda token, make: make.b64(hashlib.sha256(token.rpartition(b".")[0]).digest()),
            "without its signature",
            id="PRF-092-unsigned",
        ),
        pytest.param(
            lambda token, make: make.b64(hashlib.sha256(token + b"\n").digest()), "newline", id="PRF-092-newline"
        ),
        pytest.param(
            lambda token, make: make.b64(hashlib.sha256(token).hexdigest().encode()), "hex", id="PRF-092-hex-in-base64"
        ),
    ],
)
def test_the_tokens_hash_in_another_spelling_is_refused_and_named(
    service: Service, shop: Shop, make: Maker, spelled: Callable[[bytes, Maker], str], cause: str
) -> None:
    token = shop.token()
    honest = make.b64(hashlib.sha256(token.encode()).digest())
    with service.socket() as one, service.socket() as other:
        assert one.connect(token, one.prove(shop.key, token, ath=honest)).granted
        ended = other.connect(token, other.prove(shop.key, token, ath=spelled(token.encode(), make)))

    assert ended.refusal == ("proof_ath", FORBIDDEN)
    assert cause in ended.last["cause"]
    assert service.heard("socket.refused")["facts"]["cause"] == ended.last["cause"]


def test_the_hash_of_another_token_is_refused(service: Service, shop: Shop) -> None:
    """F128: a proof goes with one token, though both are bound to its key."""
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

    assert ended.refusal == ("proof_ath", FORBIDDEN)


@pytest.mark.parametrize(
    ("claims", "cause"),
    [
        ({"iat": 1_800_000_000_000}, "iat looks like milliseconds; write seconds"),
        ({"htu": "http://{host}/v1/socket"}, "htu is a web address; write it with ws, as socket_uri has it"),
        ({"htu": "ws://{host}/v1/socket/"}, "htu ends in a slash, which the socket's address does not"),
        ({"htu": "/v1/socket"}, "htu is not whole; write socket_uri as the configuration has it"),
    ],
)
def test_a_usual_mistake_is_named(service: Service, shop: Shop, make: Maker, claims: Json, cause: str) -> None:
    ended = connect(service, shop, make, **at_port(claims, service))

    assert ended.last["cause"] == cause
    assert service.heard("socket.refused")["facts"]["cause"] == cause


# the nonce, and being good once


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


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(str.swapcase, id="PRF-084-case"),
        pytest.param(lambda nonce: nonce + "=", id="PRF-084-padded"),
        pytest.param(lambda nonce: nonce[:-1], id="PRF-084-truncated"),
        pytest.param(lambda nonce: nonce + " ", id="PRF-084-space"),
    ],
)
def test_the_nonce_in_another_spelling_is_refused(service: Service, shop: Shop, spelled: Callable[[str], str]) -> None:
    token = shop.token()
    with service.socket() as one, service.socket() as other:
        assert one.connect(token, one.prove(shop.key, token, nonce=one.nonce)).granted
        assert other.connect(token, other.prove(shop.key, token, nonce=spelled(other.nonce))).refusal == (
            "proof_nonce",
            NONCE,
        )


@pytest.mark.row("PRF-062")
def test_a_proof_opens_one_socket_and_a_jti_is_not_remembered(service: Service, shop: Shop) -> None:
    """F125: said again on another socket, it is refused; the first stays."""
    token = shop.token()
    with service.socket() as first, service.socket() as second, service.socket() as third:
        proof = first.prove(shop.key, token, jti="the-same")
        assert first.connect(token, proof).granted

        assert second.connect(token, proof).refusal == ("proof_nonce", NONCE)
        assert first.ask({"type": "ping"})["type"] == "pong"
        signed_again = third.prove(shop.key, token, jti="the-same", iat=int(service.now()) + 1)
        assert third.connect(token, signed_again).granted  # over this connection's own nonce: no replay


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
    service: Service, shop: Shop, make: Maker, key: BrowserKey
) -> None:
    token = shop.token()
    with service.socket() as thief:
        assert thief.connect(token, thief.prove(key, token, jti="of-the-owner")).refusal == (
            "proof_key_mismatch",
            FORBIDDEN,
        )

    assert connect(service, shop, make, jti="of-the-owner").granted


@pytest.mark.row("PRF-083")
def test_a_stale_nonce_is_gone_with_its_connection_and_the_next_has_a_fresh_one(service: Service, shop: Shop) -> None:
    """F126: there is no second challenge in a connection."""
    with service.socket() as slow:
        service.advance(10)
        assert slow.end().refusal == ("auth_timeout", 4408)
    token = shop.token()

    with service.socket() as again, service.socket() as fresh:
        assert again.connect(token, again.prove(shop.key, token, nonce=slow.nonce)).refusal == ("proof_nonce", NONCE)
        assert fresh.nonce not in {slow.nonce, again.nonce}
        assert fresh.connect(token, fresh.prove(shop.key, token)).granted


@pytest.mark.row("PRF-061")
def test_a_jti_of_a_megabyte_is_not_even_read(service: Service, shop: Shop, make: Maker) -> None:
    token = shop.token()
    with service.socket() as peer:
        peer.say({"type": "connect", "token": token, "proof": peer.prove(shop.key, token, jti="j" * 1_048_576)})

        ended = peer.end()

    assert (ended.frames, ended.close) == ([], 1009)
    assert connect(service, shop, make, jti="j").granted


@pytest.mark.row("PRF-108")
def test_an_honest_user_connects_after_twenty_rejected_proofs(
    service: Service, shop: Shop, make: Maker, key: BrowserKey
) -> None:
    token = shop.token()
    for _ in range(20):
        assert service.try_token(token, key).refusal == ("proof_key_mismatch", FORBIDDEN)

    assert connect(service, shop, make).granted


# whose key


@pytest.mark.row("PRF-100", "PRF-101")
def test_a_token_with_the_key_of_somebody_else_is_refused(
    service: Service, shop: Shop, key: BrowserKey, row: str
) -> None:
    """F123: the thief's key is not in it; its owner still connects."""
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
