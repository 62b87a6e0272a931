"""The key in a proof's header and the signature made with it, over the network, beyond the table's single proofs."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

if TYPE_CHECKING:
    from tests.refusals.kit.peers import Ended, Peer
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import BrowserKey, Maker

Json = dict[str, Any]
FORBIDDEN = 4403
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def attempt(service: Service, shop: Shop, make: Callable[[Peer, str], str]) -> Ended:
    """Open a socket, and connect with an honest token and the proof that `make` returns."""
    token = shop.token()
    with service.socket() as peer:
        return peer.connect(token, make(peer, token))


def with_header(service: Service, shop: Shop, header: Json, key: BrowserKey | None = None) -> Ended:
    """Open a socket, and connect with a proof whose header is changed. The token is bound to the signing key."""
    signer = key or shop.key
    token = shop.token(cnf={"jkt": signer.jkt})
    with service.socket() as peer:
        return peer.connect(token, peer.prove(signer, token, header=header))


def honest_claims(peer: Peer, make: Maker, shop: Shop, token: str) -> Json:
    claims: Json = json.loads(make.unb64(peer.prove(shop.key, token).split(".")[1]))
    return claims


# the algorithm


@pytest.mark.row("PRF-009")
def test_a_symmetric_key_in_the_header_proves_nothing(service: Service, shop: Shop, make: Maker) -> None:
    secret = b"a key that everyone can read in the header"

    def proof(peer: Peer, token: str) -> str:
        header = {"typ": "wf-proof+jwt", "alg": "HS256", "jwk": {"kty": "oct", "k": make.b64(secret)}}
        return make.jws(header, honest_claims(peer, make, shop, token), secret)

    assert with_header(service, shop, {}).granted
    assert attempt(service, shop, proof).refusal == ("proof_alg", FORBIDDEN)


@pytest.mark.parametrize(
    "serialised",
    [
        pytest.param(lambda key, make: make.dumps(key.jwk), id="PRF-010-jwk"),
        pytest.param(
            lambda key, make: key.private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
            id="PRF-010-der",
        ),
        pytest.param(
            lambda key, make: key.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
            id="PRF-010-pem",
        ),
    ],
)
@pytest.mark.parametrize("algorithm", ["HS256", "ES256"])
def test_a_mac_with_the_public_key_proves_nothing(
    service: Service, shop: Shop, make: Maker, serialised: Callable[[BrowserKey, Maker], bytes], algorithm: str
) -> None:
    """F129: not even HS256 with the public key as the secret is accepted."""

    def proof(peer: Peer, token: str) -> str:
        header = {"typ": "wf-proof+jwt", "alg": algorithm, "jwk": shop.key.jwk}
        return make.jws(header, honest_claims(peer, make, shop, token), serialised(shop.key, make))

    assert with_header(service, shop, {}).granted
    code = "proof_alg" if algorithm == "HS256" else "proof_signature"
    assert attempt(service, shop, proof).refusal == (code, FORBIDDEN)


RSA = rsa.generate_private_key(65537, 2048)


@pytest.mark.parametrize(
    ("algorithm", "private"),
    [
        pytest.param("ES384", ec.generate_private_key(ec.SECP384R1()), id="PRF-011-ES384"),
        pytest.param("ES512", ec.generate_private_key(ec.SECP521R1()), id="PRF-011-ES512"),
        pytest.param("RS256", RSA, id="PRF-011-RS256"),
        pytest.param("PS256", RSA, id="PRF-011-PS256"),
        pytest.param("EdDSA", ed25519.Ed25519PrivateKey.generate(), id="PRF-011-EdDSA"),
        pytest.param("ES256K", ec.generate_private_key(ec.SECP256K1()), id="PRF-011-ES256K"),
    ],
)
def test_a_valid_signature_by_another_algorithm_is_refused(
    service: Service, shop: Shop, make: Maker, algorithm: str, private: Any
) -> None:
    """F129: the signature is valid for its own algorithm, but only ES256 is accepted."""
    public: Json = jwt.get_algorithm_by_name(algorithm).to_jwk(private.public_key(), as_dict=True)

    def proof(peer: Peer, token: str) -> str:
        claims = honest_claims(peer, make, shop, token)
        made = jwt.encode(claims, private, algorithm, headers={"typ": "wf-proof+jwt", "jwk": public})
        assert jwt.decode_complete(made, private.public_key(), [algorithm])
        return made

    assert with_header(service, shop, {}).granted
    assert attempt(service, shop, proof).refusal == ("proof_alg", FORBIDDEN)


# the key


def number(value: int) -> str:
    return urlsafe_b64encode(value.to_bytes(32, "big")).rstrip(b"=").decode()


@pytest.mark.row("PRF-015")
def test_a_private_key_in_the_header_is_refused_and_stays_out_of_answer_and_log(service: Service, shop: Shop) -> None:
    """F130: neither the response nor the log repeats the private key."""
    d = number(shop.key.private.private_numbers().private_value)

    ended = with_header(service, shop, {"jwk": {**shop.key.jwk, "d": d}})

    assert ended.refusal == ("proof_jwk", FORBIDDEN)
    assert "private" in ended.last["message"]
    assert d not in json.dumps([ended.last, service.heard("socket.refused")])
    assert d not in service.process.output()


@pytest.mark.row("PRF-024")
@pytest.mark.parametrize("member", ["x", "y"])
def test_a_coordinate_is_always_32_bytes_long(
    service: Service, shop: Shop, make: Maker, key: BrowserKey, member: str
) -> None:
    private = (ec.derive_private_key(secret, ec.SECP256R1()) for secret in range(1, 10_000))
    short = next(type(key)(made) for made in private if getattr(made.public_key().public_numbers(), member) < 2**248)
    full = make.unb64(short.jwk[member])

    assert with_header(service, shop, {}, short).granted
    for wrong in (full[1:], b"\0" + full):
        ended = with_header(service, shop, {"jwk": {**short.jwk, member: make.b64(wrong)}}, short)
        assert ended.refusal == ("proof_jwk", FORBIDDEN)
        assert f"jwk.{member} has {len(wrong)} bytes" in ended.last["message"]


@pytest.mark.row("PRF-029")
@pytest.mark.parametrize("second", ["mine", "other"])
def test_a_member_named_twice_in_the_key_is_refused(
    service: Service, shop: Shop, make: Maker, key: BrowserKey, second: str
) -> None:
    repeated = shop.key.jwk["x"] if second == "mine" else key.jwk["x"]

    def proof(peer: Peer, token: str) -> str:
        twice = make.dumps(shop.key.jwk)[:-1] + b',"x":"' + repeated.encode() + b'"}'
        header = b'{"typ":"wf-proof+jwt","alg":"ES256","jwk":' + twice + b"}"
        signed = f"{make.b64(header)}.{peer.prove(shop.key, token).split('.')[1]}"
        return f"{signed}.{make.b64(shop.key.sign(signed.encode()))}"

    assert with_header(service, shop, {}).granted
    ended = attempt(service, shop, proof)

    assert ended.refusal == ("proof_malformed", FORBIDDEN)
    assert "'x' stands there twice" in ended.last["message"]


# the signature


@pytest.mark.row("PRF-034")
def test_the_other_signature_of_the_same_key_holds_and_is_no_second_use(
    service: Service, shop: Shop, make: Maker
) -> None:
    token = shop.token()
    with service.socket() as first, service.socket() as second:
        proof = first.prove(shop.key, token)
        signed, _, signature = proof.rpartition(".")
        raw = make.unb64(signature)
        twin = raw[:32] + (N - int.from_bytes(raw[32:])).to_bytes(32, "big")

        assert first.connect(token, f"{signed}.{make.b64(twin)}").granted
        assert second.connect(token, proof).refusal == ("proof_nonce", 4440)
