"""Tests how a browser is chosen: the documented order, and an error if there is no browser."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from chatkey_stack.browsers import REALISTIC, Found, Kind, NoBrowserError, find, kind_of, launch_options
from chatkey_stack.browsers.launch import CALM, FAKE_MICROPHONE_OF_FIREFOX
from chatkey_stack.browsers.search import Machine, oldest_firefox

PLAYWRIGHTS = Path("/playwright/chrome")
OWN: dict[Kind, Path] = {
    "chromium": PLAYWRIGHTS,
    "firefox": Path("/playwright/firefox"),
    "webkit": Path("/playwright/webkit"),
}


class Commands:
    """A replacement for running commands. It records each command, and reports whether the command fails."""

    def __init__(self, succeed: bool) -> None:
        self.ran: list[str] = []
        self._succeed = succeed

    def __call__(self, command: list[str], seconds: float) -> str | None:
        self.ran.append(" ".join(command[-2:]))
        return None if self._succeed else "no network"


@pytest.fixture
def bare() -> Machine:
    """A machine without a browser, on which none can be installed."""
    return Machine(
        environ={},
        own=OWN,
        which=lambda name: None,
        is_file=lambda path: False,
        run=Commands(succeed=False),
        is_root=False,
        version=lambda executable: 143,
    )


def has(*files: str) -> Callable[[str], bool]:
    return lambda path: path in files


def knows(**commands: str) -> Callable[[str], str | None]:
    return lambda name: commands.get(name.replace("-", "_"))


def test_a_named_browser_is_used_before_any_other(bare: Machine) -> None:
    machine = replace(bare, environ={"CHATKEY_BROWSER": "/my/chrome"}, is_file=has("/my/chrome", str(PLAYWRIGHTS)))

    assert find(machine) == Found("chromium", "/my/chrome", "CHATKEY_BROWSER")


def test_a_named_command_is_found_on_the_path(bare: Machine) -> None:
    machine = replace(bare, environ={"CHATKEY_BROWSER": "firefox-esr"}, which=knows(firefox_esr="/usr/bin/firefox-esr"))

    assert find(machine) == Found("firefox", "/usr/bin/firefox-esr", "CHATKEY_BROWSER")


def test_a_missing_named_browser_is_an_error_even_if_there_are_others(bare: Machine) -> None:
    machine = replace(bare, environ={"CHATKEY_BROWSER": "/nope"}, is_file=has(str(PLAYWRIGHTS)))

    with pytest.raises(NoBrowserError, match="CHATKEY_BROWSER is '/nope', which is neither a file nor a command"):
        find(machine)


def test_playwrights_browser_is_used_before_the_systems(bare: Machine) -> None:
    machine = replace(bare, is_file=has(str(PLAYWRIGHTS)), which=knows(chromium="/usr/bin/chromium"))

    assert find(machine) == Found("chromium", None, "installed by Playwright")


def test_without_any_browser_the_message_says_what_to_do(bare: Machine) -> None:
    with pytest.raises(NoBrowserError, match=r"^No Chromium .* Install one: `chatkey browser .* chromium`, or set"):
        find(bare)


def test_looking_for_a_browser_installs_nothing(bare: Machine) -> None:
    commands = Commands(succeed=True)
    machine = replace(bare, run=commands, which=knows(apt_get="/usr/bin/apt-get"), is_root=True)

    with pytest.raises(NoBrowserError):
        find(machine)

    assert commands.ran == []


def test_the_ca_is_trusted_by_key_and_no_other_error_is_ignored() -> None:
    args = launch_options(Found("chromium", None, ""), trusted_spki="abc=")["args"]

    assert "--ignore-certificate-errors-spki-list=abc=" in args
    assert "--ignore-certificate-errors" not in args


def test_debians_headless_shell_is_used_unless_headed(bare: Machine) -> None:
    found = find(replace(bare, which=knows(chromium="/bin/chromium", chromium_headless_shell="/bin/shell")))

    assert launch_options(found)["executable_path"] == "/bin/shell"
    assert launch_options(found, {"headless": False})["executable_path"] == "/bin/chromium"
    assert launch_options(found, REALISTIC)["executable_path"] == "/bin/chromium"
    assert str(found) == "/bin/chromium, /bin/shell (installed on this machine)"


def test_the_headless_shell_is_only_used_with_debians_chromium(bare: Machine) -> None:
    found = find(replace(bare, which=knows(google_chrome="/bin/chrome", chromium_headless_shell="/bin/shell")))

    assert launch_options(found)["executable_path"] == "/bin/chrome"


def test_the_realistic_profile_removes_playwrights_conveniences() -> None:
    found = Found("chromium", None, "")

    realistic = launch_options(found, REALISTIC)

    assert "--disable-popup-blocking" in realistic["ignore_default_args"]
    assert "ignore_default_args" not in launch_options(found)


def test_a_firefox_of_the_system_is_driven_through_webdriver_bidi() -> None:
    options = launch_options(Found("firefox", "/usr/bin/firefox-esr", ""))

    assert (options["executable_path"], options["channel"]) == ("/usr/bin/firefox-esr", "moz-firefox")


@pytest.mark.parametrize("kind", ["firefox", "webkit"])
def test_builds_of_playwright_are_driven_by_its_own_protocol(kind: Kind) -> None:
    options = launch_options(Found(kind, None, ""))

    assert (options["executable_path"], options.get("channel")) == (None, None)


def test_a_firefox_shows_no_animations_unless_it_is_a_realistic_one() -> None:
    found = Found("firefox", None, "")

    assert launch_options(found)["firefox_user_prefs"] == CALM | FAKE_MICROPHONE_OF_FIREFOX
    assert "ui.prefersReducedMotion" not in launch_options(found, REALISTIC)["firefox_user_prefs"]


def test_a_realistic_firefox_has_its_popup_blocker_and_slow_timers_back() -> None:
    prefs = launch_options(Found("firefox", None, ""), REALISTIC)["firefox_user_prefs"]

    assert prefs["dom.disable_open_during_load"] is True
    assert prefs["dom.min_background_timeout_value"] == 1000


# kinds


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [
        ("", "chromium"),
        ("webkit", "webkit"),
        ("firefox-esr", "firefox"),
        ("/Applications/Firefox.app/Contents/MacOS/firefox", "firefox"),
        ("/opt/firefox/chrome", "chromium"),
    ],
)
def test_the_kind_of_a_browser_follows_from_its_name_or_path(wanted: str, kind: Kind) -> None:
    assert kind_of(wanted) == kind


def test_the_name_of_a_kind_prefers_playwrights_browser(bare: Machine) -> None:
    machine = replace(
        bare,
        environ={"CHATKEY_BROWSER": "firefox"},
        is_file=has(str(OWN["firefox"]), str(PLAYWRIGHTS)),
        which=knows(firefox="/usr/bin/firefox"),
    )

    assert find(machine) == Found("firefox", None, "installed by Playwright")


def test_the_path_of_playwrights_browser_is_driven_by_its_own_protocol(bare: Machine) -> None:
    own = str(OWN["firefox"])
    machine = replace(bare, environ={"CHATKEY_BROWSER": own}, is_file=has(own))

    assert find(machine) == Found("firefox", None, "CHATKEY_BROWSER")


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ({"firefox": "/usr/bin/firefox", "firefox_esr": "/usr/bin/firefox-esr"}, "/usr/bin/firefox-esr"),
        ({"firefox": "/usr/bin/firefox"}, "/usr/bin/firefox"),
    ],
)
def test_a_firefox_of_the_system_is_found(bare: Machine, names: dict[str, str], path: str) -> None:
    environ = {**bare.environ, "CHATKEY_BROWSER": "firefox"}
    machine = replace(bare, environ=environ, which=knows(**names, chromium="/usr/bin/chromium"))

    assert find(machine) == Found("firefox", path, "installed on this machine")


def test_without_a_firefox_the_message_says_what_to_do_about_it(bare: Machine) -> None:
    machine = replace(bare, environ={**bare.environ, "CHATKEY_BROWSER": "firefox"}, which=knows(chromium="/chromium"))

    with pytest.raises(NoBrowserError, match=r"No Firefox .* --install firefox`, .*CHATKEY_BROWSER=/path/to/firefox"):
        find(machine)


def test_a_firefox_that_is_too_old_is_told_with_the_line_to_type(bare: Machine) -> None:
    """Debian's Firefox may be too old. Playwright's own error would only mention `network.addDataCollector`."""
    old = replace(bare, which=knows(firefox_esr="/usr/bin/firefox-esr"), version=lambda executable: 140)
    said = r"The Firefox at /usr/bin/firefox-esr is version 140; Playwright can drive 143 and newer\. Install one:"

    for wanted in ("firefox", "firefox-esr"):
        with pytest.raises(NoBrowserError, match=said):
            find(replace(old, environ={"CHATKEY_BROWSER": wanted}))


def test_a_firefox_that_only_an_older_playwright_can_drive_is_told_with_this_version(bare: Machine) -> None:
    old = replace(
        bare,
        environ={"CHATKEY_BROWSER": "firefox"},
        which=knows(firefox_esr="/usr/bin/firefox-esr"),
        version=lambda executable: 153,
        oldest_firefox=oldest_firefox("1.65.2"),
    )

    with pytest.raises(
        NoBrowserError, match=r"version 153; .* 154 and newer\. .*`pip install 'playwright<1\.65'`\. Install"
    ):
        find(old)


def test_a_newer_firefox_beside_an_old_one_is_taken(bare: Machine) -> None:
    """A Firefox that does not report its version counts as newer."""
    versions = {"/usr/bin/firefox-esr": 140, "/usr/bin/firefox": None}
    both = replace(bare, which=knows(firefox_esr="/usr/bin/firefox-esr", firefox="/usr/bin/firefox"))

    found = find(replace(both, environ={"CHATKEY_BROWSER": "firefox"}, version=versions.__getitem__))

    assert found.executable == "/usr/bin/firefox"


def test_the_version_of_a_browser_is_read_from_its_output(bare: Machine, tmp_path: Path) -> None:
    """A browser that reports no version is used anyway."""
    silent, old = tmp_path / "silent", tmp_path / "old"
    silent.write_text("#!/bin/sh\n")
    old.write_text("#!/bin/sh\necho Mozilla Firefox 140.5.0esr\n")
    for each in (silent, old):
        each.chmod(0o755)

    versions = [Machine({}, OWN).version(str(each)) for each in (silent, old, tmp_path / "nowhere")]

    assert versions == [None, 140, None]


def test_only_playwrights_webkit_is_used(bare: Machine) -> None:
    environ = {**bare.environ, "CHATKEY_BROWSER": "webkit"}

    with pytest.raises(NoBrowserError, match=r"--install webkit`. Playwright can drive only its own build, not Safari"):
        find(replace(bare, environ=environ, which=lambda name: f"/usr/bin/{name}"))
