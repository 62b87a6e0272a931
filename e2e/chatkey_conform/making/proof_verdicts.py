"""The table of proofs: how each proof is made from a valid handshake, and the expected refusal (D-10, RFC 9449).

The id of a row is an id of `rows.toml`, followed by a word if several proofs belong to that row. Every proof is checked
with `proofs.verify` and, over the network, with the socket (`test_proof_verdicts.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding

from chatkey_conform.making.damage import DAMAGE
from chatkey_conform.making.proof_making import (
    Make,
    ath,
    claims,
    damaged,
    der,
    exchanged,
    header,
    jwk,
    mac,
    over,
    public,
    sent,
    signature,
    spaced,
    unsigned,
    x_twice,
)
from chatkey_conform.making.wrong_keys import KEYS, N, P
from chatkey_peer.key import REMOVED, Json, b64, dumps, unb64

SOCKET: Final = "{ws}://{host}{path}"
"""The socket's own address, written with the marks of `proof_making.marks`."""


@dataclass(frozen=True)
class Verdict:
    """A proof with one fault, and the refusal that it must get: code, member, and text in the cause and the message.

    If `cause` is None, the refusal has no cause.
    """

    id: str
    make: Make
    code: str
    member: str | None = None
    cause: str | None = None
    says: str = ""


@dataclass(frozen=True)
class Honest:
    """An unusual proof that must be accepted."""

    id: str
    make: Make


# the form


def _forms() -> Iterator[Verdict]:
    for damage in DAMAGE:
        yield Verdict(damage.proof_id, damaged(damage), "proof_malformed", damage.part, says=damage.says)
    yield Verdict("PRF-003-empty-json", sent("{}"), "proof_malformed", says="proof")
    yield Verdict("PRF-003-words", sent("head.payload.mac"), "proof_malformed", "header", says="proof")
    yield Verdict("PRF-003-5000-letters", sent("x" * 5000), "proof_malformed", says="4096")
    yield Verdict("PRF-004-empty", sent(""), "proof_malformed", says="proof")
    yield Verdict("PRF-029-mine", x_twice, "proof_malformed", "header", says="'x' occurs twice")
    for name, changes in (
        ("crit-unknown", {"crit": ["x"], "x": 1}),
        ("crit-exp", {"crit": ["exp"]}),
        ("crit-empty", {"crit": []}),
        ("crit-null", {"crit": None}),
        ("crit-text", {"crit": "b64"}),
        ("crit-b64", {"crit": ["b64"], "b64": False}),
    ):
        yield Verdict(name, header(**changes), "proof_malformed", "crit")
    # F132: `typ` must be exactly that of a proof.
    for name, typ in (
        ("missing", REMOVED),
        ("jwt", "JWT"),
        ("dpop", "dpop+jwt"),
        ("capitals", "WF-PROOF+JWT"),
        ("whole", "application/wf-proof+jwt"),
        ("null", None),
        ("list", ["x"]),
        ("at", "at+jwt"),
        ("jws", "JWS"),
        ("empty", ""),
        ("number", 1),
        ("object", {}),
        ("true", True),
    ):
        yield Verdict(f"typ-{name}", header(typ=typ), "proof_typ", "typ")
    # F129: `none` is refused, and so is ES256 in another spelling.
    for name, alg in (
        ("PRF-008-none", "none"),
        ("PRF-008-capital", "None"),
        ("PRF-008-missing", REMOVED),
        ("PRF-008-null", None),
        ("PRF-008-list", ["ES256"]),
        ("PRF-008-lower-case", "es256"),
        ("PRF-008-shouted", "NONE"),
        ("PRF-008-space", "ES256 "),
        ("PRF-008-empty", ""),
        ("PRF-008-object", {"ES256": 1}),
        ("PRF-008-number", 256),
        ("PRF-008-true", True),
        ("PRF-009-word-only", "HS256"),
        *((f"PRF-011-{alg}-word-only", alg) for alg in ("ES256K", "ES384", "ES512", "RS256", "PS256", "EdDSA")),
        *((f"PRF-009-{alg}-word-only", alg) for alg in ("HS384", "HS512")),
    ):
        yield Verdict(f"{name}-signed", header(alg=alg), "proof_alg", "alg")
        yield Verdict(f"{name}-unsigned", unsigned(alg), "proof_alg", "alg")
    # F129: a MAC with the public key as the secret is refused.
    for name, spell in (
        ("jwk", lambda key: dumps(key.jwk)),
        ("der", public(Encoding.DER)),
        ("pem", public(Encoding.PEM)),
    ):
        yield Verdict(f"PRF-010-{name}", mac("HS256", spell), "proof_alg", "alg")
        yield Verdict(f"PRF-010-{name}-as-es256", mac("ES256", spell), "proof_signature", "signature")


