"""A pytest plugin: with `--chatkey-gettoken-url`, each check of `chatkey check` is a test of its own.

It is loaded in every run of pytest where chatkey is installed; so what only a check needs is imported by the check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from chatkey_e2e.gettoken.command.invocation import Invocation
    from chatkey_e2e.gettoken.model import Outcome, Report

PREFIX: Final = "--chatkey-gettoken-"
FILES: Final = ("secret-file", "ca", "results", "known-failures")
VALUES: Final = (
    *("url", "provider-id", "secret-env", "login-url", "page-origin", "page-url", "whoami", "logout-url"),
    *("service-url", "timeout", *FILES),
)
LISTS: Final = {
    "other-secret-env": "other_secret_envs",
    "login": "login",
    "login-b": "login_b",
    "login-field": "login_fields",
    "login-field-b": "login_fields_b",
    "login-field-env": "login_field_envs",
    "login-field-env-b": "login_field_envs_b",
    "header": "headers",
    "connect-to": "connect_to",
}
"""Options that may be given more than once, with the fields of `options.Given` that they fill."""
FLAGS: Final = ("insecure-tls", "no-socket", "browser", "yes", "strict")
NODE: Final = "gettoken"
KNOWN: Final = "known-failures"
ENDPOINT: Final = pytest.StashKey["Endpoint"]()


class CheckFailedError(Exception):
    """A check found something; the message is what a person reads."""


class Endpoint(pytest.Collector):
    """The endpoint: checked once, when the first of its tests runs, for those that were not deselected."""

    def __init__(self, *, invocation: Invocation, strict: bool, **node: Any) -> None:
        super().__init__(**node)
        self.invocation = invocation
        self.strict = strict
        self.found: Report | None = None

    def collect(self) -> Iterator[CheckItem]:
        """Yield a test for each check, and one for the file of known failures."""
        from chatkey_e2e.gettoken import checks  # noqa: PLC0415

        names = [*checks.ORDER, *([KNOWN] if self.config.getoption(_dest(KNOWN)) else [])]
        yield from (CheckItem.from_parent(self, name=name, endpoint=self) for name in names)

    def names(self) -> list[str]:
        """Return the names of the tests that were not deselected."""
        return [item.name for item in self.session.items if isinstance(item, CheckItem)]

    def report(self) -> Report:
        """Return what was found."""
        from chatkey_e2e.gettoken.run import opened  # noqa: PLC0415
        from chatkey_e2e.gettoken.running.runner import Selection, report_of  # noqa: PLC0415

        if self.found is None:
            with opened(self.invocation.target) as run:
                chosen = Selection(only=self.names())
                self.found = report_of(run, known=self.invocation.known, selection=chosen)
        return self.found


class CheckItem(pytest.Item):
    """One check."""

    def __init__(self, *, endpoint: Endpoint, **node: Any) -> None:
        super().__init__(**node)
        self.endpoint = endpoint

    def runtest(self) -> None:
        """Pass, fail, skip or be expected to fail, as the check did."""
        report = self.endpoint.report()
        if self.name == KNOWN:
            if report.stale:
                raise CheckFailedError("\n".join(report.stale))
            return
        outcome = report.of(self.name)
        if outcome.known:
            pytest.xfail(f"known: {outcome.known}. {outcome.message}")
        match outcome.verdict:
            case "fail" | "error":
                raise CheckFailedError(_told(outcome))
            case "warn" if self.endpoint.strict:
                raise CheckFailedError(_told(outcome))
            case "warn":
                self.add_report_section("call", "warning", _told(outcome))
            case "blocked" if outcome.blocked_by not in self.endpoint.names():
                raise CheckFailedError(f"{outcome.blocked_by} stands in the way, and was not selected: run it, too.")
            case "skip" | "blocked":
                from chatkey_e2e.gettoken.reports import summary  # noqa: PLC0415

                pytest.skip(f"{self.name}: {_in_pytest(summary.reason(outcome))}")
            case _:
                pass

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show a finding without the way it took through this program."""
        if isinstance(excinfo.value, CheckFailedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what heads a failure."""
        return self.path, None, f"chatkey check: {self.name}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `chatkey check`, under names of their own."""
    group = parser.getgroup("chatkey check", "chatkey check: with a URL, each check of a getToken endpoint is a test")
    for name in VALUES:
        kind = Path if name in FILES else float if name == "timeout" else str
        group.addoption(PREFIX + name, dest=_dest(name), type=kind, help=_help(name))
    for name in LISTS:
        group.addoption(PREFIX + name, dest=_dest(name), action="append", default=[], help=_help(name))
    for name in FLAGS:
        group.addoption(PREFIX + name, dest=_dest(name), action="store_true", help=_help(name))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the checks to whatever else was collected; `-k` and the like choose among all of them."""
    if config.getoption(_dest("url")) is None:
        return
    strict = bool(config.getoption(_dest("strict")))
    endpoint = Endpoint.from_parent(session, name=NODE, nodeid=NODE, invocation=_invocation(config), strict=strict)
    config.stash[ENDPOINT] = endpoint
    items += session.genitems(endpoint)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was checked, with what, and what should be better."""
    endpoint = config.stash.get(ENDPOINT, None)
    if endpoint is None or endpoint.found is None:
        return
    from chatkey_e2e.gettoken.reports import summary  # noqa: PLC0415

    terminalreporter.section("chatkey check")
    for name, value in summary.facts(endpoint.found):
        terminalreporter.write_line(f"{name}: {value}")
    for outcome in endpoint.found.outcomes:
        if outcome.verdict == "warn" and not outcome.known:
            terminalreporter.write_line(
                f"warning: {outcome.check.id}: {outcome.message} -> {outcome.hint}", yellow=True
            )


def _invocation(config: pytest.Config) -> Invocation:
    """Return what is to be checked. Raises `pytest.UsageError`."""
    from chatkey_e2e.gettoken.command.invocation import Invocation  # noqa: PLC0415
    from chatkey_e2e.gettoken.options import target as options  # noqa: PLC0415
    from chatkey_e2e.gettoken.running import known  # noqa: PLC0415
    from chatkey_e2e.gettoken.running.runner import Selection  # noqa: PLC0415
    from chatkey_e2e.gettoken.target import OptionError  # noqa: PLC0415

    def get(name: str) -> Any:
        return config.getoption(_dest(name))

    lists: dict[str, Any] = {field: tuple(get(name)) for name, field in LISTS.items()}
    values = {name.replace("-", "_"): get(name) for name in VALUES if name != KNOWN and get(name) is not None}
    flags = {"insecure_tls": get("insecure-tls"), "browser": get("browser"), "socket": not get("no-socket")}
    try:
        target = options.target(options.Given(**values, **lists, **flags))
        excused = known.read(get(KNOWN)) if get(KNOWN) else known.Known()
        invocation = Invocation(target, known=excused, selection=Selection())
        invocation.check_allowed(yes=get("yes"))
    except OptionError as error:
        raise pytest.UsageError(_in_pytest(str(error))) from None
    return invocation


def _told(outcome: Outcome) -> str:
    """Return what was found, what to change, why, and the calls that show it."""
    calls: Sequence[str] = [f"{seen.label}:\n{seen.curl}\n\n{seen.response}" for seen in outcome.evidence]
    return "\n\n".join([f"{outcome.message}\n-> {outcome.hint}\n{outcome.check.why}", *calls, *outcome.files])


def _in_pytest(text: str) -> str:
    """Return a text in which options are called as they are here."""
    return re.sub(r"(?<![\w-])--(?=[a-z])", PREFIX, text)


def _dest(name: str) -> str:
    return f"chatkey_gettoken_{name.replace('-', '_')}"


def _help(name: str) -> str:
    return "The endpoint's address." if name == "url" else f"As --{name} of chatkey check."
