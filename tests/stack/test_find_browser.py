"""The tool that tells a pipeline whether a browser can be driven here."""

import sys
from pathlib import Path

import pytest

from chatkey_stack import browsers

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import find_browser


def test_the_last_line_says_which_browser_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    found = browsers.Found("firefox", "/usr/bin/firefox-esr", "installed on this machine")
    monkeypatch.setattr(browsers, "find", lambda machine: found)

    assert find_browser.main("firefox") == "found /usr/bin/firefox-esr (installed on this machine)"


def test_a_missing_browser_is_a_reason_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted: list[str] = []

    def find(machine: browsers.Machine) -> browsers.Found:
        wanted.append(machine.environ["CHATKEY_BROWSER"])
        raise browsers.NoBrowserError("No Firefox was found.")

    monkeypatch.setattr(browsers, "find", find)

    assert find_browser.main("firefox") == "No Firefox was found."
    assert wanted == ["firefox"]
