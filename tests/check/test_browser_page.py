"""Tests of the page that the browser opens: the integrator's page and policy, with the widget's script added."""

from __future__ import annotations

import pytest

from chatkey_check.exchange import Exchange, Header, Request, Response
from chatkey_check.live.browser.page import Document, document, with_service
from chatkey_check.live.service import sdk_of
from chatkey_check.model import Service

HERE, CHAT = "http://127.0.0.1:1", "https://chat.example"
OWN = Service("the reference server", HERE, "ws://127.0.0.1:1/v1/socket", own=True, sdk_url=sdk_of(HERE))
NAMED = Service(CHAT, CHAT, "wss://chat.example/v1/socket", own=False, sdk_url="https://cdn.example/sdk.js?v=2&x")
PLAIN = b"<html><head><title>x</title></head><body>here</body></html>"


def shown(body: bytes = PLAIN, *headers: Header, service: Service = OWN) -> Document:
    answer = Response(200, (("Content-Type", "text/html"), *headers), body)
    return document(Exchange(Request("the page", "GET", "https://shop.example/"), answer, None, 0, 0), service, [])


def policy(csp: str, *, service: Service = OWN) -> str:
    return shown(PLAIN, ("Content-Security-Policy", csp), service=service).header_map["content-security-policy"]


def test_the_script_stands_at_the_end_of_the_head() -> None:
    assert b'<title>x</title><script async src="http://127.0.0.1:1/assets/sdk.js"></script></head>' in shown().body


def test_the_script_is_the_one_that_was_named() -> None:
    assert b'<script async src="https://cdn.example/sdk.js?v=2&amp;x"></script></head>' in shown(service=NAMED).body


def test_a_page_without_a_head_gets_the_script_at_its_end() -> None:
    assert shown(b"<p>hello").body.startswith(b"<p>hello<script async ")


def test_without_a_page_there_is_an_empty_one() -> None:
    made = document(None, OWN, ["sid=1; Path=/"])

    assert made.status == 200
    assert b"sdk.js" in made.body
    assert made.header_map == {"content-type": "text/html; charset=utf-8", "set-cookie": "sid=1; Path=/"}


def test_headers_of_the_wire_are_left_out_and_others_stay() -> None:
    made = shown(PLAIN, ("Content-Encoding", "gzip"), ("Content-Length", "5"), ("X-Frame-Options", "DENY"))

    assert made.header_map == {"content-type": "text/html", "x-frame-options": "DENY"}


def test_cookies_of_the_page_and_of_the_login_are_both_set() -> None:
    answer = Response(200, (("Set-Cookie", "a=1"),), PLAIN)
    exchange = Exchange(Request("the page", "GET", "https://shop.example/"), answer, None, 0, 0)

    assert document(exchange, OWN, ["sid=2; Secure"]).header_map["set-cookie"] == "a=1\nsid=2; Secure"


@pytest.mark.parametrize(
    "csp", ["script-src 'nonce-r4nd' 'strict-dynamic'", "default-src 'self'; script-src-elem 'nonce-r4nd'"]
)
def test_the_script_carries_the_nonce_of_the_policy(csp: str) -> None:
    assert b'sdk.js" nonce="r4nd">' in shown(PLAIN, ("Content-Security-Policy", csp)).body


def test_a_nonce_of_a_policy_in_the_page_itself_counts() -> None:
    body = b"""<head><meta http-equiv="Content-Security-Policy" content="script-src 'nonce-m3ta'"></head>"""

    assert b'sdk.js" nonce="m3ta">' in shown(body).body


def test_the_reference_server_stands_in_for_the_service_that_a_policy_names() -> None:
    made = policy("script-src 'self' https://chat.example/assets/; connect-src 'self' wss:; img-src 'self' data:")

    assert made == (
        "script-src 'self' https://chat.example/assets/ http://127.0.0.1:1 ws://127.0.0.1:1; "
        "connect-src 'self' wss: http://127.0.0.1:1 ws://127.0.0.1:1; img-src 'self' data:"
    )


def test_a_policy_without_addresses_stays_unchanged() -> None:
    strict = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'none'"

    assert policy(strict) == strict


def test_the_service_is_replaced_in_each_of_several_policies() -> None:
    assert with_service("script-src a.example, script-src 'self'", "http://s") == (
        "script-src a.example http://s ws://s, script-src 'self'"
    )


def test_upgrade_insecure_requests_is_removed_for_the_reference_server() -> None:
    assert policy("upgrade-insecure-requests; img-src *") == "img-src * http://127.0.0.1:1 ws://127.0.0.1:1"


def test_the_service_is_replaced_in_a_policy_in_a_meta_element() -> None:
    body = b"""<head><META HTTP-EQUIV='content-security-policy' content="script-src 'self' chat.example"></head>"""

    made = shown(body).body.decode()

    assert """content="script-src 'self' chat.example http://127.0.0.1:1 ws://127.0.0.1:1">""" in made


def test_the_policy_stays_unchanged_for_a_service_given_by_address() -> None:
    csp = "upgrade-insecure-requests; script-src https://chat.example"

    assert policy(csp, service=NAMED) == csp
