"""Makes docs/vectors.json: inputs with expected results, for every implementation of the profile (docs/vectors.md).

Faulty tokens and proofs, with their error codes, come from `chatkey_conform.making`. This module makes them with one
key and at one time, so that they are the same in every run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias
from unittest import mock

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from chatkey_conform.making import call_verdicts, proof_verdicts, token_verdicts
from chatkey_conform.making.call_verdicts import Offered
from chatkey_conform.making.honest import Maker
from chatkey_conform.making.issuer import Issuer
from chatkey_conform.making.place import Place
from chatkey_conform.making.proof_making import Handshake
from chatkey_peer.key import BrowserKey, b64
from chatkey_protocol.codes import Code
from chatkey_protocol.names import REVISION, SUBPROTOCOL
from chatkey_server.identity import origins, proofs, tokens
from chatkey_server.identity.errors import MEANINGS, Refused
from chatkey_widget import proof as widget_proof
from chatkey_widget.keys import PublicKey

Json: TypeAlias = dict[str, Any]

ROOT: Final = Path(__file__).parents[1]
FILE: Final = ROOT / "docs" / "vectors.json"
PUBLISHED: Final = ROOT / "tests" / "vectors"
MOST_CHARS: Final = 20_000
NOW: Final = 1_795_000_020.0
SECRET: Final = b64(bytes(range(100, 148)))
"""Looks like the service's own secrets: text that could be mistaken for base64."""
NONCE: Final = "the-nonce-of-this-connection"
HTU: Final = "ws://localhost:8800/v1/socket"
CALL_ID: Final = "5f0c2d1e-0000-4000-8000-000000000001"
FINGERPRINT: Final = ":".join(f"{byte:02X}" for byte in range(224, 256))
PEER_FINGERPRINT: Final = ":".join(f"{byte:02X}" for byte in range(160, 192))
JTI: Final = "5xWm0Vq1gk2yTn8b"
DOMAINS: Final = (
    "shop.example",
    "SHOP.example",
    "shop.example:8443",
    "shop.example:443",
    "bücher.example",
    "localhost:8801",
    "a.localhost",
    "127.0.0.2",
    "[::1]:8801",
    "https://shop.example",
    "*.shop.example",
    "shop.example/path",
    "user@shop.example",
    "shop.example:0",
    "shop.example:65536",
    "127.1",
    "",
)


class FixedKey(BrowserKey):
    """A key whose signatures are the same every time (RFC 6979)."""

    def sign(self, signed: bytes) -> bytes:
        der = self.private.sign(signed, ec.ECDSA(SHA256(), deterministic_signing=True))
        r, s = decode_dss_signature(der)
        return r.to_bytes(32) + s.to_bytes(32)


def _key(seed: bytes) -> FixedKey:
    return FixedKey(ec.derive_private_key(int.from_bytes(seed), ec.SECP256R1()))


KEY: Final = _key(b"a key for everybody's vectors...")
OTHER: Final = _key(b"another for everybody's vectors.")


@cache
def text() -> str:
    with mock.patch("secrets.token_urlsafe", return_value=JTI):
        made = {
            "profile": SUBPROTOCOL,
            "revision": REVISION,
            "thumbprints": list(_thumbprints()),
            "visitor_keys": list(_visitor_keys()),
            "token_hashes": list(_token_hashes()),
            "domains": list(_domains()),
            "tokens": _tokens(),
            "refreshes": _refreshes(),
            "proofs": _proofs(),
            "call_proofs": _call_proofs(),
            "proof_making": _proof_making(),
            "published": json.loads((PUBLISHED / "published.json").read_text()),
        }
    return json.dumps(made, indent=1) + "\n"


def _thumbprints() -> Iterator[Json]:
    known = {name: case for name, case in _published("published").items() if case.get("jwk", {}).get("kty") == "EC"}
    for name, case in (known | _published("short_coordinates")).items():
        yield {"id": name, "jwk": case["jwk"], "jkt": case["jkt"], "wf_visitor_uid": f"v_{case['jkt']}"}


