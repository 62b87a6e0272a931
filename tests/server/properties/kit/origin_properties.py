"""Properties of domains that an administrator might register."""

from __future__ import annotations

from typing import Final

from hypothesis import strategies as st
from tests.server.properties.kit.properties import ACCEPTED, REFUSED, Property
from tests.server.properties.kit.second_service import ask
from tests.server.properties.kit.shaken import sometimes_shaken

from chatkey_server.identity import origins
from chatkey_server.identity.errors import Refused

HOSTS: Final = (
    *("shop.example", "SHOP.example", "localhost", "shop.localhost", "xn--bcher-kva.example", "a-b.example", "x"),
    *(
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "192.0.2.7",
        "2130706433",
        "1.2.3.256",
        "01.2.3.4",
        "[::1]",
        "[2001:DB8::7]",
        "[::ffff:127.0.0.1]",
    ),
    *(
        "shop_.example",
        "-a.example",
        "a..example",
        "shop.example.",
        "*.shop.example",
        "a" * 63 + ".example",
        "a" * 64 + ".example",
    ),
    *(
        "[::1%25eth0]",
        "[::1",
        "[]",
        "user@shop.example",
        "shop.example@evil.test",
        "localhost.evil.test",
        "b\u00fccher.example",
    ),
)
PORTS: Final = (
    "",
    "",
    ":443",
    ":80",
    ":8443",
    ":0",
    ":65535",
    ":65536",
    ":08",
    ":",
    ":x",
    ":\u0661",
    ":99999",
    ":100000",
)

domains = st.builds(lambda host, port: host + port, st.sampled_from(HOSTS), st.sampled_from(PORTS)).flatmap(
    sometimes_shaken
)


def check_domain(domain: str) -> str:
    """Compare how the server and the service in Node register a domain.

    If the server accepts a domain, it must also accept the host of each origin that it derives from the domain.

    International names are not compared, because the two services use different versions of Unicode.
    """
    literals: tuple[str, ...] = ()
    try:
        literals = origins.registrable(domain)
    except Refused as refused:
        assert (refused.code, refused.member) == ("parameter_invalid", "domain")
    if domain.isascii() and "xn--" not in domain.lower():
        assert ask("domain", domain=domain).get("answer", []) == list(literals)
    for literal in literals:
        assert origins.is_secure(literal)
        assert literal in origins.registrable(literal.partition("://")[2])
    return ACCEPTED if literals else REFUSED


PROPERTIES: Final = (Property("domains", domains | st.text(max_size=30), check_domain),)
