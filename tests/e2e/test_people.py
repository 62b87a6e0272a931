"""Tests of people who return with the same browser profile.

A profile can be open in only one browser at a time. The recordings are saved when the browser closes.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from playwright.sync_api import BrowserType, Page

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.people import People


class Recorder:
    def __init__(self) -> None:
        self.noted: list[str] = []

    def on_did_create_browser_context(self, context: Any) -> None:
        self.noted.append(f"begins {context.profile.name}")

    def on_will_close_browser_context(self, context: Any) -> None:
        self.noted.append(f"ends {context.profile.name}")


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def people(tmp_path: Path, recorder: Recorder) -> People:
    def launch(profile: Path, **members: Any) -> Any:
        return SimpleNamespace(profile=profile, members=members, close=lambda: recorder.noted.append("closed"))

    browser_type = SimpleNamespace(name="chromium", launch_persistent_context=launch)
    return People(tmp_path, cast("BrowserType", browser_type), {"args": ["--x"]}, {"locale": "de"}, recorder)


def test_a_persons_browser_gets_the_usual_options_and_its_own(people: People) -> None:
    context: Any = people.open("ada", locale="en")

    assert context.members == {"args": ["--x"], "locale": "en"}


def test_a_browser_that_is_closed_is_recorded_to_its_end_once_and_opens_again(
    people: People, recorder: Recorder
) -> None:
    first: Any = people.open("ada")
    first.close()
    first.close()
    again: Any = people.open("ada")
    people.close()

    assert again.profile == first.profile
    assert recorder.noted == ["begins chromium-ada", "ends chromium-ada", "closed"] * 2


def test_a_persons_browser_cannot_be_opened_twice(people: People) -> None:
    people.open("ada")

    with pytest.raises(ValueError, match="the browser of 'ada' is already open; a profile can only be open once"):
        people.open("ada")


@pytest.mark.parametrize("name", ["", "../x", "a b", "/etc"])
def test_a_name_that_cannot_be_a_folder_is_refused(people: People, name: str) -> None:
    with pytest.raises(ValueError, match=r"use only letters, digits, '\.', '-' and '_'$"):
        people.open(name)


def test_a_person_who_is_unknown_at_the_shops_is_named_with_those_who_are_known() -> None:
    shop = ShopPage(cast("Page", SimpleNamespace()), cast("Business", SimpleNamespace()))

    with pytest.raises(LookupError, match=r"^There is no Eve at the shops; there are Ada Lindqvist, Tomás Okafor, "):
        shop.sign_in("Eve")
