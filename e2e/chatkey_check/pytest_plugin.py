"""A pytest plugin. With `--chatkey-gettoken-url`, each check of `chatkey check` becomes a test.

Every pytest run with chatkey installed loads this module, so modules that only a check needs are imported later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from chatkey_check.options.table import OPTIONS, Kind, Option

if TYPE_CHECKING:
    from chatkey_check.command.invocation import Invocation
    from chatkey_check.model import Outcome, Report
    from chatkey_check.options.table import Given

PREFIX: Final = "--chatkey-gettoken-"
URL: Final = "url"
NODE: Final = "gettoken"
KNOWN: Final = "known-failures"
"""The name of the option, and of the test that verifies its file."""
OFFERED: Final = tuple(option for option in OPTIONS if option.in_pytest)
ENDPOINT: Final = pytest.StashKey["Endpoint"]()


class CheckFailedError(Exception):
    """A check failed. The message is the text that pytest shows."""


class Endpoint(pytest.Collector):
    """The endpoint. When the first of its tests runs, all selected checks are judged in one run."""

    def __init__(self, *, invocation: Invocation, **node: Any) -> None:
        super().__init__(**node)
        self.invocation = invocation
        self.found: Report | None = None

    def collect(self) -> Iterator[CheckItem]:
        """Yield one test for each check, and one test for the file of known failures."""
        from chatkey_check import checks  # noqa: PLC0415

        names = [*checks.ORDER, *([KNOWN] if self.invocation.given.known_failures else [])]
        yield from (CheckItem.from_parent(self, name=name, endpoint=self) for name in names)

    def names(self) -> list[str]:
        return [item.name for item in self.session.items if isinstance(item, CheckItem)]

    def report(self) -> Report:
        """Return the report. The first call judges the endpoint."""
        from chatkey_check.run import opened  # noqa: PLC0415
        from chatkey_check.running.runner import Selection, report_of  # noqa: PLC0415

        if self.found is None:
            with opened(self.invocation.target) as run:
                chosen = Selection(only=self.names())
                complete = self.invocation.given.require_all
                self.found = report_of(run, known=self.invocation.known, selection=chosen, require_all=complete)
        return self.found


class CheckItem(pytest.Item):
    """One check of the endpoint, as a test."""

    def __init__(self, *, endpoint: Endpoint, **node: Any) -> None:
        super().__init__(**node)
        self.endpoint = endpoint

    def runtest(self) -> None:
        """Pass, fail, skip or xfail according to the result of the check."""
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
            case "warn" if self.endpoint.invocation.given.strict:
                raise CheckFailedError(_told(outcome))
            case "warn":
                self.add_report_section("call", "warning", _told(outcome))
            case "blocked" if outcome.blocked_by not in self.endpoint.names():
                raise CheckFailedError(
                    f"Not judged because of {outcome.blocked_by}, which was not selected. Run that check too."
                )
            case "skip" | "blocked" if outcome in report.missed:
                raise CheckFailedError(f"Not judged: {_in_pytest(_reason(outcome))}")
            case "skip" | "blocked":
                pytest.skip(f"{self.name}: {_in_pytest(_reason(outcome))}")
            case _:
                pass

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the message of a failed check without a traceback."""
        if isinstance(excinfo.value, CheckFailedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the title of a failure, which names the check."""
        return self.path, None, f"chatkey check: {self.name}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `chatkey check`, with the plugin's prefix."""
    group = parser.getgroup("chatkey check", "chatkey check: with a URL, each check of a getToken endpoint is a test")
    group.addoption(PREFIX + URL, dest=_dest(URL), help="The endpoint's address.")
    for option in OFFERED:
        name = spelled(option)
        group.addoption(PREFIX + name, dest=_dest(name), help=f"Same as --{name} of chatkey check.", **_kind(option))


def spelled(option: Option) -> str:
    """Return the name of an option without the prefix. A switch that is on by default gets its `no-` form."""
    return f"no-{option.name}" if option.kind is Kind.FLAG and option.default else option.name


def _kind(option: Option) -> dict[str, Any]:
    """Return the arguments that declare an option to argparse."""
    if option.kind is Kind.FLAG:
        return {"action": "store_true"}
    if option.many:
        return {"action": "append", "default": []}
    return {"type": Path if option.kind is Kind.PATH else float if option.kind is Kind.SECONDS else str}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the checks to the collected tests, so that `-k` and similar options apply to all tests."""
    if config.getoption(_dest(URL)) is None:
        return
    endpoint = Endpoint.from_parent(session, name=NODE, nodeid=NODE, invocation=_invocation(config))
    config.stash[ENDPOINT] = endpoint
    items += session.genitems(endpoint)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was checked, the settings of the run, and all warnings."""
    endpoint = config.stash.get(ENDPOINT, None)
    if endpoint is None or endpoint.found is None:
        return
    from chatkey_check.reports import summary  # noqa: PLC0415

    terminalreporter.section("chatkey check")
    for name, value in summary.facts(endpoint.found):
        terminalreporter.write_line(f"{name}: {value}")
    for outcome in endpoint.found.outcomes:
        if outcome.verdict == "warn" and not outcome.known:
            line = f"warning: {outcome.check.id}: {outcome.message} -> {outcome.hint}"
            terminalreporter.write_line(_harmless(line), yellow=True)


def _invocation(config: pytest.Config) -> Invocation:
    """Return the options of the run. Raises `pytest.UsageError`."""
    from chatkey_check.command import invocation  # noqa: PLC0415
    from chatkey_check.target import OptionError  # noqa: PLC0415

    try:
        read = invocation.read(_given(config))
        read.check_allowed()
    except OptionError as error:
        raise pytest.UsageError(_in_pytest(str(error))) from None
    return read


def _given(config: pytest.Config) -> Given:
    """Return the options of the command line, completed with those of the --config file. Raises `OptionError`."""
    got = {option.field: _value(option, config.getoption(_dest(spelled(option)))) for option in OFFERED}
    got[URL] = config.getoption(_dest(URL))
    from chatkey_check.options.file import merged  # noqa: PLC0415

    defaults = {option.field: option.default for option in OFFERED}
    return merged({name: value for name, value in got.items() if value not in {None, defaults.get(name)}})


def _value(option: Option, written: Any) -> Any:
    if option.kind is Kind.FLAG:
        return written != option.default
    return tuple(written) if option.many else written


def _reason(outcome: Outcome) -> str:
    from chatkey_check.reports import summary  # noqa: PLC0415

    return _harmless(summary.reason(outcome))


def _told(outcome: Outcome) -> str:
    """Return the text for a failed check: what was found, what to change, why, and the calls that show the failure."""
    calls: Sequence[str] = [f"{seen.label}:\n{seen.curl}\n\n{seen.response}" for seen in outcome.evidence]
    told = [f"{outcome.message}\n-> {outcome.hint}\n{outcome.check.why}", *calls, *outcome.files]
    return _harmless("\n\n".join(told))


def _harmless(text: str) -> str:
    from chatkey_peer.runners import harmless  # noqa: PLC0415

    return harmless(text)


def _in_pytest(text: str) -> str:
    """Rename the command's options in a text to the plugin's options."""
    return re.sub(r"(?<![\w-])--(?=[a-z])", PREFIX, text)


def _dest(name: str) -> str:
    return f"chatkey_gettoken_{name.replace('-', '_')}"
