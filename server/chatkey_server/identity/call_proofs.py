"""Checks the proof that binds the audio of a call to the caller's key: an ES256 JWS over both DTLS fingerprints."""

from __future__ import annotations

from typing import Final

import msgspec

from chatkey_protocol.codes import Code
from chatkey_protocol.names import CALL_PROOF_TYP
from chatkey_server.identity import proofs
from chatkey_server.identity.errors import Refused


class _Claims(proofs.Common, frozen=True, kw_only=True):
    call_id: proofs.Short
    nonce: proofs.Short
    fingerprint: proofs.Short
    peer_fingerprint: proofs.Short


_read_claims: Final = msgspec.json.Decoder(_Claims)


class Ends(msgspec.Struct, frozen=True):
    """The two ends of a call's audio: the fingerprints of the caller and of the agent, and the agent's nonce.

    The nonce is None if there is no offer to answer, or if the offer was already answered.
    """

    caller: str
    agent: str
    nonce: str | None


def verify(proof: str, ends: Ends, *, call_id: str, jkt: str, now: float) -> None:
    """Check a proof in this order: format, signature, thumbprint, call, nonce, fingerprints.

    `jkt` is the thumbprint to which the caller's socket is bound. Each check has a refusal code of its own.
    """
    read = proofs.signed_claims(proof, _read_claims, typ=CALL_PROOF_TYP, jkt=jkt, now=now)
    if read.call_id != call_id:
        raise Refused(Code.PROOF_CALL, "The proof was made for another call.", member="call_id")
    if not proofs.is_nonce(read.nonce, ends.nonce):
        raise Refused(
            Code.PROOF_NONCE,
            "The proof's nonce belongs to another offer or was already used; answer the newest offer with a new proof.",
            member="nonce",
        )
    for member, claimed, real in (
        ("fingerprint", read.fingerprint, ends.caller),
        ("peer_fingerprint", read.peer_fingerprint, ends.agent),
    ):
        if claimed != real:
            raise Refused(
                Code.PROOF_FINGERPRINT,
                f"The proof's {member} differs from the fingerprint in the description; it was changed on the way.",
                member=member,
            )
