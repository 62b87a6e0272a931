"""Tests of the reference backends that integrators copy."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from tests.check.examples.kit.reference_backends import EXAMPLES, PROVIDER, SECRETS, Backend, examples

from chatkey_check.model import Report, Verdict
from chatkey_check.run import opened
from chatkey_check.running.runner import report_of
from chatkey_check.target import LiveOptions, Target

SHORT = ["FastAPI", "Flask", "Django", "Litestar", "Express", "PHP"]
NAMES = [*SHORT, "Go", "Rails", "Laravel", "Next.js", "Spring Boot"]
LINES = {**dict.fromkeys(NAMES, 70), **dict.fromkeys(SHORT, 60), "Go": 110, "Spring Boot": 110}
"""The largest number of lines. In Go and Java, each import and many braces have a line of their own."""
KNOWN: dict[str, Any] = {"provider_id": PROVIDER, "secret_env": "CHAT_SECRET_KEY"}
SECOND: dict[str, Any] = {"login_field_b": ("user=bo",), "login_field_env_b": ("password=LOGIN_PASSWORD",)}
GIVEN: dict[str, dict[str, Any]] = {
    "two logins": {**KNOWN, **SECOND},
    "one login": KNOWN,
    "no secret": {"provider_id": PROVIDER},
}
"""Options for the checker: a secret and two logins, a secret and one login, or one login and no secret."""
NO_PAGE = {"page.no-secret", "e2e.widget-member", "e2e.widget-reload", "e2e.widget-renew", "e2e.widget-logout"}
ALWAYS = {*NO_PAGE, "anon.must-refuse"}
LEFT_OUT = {
    "two logins": ALWAYS,
    "one login": {*ALWAYS, "claim.uid-distinct"},
    "no secret": {*ALWAYS, "claim.uid-distinct", "jwt.signature", "resp.no-secret", "secret.strength"},
}
"""The checks that cannot be judged with the options in `GIVEN`."""

Reports = Callable[[str], dict[str, Report]]
each_backend = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The address of a chat service in which the provider of the reference backends is registered."""
    target = Target("http://127.0.0.1:1/", PROVIDER, SECRETS["CHAT_SECRET_KEY"], live=LiveOptions())
    with opened(target) as run:
        yield run.live.service.url


@pytest.fixture(scope="module")
def reports(start: Callable[[str], Backend], service: str) -> Reports:
    """Check a backend with all sets of options in parallel, because each run spends two seconds waiting."""

    def report(backend: Backend, given: dict[str, Any]) -> Report:
        logout = f"{backend.origin}/logout"
        with opened(backend.target(logout_url=logout, socket=True, service_url=service, **given)) as run:
            return report_of(run)

    @cache
    def reports_of(name: str) -> dict[str, Report]:
        backend = start(name)
        with ThreadPoolExecutor(len(GIVEN)) as pool:
            return dict(zip(GIVEN, pool.map(lambda given: report(backend, given), GIVEN.values()), strict=True))

    return reports_of


def test_the_readme_has_every_backend() -> None:
    assert [example.name for example in examples()] == NAMES


@each_backend
def test_a_backend_is_short(name: str) -> None:
    """Integrators read a backend before they copy it."""
    (file,) = (example.file for example in examples() if example.name == name)

    assert len(file.read_text().splitlines()) <= LINES[name]


@pytest.mark.long
@pytest.mark.parametrize("name", [*NAMES, "the page's site"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.contract("4.7/request", "4.7/response", "2.4/claims")
def test_a_backend_passes_every_check_without_a_warning(reports: Reports, name: str, given: str) -> None:
    """A check that needs an option which was not given must be reported as not judged. All other checks must pass."""
    outcomes = reports(name)[given].outcomes

    findings = [f"{o.check.id}: {o.verdict} {o.message}" for o in outcomes if o.verdict not in {"pass", "skip"}]
    skipped = {outcome.check.id for outcome in outcomes if outcome.verdict is Verdict.SKIP}
    assert findings == []
    assert skipped == LEFT_OUT[given]


@pytest.mark.long
@pytest.mark.contract("3/get-token", "3/renewal", "3/logout")
def test_a_backend_passes_the_command_with_a_real_widget(start: Callable[[str], Backend]) -> None:
    """The test runs the command as an integrator does: with all checks, a socket and a browser."""
    backend = start("FastAPI")
    command = [sys.executable, "-m", "chatkey", "check", f"{backend.origin}/chat/token", "--browser"]
    command += ["--provider-id", PROVIDER, "--secret-env", "CHAT_SECRET_KEY", "--verbose", "--strict"]
    command += ["--login-url", f"{backend.origin}/login", "--login-field", "user=ada"]
    command += ["--login-field-env", "password=LOGIN_PASSWORD"]
    command += ["--login-field-b", "user=bo", "--login-field-env-b", "password=LOGIN_PASSWORD"]

    done = subprocess.run(command, env=dict(backend.environ), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert all(f"✓ e2e.widget-{step}" in done.stdout for step in ("member", "reload", "renew", "logout"))
    assert not any(secret in done.stdout for secret in SECRETS.values())


@pytest.mark.parametrize("folder", ["express", "nextjs"])
def test_the_lock_file_pins_every_npm_package_by_hash(folder: str) -> None:
    """The lock file must pin every package by hash, so that any registry delivers the same content."""
    lock = json.loads((EXAMPLES / folder / "package-lock.json").read_text())

    packages = [package for name, package in lock["packages"].items() if name]
    assert packages
    assert all("integrity" in package and "resolved" not in package for package in packages)
