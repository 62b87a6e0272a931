"""Tests of the installation of a browser: Playwright's build before Debian's, and none if there already is one."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from chatkey_stack.browsers import NO_BROWSER, Found, Kind, NoBrowserError, command
from chatkey_stack.browsers.install import install
from chatkey_stack.browsers.search import Machine

OWN: dict[Kind, Path] = {kind: Path(f"/playwright/{kind}") for kind in ("chromium", "firefox", "webkit")}
PLAYWRIGHT = "install chromium"
APT = "/usr/bin/apt-get"


class Shelf:
    """The installable browsers: Playwright's builds, and Debian packages with the command that each provides."""

    def __init__(
        self, *, has_playwrights: bool = False, version: int = 143, expired: str | None = None, **packages: str | None
    ) -> None:
        self.version = version
        self._expired = expired
        self.ran: list[str] = []
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
        """Find `apt-get` and the commands of installed packages."""
        installed = f"--no-install-recommends {name}" in self.ran
        return APT if name == "apt-get" else self._packages.get(name) if installed else None

    def is_file(self, path: str) -> bool:
        """Find Playwright's builds after their installation."""
        return self._has_playwrights and f"install {Path(path).name}" in self.ran and Path(path) in OWN.values()

    def machine(self, wanted: str = "", *, is_root: bool = True) -> Machine:
        """Return a machine without a browser, on which the browsers of this shelf can be installed."""
        environ = {"CHATKEY_BROWSER": wanted}
        return Machine(environ, OWN, self.which, self.is_file, self.run, is_root, lambda _: self.version)


def test_playwrights_browser_is_installed_first() -> None:
    shelf = Shelf(has_playwrights=True, chromium="/usr/bin/chromium")

    assert install(shelf.machine()) == Found("chromium", None, "installed by Playwright")
    assert shelf.ran == [PLAYWRIGHT]


def test_nothing_is_installed_if_there_is_a_browser() -> None:
    shelf = Shelf(has_playwrights=True)
    found = Machine({}, OWN, lambda name: "/usr/bin/chrome" if name == "chrome" else None, lambda _: False, shelf.run)

    assert install(found) == Found("chromium", "/usr/bin/chrome", "installed on this machine")
    assert shelf.ran == []


@pytest.mark.parametrize("shell", ["/usr/bin/chromium-headless-shell", None])
def test_root_on_debian_gets_chromium_and_the_headless_shell_if_available(shell: str | None) -> None:
    shelf = Shelf(chromium="/usr/bin/chromium", chromium_headless_shell=shell)

    found = install(shelf.machine())

    assert found == Found("chromium", "/usr/bin/chromium", "installed on this machine", shell)
    assert shelf.ran == [
        PLAYWRIGHT,
        f"{APT} update",
        "--no-install-recommends chromium",
        "--no-install-recommends chromium-headless-shell",
    ]


def test_a_list_of_packages_that_cannot_be_updated_does_not_prevent_the_installation() -> None:
    shelf = Shelf(expired="E: Release file is expired", chromium="/usr/bin/chromium")

    assert install(shelf.machine()).executable == "/usr/bin/chromium"


def test_a_failed_update_is_reported_if_the_package_is_not_found_either() -> None:
    with pytest.raises(NoBrowserError, match=r"update` failed: E: Release file is expired\. `.* failed: E: Unable to"):
        install(Shelf(expired="E: Release file is expired").machine())


def test_root_on_debian_gets_the_package_of_firefox() -> None:
    shelf = Shelf(firefox_esr="/usr/bin/firefox-esr")

    assert install(shelf.machine("firefox")) == Found("firefox", "/usr/bin/firefox-esr", "installed on this machine")


def test_a_package_that_is_too_old_is_reported() -> None:
    shelf = Shelf(version=140, firefox_esr="/usr/bin/firefox-esr")

    with pytest.raises(
        NoBrowserError, match=r"The Firefox at /usr/bin/firefox-esr is version 140; .* could be installed"
    ):
        install(shelf.machine("firefox"))


@pytest.mark.parametrize(
    ("wanted", "is_root", "said"),
    [
        ("", True, r"playwright install chromium` failed: there is no network\. `.* chromium` failed: E: Unable"),
        (
            "firefox",
            False,
            r"Only root can install Debian's package\. Set CHATKEY_BROWSER=/path/to/firefox to use anoth",
        ),
        ("webkit", True, r"install webkit` failed: .* There is no other build that Playwright can drive\. Set CHATKEY"),
    ],
)
def test_a_failed_installation_is_reported_with_what_was_tried(wanted: str, is_root: bool, said: str) -> None:
    with pytest.raises(NoBrowserError, match=said):
        install(Shelf().machine(wanted, is_root=is_root))


def test_a_missing_named_browser_is_an_error_and_installs_nothing() -> None:
    shelf = Shelf(has_playwrights=True)

    with pytest.raises(NoBrowserError, match="CHATKEY_BROWSER is '/nope', which is neither a file nor a command"):
        install(shelf.machine("/nope"))
    assert shelf.ran == []


class TestTheCommand:
    @pytest.fixture(autouse=True)
    def shelf(self, monkeypatch: pytest.MonkeyPatch) -> Shelf:
        """The browsers that `chatkey browser` can install."""
        shelf = Shelf(chromium="/usr/bin/chromium")
        monkeypatch.setattr(command, "machine", lambda _, environ: shelf.machine(environ.get("CHATKEY_BROWSER", "")))
        monkeypatch.delenv("CHATKEY_BROWSER", raising=False)
        return shelf

    def test_without_install_the_command_prints_what_to_type_and_changes_nothing(self, shelf: Shelf) -> None:
        done = CliRunner().invoke(command.browser)

        assert done.exit_code == NO_BROWSER
        assert done.stderr.startswith(
            "Error: No Chromium was found. Install one: `chatkey browser --install chromium`, or "
        )
        assert (done.stdout, shelf.ran) == ("", [])

    def test_with_install_the_command_installs_and_prints_what_it_found(self) -> None:
        done = CliRunner().invoke(command.browser, ["--install"])

        assert (done.exit_code, done.stdout) == (0, "found /usr/bin/chromium (installed on this machine)\n")

    def test_a_named_kind_of_browser_is_looked_for(self) -> None:
        done = CliRunner().invoke(command.browser, ["firefox", "--install"])

        assert done.exit_code == NO_BROWSER
        assert "-m playwright install firefox` failed: there is no network" in done.stderr
