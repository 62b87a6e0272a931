"""Tests of the command `chatkey`: how it finds its commands, and how it reports errors."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import ClassVar

import click
import pytest
from click.testing import CliRunner, Result

from chatkey import __version__
from chatkey.cli import AT_HAND, GROUP, KIT, Commands, missing, summary
from chatkey_protocol.codes import Code
from chatkey_server.commands.errors import ServiceCommand
from chatkey_server.identity.errors import Refused

Run = Callable[..., Result]

HELP = """
import contextlib, io, sys, tomllib
from importlib.metadata import EntryPoint
from chatkey.cli import GROUP, Commands
announced = tomllib.load(open(sys.argv[1], "rb"))["project"]["entry-points"][GROUP]
commands = Commands("chatkey", find=lambda: [EntryPoint(name, value, GROUP) for name, value in announced.items()])
with contextlib.redirect_stdout(io.StringIO()):
    assert commands.main(["--help"], standalone_mode=False) == 0
print(sorted({"litestar", "piccolo", "uvicorn", "playwright", "rich", "asyncio"} & set(sys.modules)))
"""


def test_help_lists_every_command_with_a_sentence(commands: Commands) -> None:
    result = CliRunner().invoke(commands, ["--help"])

    assert result.exit_code == 0
    for name in ("agent", "db", "provider", "serve", "token"):
        assert f"\n  {name} " in result.output
    assert "Add, show and change providers" in result.output


def test_help_imports_no_framework(pytestconfig: pytest.Config) -> None:
    arguments = [sys.executable, "-c", HELP, str(pytestconfig.rootpath / "pyproject.toml")]

    printed = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout

    assert printed == "[]\n"


@pytest.mark.parametrize("module", ["chatkey_server.no_such_module", "no_such_package.module"])
def test_instead_of_the_sentence_of_a_command_that_is_not_installed_the_list_says_what_to_type(module: str) -> None:
    absent = EntryPoint("x", f"{module}:x [server,browser]", "g")

    assert summary(absent) == "(not installed: pip install 'chatkey[browser,server]')"


class Announced(Distribution):
    """The metadata of a package with extras. `here` is complete, `away` lacks one of two packages, and `far` two."""

    TEXTS: ClassVar = {
        "METADATA": "Metadata-Version: 2.4\nName: announced\nVersion: 1\n"
        "Requires-Dist: no-such-base\nRequires-Dist: click<9; extra == 'here'\n"
        "Requires-Dist: click; extra == 'away'\nRequires-Dist: no-such.one[more]>=1; extra == \"away\"\n"
        "Requires-Dist: no-such-base; extra == 'kit'\n"
        f"Requires-Dist: chatkey-kit=={__version__}; extra == 'checkout'\n"
        "Requires-Dist: no-such.one; extra == 'far'\nRequires-Dist: no-such.two; extra == 'far'\n",
        "entry_points.txt": f"[{GROUP}]\nbase={__name__}:said\n"
        f"here={__name__}:said [here]\naway={__name__}:said [away]\nfar={__name__}:said [far]\n"
        f"checkout={__name__}:said [checkout]\nkit={__name__}:said [kit]",
    }

    def read_text(self, filename: str) -> str | None:
        return self.TEXTS.get(filename)

    def locate_file(self, path: object) -> Path:
        raise AssertionError(f"{path} is not looked for")


@click.command()
def said() -> None:
    click.echo("said")


@pytest.mark.parametrize("name", ["base", "here", "checkout"])
def test_a_command_runs_whose_extra_is_installed_or_that_needs_none(name: str) -> None:
    commands = Commands("chatkey", find=lambda: Announced().entry_points)

    assert CliRunner().invoke(commands, [name]).output == "said\n"


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("away", "no-such.one, which is not installed"),
        ("far", "no-such.one and other packages, which are not installed"),
    ],
)
def test_a_command_whose_extra_is_not_installed_says_what_to_type(name: str, lacking: str) -> None:
    result = CliRunner().invoke(Commands("chatkey", find=lambda: Announced().entry_points), [name])

    assert result.exit_code == 1
    assert result.output == f"Error: `chatkey {name}` needs {lacking} here: pip install 'chatkey[{name}]'\n"


def test_a_command_of_our_other_distribution_needs_the_same_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatkey.cli.__version__", "9.9.9")
    monkeypatch.setattr("chatkey.cli.KIT", ("click", "click"))  # is installed, in another version
    (command,) = Announced().entry_points.select(name="here")

    assert missing(command) == ["click 9.9.9"]


def test_without_our_other_distribution_its_commands_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatkey.cli.KIT", ("no-such-base", "no_such_base"))
    (command,) = Announced().entry_points.select(name="kit")

    assert missing(command) == [f"no-such-base {__version__}"]


def test_the_extra_of_the_service_requires_this_version_of_our_other_distribution(pytestconfig: pytest.Config) -> None:
    project = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text())["project"]

    assert f"{KIT[0]}=={__version__}" in project["optional-dependencies"]["server"]


def test_commands_at_hand_are_those_of_the_project(pytestconfig: pytest.Config) -> None:
    announced = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]

    for name, (module, function) in AT_HAND.items():
        assert announced[name] == f"{module}:{function}"


def test_every_extra_that_a_command_needs_is_one_of_the_project_s(pytestconfig: pytest.Config) -> None:
    project = tomllib.loads((pytestconfig.rootpath / "pyproject.toml").read_text())["project"]
    commands = [EntryPoint(name, value, GROUP) for name, value in project["entry-points"][GROUP].items()]

    assert {extra for command in commands for extra in command.extras} <= project["optional-dependencies"].keys()
    assert {command.name for command in commands if not command.extras} == {"check", "docs", "fake-oauth"}


@pytest.mark.parametrize(
    ("typed", "hint"), [("provder", "did you mean 'provider'?"), ("xyzzy", "see `chatkey --help` for the list.")]
)
def test_an_unknown_command_gets_a_suggestion(typed: str, hint: str, commands: Commands) -> None:
    result = CliRunner().invoke(commands, [typed], prog_name="chatkey")

    assert result.exit_code == 2
    assert f"There is no command {typed!r}: {hint}" in result.output


def test_the_version_is_told(pytestconfig: pytest.Config) -> None:
    program = "from chatkey.cli import main; main()"

    printed = subprocess.run(
        [sys.executable, "-c", program, "--version"], capture_output=True, text=True, check=True
    ).stdout

    assert printed == f"chatkey, version {__version__}\n"


def test_a_setting_that_cannot_be_used_ends_with_status_2_and_one_line(
    run_embedded: Run, environ: pytest.MonkeyPatch
) -> None:
    environ.setenv("CHATKEY_PORT", "nine")

    result = run_embedded("provider", "list")

    assert result.exit_code == 2
    assert result.output == "Error: CHATKEY_PORT is not a whole number from 1 to 65535\n"


@pytest.mark.parametrize(("cause", "shown"), [(None, ""), ("it is a PEM key", " (it is a PEM key)")])
def test_a_refusal_ends_with_status_1_and_one_line(cause: str | None, shown: str) -> None:
    @click.command(cls=ServiceCommand)
    def no() -> None:
        raise Refused(Code.PARAMETER_INVALID, "No.", cause=cause)

    result = CliRunner().invoke(no)

    assert (result.exit_code, result.output) == (1, f"Error: No.{shown}\n")
