import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkey_protocol.codes import Code
from chatkey_server.identity import origins
from chatkey_server.identity.errors import Refused

LONGEST = f"{'a.' * 124}example"
"""A host of 255 characters."""


@pytest.mark.contract("2.1/domain", "D-08/serialised")
@pytest.mark.parametrize(
    ("domain", "registered"),
    [
        ("shop.example", ("https://shop.example",)),
        ("SHOP.Example", ("https://shop.example",)),
        ("shop.example:443", ("https://shop.example",)),
        ("shop.example:8443", ("https://shop.example:8443",)),
        ("bücher.example", ("https://xn--bcher-kva.example",)),
        ("xn--bcher-kva.example", ("https://xn--bcher-kva.example",)),
        ("192.0.2.7", ("https://192.0.2.7",)),
        ("BÜCHER.example", ("https://xn--bcher-kva.example",)),
        ("shop.example:65535", ("https://shop.example:65535",)),
        (LONGEST, (f"https://{LONGEST}",)),
        ("localhost", ("https://localhost", "http://localhost")),
        ("localhost:8801", ("https://localhost:8801", "http://localhost:8801")),
        ("localhost:80", ("https://localhost:80", "http://localhost")),
        ("shop.localhost:8801", ("https://shop.localhost:8801", "http://shop.localhost:8801")),
        ("127.0.0.1:9000", ("https://127.0.0.1:9000", "http://127.0.0.1:9000")),
        ("[::1]:9000", ("https://[::1]:9000", "http://[::1]:9000")),
    ],
)
def test_a_domain_is_saved_as_the_origins_browsers_send(domain: str, registered: tuple[str, ...]) -> None:
    assert origins.registrable(domain) == registered


@pytest.mark.parametrize(
    "domain",
    [
        "",
        " ",
        "*",
        "*.shop.example",
        "https://shop.example",
        "shop.example/path",
        "shop.example?x",
        "user@shop.example",
        "shop.example:",
        "shop.example:0",
        "shop.example:65536",
        "shop.example.",
        ".shop.example",
        "shop..example",
        "-shop.example",
        "shop_.example",
        "shop example",
        'shop".example',
        "shop.example\n",
        "</script>",
        "127.1",
        "0x7f.0.0.1",
        "2130706433",
        "[::1",
        "[zz]",
        "[1:2]",
        "a" * 64 + ".example",
        f"{LONGEST}e",
    ],
)
def test_only_a_host_with_an_optional_port_can_be_registered(domain: str) -> None:
    with pytest.raises(Refused) as refusal:
        origins.registrable(domain)

    assert (refusal.value.code, refusal.value.member) == (Code.PARAMETER_INVALID, "domain")


@given(st.text(max_size=40))
def test_every_registered_origin_is_plain_lower_case_ascii(domain: str) -> None:
    try:
        registered = origins.registrable(domain)
    except Refused:
        return

    for origin in registered:
        assert origin.isascii()
        assert origin == origin.lower()
        assert not set(origin) & set("\\@*?#\"'<> \t\n")
        assert origin.count("/") == 2


REGISTERED = origins.registrable("shop.example") + origins.registrable("localhost:8801")


@pytest.mark.contract("4.4/origin-checked", "D-08/exact", "D-08/literal")
@pytest.mark.parametrize("origin", REGISTERED)
def test_a_match_is_the_registered_literal_and_not_the_text_of_the_request(origin: str) -> None:
    asked = "".join(list(origin))

    assert origins.match(asked, REGISTERED) is origin
    assert asked is not origin


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "*",
        "/",
        "HTTPS://SHOP.EXAMPLE",
        "https://shop.example/",
        "https://shop.example:443",
        "https://shop.example:8443",
        "http://shop.example",
        "https://www.shop.example",
        "https://shop.example.evil.test",
        "https://evilshop.example",
        "https://shop.example@evil.test",
        "https://evil.test\\@shop.example",
        "https:shop.example",
        "//shop.example",
        "shop.example",
        "https://shop.example.",
        "https://shop.example\r\nX: y",
        "https://shop.example,https://evil.test",
        "https://shop%2eexample",
        "blob:https://shop.example/x",
        "https://localhost:8802",
        "http://127.0.0.1:8801",
    ],
)
def test_anything_else_does_not_match(origin: str) -> None:
    assert origins.match(origin, REGISTERED) is None


@pytest.mark.contract("5.6/secure-context", "D-10/insecure-origin")
@pytest.mark.parametrize(
    ("origin", "secure"),
    [
        ("https://shop.example", True),
        ("http://localhost:8801", True),
        ("http://shop.localhost", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:80", True),
        ("http://shop.example", False),
        ("http://localhost.evil.test", False),
        ("http://192.168.1.5", False),
        ("null", False),
        ("file://", False),
        ("", False),
    ],
)
def test_only_https_and_loopback_can_hold_a_key(origin: str, secure: bool) -> None:
    assert origins.is_secure(origin) is secure
