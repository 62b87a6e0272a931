"""Proofs and their verdicts: what is made of an honest handshake, and what it is refused for (D-10, RFC 9449).

A row's id is that of its row in `ids.txt`, with a word behind it where a row has several. Each is judged by
`proofs.verify` and, over the wire, by the socket (`test_proof_verdicts.py`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from honest import REMOVED, BrowserKey, Json, Maker, b64, dumps, merged, unb64

P: Final = 2**256 - 2**224 + 2**192 + 2**96 - 1
N: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B: Final = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
SOCKET: Final = "ws://{host}/v1/socket"


@dataclass(frozen=True)
class Handshake:
    """What an honest proof is made of. `htu` is the socket's address, at a port of this machine."""

    key: BrowserKey
    token: str
    nonce: str
    htu: str
    now: float

    def prove(self, header: Mapping[str, Any] | None = None, **claims: Any) -> str:
        """Return the honest proof, with members of its header and claims changed."""
        given: Json = {"nonce": self.nonce, "htu": self.htu, **claims}
        return Maker().proof(self.key, token=self.token, now=self.now, header=header, **given)


Make = Callable[[Handshake], str]


@dataclass(frozen=True)
class Verdict:
    """A proof that is wrong in one thing: code and member of its refusal, and words of its cause and message.

    Without words, there is no cause.
    """

    id: str
    make: Make
    code: str
    member: str | None = None
    cause: str | None = None
    says: str = ""


@dataclass(frozen=True)
class Honest:
    """A proof that is unusual, and accepted."""

    id: str
    make: Make


# how a proof is made


def sent(text: str) -> Make:
    """Send a text that is no proof at all."""
    return lambda _: text


def claims(**changes: object) -> Make:
    """Change claims; what can be called is given the handshake, and {host} and {port} are the socket's."""
    return lambda handshake: handshake.prove(**filled(changes, handshake))


def filled(changes: Mapping[str, Any], handshake: Handshake) -> Json:
    """Give the handshake to the values that ask for it."""
    host = handshake.htu.split("/")[2]
    known = {name: value(handshake) if callable(value) else value for name, value in changes.items()}
    places = {"{host}": host, "{port}": host.rpartition(":")[2]}

    def written(value: Any) -> Any:
        for mark, part in places.items() if isinstance(value, str) else ():
            value = value.replace(mark, part)
        return value

    return {name: written(value) for name, value in known.items()}


def header(**changes: object) -> Make:
    """Change members of the header."""
    return lambda handshake: handshake.prove(changes)


def jwk(**changes: object) -> Make:
    """Change members of the key in the header."""
    return lambda handshake: handshake.prove({"jwk": merged(handshake.key.jwk, changes)})


def x_spelled(spell: Callable[[str], str]) -> Make:
    """Spell a coordinate of the key otherwise."""
    return lambda handshake: handshake.prove({"jwk": {**handshake.key.jwk, "x": spell(handshake.key.jwk["x"])}})


def signature(change: Callable[[bytes], bytes]) -> Make:
    """Change the bytes of the signature."""

    def make(handshake: Handshake) -> str:
        signed, _, honest = handshake.prove().rpartition(".")
        return f"{signed}.{b64(change(unb64(honest)))}"

    return make


def unsigned(alg: object) -> Make:
    """Say another algorithm, and leave the signature out."""
    return lambda handshake: handshake.prove({"alg": alg}).rpartition(".")[0] + "."


def exchanged(part: int) -> Make:
    """Put the header or the payload of another proof under the signature."""

    def make(handshake: Handshake) -> str:
        mine, other = handshake.prove().split("."), handshake.prove({"more": 1}, more=1).split(".")
        return ".".join([*mine[:part], other[part], *mine[part + 1 :]])

    return make


