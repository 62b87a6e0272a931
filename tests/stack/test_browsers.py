"""Tests how a browser is chosen and installed: the documented order, and an error if there is no browser."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from chatkey_stack.browsers import (
    NO_BROWSER,
    REALISTIC,
    Found,
    Kind,
    NoBrowserError,
    command,
    find,
    kind_of,
    launch_options,
)
from chatkey_stack.browsers.install import install
from chatkey_stack.browsers.launch import CALM, FAKE_MICROPHONE_OF_FIREFOX
from chatkey_stack.browsers.search import Machine, oldest_firefox

OWN: dict[Kind, Path] = {kind: Path(f"/playwright/{kind}") for kind in ("chromium", "firefox", "webkit")}
INSTALLED, MADE, NAMED = "installed on this machine", "installed by Playwright", "CHATKEY_BROWSER"
PLAYWRIGHT, APT = "install chromium", "/usr/bin/apt-get"
Commands = dict[str, str]


class Shelf:
    """What is on a machine, and what can be installed there: Playwright's builds, and Debian packages.

    `here` are commands and files that are there, and `packages` are the commands that packages provide.
    """

    def __init__(
        self,
        here: Commands | None = None,
        *,
        has_playwrights: bool = False,
        version: int | None = 143,
        expired: str | None = None,
        **packages: str | None,
    ) -> None:
        self.version = version
        self.ran: list[str] = []
        self._here = here or {}
        self._expired = expired
        self._has_playwrights = has_playwrights
        self._packages = {name.replace("_", "-"): command for name, command in packages.items() if command}

    def run(self, command: list[str], seconds: float) -> str | None:
        """Record a command, and return why the command fails, if it does."""
        self.ran.append(" ".join(command[-2:]))
        if "playwright" in command:
            return None if self._has_playwrights else "there is no network"
        if command[-1] == "update":
            return self._expired
        return None if command[-1] in self._packages else f"E: Unable to locate package {command[-1]}"

    def which(self, name: str) -> str | None:
        """Find `apt-get`, the commands that are here, and those of installed packages."""
        installed = f"--no-install-recommends {name}" in self.ran
        return APT if name == "apt-get" else self._here.get(name) or (self._packages.get(name) if installed else None)

    def is_file(self, path: str) -> bool:
        """Find files that are here, and Playwright's builds after their installation."""
        is_installed = self._has_playwrights and f"install {Path(path).name}" in self.ran
        return path in self._here.values() or (is_installed and Path(path) in OWN.values())

    def machine(self, wanted: str = "", *, is_root: bool = True) -> Machine:
        """Return the machine whose owner wants this browser."""
        environ = {"CHATKEY_BROWSER": wanted}
        return Machine(environ, OWN, self.which, self.is_file, self.run, is_root, lambda _: self.version)


OWN_CHROMIUM, OWN_FIREFOX = {"own": str(OWN["chromium"])}, {"own": str(OWN["firefox"])}
DEBIANS = {"firefox-esr": "/usr/bin/firefox-esr"}


@pytest.mark.parametrize(
    ("wanted", "here", "found"),
    [
        ("/my/chrome", OWN_CHROMIUM | {"mine": "/my/chrome"}, Found("chromium", "/my/chrome", NAMED)),
        ("firefox-esr", DEBIANS, Found("firefox", DEBIANS["firefox-esr"], NAMED)),
        ("", OWN_CHROMIUM | {"chromium": "/usr/bin/chromium"}, Found("chromium", None, MADE)),
        ("firefox", OWN_FIREFOX | {"firefox-esr": "/usr/bin/firefox-esr"}, Found("firefox", None, MADE)),
        (str(OWN["firefox"]), OWN_FIREFOX, Found("firefox", None, NAMED)),
        ("firefox", DEBIANS | {"firefox": "/bin/firefox"}, Found("firefox", DEBIANS["firefox-esr"], INSTALLED)),
        ("firefox", {"firefox": "/bin/firefox", "chromium": "/c"}, Found("firefox", "/bin/firefox", INSTALLED)),
    ],
    ids=["named file", "named command", "Playwright's", "Playwright's of a kind", "its path", "ESR", "not ESR"],
)
def test_the_first_browser_in_the_documented_order_is_used(wanted: str, here: Commands, found: Found) -> None:
    assert find(Shelf(here).machine(wanted)) == found


