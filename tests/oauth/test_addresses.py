"""Tests of redirect URIs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.oauth.visitor import Visit, Visitor

from chatkey_oauth.engine.addresses import is_redirect_uri, is_uri, leads_here
from chatkey_oauth.engine.clients import Client, ClientError
from chatkey_oauth.providers import NAMES, check_client
from chatkey_oauth.settings import Settings, SettingsError

AMBIGUOUS = [
    "http://evil.test\\@127.0.0.1/",
    "http://evil.test\\.localhost/",
    "http://127.0.0.1\\@evil.test/",
    "http:\\\\evil.test/",
    "http:/\\evil.test/",
    "http://evil.test@127.0.0.1/",
    "http://user:password@localhost/",
    "http://@localhost/",
    "http://local host/",
    "http://localhost/ ",
    " http://localhost/",
    "http://localhost/\t",
    "http://evil.test\t@localhost/",
    "http://localhost/\r\nset-cookie: a=b",
    "http://localhost/\n",
    "http://localhost/\0",
    "http://localhost/\x7f",
    "http://löcalhost/",
    "http://localhost/%",
    "http://localhost/%zz",
    'http://localhost/"',
    "http://localhost/<script>",
    "http://[::1/",
    "http:evil.test",
    "http:/evil.test",
    "http:///evil.test",
    "https://",
    "//localhost/",
    "/callback",
    "localhost",
    "",
]
"""Strings that are not URIs, or that browsers and URL parsers split differently."""

HERE = [
    "http://127.0.0.1/callback",
    "https://localhost:3000/callback?a=b&c=%20",
    "HTTP://LOCALHOST/",
    "http://shop.localhost:8080/",
    "http://a_b.localhost/",
    "http://[::1]:9911/callback",
    "http://127.8.9.1",
]
ELSEWHERE = [
    "https://chat.example/callback",
    "http://127.0.0.1.evil.test/",
    "http://localhost.evil.test/",
    "http://notlocalhost/",
    "http://evil.test/127.0.0.1",
    "http://evil.test/@127.0.0.1/",
    "http://evil.test?@127.0.0.1/",
    "http://evil.test%2f.localhost/",
    "http://127.0.0.1:80:evil.test/",
    "http://[::1%25evil.test]/",
    "com.example.app:/callback",
    "com.example.app://localhost/callback",
]


SCHEMES = [
    *(
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "javascript://shop.example/%0aalert(1)",
        "data:text/html,x",
        "DATA:,x",
    ),
    *("vbscript:x", "blob:https://a.example/1", "file:///etc/passwd", "about:blank", "view-source:https://a.example/"),
    *(
        "filesystem:https://a.example/",
        "ws://a.example/",
        "ftp://a.example/",
        "mailto:a",
        "intent://a/",
        "myapp://callback",
    ),
]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (AMBIGUOUS, (False, False, False)),
        (HERE, (True, True, True)),
        (ELSEWHERE, (True, True, False)),
        (SCHEMES, (True, False, False)),
        (["http://localhost/#a"], (True, False, True)),
    ],
    ids=["ambiguous", "this machine", "other machines", "executable scheme", "fragment"],
)
def test_an_address_is_a_uri_a_redirect_uri_or_of_this_machine(texts: list[str], kind: tuple[bool, ...]) -> None:
    for text in texts:
        assert (is_uri(text), is_redirect_uri(text), leads_here(text)) == kind, text


@pytest.mark.parametrize("uri", [*AMBIGUOUS, *SCHEMES, "http://localhost/#a"])
@pytest.mark.parametrize("provider", ["google", "apple"])
def test_a_client_with_an_unusable_redirect_uri_is_refused(provider: str, uri: str) -> None:
    client = Client(provider=provider, client_id="ours", client_secret="s", redirect_uris=("https://a.example/", uri))

    with pytest.raises(ClientError, match=r"redirect_uris of 'ours': .* is not an absolute URI without fragment"):
        check_client(client)


@pytest.mark.parametrize("uri", [*HERE, *ELSEWHERE])
def test_a_client_with_a_redirect_uri_anywhere_is_registered(uri: str) -> None:
    check_client(Client(provider="google", client_id="ours", client_secret="s", redirect_uris=(uri,)))


@pytest.fixture
def anywhere_here(visit: Visit) -> Callable[[str], Visitor]:
    """Return a visitor for a provider that accepts every redirect URI on this machine."""

    def make(name: str) -> Visitor:
        visitor = visit(name)
        known = visitor.fake.world.clients.get(name, "ours")
        assert known is not None
        changes: dict[str, Any] = {"redirect_uris": ("http://127.0.0.1/callback",), "any_loopback": True}
        visitor.fake.world.clients.add(msgspec.structs.replace(known, **changes))
        return visitor

    return make


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("uri", [*AMBIGUOUS[:-1], *ELSEWHERE])
def test_no_code_goes_where_a_browser_would_read_another_host(anywhere_here: Visit, name: str, uri: str) -> None:
    answer = anywhere_here(name).decide(redirect_uri=uri)

    location = dict(answer.headers).get("location", "http://127.0.0.1/callback?")
    assert location.startswith("http://127.0.0.1/callback?")
    assert "code=" not in location


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("uri", [uri for uri in HERE if "?" not in uri])
def test_a_code_goes_to_any_address_of_this_machine(anywhere_here: Visit, name: str, uri: str) -> None:
    answer = anywhere_here(name).decide(redirect_uri=uri)

    location = dict(answer.headers)["location"]
    assert location.startswith(f"{uri}?")
    assert "code=" in location


@pytest.mark.parametrize("uri", [*AMBIGUOUS[:-1], "http://a.example?", "http://a.example/#", "com.example:/"])
@pytest.mark.parametrize("setting", ["browser_url", "server_url"])
def test_an_unusable_base_address_is_refused(setting: str, uri: str) -> None:
    settings: dict[str, Any] = {setting: uri}

    with pytest.raises(SettingsError, match="is not an address"):
        Settings(**settings)


@pytest.mark.parametrize("uri", ["http://a.example", "https://a.example:8443/base/", "http://[::1]:9911"])
def test_a_base_address_is_accepted(uri: str) -> None:
    assert Settings(browser_url=uri).for_browsers == uri.rstrip("/")
