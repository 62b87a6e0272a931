"""The key in a proof's header and the signature with it, over the wire: one algorithm, one curve, one spelling."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

if TYPE_CHECKING:
    from honest import BrowserKey, Maker
    from peers import Ended, Peer
    from shipped import Service
    from shop import Shop

Json = dict[str, Any]
GONE = object()
"""As the value of a member in these tables: it is left out."""

FORBIDDEN = 4403
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B


def attempt(service: Service, shop: Shop, make: Callable[[Peer, str], str]) -> Ended:
    """Open a socket with an honest token and the proof that is made for it."""
    token = shop.token()
    with service.socket() as peer:
        return peer.connect(token, make(peer, token))


def with_header(service: Service, shop: Shop, header: Json, key: BrowserKey | None = None) -> Ended:
    """Open a socket with a proof whose header is changed, signed by `key`, to whom the token is bound."""
    signer = key or shop.key
    token = shop.token(cnf={"jkt": signer.jkt})
    with service.socket() as peer:
        return peer.connect(token, peer.prove(signer, token, header=header))


def with_signature(service: Service, shop: Shop, make: Maker, change: Callable[[bytes], bytes]) -> Ended:
    """Open a socket with an honest proof whose signature is changed."""

    def proof(peer: Peer, token: str) -> str:
        signed, _, signature = peer.prove(shop.key, token).rpartition(".")
        return f"{signed}.{make.b64(change(make.unb64(signature)))}"

    return attempt(service, shop, proof)


def honest_claims(peer: Peer, make: Maker, shop: Shop, token: str) -> Json:
    claims: Json = json.loads(make.unb64(peer.prove(shop.key, token).split(".")[1]))
    return claims


# the algorithm


@pytest.mark.parametrize(
    "algorithm",
    [
        pytest.param("none", id="PRF-008-none"),
        pytest.param("None", id="PRF-008-capital"),
        pytest.param(GONE, id="PRF-008-missing"),
        pytest.param(None, id="PRF-008-null"),
        pytest.param(["ES256"], id="PRF-008-list"),
        pytest.param("es256", id="PRF-008-lower-case"),
        pytest.param("HS256", id="PRF-009-word-only"),
    ],
)
@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
def test_only_es256_is_an_algorithm(service: Service, shop: Shop, make: Maker, algorithm: object, signed: bool) -> None:
    """F129: not `none`, not in other letters."""

    def proof(peer: Peer, token: str) -> str:
        alg = make.removed if algorithm is GONE else algorithm
        made = peer.prove(shop.key, token, header={"alg": alg})
        return made if signed else made.rpartition(".")[0] + "."

    assert with_header(service, shop, {"alg": "ES256"}).granted
    ended = attempt(service, shop, proof)

    assert ended.refusal == ("proof_alg", FORBIDDEN)
    assert "alg" in ended.last["message"]


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
    """F129: nor HS256 with the public key as the secret."""

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
    """F129: nor a true signature of another kind."""
    public: Json = jwt.get_algorithm_by_name(algorithm).to_jwk(private.public_key(), as_dict=True)

    def proof(peer: Peer, token: str) -> str:
        claims = honest_claims(peer, make, shop, token)
        made = jwt.encode(claims, private, algorithm, headers={"typ": "wf-proof+jwt", "jwk": public})
        assert jwt.decode_complete(made, private.public_key(), [algorithm])
        return made

    assert with_header(service, shop, {}).granted
    assert attempt(service, shop, proof).refusal == ("proof_alg", FORBIDDEN)


# the key


def jwk_of(private: ec.EllipticCurvePrivateKey) -> Json:
    jwk: Json = jwt.get_algorithm_by_name("ES256").to_jwk(private.public_key(), as_dict=True)
    return jwk


def root(square: int) -> int | None:
    """Return a square root modulo p, or None."""
    found = pow(square, (P + 1) // 4, P)
    return found if found * found % P == square % P else None


def small_point() -> tuple[int, int]:
    """Return a point whose x is small enough that x + p fits into 32 bytes too."""
    points = ((x, root(x**3 - 3 * x + B)) for x in range(1, 100))
    return next((x, y) for x, y in points if y is not None)


def number(value: int) -> str:
    return urlsafe_b64encode(value.to_bytes(32, "big")).rstrip(b"=").decode()


X, Y = small_point()
P384 = jwk_of(ec.generate_private_key(ec.SECP384R1()))


def bad(row: str, member: str, **changes: Any) -> Any:
    return pytest.param(changes, member, id=row)


@pytest.mark.parametrize(
    ("changes", "member"),
    [
        bad("PRF-012", "jwk.crv", **P384),
        bad("PRF-012-p-384-numbers", "jwk.x", x=P384["x"], y=P384["y"]),
        bad("PRF-016", "jwk.d", d=number(1)),
        bad("PRF-016-empty", "jwk.d", d=""),
        bad("PRF-016-null", "jwk.d", d=None),
        bad("PRF-017-rsa", "jwk.p", kty="RSA", n="AQAB", e="AQAB", p="AQ", q="AQ"),
        bad("PRF-017-k", "jwk.k", k="c2VjcmV0"),
        bad("PRF-017-dp", "jwk.dp", dp="AQ"),
        bad("PRF-017-oth", "jwk.oth", oth=[]),
        bad("PRF-019-use", "jwk.use", use="enc"),
        bad("PRF-019-use-list", "jwk.use", use=["sig"]),
        bad("PRF-019-key-ops", "jwk.key_ops", key_ops=["sign"]),
        bad("PRF-019-key-ops-empty", "jwk.key_ops", key_ops=[]),
        bad("PRF-019-key-ops-text", "jwk.key_ops", key_ops="verify"),
        bad("PRF-019-alg", "jwk.alg", alg="HS256"),
        bad("PRF-019-alg-ecdh", "jwk.alg", alg="ECDH-ES"),
        bad("PRF-020-lower-case", "jwk.kty", kty="ec"),
        bad("PRF-020-missing", "jwk.kty", kty=GONE),
        bad("PRF-020-RSA", "jwk.kty", kty="RSA"),
        bad("PRF-020-OKP", "jwk.kty", kty="OKP"),
        bad("PRF-020-list", "jwk.kty", kty=["EC"]),
        bad("PRF-021-lower-case", "jwk.crv", crv="p-256"),
        bad("PRF-021-secp256r1", "jwk.crv", crv="secp256r1"),
        bad("PRF-021-missing", "jwk.crv", crv=GONE),
        bad("PRF-021-secp256k1", "jwk.crv", crv="secp256k1"),
        bad("PRF-022", "jwk.x", x=number(X), y=number(Y + 1)),
        bad("PRF-022-swapped", "jwk.x", x=number(Y), y=number(X)),
        bad("PRF-023-zeros", "jwk.x", x=number(0), y=number(0)),
        bad("PRF-023-x-plus-p", "jwk.x", x=number(X + P), y=number(Y)),
        bad("PRF-023-x-is-p", "jwk.x", x=number(P), y=number(Y)),
        bad("PRF-023-all-ones", "jwk.y", x=number(X), y=number(2**256 - 1)),
        bad("PRF-028-integer", "jwk.x", x=5),
        bad("PRF-028-null", "jwk.x", x=None),
        bad("PRF-028-list", "jwk.y", y=[]),
        bad("PRF-028-missing", "jwk.y", y=GONE),
        bad("PRF-028-empty", "jwk.x", x=""),
    ],
)
def test_what_is_not_one_public_p256_key_is_refused(
    service: Service, shop: Shop, make: Maker, changes: Json, member: str
) -> None:
    """F130: a private member, coordinates off the curve, another curve."""
    members = {name: make.removed if value is GONE else value for name, value in changes.items()}

    assert with_header(service, shop, {"jwk": make.merged(shop.key.jwk, {})}).granted
    ended = with_header(service, shop, {"jwk": make.merged(shop.key.jwk, members)})

    assert ended.refusal == ("proof_jwk", FORBIDDEN)
    named = service.heard("socket.refused")["facts"]["member"]
    assert named == member or {named, member} == {"jwk.x", "jwk.y"}


@pytest.mark.parametrize(
    ("jwk", "kid"),
    [
        pytest.param(GONE, "mine", id="PRF-013"),
        pytest.param(None, None, id="PRF-013-null"),
        pytest.param("text", None, id="PRF-013-text"),
        pytest.param([{}], None, id="PRF-013-list"),
    ],
)
def test_a_proof_without_its_key_is_refused(
    service: Service, shop: Shop, make: Maker, jwk: object, kid: str | None
) -> None:
    header = {"jwk": make.removed if jwk is GONE else jwk, "kid": kid or make.removed}

    assert with_header(service, shop, {"kid": kid or make.removed}).granted
    assert with_header(service, shop, header).refusal == ("proof_jwk", FORBIDDEN)


@pytest.mark.row("PRF-015")
def test_a_private_key_in_the_header_is_refused_and_stays_out_of_answer_and_log(service: Service, shop: Shop) -> None:
    """F130: it is not repeated."""
    d = number(shop.key.private.private_numbers().private_value)

    ended = with_header(service, shop, {"jwk": {**shop.key.jwk, "d": d}})

    assert ended.refusal == ("proof_jwk", FORBIDDEN)
    assert "private" in ended.last["message"]
    assert d not in json.dumps([ended.last, service.heard("socket.refused")])
    assert d not in service.process.output()


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"kid": "a", "use": "sig", "alg": "ES256", "key_ops": ["verify"], "ext": True}, id="PRF-018"),
        pytest.param({"key_ops": ["verify", "verify", "other"]}, id="PRF-018-more-operations"),
        pytest.param({"x5c": ["AAAA"], "x5u": "https://evil.example/"}, id="PRF-018-certificate"),
    ],
)
def test_what_browsers_say_of_a_key_beside_it_changes_nothing(service: Service, shop: Shop, more: Json) -> None:
    assert with_header(service, shop, {"jwk": {**shop.key.jwk, **more}}).granted


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


def next_letter(x: str) -> str:
    """Spell the same bytes otherwise: the last letter carries two bits that no byte uses."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return x[:-1] + alphabet[alphabet.index(x[-1]) + 1]


