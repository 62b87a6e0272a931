"""Tests of sessions: how the checker updates cookies, and how it invents cookies for calls with an invalid session."""

from __future__ import annotations

import re

import pytest

from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Response


def answer(*cookies: str) -> Response:
    return Response(200, tuple(("Set-Cookie", cookie) for cookie in cookies), b"")


HERE = "https://shop.example/auth/login"


def test_cookies_and_other_headers_are_sent_together() -> None:
    session = Session("ada", [("Cookie", "sid=a; lang=en"), ("Authorization", "Bearer t"), ("cookie", "x=1")])

    assert session.headers == (("Authorization", "Bearer t"), ("Cookie", "sid=a; lang=en; x=1"))


def test_a_cookie_that_is_set_anew_is_taken_over_and_noticed() -> None:
    session = Session("ada", [("Cookie", "sid=a")])

    session.learn(answer("sid=b; Path=/; SameSite=Lax", "seen=1"), HERE)

    assert session.headers == (("Cookie", "sid=b; seen=1"),)
    assert session.rotates
    assert session.same_site == {"sid": "lax", "seen": ""}


@pytest.mark.parametrize(
    "line", ["sid=", 'sid=""', "sid=x; Max-Age=0", "sid=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "sid"]
)
def test_a_deleted_cookie_stays_in_the_session(line: str) -> None:
    session = Session("ada", [("Cookie", "sid=a")])

    session.learn(answer(line), HERE)

    assert session.headers == (("Cookie", "sid=a"),)
    assert not session.rotates


@pytest.mark.parametrize(
    ("line", "kept"),
    [("sid=b", "sid=b; Path=/auth"), ("sid=b; path=/", "sid=b; path=/"), ("sid=b; Path", "sid=b; Path; Path=/auth")],
)
def test_a_cookie_without_a_path_gets_that_of_the_page_which_set_it(line: str, kept: str) -> None:
    session = Session("ada")

    session.learn(answer(line), HERE)

    assert session.lines == {"sid": kept}


@pytest.mark.parametrize(
    ("lines", "deleted"),
    [(("sid=; Max-Age=0",), {"sid"}), (("sid=; Max-Age=0", "sid=b"), set()), (("other=",), set()), ((), set())],
)
def test_an_answer_deletes_the_cookies_it_does_not_set_again(lines: tuple[str, ...], deleted: set[str]) -> None:
    session = Session("ada", [("Cookie", "sid=a; lang=en")])

    assert session.deleted_by(answer(*lines), "https://shop.example/chat/token") == deleted


def test_a_made_up_session_has_the_same_shape_and_other_values() -> None:
    session = Session("ada", [("Cookie", "sid=s-12-ab; n=7"), ("Authorization", "Bearer abc.def")])

    made = session.garbage()

    assert list(made.cookies) == ["sid", "n"]
    assert made.cookies["sid"] != "s-12-ab"
    assert re.match(r"\w-\w\w-\w\w", made.cookies["sid"])
    assert len(made.cookies["n"]) >= 24
    assert made.headers[0][1].startswith("Bearer ")
    assert "abc" not in made.headers[0][1]


def test_a_made_up_cookie_keeps_what_is_percent_encoded() -> None:
    """If the digits after a `%` were changed, they could encode a line break.

    Line breaks are not allowed in a header.
    """
    session = Session("ada", [("Cookie", "XSRF-TOKEN=c%2B79%3D%3d-100%")])

    made = session.garbage().cookies["XSRF-TOKEN"]

    assert re.fullmatch(r"\w%2B\w\w%3D%3d-\w\w\w%\w*", made)
    assert not made.startswith("c%2B79%3D%3d-100%")


def test_only_cookies_that_a_browser_sends_from_another_site_are_sent_across() -> None:
    session = Session("ada")
    session.learn(answer("sid=a; SameSite=Lax", "wide=b; SameSite=None; Secure", "old=c"), HERE)

    assert session.sent_across_sites().cookies == {"wide": "b"}


def test_a_header_can_hold_a_cookie() -> None:
    session = Session("ada", [("Cookie", "csrftoken=t-1")])

    assert session.filled("{cookie:csrftoken}!{cookie:none}") == "t-1!"


def test_short_values_are_not_treated_as_secrets() -> None:
    session = Session("ada", [("Cookie", "lang=en; sid=0123456789"), ("Authorization", "Bearer abcdefghij")])

    assert set(session.secrets) == {"0123456789", "abcdefghij"}


def test_a_cookie_in_a_header_is_decoded_as_axios_does() -> None:
    session = Session("ada", [("Cookie", "XSRF-TOKEN=eyJ%3D%3D")])

    assert session.filled("{cookie:XSRF-TOKEN}") == "eyJ=="


def test_a_header_can_contain_a_value_of_a_page() -> None:
    session = Session("ada")

    session.read({"csrf-token": "a%20b"})

    assert session.filled("{meta:csrf-token}") == "a%20b"
