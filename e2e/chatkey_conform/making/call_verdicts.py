"""The table of proofs for the audio of a call: how each proof is made from a valid answer, and its refusal (D-22).

The form, header, key and signature are checked with the code that also checks the proof of a socket. Therefore this
table has only one row for each of these checks, and the rows that are special for calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from chatkey_peer.key import REMOVED, BrowserKey, Json, merged
from chatkey_protocol.names import CALL_PROOF_TYP, PROOF_TYP

OTHER_CALL: Final = "5f0c2d1e-0000-4000-8000-000000000002"
OTHER_FINGERPRINT: Final = ":".join(f"{byte:02X}" for byte in range(64, 96))


@dataclass(frozen=True)
class Offered:
    """The values for a valid proof. `other` is a key to which no socket is bound."""

    key: BrowserKey
    other: BrowserKey
    call_id: str
    nonce: str
    fingerprint: str
    peer_fingerprint: str
    now: float

    def prove(self, header: Mapping[str, Any] | None = None, *, key: BrowserKey | None = None, **claims: Any) -> str:
        """Return a valid proof, except for these changes to its key, header and claims."""
        signer = key or self.key
        return signer.jws(
            merged({"typ": CALL_PROOF_TYP, "alg": "ES256", "jwk": signer.jwk}, header or {}),
            merged(self.claims(), claims),
        )

    def claims(self) -> Json:
        return {
            "jti": "5xWm0Vq1gk2yTn8b",
            "iat": int(self.now),
            "call_id": self.call_id,
            "nonce": self.nonce,
            "fingerprint": self.fingerprint,
            "peer_fingerprint": self.peer_fingerprint,
        }


Make = Callable[[Offered], str]


@dataclass(frozen=True)
class Verdict:
    """A proof with one fault, or with two if the id begins with `order-`, and the code of its refusal."""

    id: str
    make: Make
    code: str


@dataclass(frozen=True)
class Honest:
    """An unusual proof that must be accepted."""

    id: str
    make: Make


def _header(**changes: Any) -> Make:
    return lambda offered: offered.prove(changes)


def _claims(**changes: Any) -> Make:
    return lambda offered: offered.prove(**changes)


def _foreign(**changes: Any) -> Make:
    return lambda offered: offered.prove(key=offered.other, **changes)


def _with_the_callers_jwk(offered: Offered) -> str:
    return offered.prove({"jwk": offered.key.jwk}, key=offered.other)


def _with_other_claims(offered: Offered) -> str:
    header, _, signature = offered.prove().split(".")
    return f"{header}.{offered.prove(fingerprint=OTHER_FINGERPRINT).split('.')[1]}.{signature}"


def _private(offered: Offered) -> str:
    return offered.prove({"jwk": {**offered.key.jwk, "d": offered.key.jwk["x"]}})


REFUSED: Final[tuple[Verdict, ...]] = (
    Verdict("no-jws", lambda _: "no proof", "proof_malformed"),
    Verdict("crit", _header(crit=["x"], x=1), "proof_malformed"),
    Verdict("socket-typ", _header(typ=PROOF_TYP), "proof_typ"),
    Verdict("no-typ", _header(typ=REMOVED), "proof_typ"),
    Verdict("capital-typ", _header(typ=CALL_PROOF_TYP.upper()), "proof_typ"),
    Verdict("alg-none", _header(alg="none"), "proof_alg"),
    Verdict("alg-es384", _header(alg="ES384"), "proof_alg"),
    Verdict("alg-hs256", _header(alg="HS256"), "proof_alg"),
    Verdict("no-jwk", _header(jwk=REMOVED), "proof_jwk"),
    Verdict("private-jwk", _private, "proof_jwk"),
    *(
        Verdict(f"without-{name}", _claims(**{name: REMOVED}), "proof_claims")
        for name in ("jti", "iat", "call_id", "nonce", "fingerprint", "peer_fingerprint")
    ),
    Verdict("fingerprint-no-text", _claims(fingerprint=7), "proof_claims"),
    Verdict("iat-in-milliseconds", lambda offered: offered.prove(iat=int(offered.now) * 1000), "proof_claims"),
    Verdict("expired", lambda offered: offered.prove(exp=int(offered.now) - 1), "proof_claims"),
    Verdict("not-yet", lambda offered: offered.prove(nbf=int(offered.now) + 600), "proof_claims"),
    Verdict("another-signer", _with_the_callers_jwk, "proof_signature"),
    Verdict("changed-claims", _with_other_claims, "proof_signature"),
    Verdict("another-key", _foreign(), "proof_key_mismatch"),
    Verdict("another-call", _claims(call_id=OTHER_CALL), "proof_call"),
    Verdict("old-nonce", _claims(nonce="the-nonce-of-an-earlier-offer"), "proof_nonce"),
    Verdict("nonce-with-space", lambda offered: offered.prove(nonce=f"{offered.nonce} "), "proof_nonce"),
    Verdict("swapped-answer", _claims(fingerprint=OTHER_FINGERPRINT), "proof_fingerprint"),
    Verdict("swapped-offer", _claims(peer_fingerprint=OTHER_FINGERPRINT), "proof_fingerprint"),
    Verdict(
        "sides-exchanged",
        lambda offered: offered.prove(fingerprint=offered.peer_fingerprint, peer_fingerprint=offered.fingerprint),
        "proof_fingerprint",
    ),
    Verdict("lower-case", lambda offered: offered.prove(fingerprint=offered.fingerprint.lower()), "proof_fingerprint"),
    Verdict("order-key-before-call", _foreign(call_id=OTHER_CALL), "proof_key_mismatch"),
    Verdict("order-call-before-nonce", _claims(call_id=OTHER_CALL, nonce="old"), "proof_call"),
    Verdict("order-nonce-before-fingerprint", _claims(nonce="old", fingerprint="x"), "proof_nonce"),
)

ACCEPTED: Final[tuple[Honest, ...]] = (
    Honest("honest", _claims()),
    Honest("more-members", lambda offered: offered.prove({"kid": "1"}, aud="somebody", htm="GET")),
    Honest("an-hour-back", lambda offered: offered.prove(iat=int(offered.now) - 3600)),
    Honest("not-expired", lambda offered: offered.prove(exp=int(offered.now) + 600, nbf=int(offered.now))),
)