@pytest.mark.parametrize(
    ("spelled", "cause"),
    [
        pytest.param(lambda x: x + "=", "x is not base64url without padding", id="PRF-025"),
        pytest.param(next_letter, "x is not canonical base64url", id="PRF-027"),
        pytest.param(lambda x: f" {x}", "x is not base64url without padding", id="PRF-028-space"),
        pytest.param(lambda x: f"{x}\n", "x is not base64url without padding", id="PRF-028-newline"),
        pytest.param(lambda x: f"{x[:20]}+{x[21:]}", "x is not base64url without padding", id="PRF-025-base64"),
    ],
)
def test_a_second_spelling_of_a_coordinate_is_refused_and_named(
    service: Service, shop: Shop, spelled: Callable[[str], str], cause: str
) -> None:
    jwk = shop.key.jwk

    assert with_header(service, shop, {"jwk": jwk}).granted
    ended = with_header(service, shop, {"jwk": {**jwk, "x": spelled(jwk["x"])}})

    assert ended.refusal == ("proof_jwk", FORBIDDEN)
    assert ended.last["cause"] == service.heard("socket.refused")["facts"]["cause"] == cause


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


@pytest.mark.parametrize("typ", [GONE, "JWT", "dpop+jwt", "WF-PROOF+JWT", "application/wf-proof+jwt", None, ["x"]])
def test_a_jws_that_does_not_say_it_is_a_proof_is_refused(
    service: Service, shop: Shop, make: Maker, typ: object
) -> None:
    """F132: `typ` is exactly that of a proof."""
    assert with_header(service, shop, {"typ": "wf-proof+jwt"}).granted
    ended = with_header(service, shop, {"typ": make.removed if typ is GONE else typ})

    assert ended.refusal == ("proof_typ", FORBIDDEN)