@pytest.mark.parametrize(
    ("wanted", "here", "said"),
    [
        ("/nope", OWN_CHROMIUM, "CHATKEY_BROWSER is '/nope', which is neither a file nor a command"),
        ("", {}, r"^No Chromium .* Install one: `chatkey browser .* chromium`, or set"),
        ("firefox", {"chromium": "/c"}, r"No Firefox .* --install firefox`, .*CHATKEY_BROWSER=/path/to/firefox"),
        ("webkit", {"webkit": "/w"}, r"--install webkit`. Playwright can drive only its own build, not Safari"),
        *(
            (wanted, DEBIANS, r"/usr/bin/firefox-esr is version 140; Playwright can drive 143 and newer\. Install one:")
            for wanted in ("firefox", "firefox-esr")
        ),
    ],
)
def test_without_a_usable_browser_the_message_says_what_to_do_and_nothing_is_installed(
    wanted: str, here: Commands, said: str
) -> None:
    """Debian's Firefox may be too old. Playwright's own error would only mention `network.addDataCollector`."""
    shelf = Shelf(here, has_playwrights=True, version=140)

    with pytest.raises(NoBrowserError, match=said):
        find(shelf.machine(wanted))

    assert shelf.ran == []


def test_a_firefox_that_only_an_older_playwright_can_drive_is_told_with_this_version() -> None:
    old = replace(Shelf(DEBIANS, version=153).machine("firefox"), oldest_firefox=oldest_firefox("1.65.2"))

    with pytest.raises(
        NoBrowserError, match=r"version 153; .* 154 and newer\. .*`pip install 'playwright<1\.65'`\. Install"
    ):
        find(old)


def test_a_newer_firefox_beside_an_old_one_is_taken() -> None:
    """A Firefox that does not report its version counts as newer."""
    versions = {"/usr/bin/firefox-esr": 140, "/usr/bin/firefox": None}
    both = Shelf(DEBIANS | {"firefox": "/usr/bin/firefox"}).machine("firefox")

    assert find(replace(both, version=versions.__getitem__)).executable == "/usr/bin/firefox"


def test_the_version_of_a_browser_is_read_from_its_output(tmp_path: Path) -> None:
    """A browser that reports no version is used anyway."""
    silent, old = tmp_path / "silent", tmp_path / "old"
    silent.write_text("#!/bin/sh\n")
    old.write_text("#!/bin/sh\necho Mozilla Firefox 140.5.0esr\n")
    for each in (silent, old):
        each.chmod(0o755)

    versions = [Machine({}, OWN).version(str(each)) for each in (silent, old, tmp_path / "nowhere")]

    assert versions == [None, 140, None]


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


# how a browser is launched


def test_the_ca_is_trusted_by_key_and_no_other_error_is_ignored() -> None:
    args = launch_options(Found("chromium", None, ""), trusted_spki="abc=")["args"]

    assert "--ignore-certificate-errors-spki-list=abc=" in args
    assert "--ignore-certificate-errors" not in args


@pytest.mark.parametrize(("name", "shell"), [("chromium", "/bin/shell"), ("google-chrome", "/bin/google-chrome")])
def test_debians_headless_shell_is_used_with_debians_chromium_unless_headed(name: str, shell: str) -> None:
    found = find(Shelf({name: f"/bin/{name}", "chromium-headless-shell": "/bin/shell"}).machine())

    assert launch_options(found)["executable_path"] == shell
    assert launch_options(found, {"headless": False})["executable_path"] == f"/bin/{name}"
    assert launch_options(found, REALISTIC)["executable_path"] == f"/bin/{name}"


def test_the_realistic_profile_removes_playwrights_conveniences() -> None:
    chromium = launch_options(Found("chromium", None, ""), REALISTIC)
    firefox = launch_options(Found("firefox", None, ""), REALISTIC)

    assert "--disable-popup-blocking" in chromium["ignore_default_args"]
    assert "ui.prefersReducedMotion" not in firefox["firefox_user_prefs"]
    assert firefox["firefox_user_prefs"]["dom.disable_open_during_load"] is True
    assert firefox["firefox_user_prefs"]["dom.min_background_timeout_value"] == 1000


