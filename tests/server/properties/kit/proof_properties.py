"""Properties of proofs that widgets or thieves might send. The service in Node also verifies these proofs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from hypothesis import strategies as st
from tests.server.properties.kit.properties import ACCEPTED, REFUSED, Property, agree
from tests.server.properties.kit.second_service import ask
from tests.server.properties.kit.shaken import Draw, b64, compact, moments, shaken_object, shaken_text

from chatkey_conform.making.wrong_keys import N, P
from chatkey_peer.key import BrowserKey, unb64
from chatkey_server.identity import keys, proofs

Sign = Callable[[ec.EllipticCurvePrivateKey, bytes], bytes]

NOW: Final = 1_800_000_030
NONCE: Final = "jV7mQ0yZ1c2R3x4T5w6B7n8M9k0L1j2H"
URI: Final = "wss://chat.example/v1/socket"
TOKEN: Final = "eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.c2lnbmF0dXJl"


class Demand(NamedTuple):
    """The values that a proof must match."""

    token: str
    jkt: str
    nonce: str | None
    htu: str
    now: float


ECDSA: Final = ec.ECDSA(SHA256(), deterministic_signing=True)
"""Makes the same signature for the same input (RFC 6979), so that a finding can be reproduced."""
MINE: Final = ec.derive_private_key(0x1D5B7E5A0C2F4E6D8B9A7C5E3F1D0B2A4C6E8F1A3B5D7F9, ec.SECP256R1())
THIEFS: Final = ec.derive_private_key(0x5EED0FA7F1EF, ec.SECP256R1())


def jwk_of(key: ec.EllipticCurvePrivateKey) -> dict[str, str]:
    """Return the public JWK of a key."""
    return BrowserKey(key).jwk


JWK: Final = jwk_of(MINE)
JKT: Final = BrowserKey(MINE).jkt
LIKELY_JWK: Final = {
    "kty": ("ec", "RSA", "oct", "OKP"),
    "crv": ("P-384", "p-256", "secp256k1", "Ed25519"),
    "d": ("AQ", ""),
    "k": ("AA",),
    "use": ("sig", "enc"),
    "alg": ("ES256", "HS256"),
    "key_ops": (["verify"], ["sign"], "verify", []),
    "kid": ("1",),
    "x": (
        JWK["y"],
        JWK["x"] + "=",
        "AA" + JWK["x"],
        b64(b"\0" + unb64(JWK["x"])),
        JWK["x"][:-1],
        "A" * 43,
        b64(P.to_bytes(32, "big")),
    ),
    "y": (JWK["x"], jwk_of(THIEFS)["y"], b64((P - 1).to_bytes(32, "big")), JWK["y"] + "\n"),
}
LIKELY_HEADER: Final = {
    "typ": ("wf-proof+jwt", "WF-PROOF+JWT", "dpop+jwt", "JWT", "application/wf-proof+jwt"),
    "alg": ("none", "ES384", "es256", "HS256", "RS256", ["ES256"]),
    "crit": ([], ["exp"]),
    "jwk": (JWK, jwk_of(THIEFS), [JWK], JWK["x"]),
    "jku": ("https://evil.example/keys",),
    "kid": ("1",),
}
ADDRESSES: Final = (
    *("wss://chat.example:443/v1/socket", "WSS://CHAT.example/v1/socket", f"{URI}?a=b", f"{URI}#x", f"{URI}?#"),
    *("wss://chat.example:0443/v1/socket", "wss://chat.example:8443/v1/socket", "ws://chat.example/v1/socket"),
    *(
        f"{URI}/",
        f"{URI}x",
        "wss://chat.example/V1/socket",
        "wss://chat.example//v1/socket",
        "wss://chat.example/v1/./socket",
    ),
    *(
        "wss://evil.example/v1/socket",
        "wss://chat.example.evil.example/v1/socket",
        "wss://chat.example@evil.example/v1/socket",
    ),
    *(
        "https://chat.example/v1/socket",
        "wss:///v1/socket",
        "wss://chat.example",
        "wss://chat.example:/v1/socket",
        f" {URI}",
    ),
    *(
        "wss://chat.example/v1/s%6fcket",
        "wss://chat.ex\u0430mple/v1/socket",
        f"{URI}\n",
        "wss://chat.example\\v1/socket",
    ),
)


class Parts(NamedTuple):
    """An unsigned proof for `NONCE`, `TOKEN` and `URI`. It is correct or slightly wrong."""

    header: bytes
    payload: bytes
    sign: Sign
    key: ec.EllipticCurvePrivateKey


@st.composite
def proof_parts(draw: Draw, now: float = NOW) -> Parts:
    """Generate an unsigned proof that is correct or has one fault."""
    wrong = draw(st.sampled_from((None, "claims", "claims", "header", "jwk", "signature", "key")))
    claims = _honest_claims(now)
    header = draw(_headers[wrong]) if wrong in _headers else HONEST_HEADER
    payload = draw(shaken_object(claims, _likely_claims(now))) if wrong == "claims" else compact(claims)
    sign = draw(_signatures) if wrong == "signature" else raw_signature
    return Parts(header, payload, sign, THIEFS if wrong == "key" else MINE)


def signed_proof(parts: Parts, *, token: str = TOKEN, nonce: str = NONCE, uri: str = URI) -> str:
    """Sign a proof for this token, nonce and address."""
    payload = parts.payload
    for planned, real in ((NONCE, nonce), (token_hash(TOKEN), token_hash(token)), (URI, uri)):
        payload = payload.replace(planned.encode(), real.encode())
    signed = f"{b64(parts.header)}.{b64(payload)}"
    return f"{signed}.{b64(parts.sign(parts.key, signed.encode()))}"


@st.composite
def proof_cases(draw: Draw) -> tuple[str, Demand]:
    """Generate a proof that is correct or slightly wrong, and the values that the proof must match."""
    now = draw(moments())
    nonce = draw(st.sampled_from((NONCE, NONCE, NONCE, NONCE, None)))
    proof = signed_proof(draw(proof_parts(now)))
    if draw(st.sampled_from((False, False, False, True))):
        proof = draw(shaken_text(proof))
    return proof, Demand(TOKEN, JKT, nonce, URI, now)


def check_proof(case: tuple[str, Demand]) -> str:
    """Compare how the server and the service in Node verify the proof."""
    proof, demand = case
    return agree(lambda: _verify(proof, **demand._asdict()), "proof", proof=proof, **demand._asdict())


def check_any_text(text: str) -> str:
    """Verify a text that is not a proof. The server must refuse the text."""
    return check_proof((text, Demand(TOKEN, JKT, NONCE, URI, NOW)))


def check_signature(case: tuple[bytes, bytes]) -> str:
    """Compare how the server and Node verify a signature."""
    signature, signed = case
    held = keys.read_jwk(JWK).verify(signature, signed)
    assert ask("signature", jwk=JWK, signature=b64(signature), signed=b64(signed)) == {"answer": held}
    return ACCEPTED if held else REFUSED


any_proof = st.text(max_size=200) | st.lists(st.text("AQgwe30fQIiJ9_-", max_size=90), max_size=4).map(".".join)


def raw_signature(key: ec.EllipticCurvePrivateKey, signed: bytes) -> bytes:
    r, s = decode_dss_signature(key.sign(signed, ECDSA))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def token_hash(token: str) -> str:
    """Return `ath` (RFC 9449 4.2)."""
    return b64(hashlib.sha256(token.encode()).digest())


def _verify(proof: str, **demand: Any) -> None:
    assert proofs.verify(proof, **demand).jkt == JKT


def _honest_claims(now: float) -> dict[str, Any]:
    return {"jti": "id-1", "iat": int(now), "htm": "GET", "htu": URI, "nonce": NONCE, "ath": token_hash(TOKEN)}


def _likely_claims(now: float) -> dict[str, Any]:
    at = int(now)
    honest = _honest_claims(now)
    return {
        "jti": ("", "x" * 256, "x" * 257),
        "iat": (0, at - 3600, at + 3600, at * 1000),
        "htm": ("get", "POST", "GET "),
        "htu": ADDRESSES,
        "nonce": (NONCE.lower(), NONCE[:-1], NONCE + "A", "", "\N{LATIN SMALL LETTER E WITH ACUTE}" * 32),
        "ath": (honest["ath"][:-1], honest["ath"] + "=", token_hash("another token"), TOKEN),
        "exp": (at, at + 1, at - 1),
        "nbf": (at, at + 60, at + 61, at + 62),
    }


HONEST_HEADER: Final = b'{"typ":"wf-proof+jwt","alg":"ES256","jwk":%b}' % compact(JWK)
_headers: Final = {
    "header": shaken_object({"typ": "wf-proof+jwt", "alg": "ES256", "jwk": JWK}, LIKELY_HEADER),
    "jwk": shaken_object(JWK, LIKELY_JWK).map(lambda jwk: b'{"typ":"wf-proof+jwt","alg":"ES256","jwk":%b}' % jwk),
}


def _changed(change: Callable[[int, int], tuple[int, int]]) -> Sign:
    def sign(key: ec.EllipticCurvePrivateKey, signed: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(signed, ECDSA))
        r, s = change(r, s)
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    return sign


_SIGNS: Final[tuple[Sign, ...]] = (
    raw_signature,
    _changed(lambda r, s: (r, N - s)),
    _changed(lambda r, s: (s, r)),
    _changed(lambda r, s: (0, s)),
    _changed(lambda r, s: (r, 0)),
    _changed(lambda r, s: (r, N)),
    _changed(lambda r, s: (N - r, s)),
    lambda key, signed: key.sign(signed, ECDSA),
    lambda key, signed: raw_signature(key, signed)[:-1],
    lambda key, signed: raw_signature(key, signed) + b"\0",
    lambda key, signed: raw_signature(key, signed)[:32] + b"\0" + raw_signature(key, signed)[32:],
    lambda key, signed: bytes(64),
    lambda key, signed: b"",
    lambda key, signed: raw_signature(key, signed + b"."),
)
_signatures = st.sampled_from(_SIGNS)
_edges = st.sampled_from((0, 1, 2, N - 1, N, N + 1, P - 1, P, 2**256 - 1)) | st.integers(0, 2**256 - 1)
_odd_signatures = st.tuples(_edges, _edges).map(lambda rs: rs[0].to_bytes(32, "big") + rs[1].to_bytes(32, "big"))


@st.composite
def signature_cases(draw: Draw) -> tuple[bytes, bytes]:
    """Generate a signature and the signed bytes. The signature is valid, changed, or made of boundary values."""
    signed = draw(st.binary(max_size=20))
    made = draw(_signatures)(MINE, signed)
    return draw(st.just(made) | _odd_signatures | st.binary(max_size=80)), signed


PROPERTIES: Final = (
    Property("proofs", proof_cases(), check_proof),
    Property("texts as proofs", any_proof, check_any_text, both=False),
    Property("signatures", signature_cases(), check_signature),
)
