"""Tests of what the screen needs before it is drawn: configuration, readable colours, and texts."""

from __future__ import annotations

import pytest

from chatkey_protocol.codes import Code
from chatkey_protocol.names import SOCIALS
from chatkey_widget import texts
from chatkey_widget.colour import text_on
from chatkey_widget.configuration import appearance
from chatkey_widget.errors import MEANINGS, Fault, WidgetError
from chatkey_widget.view import Appearance


@pytest.mark.contract("2.2/members", "D-02/blocks")
def test_a_configuration_is_read() -> None:
    """The test covers every block of contract 2.2 that the screen shows."""
    read = appearance(
        {
            "livechat": {"enabled": True, "title": "Ask us", "greeting": "Hi!"},
            "service": {"enabled": True, "title": "Ring us"},
            "ui": {"colour": "#004488", "position": "left", "locale": "de"},
            "auth": {"oauth_providers": ["github", "google"]},
            "unknown": {"ignored": True},
        }
    )

    assert read == Appearance("Ask us", "Hi!", "Ring us", "#004488", "left", "de", True, True, ("github", "google"))


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"livechat": None, "service": 5, "ui": [], "auth": "x"},
        {"ui": {"colour": "#123456;}"}},
        {"ui": {"colour": "red;}", "position": "top", "locale": 5}, "auth": {"oauth_providers": {"google": True}}},
    ],
)
def test_missing_and_invalid_members_get_a_default(data: dict[str, object]) -> None:
    """F088: the configuration of a newer or faulty service must not break the widget."""
    assert appearance(data) == Appearance()


@pytest.mark.parametrize(
    ("colour", "text"),
    [
        ("#000000", "#ffffff"),
        ("#ffffff", "#111111"),
        ("#4f46e5", "#ffffff"),
        ("#facc15", "#111111"),
        ("#777777", "#ffffff"),
        ("#5a73d4", "#111111"),
        ("#e7078f", "#ffffff"),
    ],
)
def test_text_on_the_businesss_colour_is_readable(colour: str, text: str) -> None:
    """The text must be dark or light, whichever has more contrast."""
    assert text_on(colour) == text


@pytest.mark.parametrize(
    ("name", "letters"), [("Ada Lovelace", "AL"), ("ada", "A"), ("Ada B. Lovelace", "AL"), ("", ""), ("😀 !", "")]
)
def test_initials_stand_for_a_name(name: str, letters: str) -> None:
    """There may be at most two letters. A person without a name has no initials."""
    assert texts.initials(name) == letters


def test_every_social_provider_has_its_name() -> None:
    """Each name must be spelt as the provider spells it."""
    assert all(texts.social_name(name) == social.title for name, social in SOCIALS.items())
    assert texts.social_name("github") == "GitHub"
    assert texts.social_name("newcomer") == "Newcomer"


@pytest.mark.contract("D-12/always-chat")
@pytest.mark.parametrize("fault", Fault)
def test_every_error_says_where_it_arises_and_what_to_do(fault: Fault) -> None:
    error = WidgetError(fault, "What happened.")

    assert set(error.detail()) == {"code", "phase", "message", "remediation", "retryable"}
    assert fault in MEANINGS
    assert error.remediation.endswith((".", "}."))


def test_every_error_has_a_code_of_its_own() -> None:
    """People look up errors by code, so two errors must not share a code."""
    assert len(Fault) == len(Fault.__members__)


def test_a_code_of_the_server_is_passed_on() -> None:
    known = WidgetError(Code.TOKEN_SIGNATURE, "The signature does not verify.")
    unknown = WidgetError("brand_new", "What is this?", phase="oauth")

    assert (known.code, known.phase, known.retryable) == ("token_signature", "getToken", False)
    assert WidgetError(Code.TOKEN_SIGNATURE, "Refused.", phase="socket").phase == "socket"
    assert "secret_key" in known.remediation
    assert (unknown.code, unknown.phase) == ("brand_new", "oauth")
    assert str(unknown) == "brand_new: What is this?"
