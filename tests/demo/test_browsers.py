"""Which browser is driven: the documented order, and a sentence when there is none."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chatkey_demo.browsers import Found, Machine, NoBrowserError, Profile, find, launch_options

PLAYWRIGHTS = Path("/playwright/chrome")
NOW = 1_790_000_000.0


class Commands:
    """Records what would have been run; what is listed here makes its result appear."""

    def __init__(self, succeed: bool) -> None:
        self.ran: list[str] = []
        self._succeed = succeed

    def __call__(self, command: list[str], seconds: float) -> bool:
        self.ran.append(" ".join(command[-2:]))
        return self._succeed


@pytest.fixture
def bare(tmp_path: Path) -> Machine:
    """A machine without any browser, on which nothing can be installed."""
    return Machine(
        environ={"XDG_CACHE_HOME": str(tmp_path)},
        own_executable=PLAYWRIGHTS,
        which=lambda name: None,
        is_file=lambda path: False,
        run=Commands(succeed=False),
        is_root=False,
        now=lambda: NOW,
    )


def has(*files: str) -> Callable[[str], bool]:
    return lambda path: path in files


def knows(**commands: str) -> Callable[[str], str | None]:
    return lambda name: commands.get(name.replace("-", "_"))


def test_the_browser_that_is_named_wins(bare: Machine) -> None:
    machine = replace(bare, environ={"CHATKEY_BROWSER": "/my/chrome"}, is_file=has("/my/chrome", str(PLAYWRIGHTS)))

    assert find(machine) == Found("chromium", "/my/chrome", "CHATKEY_BROWSER")


def test_a_named_command_is_found_on_the_path(bare: Machine) -> None:
    machine = replace(bare, environ={"CHATKEY_BROWSER": "firefox-esr"}, which=knows(firefox_esr="/usr/bin/firefox-esr"))

    assert find(machine) == Found("firefox", "/usr/bin/firefox-esr", "CHATKEY_BROWSER")


def test_a_named_browser_that_is_not_there_is_an_error_and_not_a_reason_to_look_on(bare: Machine) -> None:
    machine = replace(bare, environ={"CHATKEY_BROWSER": "/nope"}, is_file=has(str(PLAYWRIGHTS)))

    with pytest.raises(NoBrowserError, match="CHATKEY_BROWSER is '/nope', which is neither a file nor a command"):
        find(machine)


def test_playwrights_own_comes_before_the_systems(bare: Machine) -> None:
    machine = replace(bare, is_file=has(str(PLAYWRIGHTS)), which=knows(chromium="/usr/bin/chromium"))

    assert find(machine) == Found("chromium", None, "installed by Playwright")


def test_playwrights_own_is_installed_when_it_can_be(bare: Machine) -> None:
    commands = Commands(succeed=True)
    machine = replace(bare, run=commands, is_file=lambda path: bool(commands.ran) and path == str(PLAYWRIGHTS))

    assert find(machine) == Found("chromium", None, "installed by Playwright")
    assert commands.ran == ["install chromium"]


def test_a_failed_installation_leads_to_the_systems_and_is_not_tried_again_for_a_day(
    bare: Machine, tmp_path: Path
) -> None:
    commands = Commands(succeed=False)
    machine = replace(bare, run=commands, which=knows(google_chrome="/usr/bin/google-chrome"))
    expected = Found("chromium", "/usr/bin/google-chrome", "installed on this machine")

    first = find(machine)
    os.utime(tmp_path / "chatkey" / "playwright-install-failed", (NOW, NOW))
    second = find(replace(machine, now=lambda: NOW + 86_000))
    tries_in_a_day = len(commands.ran)
    third = find(replace(machine, now=lambda: NOW + 87_000))

    assert first == second == third == expected
    assert tries_in_a_day == 1
    assert len(commands.ran) == 2


def test_root_on_debian_gets_the_package(bare: Machine) -> None:
    commands = Commands(succeed=True)

    def which(name: str) -> str | None:
        installed = "--no-install-recommends chromium" in commands.ran
        return {"apt-get": "/usr/bin/apt-get", "chromium": "/usr/bin/chromium" if installed else None}.get(name)

    machine = replace(bare, run=commands, which=which, is_root=True)

    found = find(machine)

    assert found == Found("chromium", "/usr/bin/chromium", "Debian's package, just installed")
    assert commands.ran == ["install chromium", "/usr/bin/apt-get update", "--no-install-recommends chromium"]


def test_without_any_browser_the_message_says_what_to_do(bare: Machine) -> None:
    with pytest.raises(NoBrowserError, match=r"CHATKEY_BROWSER=/path/to/chromium .* playwright install chromium"):
        find(bare)


def test_the_ca_is_trusted_by_key_and_no_other_error_is_ignored() -> None:
    args = launch_options(Found("chromium", None, ""), trusted_spki="abc=")["args"]

    assert "--ignore-certificate-errors-spki-list=abc=" in args
    assert "--ignore-certificate-errors" not in args


def test_the_realistic_profile_takes_playwrights_conveniences_away() -> None:
    found = Found("chromium", None, "")

    realistic = launch_options(found, profile=Profile.REALISTIC)

    assert "--disable-popup-blocking" in realistic["ignore_default_args"]
    assert "ignore_default_args" not in launch_options(found)


def test_firefox_is_driven_through_its_own_protocol() -> None:
    options = launch_options(Found("firefox", "/usr/bin/firefox-esr", ""))

    assert options == {"headless": True, "executable_path": "/usr/bin/firefox-esr", "channel": "moz-firefox"}