@pytest.mark.parametrize("header", [{"crit": ["exp"]}, {"crit": []}, {"crit": ["b64"], "b64": False}])
def test_a_critical_extension_is_refused(service: Service, shop: Shop, header: Json) -> None:
    assert with_header(service, shop, {}).granted
    assert with_header(service, shop, header).refusal == ("proof_malformed", FORBIDDEN)


# the signature


def to_der(raw: bytes) -> bytes:
    return encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        pytest.param(lambda raw: bytes([raw[0] ^ 1]) + raw[1:], None, id="PRF-030-first-bit"),
        pytest.param(lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]), None, id="PRF-030-last-bit"),
        pytest.param(lambda raw: raw[32:] + raw[:32], "s before r", id="PRF-030-halves-swapped"),
        pytest.param(to_der, "DER", id="PRF-031"),
        pytest.param(lambda raw: raw.hex().encode(), "hex", id="PRF-031-hex"),
        pytest.param(lambda raw: b"", None, id="PRF-032-0"),
        pytest.param(lambda raw: raw[:63], None, id="PRF-032-63"),
        pytest.param(lambda raw: raw + b"\0", None, id="PRF-032-trailing-zero"),
        pytest.param(lambda raw: b"\0" + raw, None, id="PRF-032-leading-zero"),
        pytest.param(lambda raw: b"\0" + raw[:32] + b"\0" + raw[32:], None, id="PRF-032-66"),
        pytest.param(lambda raw: raw[:32], None, id="PRF-032-r-only"),
    ],
)
def test_a_signature_that_is_not_this_keys_raw_r_and_s_is_refused(
    service: Service, shop: Shop, make: Maker, change: Callable[[bytes], bytes], cause: str | None
) -> None:
    """F131: DER is refused and named."""
    assert with_signature(service, shop, make, lambda raw: raw).granted
    ended = with_signature(service, shop, make, change)

    assert ended.refusal == ("proof_signature", FORBIDDEN)
    assert (cause or "") in ended.last.get("cause", "")
    assert ("cause" in ended.last) is (cause is not None)


