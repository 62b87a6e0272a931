"""Tests that output contains no secret in any encoding, and that the printed curl commands can still be run."""

from __future__ import annotations

import base64
import os
import subprocess
from dataclasses import replace
from urllib.parse import quote

import pytest

from chatkey_check.calls.shared import Calls
from chatkey_check.evidence.leaks import leaked
from chatkey_check.evidence.masks import HIDDEN, Masks
from chatkey_check.evidence.shown import curl, evidence
from chatkey_check.exchange import Broken, Exchange, Request, Response
from chatkey_check.target import Target

SECRET = "sk/5vJ0+8yRwX2=dLkT7 uB4m"
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJ1aWQiOiJ1LTEifQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
TARGET = Target("https://shop.localhost/chat/token")


PRETENDING = """curl() {
  for word in "$@"; do
    case $word in @/*) cat "${word#@}";; *) printf %s "$word";; esac
    printf '\\0\\0'
  done
}"""
"""A shell function that replaces curl. It prints its arguments and the contents of the files that curl would read."""


@pytest.fixture
def masks() -> Masks:
    masks = Masks()
    masks.add(SECRET)
    return masks


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET, safe=""),
        SECRET.encode().hex(),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_secret_is_hidden_in_every_form(masks: Masks, form: str) -> None:
    shown = masks.masked(f"before {form} behind")

    assert form.rstrip("=") not in shown
    assert HIDDEN in shown


@pytest.mark.parametrize(
    "token", [TOKEN, f"{TOKEN}=", TOKEN.replace("-", "+"), TOKEN.rpartition(".")[0], f"{TOKEN}.x.y"]
)
def test_a_token_is_cut_to_its_beginning(masks: Masks, token: str) -> None:
    assert masks.masked(f'"{token}"') == f'"eyJhbGci…(token of {len(token)} characters)"'


def test_a_curl_line_repeats_the_call_without_what_is_secret(masks: Masks) -> None:
    request = Request(
        "x",
        "POST",
        "https://shop.localhost/chat/token?a=1&b=2",
        (("Accept", "*/*"), ("Origin", "https://shop.localhost"), ("Cookie", "sid=1"), ("X-Note", "it's")),
        b'{"jkt": "a"}',
    )
    target = replace(TARGET, insecure_tls=True, connect_to={"shop.localhost": "127.0.0.1"})

    assert curl(request, target, masks) == (
        "curl -i -k --connect-to shop.localhost::127.0.0.1: 'https://shop.localhost/chat/token?a=1&b=2' --compressed "
        "-H 'Accept: */*' -H 'Origin: https://shop.localhost' -H \"Cookie: $COOKIE\" -H 'X-Note: it'\"'\"'s' "
        '-H Content-Type: --data-binary \'{"jkt": "a"}\''
    )


@pytest.mark.parametrize(
    "body",
    [
        b'{"jkt": "a"}',
        b"it's $5 `x` \\ !",
        b"\xff\x00\n'",
        '{"jkt": "\u00e9"}'.encode(),
        b'{"jkt": "' + 10_000 * b"A" + b'", "more": "' + 1_000_000 * b"'" + b'"}',
    ],
    ids=["json", "shell", "bytes", "unicode", "long"],
)
def test_a_curl_line_can_be_run_and_sends_the_same_request(masks: Masks, body: bytes) -> None:
    request = Request("x", "POST", "http://x/y?a=1&b=$c", (("Cookie", "sid=1"), ("X-Odd", '"q" $x `y`')), body)

    line = curl(request, TARGET, masks)
    ran = subprocess.run(
        ["bash", "-c", f"{PRETENDING}\n{line}"], capture_output=True, check=True, env={**os.environ, "COOKIE": "sid=1"}
    )

    assert ran.stdout.split(b"\0\0")[:-1] == [
        *(b"-i", b"http://x/y?a=1&b=$c", b"--compressed", b"-H", b"Cookie: sid=1", b"-H", b'X-Odd: "q" $x `y`'),
        *(b"-H", b"Content-Type:", b"--data-binary", body),
    ]


def test_a_secret_in_a_body_is_replaced_by_a_shell_variable(masks: Masks) -> None:
    masks.add("hunter-2+$")
    request = Request("x", "POST", "http://x/", (("Content-Type", "text/plain"),), b'user=ada&password=hunter-2+$&"$x')

    assert curl(request, TARGET, masks).endswith('--data-binary "user=ada&password=$SECRET&\\"\\$x"')


def test_an_answer_is_shown_with_cookies_hidden_and_attributes_kept(masks: Masks) -> None:
    headers = (("Set-Cookie", "sid=s-1; Path=/; SameSite=Lax"), ("X-Debug", SECRET))
    exchange = Exchange(Request("x", "GET", TARGET.url), Response(200, headers, b"\x00" + b"a" * 1000), None, 0, 0.25)

    shown = evidence(exchange, TARGET, masks)

    assert shown.response.splitlines()[:3] == ["HTTP 200", "Set-Cookie: sid=•••; Path=/; SameSite=Lax", "X-Debug: •••"]
    assert shown.response.endswith("… (1,001 characters)")
    assert "\\x00aaa" in shown.response


def test_a_missing_answer_is_shown_with_its_reason(masks: Masks) -> None:
    exchange = Exchange(Request("x", "GET", TARGET.url), None, Broken.TIMEOUT, 0, 10.0)

    assert evidence(exchange, TARGET, masks).response == "no answer in time (10.0 s)"


def test_calls_hide_what_they_were_given(calls: Calls, target: Target) -> None:
    first = calls.first

    shown = evidence(first, target, calls.masks)

    assert first.token
    assert first.token not in f"{shown.curl}{shown.response}"
    assert target.secret
    assert target.secret not in calls.masks.masked(f"x {target.secret}")


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (SECRET, "unchanged"),
        (f"x{SECRET.encode().hex()}", "as hex"),
        (base64.b64encode(f"a{SECRET}b".encode()).decode(), "as base64"),
        (base64.b64encode(f"ab{SECRET}".encode()).decode(), "as base64"),
        (base64.b64encode(f"abc{SECRET}def".encode()).decode(), "as base64"),
        (quote(SECRET, safe=""), "URL-encoded"),
        (SECRET[::-1], "backwards"),
    ],
)
def test_a_secret_is_found_wherever_it_stands(text: str, form: str) -> None:
    assert leaked(SECRET, f"<p>{text}</p>") == form


def test_a_secret_that_is_not_there_is_not_found() -> None:
    assert leaked(SECRET, f"{TOKEN} {SECRET[1:]}") is None
