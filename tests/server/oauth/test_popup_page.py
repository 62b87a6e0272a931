"""Tests of the page in the popup (D-09): its text and its message. No text on the page may become markup or script."""

from __future__ import annotations

import json
import re

import pytest
from tests.page import Page

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.public import popup_page
from chatkey_server.public.answers import Answer
from chatkey_server.public.opener import Opener

OPENER = Opener("https://shop.example", "shop", "github", "n-1")
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJ1aWQiOiJnaXRodWI6MSJ9.c2lnbmF0dXJl"

NASTY_NAMES = [
    "</script><script>parent.x=1</script>",
    "</ScRiPt >",
    "<!--<script>",
    "]]>",
    "${7*7} {{7*7}} {% raw %}",
    "$& $' $$",
    "\"'`",
    "&lt;b&gt;",
    "نور 😀",
]


def headers_of(page: Answer) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in page.headers}


@pytest.mark.contract("D-09/page", "D-02/no-store")
@pytest.mark.parametrize(
    "page",
    [
        popup_page.signed_in(OPENER, TOKEN, "Rhea"),
        popup_page.refused(Refused(Code.OAUTH_DENIED, "No."), OPENER),
        popup_page.refused(Refused(Code.STATE_INVALID, "No."), None),
    ],
    ids=["signed-in", "refused", "nobody-told"],
)
def test_every_page_is_locked_down(page: Answer) -> None:
    headers = headers_of(page)

    nonce = re.search(r"script-src 'nonce-([A-Za-z0-9_-]+)'", headers["content-security-policy"])
    assert nonce is not None
    assert len(nonce[1]) >= 22  # 128 bits
    assert headers == {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "content-security-policy": (
            f"default-src 'none'; script-src 'nonce-{nonce[1]}'; style-src 'nonce-{nonce[1]}'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
    }
    for tag, attributes in Page(page.body).tags:
        assert attributes.get("nonce", nonce[1]) == nonce[1]
        assert not {"src", "action", "style"} & attributes.keys()
        assert attributes.get("href", f"{OPENER.origin}/") == f"{OPENER.origin}/"
        assert tag not in {"script", "style"} or "nonce" in attributes


def test_every_page_has_a_new_nonce() -> None:
    policies = {headers_of(popup_page.signed_in(OPENER, TOKEN, None))["content-security-policy"] for _ in range(5)}

    assert len(policies) == 5


@pytest.mark.contract("D-09/page")
@pytest.mark.parametrize("name", NASTY_NAMES)
def test_a_name_is_shown_as_text_and_nothing_else(name: str) -> None:
    plain = Page(popup_page.signed_in(OPENER, TOKEN, "Rhea").body)

    page = Page(popup_page.signed_in(OPENER, TOKEN, name).body)

    assert f"Welcome, {name}." in page.text
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert len(page.scripts) == 1


@pytest.mark.parametrize("text", [*NASTY_NAMES, "\u2028\u2029"])
def test_any_message_is_embedded_safely_in_the_script(text: str) -> None:
    page = popup_page.refused(Refused(Code.OAUTH_FAILED, text), Opener(f"https://x.example/{text}", "p", "s", text))

    (script,) = Page(page.body).scripts
    delivery = re.search(r"const delivery = (.*);\n", script)
    assert delivery is not None
    assert json.loads(delivery[1]) == {
        "origin": f"https://x.example/{text}",
        "message": {
            "type": "wf:oauth",
            "providerId": "p",
            "social": "s",
            "nonce": text,
            "error": {"code": "oauth_failed", "message": text},
        },
    }
    assert not set(delivery[1]) & set("<>&\u2028\u2029")


@pytest.mark.contract("D-09/page")
def test_the_token_is_only_in_the_script() -> None:
    page = popup_page.signed_in(OPENER, TOKEN, "Rhea")

    assert page.body.decode().count(TOKEN) == 1
    assert TOKEN not in Page(page.body).text


@pytest.mark.contract("6/post-message", "5.7/verified-origin", "4.5/page")
def test_the_message_is_posted_to_the_origin_only() -> None:
    (script,) = Page(popup_page.signed_in(OPENER, TOKEN, None).body).scripts

    assert script.count("postMessage(") == 1
    assert "postMessage(delivery.message, delivery.origin)" in script
    assert '"origin": "https://shop.example"' in script
    assert "window.close()" in script


@pytest.mark.contract("D-09/page")
def test_there_is_something_to_read_without_an_opener_and_without_javascript() -> None:
    page = Page(popup_page.signed_in(OPENER, TOKEN, None).body)

    assert "You can close this window" in page.text
    assert "lost the connection to the page that opened it" in page.text
    assert "Without JavaScript" in page.text
    assert [attributes["href"] for tag, attributes in page.tags if tag == "a"] == ["https://shop.example/"]
    assert "Back to shop.example" in page.text


def test_a_page_without_an_opener_to_tell_has_no_script() -> None:
    page = Page(popup_page.refused(Refused(Code.STATE_INVALID, "The state does not hold."), None).body)

    assert page.scripts == []
    assert "The state does not hold." in page.text
    assert "state_invalid" in page.text
