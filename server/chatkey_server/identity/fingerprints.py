"""Reads the DTLS fingerprint of a session description (RFC 8122), which a call's proof is made for."""

from __future__ import annotations

import re
from typing import Final

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused

_FINGERPRINT: Final = re.compile(r"a=fingerprint:sha-256 ((?:[0-9A-F]{2}:){31}[0-9A-F]{2})", re.ASCII | re.IGNORECASE)
_MEDIA: Final = re.compile(r"m=\S+", re.IGNORECASE)


def fingerprint_of(sdp: str) -> str:
    """Return the SHA-256 fingerprint of a description with one audio line, as upper-case hexadecimal with colons.

    A fingerprint that is missing, written in another way, or accompanied by a different one is refused, because a
    browser might use another fingerprint than the one that was checked.
    """
    lines = re.split(r"[\r\n]+", sdp)
    media = [line for line in lines if _MEDIA.match(line.strip())]
    if len(media) != 1 or not media[0].startswith("m=audio "):
        raise Refused(
            Code.PARAMETER_INVALID, "The description must contain one audio line and no other media.", member="sdp"
        )
    mentions = [line for line in lines if "fingerprint" in line.lower()]
    found = {read[1].upper() for line in mentions if (read := _FINGERPRINT.fullmatch(line))}
    if len(found) != 1 or not all(map(_FINGERPRINT.fullmatch, mentions)):
        raise Refused(
            Code.PROOF_FINGERPRINT,
            "The description must contain exactly one fingerprint, with SHA-256.",
            member="sdp",
        )
    return found.pop()
