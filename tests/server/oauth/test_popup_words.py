"""The popup page must be in the browser's language."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.public import popup_page, popup_words
from chatkey_server.public.opener import Opener

OPENER = Opener("https://shop.example", "shop", "github", "n-1")


@pytest.mark.parametrize(
    ("accept", "language"),
    [
        ("de", "de"),
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("fr;q=1, ar-EG;q=0.5, en;q=0.1", "ar"),
        ("en;q=0.1,DE;q=0.2", "de"),
        ("de;q=0,en", "en"),
        ("fr", "en"),
        ("*", "en"),
        ("", "en"),
        ("de;q=2, ar;q=nan, ;;,=", "en"),
        ("fr," * 5000 + "de", "en"),
    ],
)
def test_the_best_available_language_of_the_browser_is_chosen(accept: str, language: str) -> None:
    """RFC 9110 12.5.4: the highest weight wins, then the order. The server must skip invalid entries."""
    assert popup_words.preferred(accept).language == language


@pytest.mark.contract("D-12/language", "D-09/page")
@pytest.mark.parametrize("words", popup_words.LANGUAGES.values(), ids=popup_words.LANGUAGES)
def test_a_page_is_in_one_language_and_says_which(words: popup_words.Words) -> None:
    """Heading and advice must be translated. The detail for integrators must stay English and be marked as English."""
    good = popup_page.signed_in(OPENER, "a.b.c", "Rhea", words).body.decode()
    bad = popup_page.refused(Refused(Code.OAUTH_DENIED, "The sign-in with GitHub was cancelled."), None, words)
    refused = bad.body.decode()

    for page, heading in ((good, words.signed_in), (refused, words.cancelled)):
        assert f'<html lang="{words.language}" dir="{words.direction}">' in page
        assert f"<h1>{heading}</h1>" in page
        assert words.close_window in page
    assert words.welcome_by_name.format(name="Rhea") in good
    assert '<p lang="en"><bdi>The sign-in with GitHub was cancelled.</bdi></p>' in refused


@pytest.mark.parametrize("words", popup_words.LANGUAGES.values(), ids=popup_words.LANGUAGES)
def test_no_text_is_empty(words: popup_words.Words) -> None:
    """No text may be empty, and the greeting must have a placeholder for the name."""
    assert all(asdict(words).values())
    assert "{name}" in words.welcome_by_name
