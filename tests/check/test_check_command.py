"""Tests of the command: how it reads options, which verdict it prints, and that it shows no secret."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.check.mutants import self_test
from tests.check.mutants.mutant_backend import BROKEN, PROVIDER, SECRET, SESSIONS, UNUSUAL, Backend, Clock
from tests.check.mutants.mutant_server import Server

from chatkey_check.cli import check
from chatkey_check.command import invocation
from chatkey_check.run import opened

Run = Callable[..., Result]
SESSION = f"Cookie: sid={SESSIONS['ada']}"


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Run:
    """Return a function that runs the command.

    CHAT_SECRET contains the secret, and the command uses the endpoint's clock.
    """

    monkeypatch.setattr(invocation, "opened", partial(opened, now=clock.now, sleep=clock.wait))

    def run(*args: str) -> Result:
        return CliRunner(env={"CHAT_SECRET": SECRET}).invoke(check, [*args, "--no-socket"])

    return run


@pytest.fixture
def known(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        file = tmp_path / "known.txt"
        file.write_text(text)
        return str(file)

    return write


OTHER = ("--login-b", f"Cookie: sid={SESSIONS['bo']}")
GIVEN = ("--provider-id", PROVIDER, "--secret-env", "CHAT_SECRET", "--login", SESSION, *OTHER)


def broken_url(endpoints: Server, clock: Clock, name: str) -> str:
    """Serve a mutant, and return the address of its endpoint."""
    assert name in {mutant.id for mutant in self_test.mutants()}
    return served(endpoints, clock, BROKEN[name])


def served(endpoints: Server, clock: Clock, kind: type[Backend]) -> str:
    """Serve a backend, and return the address of its endpoint."""
    return f"{endpoints.add(f'{kind.__name__}-{id(clock)}', kind(clock).handle)}/chat/token"


def test_an_honest_endpoint_ends_with_0(invoke: Run, url: str) -> None:
    result = invoke(url, *GIVEN)

    assert result.exit_code == 0, result.output
    assert "failed" not in result.output


def test_a_broken_one_ends_with_1_names_the_cause_and_shows_nothing_secret(
    invoke: Run, endpoints: Server, clock: Clock, backend: Backend
) -> None:
    """F103: the secret was read from a file with a newline at its end."""
    result = invoke(broken_url(endpoints, clock, "key-newline"), *GIVEN, "-v")

    assert result.exit_code == 1
    assert "signed with the secret followed by a newline" in result.output
    assert SECRET not in result.output
    assert SESSIONS["ada"] not in result.output
    assert "eyJhbGci…(token of" in result.output


def test_without_a_login_the_run_is_incomplete(invoke: Run, url: str) -> None:
    result = invoke(url)

    assert result.exit_code == 9
    assert "✓ " not in result.output.splitlines()[0]
    assert "Incomplete: " in result.output.splitlines()[0]
    assert "--login 'Cookie: …'" in result.output


def test_nothing_judged_ends_with_5(invoke: Run, url: str) -> None:
    assert invoke(url, "--only", "jwt.signature").exit_code == 5


def test_nobody_listening_ends_with_7(invoke: Run) -> None:
    result = invoke("http://shop.localhost:1/chat/token")

    assert result.exit_code == 7
    assert "Nothing is listening on shop.localhost:1" in result.output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "Missing argument"),
        (("shop",), "URL must be an address"),
        (("http://localhost:1/", "--secret-env", "NOPE"), "--secret-env NOPE: this environment variable is not set"),
        (("http://localhost:1/", "--format", "poem"), "'poem' is not"),
        (("https://shop.example/chat/token",), "Show the requests with --plan, then allow them with --yes"),
        (
            ("http://localhost:1/", "--only", "claim.ctf"),
            "claim.ctf: there is no such check. Did you mean claim.cnf?",
        ),
        (("http://localhost:1/", "--skip", "clam*"), "--skip clam*: there is no such check. --explain without an id"),
        (("http://localhost:1/", "--watch", "/nowhere"), "--watch: these files or folders do not exist: /nowhere"),
        (("http://localhost:1/", "--known-failures", "/nowhere"), "Cannot read the file of known failures"),
    ],
)
def test_wrong_usage_ends_with_4(invoke: Run, args: tuple[str, ...], message: str) -> None:
    result = invoke(*args)

    assert result.exit_code == 4
    assert message in result.output


def test_a_file_that_is_no_authority_ends_with_4(invoke: Run, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text("no certificate")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        result = invoke(f"https://localhost:{listening.getsockname()[1]}/", "--ca", str(file))

    assert result.exit_code == 4
    assert f"Cannot use --ca {file}" in result.output


def test_warnings_end_with_6_if_they_count(invoke: Run, endpoints: Server, clock: Clock) -> None:
    url = broken_url(endpoints, clock, "cacheable")

    assert [invoke(url, *GIVEN).exit_code, invoke(url, *GIVEN, "--strict").exit_code] == [0, 6]


def test_checks_unjudged_because_of_rate_limits_end_with_9_and_are_named(
    invoke: Run, endpoints: Server, clock: Clock
) -> None:
    result = invoke(served(endpoints, clock, UNUSUAL["LimitsForAnHour"]), *GIVEN)

    assert result.exit_code == 9
    assert result.output.startswith("○ Incomplete: ")
    assert (
        "the endpoint limits the rate of calls (429 after 10 calls, Retry-After asks for 60 minutes); raise the limit"
        in result.output
    )


def test_with_require_all_an_unjudged_check_ends_with_9(invoke: Run, url: str) -> None:
    given = (url, *GIVEN)

    ends = [invoke(*given, *more).exit_code for more in ((), ("--require-all",))]
    narrowed = invoke(*given, "--require-all", "--only", "claim.cnf").exit_code

    assert [*ends, narrowed] == [0, 9, 0]


def test_a_known_failure_is_excused_until_it_passes(
    invoke: Run, endpoints: Server, clock: Clock, url: str, known: Callable[[str], str]
) -> None:
    excused = known("claim.avatar: pictures come from elsewhere\n")

    broken = invoke(broken_url(endpoints, clock, "avatar-js"), *GIVEN, "--known-failures", excused)
    honest = invoke(url, *GIVEN, "--known-failures", excused)

    assert broken.exit_code == 0
    assert "known: pictures come from elsewhere" in broken.output
    assert honest.exit_code == 1
    assert "claim.avatar: it passes now; remove the line" in honest.output


def test_the_plan_sends_nothing_and_needs_no_consent(invoke: Run, backend: Backend, url: str) -> None:
    local = invoke(url, *GIVEN, "--plan")
    remote = invoke("https://shop.example/chat/token", *GIVEN, "--plan")

    assert (local.exit_code, remote.exit_code) == (0, 0)
    assert "Nothing was sent" in remote.output
    assert "curl -i https://shop.example/chat/token" in remote.output
    assert SESSIONS["ada"] not in remote.output
    assert backend.calls == 0


def test_the_report_can_go_to_a_file(invoke: Run, url: str, tmp_path: Path) -> None:
    file = tmp_path / "report.txt"

    result = invoke(url, *GIVEN, "--output", str(file))

    assert result.exit_code == 0
    assert "jwt.signature" in file.read_text()


def test_a_report_that_cannot_be_written_ends_with_status_4(invoke: Run, url: str, tmp_path: Path) -> None:
    folder = invoke(url, *GIVEN, "--output", str(tmp_path))
    device = invoke(url, *GIVEN, "--format", "json", "--output", "/dev/full")

    assert (folder.exit_code, device.exit_code) == (4, 4)
    assert f"--output {tmp_path} is a folder. Add the name of the file." in folder.output
    assert "Cannot write --output /dev/full: No space left on device" in device.output


def test_a_form_goes_to_standard_output_and_nothing_else_does(invoke: Run, endpoints: Server, clock: Clock) -> None:
    result = invoke(broken_url(endpoints, clock, "key-newline"), *GIVEN, "--format", "json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["cause"] == "jwt.signature"
    assert result.stderr == ""


def test_a_form_that_goes_to_a_file_leaves_the_findings_to_the_log(
    invoke: Run, endpoints: Server, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"

    result = invoke(broken_url(endpoints, clock, "key-newline"), *GIVEN, "--format", "html", "--output", str(file))

    assert result.exit_code == 1
    assert "<h1>jwt.signature: The token is signed with the secret followed by a newline, 1" in file.read_text()
    assert result.stdout == ""
    assert "jwt.signature" in result.stderr


def test_help_does_not_wait_for_what_only_a_run_needs() -> None:
    script = (
        "import sys\nfrom chatkey_check.cli import check\n"
        "try:\n    check(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'httpx', 'rich', 'ssl', 'playwright', 'cryptography'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
