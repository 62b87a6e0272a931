"""Tests of the pytest plugin, which runs each check as a test.

Each test in this module starts pytest as an integrator would.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import click
import pytest
from tests.check.mutants import self_test  # noqa: F401  (the broken endpoints come with it)
from tests.check.mutants.mutant_backend import BROKEN, PROVIDER, SECRET, SESSIONS, UNUSUAL, Backend, Clock
from tests.check.mutants.mutant_server import Server

from chatkey_check import checks, pytest_plugin
from chatkey_check.cli import check

pytest_plugins = ["pytester"]

Start = Callable[..., pytest.RunResult]
HARNESS, PLUGIN = "chatkey.pytest_plugin", "chatkey_check.pytest_plugin"
NOT_IN_PYTEST = {
    "plan",
    "only",
    "skip",
    "format",
    "output",
    "verbose",
    "watch",
    "explain",
    "help",
    "browser-login",
    "init",
    "ui",
    "passkeys",
}
"""Options that the plugin does not have, because pytest has its own option or because they need a person."""


class Done(NamedTuple):
    """The exit status and the output of a pytest run."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


class Everyday(Clock):
    """The real clock, which the checker also uses when the checker runs under pytest."""

    def sleep(self, seconds: float) -> None: ...


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs pytest in an empty folder with only this plugin."""
    monkeypatch.setenv("CHAT_SECRET", SECRET)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(*args: str, start: Start = pytester.runpytest_inprocess) -> Done:
        given = [f"--chatkey-gettoken-{arg}" if not arg.startswith("-") else arg for arg in args]
        ended = start("-p", PLUGIN, "-p", "no:cacheprovider", *given)
        return Done(int(ended.ret), ended.stdout.str(), ended.stderr.str())

    return run


@pytest.fixture
def broken(endpoints: Server) -> Callable[[str], str]:
    return lambda name: f"{endpoints.add(f'pytest-{name}', BROKEN[name](Everyday()).handle)}/chat/token"


@pytest.fixture
def unusual(endpoints: Server) -> Callable[[str], str]:
    """Serve a correct but unusual endpoint that uses the real time."""
    return lambda name: f"{endpoints.add(f'pytest-{name}', UNUSUAL[name](Everyday()).handle)}/chat/token"


@pytest.fixture
def honest(endpoints: Server) -> str:
    """The address of an endpoint without faults that uses the real time."""
    return f"{endpoints.add('pytest-honest', Backend(Everyday()).handle)}/chat/token"


OTHER = f"login-b=Cookie: sid={SESSIONS['bo']}"
GIVEN = (
    f"provider-id={PROVIDER}",
    "secret-env=CHAT_SECRET",
    f"login=Cookie: sid={SESSIONS['ada']}",
    OTHER,
    "no-socket",
)


def test_every_check_is_a_test_that_passes_or_is_skipped_with_what_would_allow_it(
    run: Run, honest: str, pytester: pytest.Pytester
) -> None:
    without_waits = "-knot fresh and not renew"

    done = run(f"url={honest}", *GIVEN, "-rs", without_waits, start=pytester.runpytest_subprocess)

    assert done.returncode == 0, done.stdout
    assert f"collected {len(checks.ORDER)} items / 3 deselected" in done.stdout
    assert "page.no-secret: the address of a page with the widget is needed (--chatkey-gettoken-page-url" in done.stdout
    assert f"target: {honest}" in done.stdout
    assert SECRET not in done.stdout
    assert SESSIONS["ada"] not in done.stdout


def test_a_failure_is_a_test_that_fails_and_what_depends_on_it_is_skipped(
    run: Run, broken: Callable[[str], str], pytester: pytest.Pytester
) -> None:
    done = run(f"url={broken('cnf-missing')}", *GIVEN, "-rs", "-kcnf or jkt-match", "--junitxml=out.xml")

    cases = {
        case.attrib["name"]: [child.tag for child in case]
        for case in ET.parse(pytester.path / "out.xml").iter("testcase")
    }
    assert done.returncode == 1
    assert cases == {"claim.cnf": ["failure"], "claim.jkt-match": ["skipped"]}
    assert "The claim cnf is missing.\n-> Add the claim cnf" in done.stdout
    assert "curl -i http://" in done.stdout
    assert "claim.jkt-match: see claim.cnf first" in done.stdout
    assert "Traceback" not in done.stdout
    assert SESSIONS["ada"] not in done.stdout


def test_a_warning_passes_and_is_told_at_the_end_unless_it_counts(run: Run, broken: Callable[[str], str]) -> None:
    url = broken("cacheable")

    lenient = run(f"url={url}", *GIVEN, "-kno-store")
    strict = run(f"url={url}", *GIVEN, "-kno-store", "strict")

    assert (lenient.returncode, strict.returncode) == (0, 1)
    assert "warning: resp.no-store: Cache-Control is 'public, max-age=3600', without no-store." in lenient.stdout
    assert "-> Send Cache-Control: no-store" in strict.stdout


def test_an_unjudged_must_check_fails_unless_it_needs_what_not_every_site_has(
    run: Run, unusual: Callable[[str], str]
) -> None:
    done = run(f"url={unusual('LimitsForAnHour')}", *GIVEN, "-knet or req or auth or no-secret")
    complete = run(f"url={unusual('Extra')}", *GIVEN, "-kno-secret", "require-all")

    assert (done.returncode, complete.returncode) == (1, 1)
    assert "Not judged: the endpoint limits the rate of calls (429 after 10 calls" in done.stdout
    assert "page.no-secret" not in done.stdout
    assert "Not judged: the address of a page with the widget is needed" in complete.stdout


def test_a_known_failure_is_expected_and_an_entry_that_is_not_needed_fails(
    run: Run, broken: Callable[[str], str], honest: str, pytester: pytest.Pytester
) -> None:
    (pytester.path / "known.txt").write_text("claim.avatar: pictures come from elsewhere\n")
    given = (*GIVEN, "known-failures=known.txt", "-rx", "-kavatar or known")

    excused = run(f"url={broken('avatar-js')}", *given)
    stale = run(f"url={honest}", *given)

    assert (excused.returncode, stale.returncode) == (0, 1)
    assert "known: pictures come from elsewhere" in excused.stdout
    assert "claim.avatar: it passes now; remove the line" in stale.stdout


def test_a_selected_check_fails_if_an_unselected_one_blocks_it(run: Run, broken: Callable[[str], str]) -> None:
    done = run(f"url={broken('cnf-missing')}", *GIVEN, "-kjkt-match")

    assert done.returncode == 1
    assert "claim.cnf, which was not selected" in done.stdout


def test_where_nobody_listens_one_test_fails_and_says_so(run: Run) -> None:
    done = run("url=http://shop.localhost:1/chat/token", "-knet or jwt")

    assert done.returncode == 1
    assert "Nothing is listening on shop.localhost:1" in done.stdout
    assert "1 failed" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("url=shop",), "URL must be an address"),
        (
            ("url=http://localhost:1/", "secret-env=NOPE"),
            "--chatkey-gettoken-secret-env NOPE: this environment variable is not set",
        ),
        (("url=https://shop.example/",), "then allow them with --chatkey-gettoken-yes"),
        (
            ("url=http://localhost:1/", "known-failures=none"),
            "known-failures: Cannot read the file of known failures",
        ),
    ],
)
def test_wrong_usage_ends_before_anything_is_sent(run: Run, args: tuple[str, ...], message: str) -> None:
    done = run(*args)

    assert done.returncode == 4
    assert message in done.stderr


def test_without_an_address_there_is_nothing_to_test(run: Run) -> None:
    assert run().returncode == 5


def test_the_options_are_those_of_the_command() -> None:
    names = {
        name.removeprefix("--")
        for parameter in check.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
        if name.startswith("--")
    }

    ours = {pytest_plugin.URL, *map(pytest_plugin.spelled, pytest_plugin.OFFERED)}
    assert ours == (names - NOT_IN_PYTEST - {"socket"}) | {"url", "no-socket"}


def test_naming_a_plugin_with_p_is_the_same_as_finding_it_by_itself() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]

    assert project["entry-points"]["pytest11"] == {name: name for name in (HARNESS, PLUGIN)}


def test_the_plugins_import_almost_nothing_into_the_runs_of_other_projects() -> None:
    script = (
        f"import sys, pytest\nbefore = set(sys.modules)\nimport {HARNESS}, {PLUGIN}\n"
        "print(sorted(name for name in set(sys.modules) - before))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    table = [f"chatkey_check.{name}" for name in ("defaults", "options", "options.table")]
    forms = ["chatkey_check.reports"]  # only the names of the formats
    assert done.stdout.strip() == str(["chatkey", HARNESS, "chatkey_check", *table, PLUGIN, *forms])