def x_twice(handshake: Handshake) -> str:
    """Name a member of the key twice."""
    key = dumps(handshake.key.jwk)[:-1] + b',"x":"' + handshake.key.jwk["x"].encode() + b'"}'
    head = b'{"typ":"wf-proof+jwt","alg":"ES256","jwk":' + key + b"}"
    signed = f"{b64(head)}.{handshake.prove().split('.')[1]}"
    return f"{signed}.{b64(handshake.key.sign(signed.encode()))}"


def ath(spell: Callable[[bytes], str]) -> Make:
    """Spell the token's hash otherwise, given the token."""
    return lambda handshake: handshake.prove(ath=spell(handshake.token.encode()))


def nonce(spell: Callable[[str], str]) -> Make:
    """Spell the nonce otherwise."""
    return lambda handshake: handshake.prove(nonce=spell(handshake.nonce))


def der(raw: bytes) -> bytes:
    """Write a signature as most libraries do."""
    return encode_dss_signature(int.from_bytes(raw[:32]), int.from_bytes(raw[32:]))


def coordinate(value: int) -> str:
    """Write a coordinate of a key."""
    return b64(value.to_bytes(32, "big"))


def next_letter(x: str) -> str:
    """Spell the same bytes otherwise: the last letter carries two bits that no byte uses."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return x[:-1] + alphabet[alphabet.index(x[-1]) + 1]


def small_point() -> tuple[int, int]:
    """Return a point whose x is small enough that x + p fits into 32 bytes too."""
    for x in range(1, 100):
        square = x**3 - 3 * x + B
        y = pow(square, (P + 1) // 4, P)
        if y * y % P == square % P:
            return x, y
    raise AssertionError("there is one")


def on_p384() -> Json:
    """Return a key on another curve."""
    numbers = ec.derive_private_key(7, ec.SECP384R1()).public_key().public_numbers()
    x, y = (b64(number.to_bytes(48, "big")) for number in (numbers.x, numbers.y))
    return {"kty": "EC", "crv": "P-384", "x": x, "y": y}


# the form


def _forms() -> Iterator[Verdict]:
    for name, proof in (
        ("PRF-003-text", "not a token"),
        ("PRF-003-two-segments", "e30.e30"),
        ("PRF-003-four-segments", "e30.e30.e30.e30"),
        ("PRF-003-jwe", "e30.e30.e30.e30.e30"),
        ("PRF-003-json", '{"payload":"e30","signatures":[]}'),
        ("PRF-003-empty-json", "{}"),
        ("PRF-003-newline", "e30.e30.AA\n"),
        ("PRF-003-5000-letters", "x" * 5000),
        ("PRF-004-empty", ""),
    ):
        yield Verdict(name, sent(proof), "proof_malformed", says="proof")
    yield Verdict("PRF-003-words", sent("head.payload.mac"), "proof_malformed", "header", says="proof")
    yield Verdict("PRF-029-mine", x_twice, "proof_malformed", "header", says="'x' stands there twice")
    for name, changes in (
        ("crit-unknown", {"crit": ["x"], "x": 1}),
        ("crit-exp", {"crit": ["exp"]}),
        ("crit-empty", {"crit": []}),
        ("crit-b64", {"crit": ["b64"], "b64": False}),
    ):
        yield Verdict(name, header(**changes), "proof_malformed", "crit")
    # F132: `typ` is exactly that of a proof.
    for name, typ in (
        ("missing", REMOVED),
        ("jwt", "JWT"),
        ("dpop", "dpop+jwt"),
        ("capitals", "WF-PROOF+JWT"),
        ("whole", "application/wf-proof+jwt"),
        ("null", None),
        ("list", ["x"]),
    ):
        yield Verdict(f"typ-{name}", header(typ=typ), "proof_typ", "typ")
    # F129: not `none`, not in other letters.
    for name, alg in (
        ("PRF-008-none", "none"),
        ("PRF-008-capital", "None"),
        ("PRF-008-missing", REMOVED),
        ("PRF-008-null", None),
        ("PRF-008-list", ["ES256"]),
        ("PRF-008-lower-case", "es256"),
        ("PRF-009-word-only", "HS256"),
        ("PRF-011-word-only", "ES256K"),
    ):
        yield Verdict(f"{name}-signed", header(alg=alg), "proof_alg", "alg")
        yield Verdict(f"{name}-unsigned", unsigned(alg), "proof_alg", "alg")


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
    x, y = small_point()
    p384 = on_p384()
    # F130: a private member, coordinates off the curve, another curve.
    tables: dict[str, tuple[tuple[str, Json], ...]] = {
        "jwk.kty": (
            ("PRF-020-lower-case", {"kty": "ec"}),
            ("PRF-020-missing", {"kty": REMOVED}),
            ("PRF-020-RSA", {"kty": "RSA"}),
            ("PRF-020-OKP", {"kty": "OKP"}),
            ("PRF-020-list", {"kty": ["EC"]}),
        ),
        "jwk.crv": (
            ("PRF-012", p384),
            ("PRF-021-lower-case", {"crv": "p-256"}),
            ("PRF-021-secp256r1", {"crv": "secp256r1"}),
            ("PRF-021-missing", {"crv": REMOVED}),
            ("PRF-021-secp256k1", {"crv": "secp256k1"}),
        ),
        "jwk.d": (("PRF-016", {"d": coordinate(1)}), ("PRF-016-empty", {"d": ""}), ("PRF-016-null", {"d": None})),
        "jwk.p": (("PRF-017-rsa", {"kty": "RSA", "n": "AQAB", "e": "AQAB", "p": "AQ", "q": "AQ"}),),
        "jwk.k": (("PRF-017-k", {"k": "c2VjcmV0"}),),
        "jwk.dp": (("PRF-017-dp", {"dp": "AQ"}),),
        "jwk.oth": (("PRF-017-oth", {"oth": []}),),
        "jwk.use": (("PRF-019-use", {"use": "enc"}), ("PRF-019-use-list", {"use": ["sig"]})),
        "jwk.key_ops": (
            ("PRF-019-key-ops", {"key_ops": ["sign"]}),
            ("PRF-019-key-ops-empty", {"key_ops": []}),
            ("PRF-019-key-ops-text", {"key_ops": "verify"}),
        ),
        "jwk.alg": (("PRF-019-alg", {"alg": "HS256"}), ("PRF-019-alg-ecdh", {"alg": "ECDH-ES"})),
        "jwk.x": (
            ("PRF-012-p-384-numbers", {"x": p384["x"], "y": p384["y"]}),
            ("PRF-022", {"x": coordinate(x), "y": coordinate(y + 1)}),
            ("PRF-022-swapped", {"x": coordinate(y), "y": coordinate(x)}),
            ("PRF-023-zeros", {"x": coordinate(0), "y": coordinate(0)}),
            ("PRF-023-x-plus-p", {"x": coordinate(x + P), "y": coordinate(y)}),
            ("PRF-023-x-is-p", {"x": coordinate(P), "y": coordinate(y)}),
            ("PRF-028-integer", {"x": 5}),
            ("PRF-028-null", {"x": None}),
            ("PRF-028-empty", {"x": ""}),
        ),
        "jwk.y": (
            ("PRF-023-all-ones", {"x": coordinate(x), "y": coordinate(2**256 - 1)}),
            ("PRF-028-list", {"y": []}),
            ("PRF-028-missing", {"y": REMOVED}),
        ),
    }
    for member, rows in tables.items():
        for name, changes in rows:
            yield Verdict(name, jwk(**changes), "proof_jwk", member)
    padded = "x is not base64url without padding"
    for name, spell, cause in (
        ("PRF-025", lambda x: x + "=", padded),
        ("PRF-025-base64", lambda x: f"{x[:20]}+{x[21:]}", padded),
        ("PRF-027", next_letter, "x is not canonical base64url"),
        ("PRF-028-space", lambda x: f" {x}", padded),
        ("PRF-028-newline", lambda x: f"{x}\n", padded),
    ):
        yield Verdict(name, x_spelled(spell), "proof_jwk", "jwk.x", cause)


# the signature

EDGES: Final = {"0": 0, "1": 1, "n-1": N - 1, "n": N, "n+1": N + 1, "all-ones": 2**256 - 1}


def at_the_edge(r: str, s: str) -> Make:
    """Put numbers from the edge of the group in place of a signature."""
    return signature(lambda _: EDGES[r].to_bytes(32, "big") + EDGES[s].to_bytes(32, "big"))


def _signatures() -> Iterator[Verdict]:
    # F131: DER is refused and named.
    for name, make, cause in (
        ("PRF-030-header", exchanged(0), None),
        ("PRF-030-payload", exchanged(1), None),
        ("PRF-030-first-bit", signature(lambda raw: bytes([raw[0] ^ 1]) + raw[1:]), None),
        ("PRF-030-last-bit", signature(lambda raw: raw[:-1] + bytes([raw[-1] ^ 1])), None),
        ("PRF-030-halves-swapped", signature(lambda raw: raw[32:] + raw[:32]), "s before r"),
        ("PRF-031", signature(der), "DER"),
        ("PRF-031-hex", signature(lambda raw: raw.hex().encode()), "hex"),
        ("PRF-032-0", signature(lambda _: b""), None),
        ("PRF-032-1", signature(lambda raw: raw[:1]), None),
        ("PRF-032-63", signature(lambda raw: raw[:63]), None),
        ("PRF-032-trailing-zero", signature(lambda raw: raw + b"\0"), None),
        ("PRF-032-leading-zero", signature(lambda raw: b"\0" + raw), None),
        ("PRF-032-66", signature(lambda raw: b"\0" + raw[:32] + b"\0" + raw[32:]), None),
        ("PRF-032-r-only", signature(lambda raw: raw[:32]), None),
        *((f"PRF-033-{r}-{s}", at_the_edge(r, s), None) for r, s in product(EDGES, EDGES)),
    ):
        yield Verdict(name, make, "proof_signature", "signature", cause)


# the claims


def _claims() -> Iterator[Verdict]:
    tables: dict[str, tuple[tuple[str, str, object], ...]] = {
        "proof_htm": (
            ("PRF-040-missing", "htm", REMOVED),
            ("PRF-040-other", "htm", "POST"),
            ("PRF-040-lower-case", "htm", "get"),
            ("PRF-040-number", "htm", 1),
            ("PRF-040-list", "htm", ["GET"]),
        ),
        "proof_claims": (
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
            ("PRF-074-exp", "exp", 1_000_000_000),
            ("PRF-074-exp-now", "exp", lambda handshake: int(handshake.now)),
        ),
        "proof_nonce": (
            ("PRF-084-missing", "nonce", REMOVED),
            ("PRF-084-null", "nonce", None),
            ("PRF-084-number", "nonce", 5),
            ("PRF-084-empty", "nonce", ""),
            ("PRF-084-not-ascii", "nonce", "é"),
            ("PRF-084-case", "nonce", lambda handshake: handshake.nonce.swapcase()),
            ("PRF-084-padded", "nonce", lambda handshake: handshake.nonce + "="),
            ("PRF-084-truncated", "nonce", lambda handshake: handshake.nonce[:-1]),
            ("PRF-084-space", "nonce", lambda handshake: handshake.nonce + " "),
            ("PRF-085", "nonce", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"),
        ),
        "proof_ath": (
            ("PRF-090", "ath", REMOVED),
            ("PRF-090-null", "ath", None),
            ("PRF-090-empty", "ath", ""),
        ),
    }
    for code, rows in tables.items():
        for name, claim, value in rows:
            yield Verdict(name, claims(**{claim: value}), code, claim, says=claim)
    yield Verdict("PRF-087", claims(nonce=REMOVED, iat=1_900_000_000), "proof_nonce", "nonce", says="nonce")
    yield Verdict("PRF-074-nbf", claims(nbf=9_000_000_000), "proof_claims", "nbf", says="nbf")
    seconds = "iat looks like milliseconds; write seconds"
    yield Verdict("PRF-070-milliseconds", claims(iat=1_800_000_000_000), "proof_claims", "iat", seconds)
    yield Verdict("PRF-041-8-kb", claims(htu=f"{SOCKET}?{'x' * 8192}"), "proof_malformed")
    yield Verdict("PRF-061-10-kb", claims(jti="j" * 10_240), "proof_malformed")


def _targets() -> Iterator[Verdict]:
    # F127: `htu` of another place.
    web = "htu is a web address; write it with ws, as socket_uri has it"
    slash = "htu ends in a slash, which the socket's address does not"
    part = "htu is not whole; write socket_uri as the configuration has it"
    for name, htu, cause in (
        ("PRF-041-missing", REMOVED, None),
        ("PRF-041-number", 8800, None),
        ("PRF-041-relative", "/v1/socket", part),
        ("PRF-041-empty", "", None),
        ("PRF-042-host", "ws://other.example:{port}/v1/socket", None),
        ("PRF-042-suffix", "ws://localhost.evil.example:{port}/v1/socket", None),
        ("PRF-042-port", "ws://localhost:1/v1/socket", None),
        ("PRF-042-no-port", "ws://localhost/v1/socket", None),
        ("PRF-042-path", "ws://{host}/v1/public", None),
        ("PRF-042-prefix", "ws://{host}/v1/sock", None),
        ("PRF-042-longer", "ws://{host}/v1/socket2", None),
        ("PRF-043-http", "http://{host}/v1/socket", web),
        ("PRF-043-https", "https://{host}/v1/socket", web),
        ("PRF-043-wss", "wss://{host}/v1/socket", None),
        ("PRF-048-dots", "ws://{host}/v1/a/../socket", None),
        ("PRF-048-whole-dots", "ws://{host}/v1/../v1/socket", None),
        ("PRF-048-dot", "ws://{host}/v1/./socket", None),
        ("PRF-048-encoded", "ws://{host}/v1/%73ocket", None),
        ("PRF-049", "ws://{host}/v1/socket/", slash),
        ("PRF-050", "ws://a@{host}/v1/socket", None),
        ("PRF-050-password", "ws://a:b@{host}/v1/socket", None),
        ("PRF-050-other-host", "ws://{host}@evil.example/v1/socket", None),
        ("PRF-050-backslash", "ws://evil.example\\@{host}/v1/socket", None),
    ):
        yield Verdict(name, claims(htu=htu), "proof_htu", "htu", cause, "htu")
    # F128: a proof goes with one token.
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
    Verdict("PRF-074-nbf-61-s-ahead", claims(nbf=lambda handshake: int(handshake.now) + 61), "proof_claims", "nbf"),
)
"""Over the wire the clock would move on."""

ACCEPTED: Final = (
    Honest("PRF-018", jwk(kid="a", use="sig", alg="ES256", key_ops=["verify"], ext=True)),
    Honest("PRF-018-more-operations", jwk(key_ops=["verify", "verify", "other"])),
    Honest("PRF-018-certificate", jwk(x5c=["AAAA"], x5u="https://evil.example/")),
    # F127: `htu` is compared without query, fragment and case of scheme and host.
    Honest("PRF-042-same-in-capitals", claims(htu="WS://LOCALHOST:{port}/v1/socket")),
    Honest("PRF-044-query", claims(htu=SOCKET + "?a=1")),
    Honest("PRF-044-fragment", claims(htu=SOCKET + "#a")),
    Honest("PRF-044-both", claims(htu=SOCKET + "?x=1#y")),
    Honest("PRF-061-256", claims(jti="j" * 256)),
    Honest("PRF-071-an-hour-back", claims(iat=lambda handshake: int(handshake.now) - 3600)),
    Honest("PRF-074-in-time", claims(exp=lambda handshake: int(handshake.now) + 60, nbf=lambda h: int(h.now))),
    Honest("PRF-075", lambda h: h.prove({"extra": {"a": [1]}}, extra={"b": None}, aud="x", uid="someone")),
)
