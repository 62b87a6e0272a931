"""Tests of sessions: how the checker updates cookies, and how it invents cookies for calls with an invalid session."""

from __future__ import annotations

import re

import pytest

from chatkey_check.calls.sessions import Session
from chatkey_check.exchange import Response


def answer(*cookies: str) -> Response:
    return Response(200, tuple(("Set-Cookie", cookie) for cookie in cookies), b"")


HERE = "https://shop.example/auth/login"


@pytest.mark.parametrize(
    ("line", "kept"),
    [("sid=b", "sid=b; Path=/auth"), ("sid=b; path=/", "sid=b; path=/"), ("sid=b; Path", "sid=b; Path; Path=/auth")],
)
def test_a_cookie_without_a_path_gets_that_of_the_page_which_set_it(line: str, kept: str) -> None:
    session = Session("ada")

    session.learn(answer(line), HERE)

    assert session.lines == {"sid": kept}


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


def test_short_values_are_not_treated_as_secrets() -> None:
    session = Session("ada", [("Cookie", "lang=en; sid=0123456789"), ("Authorization", "Bearer abcdefghij")])

    assert set(session.secrets) == {"0123456789", "abcdefghij"}


def test_a_cookie_in_a_header_is_decoded_as_axios_does() -> None:
    session = Session("ada", [("Cookie", "XSRF-TOKEN=eyJ%3D%3D")])

    assert session.filled("{cookie:XSRF-TOKEN}") == "eyJ=="
