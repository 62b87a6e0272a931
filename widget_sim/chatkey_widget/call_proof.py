"""Builds the proof that binds the audio of a call to the connection key (D-22)."""

import re
from typing import Final

from chatkey_protocol.names import CALL_PROOF_TYP
from chatkey_widget.keys import PublicKey
from chatkey_widget.proof import Proof

_LINE: Final = re.compile(r"a=fingerprint:sha-256 ([0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){31})")


def fingerprint(sdp: str) -> str | None:
    """Return the SHA-256 fingerprint of a session description, in upper case.

    Return None if the description has no fingerprint, or one that the browser might not use.
    """
    lines = [line for line in re.split(r"[\r\n]+", sdp) if "fingerprint" in line.lower()]
    read = [_LINE.fullmatch(line) for line in lines]
    found = {match[1].upper() for match in read if match}
    return found.pop() if len(found) == 1 and all(read) else None


def build(
    key: PublicKey, *, call_id: str, nonce: str, fingerprint: str, peer_fingerprint: str, jti: str, now: float
) -> Proof:
    """Build the proof for this call: the agent's nonce, and the fingerprints of both sides as this browser sees them.

    If somebody has changed a description on the way, the fingerprints differ from those that the server knows.
    """
    header: dict[str, object] = {"typ": CALL_PROOF_TYP, "alg": "ES256", "jwk": key.jwk}
    claims: dict[str, object] = {
        "jti": jti,
        "iat": int(now),
        "call_id": call_id,
        "nonce": nonce,
        "fingerprint": fingerprint,
        "peer_fingerprint": peer_fingerprint,
    }
    return Proof(header, claims)
