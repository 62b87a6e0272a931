"""Addresses in messages: what can be followed leads where it says, and the message stays as it was written.

The agent panel has the same rules in JavaScript, and is held to the same file of cases.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from chatkey_widget.addresses import ADDRESS_CHARS, pieces

CASES: Final[dict[str, list[Any]]] = json.loads(
    Path(__file__).parents[1].joinpath("vectors", "addresses.json").read_text("utf-8")
)
LONG: Final = (")" * 4000, "https://a" + ")" * 3900, "https://" * 500)


def addresses(body: str) -> list[str]:
    return [piece.text for piece in pieces(body) if piece.is_address]


@pytest.mark.parametrize(("body", "found"), CASES["followed"])
def test_an_address_of_the_web_can_be_followed(body: str, found: list[str]) -> None:
    assert addresses(body) == found


@pytest.mark.parametrize(("body", "found"), CASES["ends_of_sentences"])
def test_the_end_of_a_sentence_is_no_part_of_an_address(body: str, found: list[str]) -> None:
    """What opens in an address may close in it."""
    assert addresses(body) == found


@pytest.mark.parametrize("body", CASES["not_whole"])
def test_what_is_no_whole_address_of_the_web_is_text(body: str) -> None:
    """F216: nothing but http and https is followed, and nothing is guessed."""
    assert addresses(body) == []


@pytest.mark.parametrize("body", [*CASES["elsewhere"], "https://shop.example/" + "x" * ADDRESS_CHARS])
def test_an_address_that_could_lead_elsewhere_than_it_seems_is_text(body: str) -> None:
    """F216: a user before the host, letters beyond ASCII in it, what cannot be seen, what browsers read otherwise."""
    assert addresses(body) == []


@pytest.mark.parametrize(("body", "found"), CASES["odd"])
def test_what_is_around_an_address_does_not_matter(body: str, found: list[str]) -> None:
    assert addresses(body) == found


@pytest.mark.parametrize("body", [*(body for body, _ in CASES["odd"]), *LONG])
def test_the_pieces_of_a_message_are_the_message(body: str) -> None:
    """Nothing is lost, added or changed, however odd it is, and no piece is empty."""
    assert "".join(piece.text for piece in pieces(body)) == body
    assert all(piece.text for piece in pieces(body))