# the key


def _keys() -> Iterator[Verdict]:
    for name, changes in (
        ("PRF-013", {"jwk": REMOVED, "kid": "mine"}),
        ("PRF-013-missing", {"jwk": REMOVED}),
        ("PRF-013-null", {"jwk": None}),
        ("PRF-013-text", {"jwk": "text"}),
        ("PRF-013-list", {"jwk": [{}]}),
    ):
        yield Verdict(name, header(**changes), "proof_jwk", "jwk")
    for key in KEYS:
        yield Verdict(key.id, jwk(**key.changes), "proof_jwk", f"jwk.{key.member}", key.cause)


# the signature

EDGES: Final = {
    "0": 0,
    "1": 1,
    "2": 2,
    "half-n": N // 2,
    "n-1": N - 1,
    "n": N,
    "n+1": N + 1,
    "p-n": P - N,
    "p-1": P - 1,
    "p": P,
    "p+1": P + 1,
    "high-bit": 2**255,
    "all-ones": 2**256 - 1,
}


def at_the_edge(r: str, s: str) -> Make:
    """Replace r and s of the signature with these extreme values."""
    return signature(lambda _: EDGES[r].to_bytes(32, "big") + EDGES[s].to_bytes(32, "big"))


def _signatures() -> Iterator[Verdict]:
    # F131: a DER signature is refused, and the cause names DER.
    for name, make, cause in (
        ("PRF-030-header", exchanged(0), None),
        ("PRF-030-payload", exchanged(1), None),
        ("PRF-030-over-the-payload", over(lambda _, body: body.encode()), None),
        ("PRF-030-over-what-is-decoded", over(lambda head, body: unb64(head) + b"." + unb64(body)), None),
        ("PRF-030-first-bit", signature(lambda raw: bytes([raw[0] ^ 1]) + raw[1:]), None),
        ("PRF-030-last-bit", signature(lambda raw: raw[:-1] + bytes([raw[-1] ^ 1])), None),
        ("PRF-030-halves-swapped", signature(lambda raw: raw[32:] + raw[:32]), "s before r"),
        ("PRF-031", signature(der), "DER"),
        ("PRF-031-of-64-bytes", signature(lambda raw: der(raw).ljust(64, b"\0")[:64]), None),
        ("PRF-031-bytes-behind", signature(lambda raw: der(raw) + b"\0\0"), None),
        ("PRF-031-base64url", signature(lambda raw: b64(raw).encode()), None),
        ("PRF-031-little-endian", signature(lambda raw: raw[31::-1] + raw[:31:-1]), None),
        ("PRF-031-hex", signature(lambda raw: raw.hex().encode()), "hex"),
        ("PRF-032-0", signature(lambda _: b""), None),
        ("PRF-032-1", signature(lambda raw: raw[:1]), None),
        ("PRF-032-63", signature(lambda raw: raw[:63]), None),
        ("PRF-032-trailing-zero", signature(lambda raw: raw + b"\0"), None),
        ("PRF-032-leading-zero", signature(lambda raw: b"\0" + raw), None),
        ("PRF-032-zero-before-s", signature(lambda raw: raw[:32] + b"\0" + raw[32:]), None),
        ("PRF-032-66", signature(lambda raw: b"\0" + raw[:32] + b"\0" + raw[32:]), None),
        ("PRF-032-r-only", signature(lambda raw: raw[:32]), None),
        ("PRF-032-s-only", signature(lambda raw: raw[32:]), None),
        ("PRF-032-cut-in-front", signature(lambda raw: raw[1:]), None),
        ("PRF-032-recovery-id", signature(lambda raw: raw + b"\x1b"), None),
        ("PRF-032-twice", signature(lambda raw: raw * 2), None),
        ("PRF-032-48-bytes-each", signature(lambda raw: bytes(16) + raw[:32] + bytes(16) + raw[32:]), None),
        ("PRF-032-66-bytes-each", signature(lambda raw: bytes(34) + raw[:32] + bytes(34) + raw[32:]), None),
        ("PRF-032-long-zero", signature(lambda _: bytes(2000)), None),
        *((f"PRF-033-r={r}-s={s}", at_the_edge(r, s), None) for r, s in product(EDGES, EDGES)),
    ):
        yield Verdict(name, make, "proof_signature", "signature", cause)