EDGES = {"0": 0, "1": 1, "n-1": N - 1, "n": N, "n+1": N + 1, "all-ones": 2**256 - 1}


@pytest.mark.parametrize(
    ("r", "s"), [pytest.param(EDGES[r], EDGES[s], id=f"PRF-033-{r}-{s}") for r, s in product(EDGES, EDGES)]
)
def test_numbers_at_the_edge_of_the_group_are_no_signature(
    service: Service, shop: Shop, make: Maker, r: int, s: int
) -> None:
    edge = r.to_bytes(32, "big") + s.to_bytes(32, "big")

    assert with_signature(service, shop, make, lambda raw: edge).refusal == ("proof_signature", FORBIDDEN)
    assert with_signature(service, shop, make, lambda raw: raw).granted


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


@pytest.mark.row("PRF-030")
@pytest.mark.parametrize("part", [0, 1], ids=["header", "payload"])
def test_another_header_or_payload_under_a_signature_is_refused(
    service: Service, shop: Shop, make: Maker, part: int
) -> None:
    def proof(peer: Peer, token: str) -> str:
        mine = peer.prove(shop.key, token).split(".")
        other = peer.prove(shop.key, token, header={"more": 1}, more=1).split(".")
        mine[part] = other[part]
        return ".".join(mine)

    assert with_header(service, shop, {"more": 1}).granted
    assert attempt(service, shop, proof).refusal == ("proof_signature", FORBIDDEN)
