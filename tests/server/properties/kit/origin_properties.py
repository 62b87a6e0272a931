"""Properties of domains that an administrator might register, and of origins that a page or an attacker might send."""

from __future__ import annotations

import re
from typing import Final

from hypothesis import strategies as st
from tests.server.properties.kit.properties import ACCEPTED, REFUSED, Property
from tests.server.properties.kit.second_service import ask
from tests.server.properties.kit.shaken import sometimes_shaken

from chatkey_server.identity import origins
from chatkey_server.identity.errors import Refused

REGISTERED: Final = (
    "https://shop.example",
    "https://shop.example:8443",
    "http://localhost:8801",
    "https://xn--bcher-kva.example",
)
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
named_origins = st.builds(
    lambda scheme, domain, rest: scheme + domain + rest,
    st.sampled_from((*["https://", "http://"] * 4, "HTTPS://", "ftp://", "file://", "https:/", "//", "null", "")),
    domains,
    st.sampled_from((*[""] * 12, "/", "?", "#", "/path", "\n", " ")),
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


def check_match(origin: str) -> str:
    """Look an origin up. The server must accept exactly the registered origins, compared character by character."""
    literal = origins.match(origin, REGISTERED)
    if literal is None:
        assert origin not in REGISTERED
        return REFUSED
    assert literal == origin
    assert any(literal is known for known in REGISTERED)
    return ACCEPTED


def check_secure(origin: str) -> str:
    """Compare how the server and the service in Node decide whether a page can store a key.

    If a text contains characters that no browser writes in an origin, the server must call the page insecure. Texts
    that Node refuses as an origin are not compared.
    """
    held = origins.is_secure(origin)
    there = ask("page", origin=origin).get("refused", ACCEPTED)
    if re.fullmatch(r"https?://[a-z0-9.:\[\]-]+", origin) is None:
        assert not held
    elif there != "origin_not_allowed":
        assert held is (there == ACCEPTED)
    return ACCEPTED if held else REFUSED


PROPERTIES: Final = (
    Property("domains", domains | st.text(max_size=30), check_domain),
    Property("foreign origins", st.sampled_from(REGISTERED).flatmap(sometimes_shaken) | named_origins, check_match),
    Property("secure origins", named_origins, check_secure),
)