# the claims


def _claims() -> Iterator[Verdict]:
    tables: dict[str, tuple[tuple[str, str, object], ...]] = {
        "proof_htm": (
            ("PRF-040-other", "htm", "POST"),
            ("PRF-040-lower-case", "htm", "get"),
        ),
        "proof_claims": (
            ("PRF-040-missing", "htm", REMOVED),
            ("PRF-040-number", "htm", 1),
            ("PRF-040-list", "htm", ["GET"]),
            ("PRF-041-missing", "htu", REMOVED),
            ("PRF-041-number", "htu", 8800),
            ("PRF-041-empty", "htu", ""),
            ("PRF-060-missing", "jti", REMOVED),
            ("PRF-060-empty", "jti", ""),
            ("PRF-060-number", "jti", 1),
            ("PRF-060-null", "jti", None),
            ("PRF-060-list", "jti", ["a"]),
            ("PRF-061-257", "jti", "j" * 257),
            ("PRF-070-missing", "iat", REMOVED),
            ("PRF-070-string", "iat", "1800000000"),
            ("PRF-070-float", "iat", 1800000000.5),
            ("PRF-070-true", "iat", True),
            ("PRF-070-null", "iat", None),
            ("PRF-070-negative", "iat", -1),
            ("PRF-084-missing", "nonce", REMOVED),
            ("PRF-084-null", "nonce", None),
            ("PRF-084-number", "nonce", 5),
            ("PRF-084-empty", "nonce", ""),
            ("PRF-090", "ath", REMOVED),
            ("PRF-090-null", "ath", None),
            ("PRF-090-empty", "ath", ""),
            ("PRF-074-exp", "exp", 1_000_000_000),
            ("PRF-074-exp-now", "exp", lambda handshake: int(handshake.now)),
        ),
        "proof_nonce": (
            ("PRF-084-not-ascii", "nonce", "é"),
            ("PRF-084-case", "nonce", lambda handshake: handshake.nonce.swapcase()),
            ("PRF-084-padded", "nonce", lambda handshake: handshake.nonce + "="),
            ("PRF-084-truncated", "nonce", lambda handshake: handshake.nonce[:-1]),
            ("PRF-084-space", "nonce", lambda handshake: handshake.nonce + " "),
            ("PRF-085", "nonce", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"),
        ),
    }
    for code, rows in tables.items():
        for name, claim, value in rows:
            yield Verdict(name, claims(**{claim: value}), code, claim, says=claim)
    yield Verdict("PRF-087", claims(nonce=REMOVED, iat=1_900_000_000), "proof_claims", "nonce", says="nonce")
    yield Verdict("PRF-074-nbf", claims(nbf=9_000_000_000), "proof_claims", "nbf", says="nbf")
    seconds = "iat looks like milliseconds; use seconds"
    yield Verdict("PRF-070-milliseconds", claims(iat=1_800_000_000_000), "proof_claims", "iat", seconds)
    yield Verdict("PRF-041-8-kb", claims(htu=f"{SOCKET}?{'x' * 8192}"), "proof_malformed")
    yield Verdict("PRF-061-10-kb", claims(jti="j" * 10_240), "proof_malformed")


def _targets() -> Iterator[Verdict]:
    # F127: an `htu` with another address is refused.
    web = "htu is a web address; use the scheme ws, as in socket_uri"
    slash = "htu ends in a slash, but the socket's address does not"
    part = "htu is incomplete; use socket_uri exactly as it is in the configuration"
    for name, htu, cause in (
        ("PRF-041-relative", "{path}", part),
        ("PRF-042-host", "{ws}://other.example{port}{path}", None),
        ("PRF-042-suffix", "{ws}://{name}.evil.example{port}{path}", None),
        ("PRF-042-port", "{ws}://{name}:1{path}", None),
        ("PRF-042-no-port", "{ws}://{name}{no-port}{path}", None),
        ("PRF-042-path", "{ws}://{host}{folder}/public", None),
        ("PRF-042-prefix", "{ws}://{host}{cut}", None),
        ("PRF-042-longer", "{ws}://{host}{path}2", None),
        ("PRF-043-http", "http://{host}{path}", web),
        ("PRF-043-https", "https://{host}{path}", web),
        ("PRF-043-wss", "{other}://{host}{path}", None),
        ("PRF-048-dots", "{ws}://{host}{folder}/a/..{file}", None),
        ("PRF-048-whole-dots", "{ws}://{host}{folder}/..{path}", None),
        ("PRF-048-dot", "{ws}://{host}{folder}/.{file}", None),
        ("PRF-048-encoded", "{ws}://{host}{folder}{encoded}", None),
        ("PRF-049", "{ws}://{host}{path}/", slash),
        ("PRF-050", "{ws}://a@{host}{path}", None),
        ("PRF-050-password", "{ws}://a:b@{host}{path}", None),
        ("PRF-050-other-host", "{ws}://{host}@evil.example{path}", None),
        ("PRF-050-backslash", "{ws}://evil.example\\@{host}{path}", None),
    ):
        yield Verdict(name, claims(htu=htu), "proof_htu", "htu", cause, "htu")
    # F128: a proof is valid with one token only.
    for name, spell, cause in (
        ("PRF-092-hex", lambda token: hashlib.sha256(token).hexdigest(), "hex"),
        ("PRF-092-padded", lambda token: b64(hashlib.sha256(token).digest()) + "=", "padding"),
        ("PRF-092-sha-512", lambda token: b64(hashlib.sha512(token).digest()), "SHA-512"),
        (
            "PRF-092-unsigned",
            lambda token: b64(hashlib.sha256(token.rpartition(b".")[0]).digest()),
            "without its signature",
        ),
        ("PRF-092-newline", lambda token: b64(hashlib.sha256(token + b"\n").digest()), "newline"),
        ("PRF-092-hex-in-base64", lambda token: b64(hashlib.sha256(token).hexdigest().encode()), "hex"),
        ("of-another-token", lambda token: b64(hashlib.sha256(token[::-1]).digest()), None),
    ):
        yield Verdict(name, ath(spell), "proof_ath", "ath", cause, "ath")


REFUSED: Final = (*_forms(), *_keys(), *_signatures(), *_claims(), *_targets())

REFUSED_BY_VERIFY: Final = (
    Verdict("PRF-003-half-a-pair", lambda handshake: handshake.prove() + "\ud800", "proof_malformed"),
    Verdict("PRF-003-a-megabyte", lambda handshake: handshake.prove() + "A" * 1_000_000, "proof_malformed"),
    Verdict("PRF-074-nbf-61-s-ahead", claims(nbf=lambda handshake: int(handshake.now) + 61), "proof_claims", "nbf"),
)
"""Not sent to a running service: its clock moves on, and a frame cannot carry half a surrogate pair or a megabyte."""

ELSEWHERE: Final[tuple[Json, ...]] = (
    *({"kid": ["a"]}, {"kid": "../../etc/passwd"}, {"cty": "JWT"}),
    *({"jku": "https://evil.example"}, {"x5u": "file:///"}, {"x5c": [1]}),
)
"""Header members that say where to find the key. They are ignored."""

ACCEPTED: Final = (
    Honest("PRF-018", jwk(kid="a", use="sig", alg="ES256", key_ops=["verify"], ext=True)),
    Honest("PRF-018-more-operations", jwk(key_ops=["verify", "verify", "other"])),
    Honest("PRF-018-certificate", jwk(x5c=["AAAA"], x5u="https://evil.example/", x5t="", kid={}, iat=1)),
    Honest("PRF-018-not-exported", jwk(ext=False)),
    Honest("PRF-018-members-of-other-keys", jwk(D="AQ", n="AQAB", e="AQAB")),
    *(Honest(f"elsewhere-{at}", header(**more)) for at, more in enumerate(ELSEWHERE)),
    Honest("white-space", spaced),
    # F127: the comparison of `htu` ignores query, fragment, and the letter case of scheme and host.
    Honest("PRF-042-same-in-capitals", claims(htu="{WS}://{NAME}{port}{path}")),
    Honest("PRF-044-query", claims(htu=SOCKET + "?a=1")),
    Honest("PRF-044-fragment", claims(htu=SOCKET + "#a")),
    Honest("PRF-044-both", claims(htu=SOCKET + "?x=1#y")),
    Honest("PRF-061-256", claims(jti="j" * 256)),
    Honest("PRF-071-an-hour-back", claims(iat=lambda handshake: int(handshake.now) - 3600)),
    Honest("PRF-074-in-time", claims(exp=lambda handshake: int(handshake.now) + 60, nbf=lambda h: int(h.now))),
    Honest("PRF-075", lambda h: h.prove({"extra": {"a": [1]}}, extra={"b": None}, aud="x", uid="someone")),
)