def test_other_profiles_have_calm_pages_and_a_microphone() -> None:
    assert "ignore_default_args" not in launch_options(Found("chromium", None, ""))
    assert launch_options(Found("firefox", None, ""))["firefox_user_prefs"] == CALM | FAKE_MICROPHONE_OF_FIREFOX


@pytest.mark.parametrize(
    ("found", "channel"),
    [
        (Found("firefox", "/usr/bin/firefox-esr", ""), "moz-firefox"),
        (Found("firefox", None, ""), None),
        (Found("webkit", None, ""), None),
    ],
)
def test_only_a_firefox_of_the_system_is_driven_through_webdriver_bidi(found: Found, channel: str | None) -> None:
    options = launch_options(found)

    assert (options["executable_path"], options.get("channel")) == (found.executable, channel)


# how a browser is installed


@pytest.mark.parametrize(
    ("shelf", "wanted", "found", "ran"),
    [
        (Shelf(has_playwrights=True, chromium="/c"), "", Found("chromium", None, MADE), [PLAYWRIGHT]),
        (Shelf({"chrome": "/bin/chrome"}, has_playwrights=True), "", Found("chromium", "/bin/chrome", INSTALLED), []),
        *(
            (
                Shelf(chromium="/bin/chromium", chromium_headless_shell=shell, expired=expired),
                "",
                Found("chromium", "/bin/chromium", INSTALLED, shell),
                [
                    PLAYWRIGHT,
                    f"{APT} update",
                    "--no-install-recommends chromium",
                    "--no-install-recommends chromium-headless-shell",
                ],
            )
            for shell, expired in ((None, None), ("/shell", None), (None, "E: Release file is expired"))
        ),
        (
            Shelf(firefox_esr="/firefox"),
            "firefox",
            Found("firefox", "/firefox", INSTALLED),
            ["install firefox", f"{APT} update", "--no-install-recommends firefox-esr"],
        ),
    ],
    ids=["Playwright's", "none", "Debian's", "with its shell", "with an old list", "Firefox"],
)
def test_playwrights_browser_is_installed_before_debians_and_none_if_there_is_one(
    shelf: Shelf, wanted: str, found: Found, ran: list[str]
) -> None:
    assert install(shelf.machine(wanted)) == found
    assert shelf.ran == ran


@pytest.mark.parametrize(
    ("shelf", "wanted", "is_root", "said"),
    [
        (Shelf(), "", True, r"playwright install chromium` failed: there is no network\. `.* chromium` failed: E: Una"),
        (Shelf(), "firefox", False, r"Only root can install Debian's package\. Set CHATKEY_BROWSER=/path/to/firefox"),
        (Shelf(), "webkit", True, r"install webkit` failed: .* There is no other build that Playwright can drive\. S"),
        (Shelf(expired="E: Expired"), "", True, r"update` failed: E: Expired\. `.* failed: E: Unable to"),
        (Shelf(version=140, firefox_esr="/f"), "firefox", True, "The Firefox at /f is version 140; .* could be insta"),
        (Shelf(has_playwrights=True), "/nope", True, "CHATKEY_BROWSER is '/nope', which is neither a file nor a comma"),
    ],
)
def test_a_failed_installation_is_reported_with_what_was_tried(
    shelf: Shelf, wanted: str, is_root: bool, said: str
) -> None:
    with pytest.raises(NoBrowserError, match=said):
        install(shelf.machine(wanted, is_root=is_root))


@pytest.mark.parametrize(
    ("arguments", "status", "output", "said"),
    [
        ([], NO_BROWSER, "", "Error: No Chromium was found. Install one: `chatkey browser --install chromium`, or "),
        (["--install"], 0, "found /usr/bin/chromium (installed on this machine)\n", ""),
        (["firefox", "--install"], NO_BROWSER, "", "-m playwright install firefox` failed: there is no network"),
    ],
)
def test_the_command_installs_only_on_request(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, output: str, said: str
) -> None:
    shelf = Shelf(chromium="/usr/bin/chromium")
    monkeypatch.setattr(command, "machine", lambda _, environ: shelf.machine(environ.get("CHATKEY_BROWSER", "")))
    monkeypatch.delenv("CHATKEY_BROWSER", raising=False)

    done = CliRunner().invoke(command.browser, arguments)

    assert (done.exit_code, done.stdout) == (status, output)
    assert said in done.stderr
    assert bool(shelf.ran) is bool(arguments)
