"""Tests of domains at the edge of the grammar. The vectors contain the usual ones, and the suite tests origins."""

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity import origins
from chatkey_server.identity.errors import Refused

LONGEST = f"{'a.' * 124}example"
"""A host of 255 characters."""


@pytest.mark.contract("2.1/domain", "D-08/serialised")
@pytest.mark.parametrize(
    ("domain", "registered"),
    [
        ("xn--bcher-kva.example", ("https://xn--bcher-kva.example",)),
        ("BÜCHER.example", ("https://xn--bcher-kva.example",)),
        ("shop.example:65535", ("https://shop.example:65535",)),
        (LONGEST, (f"https://{LONGEST}",)),
        ("localhost:80", ("https://localhost:80", "http://localhost")),
    ],
)
def test_a_domain_is_saved_as_the_origins_browsers_send(domain: str, registered: tuple[str, ...]) -> None:
    assert origins.registrable(domain) == registered


@pytest.mark.parametrize(
    "domain",
    [
        *(" ", "*", "shop.example?x", "shop.example:", "shop.example.", ".shop.example", "shop..example"),
        *("-shop.example", "shop_.example", "shop example", 'shop".example', "shop.example\n", "</script>"),
        *("0x7f.0.0.1", "2130706433", "[::1", "[zz]", "[1:2]", f"{'a' * 64}.example", f"{LONGEST}e"),
        f"{'ü' * 64}.example",
    ],
)
def test_only_a_host_with_an_optional_port_can_be_registered(domain: str) -> None:
    with pytest.raises(Refused) as refusal:
        origins.registrable(domain)

    assert (refusal.value.code, refusal.value.member) == (Code.PARAMETER_INVALID, "domain")
