"""Tests of the widget's choice of language, and of its texts."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest
from tests.widget.driver import PID, SETTINGS, Driver, MakeWidget

import chatkey_widget
from chatkey_protocol.codes import Close, Code
from chatkey_protocol.names import STANDARD_CALL_TITLE, STANDARD_GREETING, STANDARD_TITLE
from chatkey_widget import events, texts
from chatkey_widget.chat import OF_ANOTHER
from chatkey_widget.context import Settings
from chatkey_widget.errors import MEANINGS
from chatkey_widget.sound import OF_THE_OTHER_SIDE
from chatkey_widget.texts.words import Calls, Links, Notice, Notices, Reason, Reasons, States
from chatkey_widget.view import CallShown, Line, Link

WIDGET = Path(chatkey_widget.__file__).parent
SCRIPT = Path(__file__).parents[2] / "widget_sim" / "page" / "sdk.js"
SCREEN = [WIDGET / "browser" / f"{name}.py" for name in ("screen", "panel", "pages", "dom", "words")]
KEYS = {"Enter", "Escape"}


@pytest.mark.contract("D-12/language")
@pytest.mark.parametrize(
    ("page", "business", "browser", "chosen"),
    [
        ("de-AT", "ar", ("en",), "de-AT"),
        ("", "ar", ("de",), "ar"),
        ("", "", ("fr-FR", "de-CH", "en"), "de-CH"),
        ("", "", (), "en"),
        ("fr", "pt-BR", ("ja",), "en"),
        ("fr", "", ("AR-eg",), "AR-eg"),
        ("en_GB", "de", (), "en-GB"),
        ("deutsch", "", ("de-Latn-DE-u-co-phonebk",), "de-Latn-DE"),
        ("<de>", "", (), "en"),
        ("", "en", ("de-AT", "en", "en-GB", "en-US"), "en-GB"),
        ("", "de-CH", ("de-AT",), "de-CH"),
        ("AR", "", ("en-GB", "ar-EG"), "ar-EG"),
    ],
)
def test_the_pages_choice_comes_before_the_businesss_and_the_browsers(
    page: str, business: str, browser: tuple[str, ...], chosen: str
) -> None:
    """The widget must use the first language for which it has texts.

    The format of times must follow the region of this language, or else the reader's region.
    """
    assert texts.choose((page, business, *browser)) == chosen


def test_a_tag_in_any_case_has_its_texts() -> None:
    assert texts.speaking(texts.choose(("AR-eg",))) is texts.LANGUAGES["ar"]


@pytest.mark.contract("D-12/language")
def test_a_notice_is_in_the_readers_language() -> None:
    """The widget must use the page's language before and after the configuration has loaded."""
    settings = Settings("https://chat.test", "https://chat.test", "https://shop.test", PID, locale="de")
    widget = Driver(settings, verdict=lambda _: (Code.PROVIDER_OFF, Close.FORBIDDEN)).start()

    assert (widget.view.locale, widget.view.notice) == ("de", texts.LANGUAGES["de"].notices["switched_off"])


def test_without_another_choice_the_businesss_language_is_used(make_widget: MakeWidget) -> None:
    assert make_widget().start().view.locale == "en"


@pytest.mark.contract("D-12/language")
@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_texts_missing_from_the_business_are_in_the_readers_language(language: str) -> None:
    """The widget must translate the title, greeting and call title of a new business.

    It must also translate empty titles, but an empty greeting must stay empty.
    """
    words = texts.LANGUAGES[language]
    widget = Driver(replace(SETTINGS, languages=(language,)))
    standard = {"title": STANDARD_TITLE, "greeting": STANDARD_GREETING}

    widget.feed(events.ConfigurationLoaded({"livechat": standard, "service": {"title": STANDARD_CALL_TITLE}}))
    shown = widget.view.appearance
    widget.feed(events.ConfigurationLoaded({"livechat": {"title": "", "greeting": ""}, "service": {"title": ""}}))
    empty = widget.view.appearance

    assert (shown.title, shown.greeting, shown.call_title) == (words.title, words.greeting, words.call)
    assert (empty.title, empty.greeting, empty.call_title) == (words.title, "", words.call)