def _published(name: str) -> dict[str, Json]:
    read: dict[str, Json] = json.loads((PUBLISHED / f"{name}.json").read_text())
    return read


def _visitor_keys() -> Iterator[Json]:
    for iat, minute in ((1_800_000_030, "08:00"), (1_800_000_059, "08:00"), (1_800_000_060, "08:01"), (0, "00:00")):
        key = Maker().mac(minute, SECRET.encode())
        yield {"secret_key": SECRET, "iat": iat, "minute": minute, "key": b64(key), "exp": (iat // 60 + 2) * 60}


def _token_hashes() -> Iterator[Json]:
    for token in (SocketPlace().shop.token(), "a.b.c"):
        yield {"token": token, "ath": proofs.access_token_hash(token)}


def _domains() -> Iterator[Json]:
    for domain in DOMAINS:
        try:
            yield {"domain": domain, "origins": list(origins.registrable(domain))}
        except Refused as refused:
            yield {"domain": domain, "refused": refused.code}


# tokens


class SocketPlace:
    """A place that reads the tokens of a socket. Its clock stands still."""

    kind: ClassVar[str] = "socket"

    def __init__(self) -> None:
        self.shop = Issuer("prov_a", SECRET, lambda: NOW)
        self.shop.key = KEY

    def claims(self, **changes: Any) -> Json:
        return self.shop.claims(**changes)


class IdentityPlace(SocketPlace):
    """A place that reads identity tokens."""

    kind: ClassVar[str] = "identity"

    def claims(self, **changes: Any) -> Json:
        return self.shop.identity_claims(**changes)


def _tokens() -> Json:
    places = (SocketPlace(), IdentityPlace())
    return {
        "given": {"pid": places[0].shop.id, "secret_key": SECRET, "now": int(NOW), "jkt": KEY.jkt},
        "cases": [
            *_accepted_tokens(places),
            *_logins(places[0]),
            *_refused_tokens(places),
            *_faulty_twice(places[0]),
        ],
    }


def _accepted_tokens(places: tuple[Place, ...]) -> Iterator[Json]:
    for row in (*token_verdicts.ACCEPTED, *token_verdicts.ACCEPTED_BY_READERS):
        for place in (place for place in places if place.kind in row.kinds):
            token = row.make(place)
            if place.kind == "socket":
                yield {**_case(row.id, place, token), "accepted": _who(token)}
            else:
                yield {**_case(row.id, place, token), "accepted": {}}


def _logins(place: Place) -> Iterator[Json]:
    soon, google = int(NOW) + 120, {"auth_provider": "google"}
    for name, changes in (
        ("social", {"uid": "google:42", "data": google, "exp": soon}),
        ("uid-like-a-social-one", {"uid": "google:42"}),
        ("uid-of-another-social", {"uid": "github:42", "data": google}),
        ("uid-without-subject", {"uid": "google:", "data": google}),
        ("unknown-social", {"uid": "foo:42", "data": {"auth_provider": "foo"}}),
        ("data-is-null", {"uid": "google:42", "data": None}),
    ):
        token = place.shop.sign(place.claims(**changes))
        yield {**_case(f"login-{name}", place, token), "accepted": _who(token)}


def _who(token: str) -> Json:
    read = tokens.read_socket_token(token, tokens.Secrets(SECRET.encode()), pid="prov_a", now=NOW)
    return {"login": read.login, "uid": read.uid, "jkt": read.jkt, "expires_at": read.expires_at}


def _refused_tokens(places: tuple[Place, ...]) -> Iterator[Json]:
    for row in (*token_verdicts.REFUSED, *token_verdicts.REFUSED_BY_READERS):
        for place in (place for place in places if place.kind in row.kinds):
            if place.kind == "socket" and row.code == Code.TOKEN_PROVIDER:
                continue  # the socket looks the provider up by the pid
            token = row.make(place)
            if len(token) < MOST_CHARS and token.encode(errors="ignore").decode() == token:
                yield {**_case(row.id, place, token), **_refusal(row.code, place)}


def _faulty_twice(place: Place) -> Iterator[Json]:
    shop = place.shop
    twice = json.dumps(place.claims()).encode()[:-1] + b',"uid":"somebody-else"}'
    other = b"another secret of more than thirty-two bytes"
    for name, token, code in (
        ("MAC-before-repeated-member", shop.sign(twice, key=other), Code.TOKEN_SIGNATURE),
        ("MAC-before-exp", shop.sign(place.claims(exp=1), key=other), Code.TOKEN_SIGNATURE),
        ("header-before-MAC", shop.sign(place.claims(), header={"alg": "HS384"}, key=other), Code.TOKEN_ALG),
        ("claims-before-type", shop.sign(place.claims(type="other", name=5)), Code.TOKEN_CLAIMS),
        ("type-before-exp", shop.sign(place.claims(type="other", exp=1)), Code.TOKEN_TYPE),
        ("exp-before-binding", shop.sign(place.claims(exp=int(NOW), cnf={"jkt": "short"})), Code.TOKEN_EXPIRED),
        ("exp-before-iat", shop.sign(place.claims(iat=int(NOW) + 99, exp=int(NOW))), Code.TOKEN_EXPIRED),
        ("lifetime-before-binding", shop.sign(place.claims(exp=int(NOW) + 9999, cnf=None)), Code.TOKEN_CLAIMS),
        ("pid-is-no-text", shop.sign(place.claims(pid=5), key=other), Code.TOKEN_CLAIMS),
    ):
        yield {**_case(f"order-{name}", place, token), **_refusal(code, place)}


def _case(name: str, place: Place, token: str) -> Json:
    return {"id": name, "shown_as": "socket token" if place.kind == "socket" else "auth", "token": token}


def _refusal(code: str, place: Place) -> Json:
    meaning = MEANINGS[Code(code)]
    where = {"close": int(meaning.close)} if place.kind == "socket" else {"status": meaning.status}
    return {"refused": code, **where}


def _refreshes() -> Json:
    place = SocketPlace()
    shop, hour = place.shop, int(NOW) + 3600
    held = shop.sign(place.claims())
    visitor = shop.visitor_claims()
    social = {"uid": "google:1", "data": {"auth_provider": "google"}, "exp": int(NOW) + 120}
    minute = Maker().minute_key(shop.secret, visitor["iat"])
    cases: tuple[tuple[str, str, int | Code], ...] = (
        ("newer", shop.sign(place.claims(exp=hour + 60)), hour + 60),
        ("the-same", held, hour),
        ("older", shop.sign(place.claims(exp=hour - 60)), hour),
        ("another-name", shop.sign(place.claims(exp=hour + 60, name="Grace")), hour + 60),
        ("another-uid", shop.sign(place.claims(uid="customer-8")), Code.IDENTITY_CHANGED),
        ("another-key", shop.sign(place.claims(cnf={"jkt": OTHER.jkt})), Code.IDENTITY_CHANGED),
        ("another-provider", shop.sign(place.claims(pid="prov_b")), Code.IDENTITY_CHANGED),
        ("a-visitors", shop.sign(visitor, key=minute), Code.IDENTITY_CHANGED),
        ("a-social-logins", shop.sign(place.claims(**social)), Code.IDENTITY_CHANGED),
        ("an-identity-token", shop.identity_token(), Code.TOKEN_TYPE),
        ("ended", shop.sign(place.claims(exp=int(NOW))), Code.TOKEN_EXPIRED),
        ("by-another-secret", shop.sign(place.claims(), key=b"x" * 40), Code.TOKEN_SIGNATURE),
        ("not-bound", shop.sign(place.claims(cnf=None)), Code.PROOF_BINDING_MISSING),
    )
    return {
        "given": {"held": held, "pid": shop.id, "secret_key": SECRET, "now": int(NOW)},
        "cases": [{"id": name, "token": token, **_refreshed(outcome, place)} for name, token, outcome in cases],
    }


def _refreshed(outcome: int | Code, place: Place) -> Json:
    return _refusal(outcome, place) if isinstance(outcome, Code) else {"expires_at": outcome}


# proofs


def _handshake() -> Handshake:
    return Handshake(KEY, SocketPlace().shop.token(), NONCE, HTU, NOW)


def _proofs() -> Json:
    handshake = _handshake()
    given = {"token": handshake.token, "jkt": KEY.jkt, "nonce": NONCE, "htu": HTU, "now": int(NOW)}
    return {"given": given, "cases": list(_proof_cases(handshake))}


def _proof_cases(handshake: Handshake) -> Iterator[Json]:
    yield {"id": "honest", "proof": handshake.prove(), "accepted": True}
    for honest in proof_verdicts.ACCEPTED:
        yield {"id": honest.id, "proof": honest.make(handshake), "accepted": True}
    for row in (*proof_verdicts.REFUSED, *proof_verdicts.REFUSED_BY_VERIFY):
        proof = row.make(handshake)
        if len(proof) < MOST_CHARS and proof.encode(errors="ignore").decode() == proof:
            yield _refused_proof(row.id, proof, row.code)
    stolen = Handshake(OTHER, handshake.token, NONCE, HTU, NOW)
    yield _refused_proof("another-key", stolen.prove(), Code.PROOF_KEY_MISMATCH)
    yield _refused_proof("order-claims-before-key", stolen.prove(jti=5), Code.PROOF_CLAIMS)
    yield _refused_proof("order-key-before-nonce", stolen.prove(nonce="old"), Code.PROOF_KEY_MISMATCH)
    yield _refused_proof("order-nonce-before-htu", handshake.prove(nonce="old", htu="ws://a/"), Code.PROOF_NONCE)
    yield _refused_proof("order-htm-before-htu", handshake.prove(htm="POST", htu="ws://a/"), Code.PROOF_HTM)
    yield _refused_proof("order-htu-before-ath", handshake.prove(ath="x", htu="ws://a/"), Code.PROOF_HTU)


def _refused_proof(name: str, proof: str, code: str) -> Json:
    return {"id": name, "proof": proof, "refused": code, "close": int(MEANINGS[Code(code)].close)}


def _call_proofs() -> Json:
    given = {
        "jkt": KEY.jkt,
        "call_id": CALL_ID,
        "nonce": NONCE,
        "fingerprint": FINGERPRINT,
        "peer_fingerprint": PEER_FINGERPRINT,
        "now": int(NOW),
    }
    return {"given": given, "cases": list(_call_proof_cases())}


def _call_proof_cases() -> Iterator[Json]:
    offered = Offered(KEY, OTHER, CALL_ID, NONCE, FINGERPRINT, PEER_FINGERPRINT, NOW)
    for honest in call_verdicts.ACCEPTED:
        yield {"id": honest.id, "proof": honest.make(offered), "accepted": True}
    for row in call_verdicts.REFUSED:
        yield _refused_proof(row.id, row.make(offered), row.code)


def _proof_making() -> Json:
    handshake = _handshake()
    key = PublicKey(KEY.jwk["x"], KEY.jwk["y"])
    made = widget_proof.build(key, token=handshake.token, nonce=NONCE, htu=HTU, jti=JTI, now=NOW)
    return {
        "given": {
            "jwk": KEY.jwk,
            "socket_uri": HTU,
            "token": handshake.token,
            "nonce": NONCE,
            "jti": JTI,
            "now": int(NOW),
        },
        "header": made.header,
        "claims": made.claims,
        "proof": widget_proof.compact(made.signing_input, KEY.sign(made.signing_input.encode())),
    }
