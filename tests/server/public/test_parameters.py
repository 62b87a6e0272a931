"""The declared parameters must accept exactly what the identity rules accept."""

import pytest

from chatkey_server.identity import encoding
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.keys import is_jkt, jkt_of_visitor
from chatkey_server.public.parameters import JKT, UID, Query

THUMBPRINTS = [encoding.encode(bytes([byte]) * 32) for byte in (0, 1, 127, 255)]
OTHERS = ["", "A" * 42, "A" * 44, "A" * 42 + "B", "A" * 42 + "=", "A" * 42 + "+", "A" * 43 + "\n", "é" * 43, " " * 43]
OTHERS += [" " + "A" * 43, "A" * 43 + "\0", "\ufffd" * 43]


@pytest.mark.parametrize("text", THUMBPRINTS + OTHERS)
def test_endpoints_and_identity_accept_the_same_thumbprints(text: str) -> None:
    assert JKT.is_well_formed(text) is is_jkt(text) is (text in THUMBPRINTS)
    assert UID.is_well_formed(f"v_{text}") is (jkt_of_visitor(f"v_{text}") is not None)


def test_a_missing_or_empty_value_is_refused_by_name_and_with_what_to_send() -> None:
    for query in (b"", b"uid=", b"UID=x"):
        with pytest.raises(Refused) as refusal:
            Query(required=(UID,)).read({"query_string": query}, most=100)  # type: ignore[arg-type]

        assert (refusal.value.code, refusal.value.member) == ("parameter_missing", "uid")
        assert f"The parameter uid is missing; send {UID.meaning}" in refusal.value.message
