"""Tests which requests and provider errors the callback accepts (contract 4.5, RFC 6749 4.1.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.oauth.sign_in import MakeSignIn

FORM = "application/x-www-form-urlencoded"

# which requests are accepted


@pytest.mark.row("OAC-030")
def test_the_body_of_a_get_is_not_read(service: Service, sign_in: MakeSignIn) -> None:
    login = sign_in()
    given = login.approve()

    answer = service.http.request(
        "GET", login.callback, content=urlencode(given).encode(), headers={"Content-Type": FORM}
    )

    assert answer.status_code == 400
    assert "<code>parameter_missing</code>" in answer.text
    login.accept(given)


@pytest.mark.row("OAC-030")
@pytest.mark.parametrize("in_query", [("state", "code"), ("state",), ("code",)], ids="+".join)
def test_a_post_is_read_in_query_and_form_together(service: Service, sign_in: MakeSignIn, in_query: list[str]) -> None:
    login = sign_in()
    given = login.approve()
    query = {name: given[name] for name in in_query}
    form = {name: value for name, value in given.items() if name not in in_query}

    answer = service.http.post(f"{login.callback}?{urlencode(query)}", data=form)

    assert answer.status_code == 200


@pytest.mark.row("OAC-030")
@pytest.mark.parametrize("name", ["state", "code"])
@pytest.mark.parametrize("value", ["same", "other"])
def test_a_parameter_in_both_query_and_form_is_repeated(
    service: Service, sign_in: MakeSignIn, name: str, value: str
) -> None:
    login = sign_in()
    given = login.approve()
    query = {name: given[name] if value == "same" else "x"}

    answer = service.http.post(f"{login.callback}?{urlencode(query)}", data=given)

    assert answer.status_code == 400
    assert "<code>parameter_repeated</code>" in answer.text
    assert "postMessage" not in answer.text
    login.accept(given)


@pytest.mark.row("OAC-031")
@pytest.mark.parametrize("content_type", [FORM, f"{FORM};charset=UTF-8", "Application/X-WWW-Form-URLencoded"])
def test_a_posted_form_is_answered_with_200(service: Service, sign_in: MakeSignIn, content_type: str) -> None:
    login = sign_in()
    headers = {"Content-Type": content_type, "Origin": "https://idp.test", "Sec-Fetch-Site": "cross-site"}

    answer = service.http.post(login.callback, content=urlencode(login.approve()).encode(), headers=headers)

    assert answer.status_code == 200
    assert "You are signed in" in answer.text


# errors from the social provider


@pytest.mark.row("OAC-021")
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_declined_login_is_shown_and_sent_to_the_opener(sign_in: MakeSignIn, method: str) -> None:
    login = sign_in()

    page = login.refuse({"state": login.state, "error": "access_denied"}, "oauth_denied", method=method)

    assert "Sign-in cancelled" in page.text
    assert "The sign-in with Google was cancelled." in page.text
    sign_in().accept()


@pytest.mark.row("OAC-023")
@pytest.mark.parametrize(
    ("error", "word"),
    [
        ("application_suspended", "application_suspended"),
        ("", "unknown error"),
        ("<b>bold</b>", "unknown error"),
        ("</script><script>alert(1)</script>", "unknown error"),
        ("x" * 10_240, "unknown error"),
    ],
    ids=["unknown", "empty", "markup", "script", "10k"],
)
def test_an_unknown_error_is_a_failure_and_is_not_quoted(sign_in: MakeSignIn, error: str, word: str) -> None:
    login = sign_in()
    described = {"error_description": "<i>words</i>", "error_uri": "javascript:alert(1)"}

    page = login.refuse({"state": login.state, "error": error, **described}, "oauth_failed")

    assert f"Google did not sign you in ({word})." in page.text
    assert len(page.text) < 6000
    for text in ("<b>", "alert(1)", "<i>", "javascript:"):
        assert text not in page.text
    sign_in().accept()
