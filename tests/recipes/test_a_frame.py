"""Follows the recipe "Add a frame" of CONTRIBUTING.md in a copy of the tree. The server must answer the new frame."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from tests.recipes.copy import Recipe, copy_of_the_tree, follow, run

pytestmark = pytest.mark.long

DECLARED: Final = '''
class AskTally(TypedDict):
    """The widget asks how many messages there are."""

    type: Literal["tally"]
    id: FrameId


class Tally(TypedDict):
    """The server answers with the number of messages."""

    type: Literal["tally"]
    id: str
    count: int


'''
IMPORTED: Final = "from chatkey_protocol import frames\n"
ANSWERED: Final = """
    if frame["type"] == "tally":
        messages, _ = await chat.history(identity, None, ENTRIES, address=address)
        return frames.Tally(type="tally", id=frame["id"], count=len(messages))
"""
FOLLOWED: Final = """
            case Kind.TALLY:
                self._ctx.emit("message:tally", count=number(frame, "count"))
"""
RECIPE: Final[Recipe] = {
    "widget_sim/chatkey_protocol/frames.py": {
        'PONG = "pong"\n': 'PONG = "pong"\n    TALLY = "tally"\n',
        "ChatFrame: TypeAlias = ": f"{DECLARED.lstrip()}ChatFrame: TypeAlias = AskTally | ",
    },
    "server/chatkey_server/socket/dialogue.py": {
        "from chatkey_protocol.frames import ": f"{IMPORTED}from chatkey_protocol.frames import ",
        "    assert_never(frame)\n": f"{ANSWERED.lstrip(chr(10))}    assert_never(frame)\n",
    },
    "widget_sim/chatkey_widget/decisions/service.py": {
        "case Kind.MESSAGE | Kind.ACK ": "case Kind.MESSAGE | Kind.TALLY | Kind.ACK ",
    },
    "widget_sim/chatkey_widget/chat.py": {
        "ChatKind = Literal[Kind.MESSAGE, ": "ChatKind = Literal[Kind.MESSAGE, Kind.TALLY, ",
        "self.again()\n": 'self.again()\n        self._link.send({"type": Kind.TALLY, "id": "t1"})\n',
        "            case Kind.ACK:\n": f"{FOLLOWED.lstrip(chr(10))}            case Kind.ACK:\n",
    },
}
"""The replacements in the product's files that the recipe names."""

OF_THE_SERVER: Final = """
async def test_it_is_answered(join, browser):
    socket = await join(browser.custom_token())
    await socket.ask({"type": "message", "id": "m1", "body": "Hello"})

    assert await socket.ask({"type": "tally", "id": "t1"}) == {"type": "tally", "id": "t1", "count": 1}


async def test_it_is_read_as_strictly_as_it_is_declared(join, browser):
    socket = await join(browser.custom_token())

    refused = await socket.ask({"type": "tally", "id": "two words"})

    assert refused["code"] == "frame_invalid"
    assert refused["message"].startswith("The frame is invalid at id")
"""
OF_THE_WIDGET: Final = """
from tests.widget.declared import DETAILS

from chatkey_protocol.frames import Kind

DETAILS["message:tally"] = {"count": "number"}  # what an event for integrators would add to sdk.d.ts


def test_it_is_asked_and_told(visitor):
    (asked,) = visitor.frames(Kind.TALLY)

    visitor.frame(type="tally", id=asked["id"], count=3)

    assert visitor.emitted("message:tally") == [{"count": 3}]
"""
SCHEMAS: Final = """
import pathlib
from tools import schemas
for name, text in schemas.schemas():
    pathlib.Path("docs", "schemas", name).write_text(text)
"""
"""Writes the schemas, like `nox -s docs -- --write`, so that the new frames pass in the tests."""

TESTS: Final = {"tests/server/socket/test_tally.py": OF_THE_SERVER, "tests/widget/test_tally.py": OF_THE_WIDGET}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree to which the recipe has added a frame, with tests of this frame."""
    tree = copy_of_the_tree(tmp_path_factory.mktemp("recipe"))
    follow(tree, RECIPE)
    for name, text in TESTS.items():
        (tree / name).write_text(text)
    assert run(tree, "-c", SCHEMAS).returncode == 0
    return tree


def test_a_new_frame_changes_at_most_four_files() -> None:
    assert len(RECIPE) <= 4


@pytest.mark.parametrize("name", TESTS)
def test_the_new_frame_is_sent_and_understood(tree: Path, name: str) -> None:
    ended = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", name)

    assert ended.returncode == 0, ended.stdout


def test_the_protocol_page_has_a_row_for_each_end(tree: Path) -> None:
    program = "from tools import parts; print(*map(' '.join, parts.TABLES['frames']()), sep='\\n')"

    told = run(tree, "-c", program)

    assert [row for row in told.stdout.splitlines() if "`tally`" in row] == [
        "`tally` widget `id` Asks how many messages there are.",
        "`tally` server `id` `count` Answers with the number of messages.",
    ]
