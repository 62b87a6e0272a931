"""Tests of login forms: the fields that a browser would send, and the choice between several forms."""

from __future__ import annotations

import pytest

from chatkey_check.calls.forms import Forms

FIELDS = (("user", "ada"), ("password", "x"))
SEARCH = "<form action=/search><input name=q><input name=user></form>"
LOGIN = "<form action=/in><input name=user><input name=password type=password></form>"


def test_hidden_inputs_and_the_button_are_sent_along() -> None:
    page = Forms(
        '<form><input type=hidden name=csrf value="a&amp;b"><input name=user><INPUT TYPE="HIDDEN" NAME="n">'
        "<button name=do value=in>Log in</button></form>"
    )

    form = page.wanted(FIELDS)

    assert form is not None
    assert form.filled(FIELDS) == {"csrf": "a&b", "n": "", "do": "in", "user": "ada", "password": "x"}


@pytest.mark.parametrize("page", [SEARCH + LOGIN, LOGIN + SEARCH, LOGIN])
def test_the_form_with_the_password_is_chosen_among_several(page: str) -> None:
    form = Forms(page).wanted(FIELDS)

    assert form is not None
    assert form.action == "/in"


def test_markup_before_an_unreadable_part_is_read() -> None:
    form = Forms(f"{LOGIN}<![odd[ thing").wanted(FIELDS)

    assert form is not None
    assert form.action == "/in"


def test_an_input_outside_of_a_form_is_ignored() -> None:
    assert Forms("<input name=user><p>Log in</p>").wanted(FIELDS) is None


@pytest.mark.parametrize(
    ("page", "token"),
    [
        ('<meta name="csrf-param" content="p"><meta name="csrf-token" content="t-1">', "t-1"),
        ('<meta content="t-2" name="_csrf">', "t-2"),
        ('<meta name="description" content="shop">', ""),
    ],
)
def test_a_token_against_forgery_is_found_in_a_meta_element(page: str, token: str) -> None:
    assert Forms(page).csrf == token
