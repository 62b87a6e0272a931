"""Tests of how untrusted JSON is parsed. JSON that is nested too deeply for Python in the page must be refused."""

import json

import pytest

from chatkey_widget.json_text import DEEPEST, read_json


def nested(levels: int) -> str:
    """Return alternating nested arrays and objects, with a number in the innermost one."""
    return '[{"a":' * (levels // 2) + "1" + "}]" * (levels // 2)


def test_json_nested_up_to_the_limit_is_read() -> None:
    """The number of arrays and objects on the same level is not limited."""
    assert json.dumps(read_json(nested(DEEPEST)), separators=(",", ":")) == nested(DEEPEST)
    assert read_json(f"[{','.join(['[{}]'] * 1000)}]") == [[{}]] * 1000


@pytest.mark.parametrize("text", [nested(DEEPEST + 2), "[" * 100_000, '{"a":' * 100_000])
def test_json_nested_too_deep_is_refused(text: str) -> None:
    """F141: the parser must also refuse brackets that are never closed."""
    with pytest.raises(ValueError, match="nested too deep"):
        read_json(text)


@pytest.mark.parametrize("text", ["[" * 500, '{"' * 500, '\\" [' * 500, "\n[{\\\\" * 500])
def test_brackets_in_a_string_do_not_count_as_nesting(text: str) -> None:
    """People may write brackets in a message."""
    assert read_json(json.dumps({"body": text})) == {"body": text}


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", "[1,]", "9" * 5000])
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Illegal|NaN|Infinity|limit"):
        read_json(text)