@pytest.mark.contract("D-12/language")
def test_texts_of_the_business_are_not_translated() -> None:
    widget = Driver(replace(SETTINGS, languages=("de",)))
    written = {"livechat": {"title": "Ahoy", "greeting": "What is it?"}, "service": {"title": "Shout"}}

    widget.feed(events.ConfigurationLoaded(written))

    shown = widget.view.appearance
    assert (shown.title, shown.greeting, shown.call_title) == ("Ahoy", "What is it?", "Shout")


@pytest.mark.parametrize("language", texts.LANGUAGES)
def test_every_language_has_every_text(language: str) -> None:
    """Every language must have every text, with the same placeholders.

    A text may be empty only if it is empty in all languages.
    """
    spoken, english = dict(_texts(language)), dict(_texts("en"))

    assert spoken.keys() == english.keys()
    assert {name for name, text in spoken.items() if not text} == {"calls.none", "states.sent"}
    assert {name: _values(text) for name, text in spoken.items()} == {
        name: _values(text) for name, text in english.items()
    }


@pytest.mark.parametrize("language", sorted(set(texts.LANGUAGES) - {"en"}))
def test_no_text_is_left_in_english(language: str) -> None:
    """If the test fails, it lists the texts that still need a translation."""
    english = dict(_texts("en"))

    same = {name for name, text in _texts(language) if text and text == english[name] and name != "direction"}

    assert same == set()


def test_the_texts_are_exactly_those_that_the_screen_can_show() -> None:
    """Every state that the screen can show needs a text, and every text must be used."""
    assert set(get_args(Notice)) == set(Notices.__annotations__)
    assert set(get_args(Link)) == set(Links.__annotations__)
    assert {name for part in get_args(CallShown) for name in get_args(part)} == set(Calls.__annotations__)
    assert set(get_args(Line.__annotations__["state"])) == set(States.__annotations__)
    assert set(get_args(Reason)) == set(Reasons.__annotations__)


def test_the_script_has_the_same_sentences_as_the_widget() -> None:
    """F225, F249: `sdk.js` shows them in browsers that cannot run Python, or may not load it."""
    script = SCRIPT.read_text(encoding="utf-8")

    for language, words in texts.LANGUAGES.items():
        assert f'{language}: "{words.notices["old_browser"]}"' in script
        assert f'{language}: "{words.notices["local_network"]}"' in script
        assert re.search(rf'HIDE = .*\b{language}: "{words.dismiss}"', script)


def test_every_notice_belongs_to_an_error() -> None:
    """A notice that no error leads to should be removed, so that nobody has to translate it."""
    assert {OF_ANOTHER, OF_THE_OTHER_SIDE, *(meaning.said for meaning in MEANINGS.values())} - {None} == set(
        get_args(Notice)
    )


@pytest.mark.parametrize("path", SCREEN, ids=lambda path: path.stem)
def test_no_text_is_in_the_code(path: Path) -> None:
    """All texts belong in the language files.

    No string literal in the screen's modules may look like text for people.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}

    words = {text for text in literals - set(_docstrings(tree)) if text[:1].isupper() and text[1:2].islower()}

    assert words <= KEYS


def _texts(language: str) -> Iterator[tuple[str, str]]:
    spoken = texts.LANGUAGES[language]
    for name in (each.name for each in fields(spoken)):
        value: str | dict[str, str] = getattr(spoken, name)
        if isinstance(value, str):
            yield name, value
        else:
            yield from ((f"{name}.{key}", text) for key, text in value.items())


def _values(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name)


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield all strings that are statements, including those that document constants."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
