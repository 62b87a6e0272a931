"""Tests of descriptions of a call's audio that are written in an unusual way. The suite tests the usual mistakes."""

from __future__ import annotations

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.fingerprints import fingerprint_of

CALLER = ":".join(["A1"] * 32)
AGENT = ":".join(["B2"] * 32)
SDP = f"v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=fingerprint:sha-256 {CALLER}\r\na=setup:active\r\n"


@pytest.mark.parametrize(
    ("sdp", "code"),
    [
        (SDP.replace("a=fingerprint", " a=fingerprint"), Code.PROOF_FINGERPRINT),
        (f"{SDP}a=fingerprint:sha-512 {CALLER}:{CALLER}\r\n", Code.PROOF_FINGERPRINT),
        (f"{SDP}A=Fingerprint:sha-256 {AGENT}\r\n", Code.PROOF_FINGERPRINT),
        (f"{SDP}a=x:1\ra=fingerprint:sha-256 {AGENT}\r\n", Code.PROOF_FINGERPRINT),
        (f"{SDP}M=audio 9 x 0\r\n", Code.PARAMETER_INVALID),
    ],
    ids=["indented", "two hashes", "other case", "after a bare CR", "media in other case"],
)
def test_a_description_that_browsers_may_read_in_two_ways_is_refused(sdp: str, code: Code) -> None:
    with pytest.raises(Refused) as refused:
        fingerprint_of(sdp)

    assert (refused.value.code, refused.value.member) == (code, "sdp")
