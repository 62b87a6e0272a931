"""Saves the files of a run, including pytest-playwright's traces, and redacts all secrets in them."""

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pytest

from chatkey_peer.redaction import Masks, redact_file, redact_folder

REPORTS: Final = ("xmlpath", "htmlpath", "log_file")
"""Options that make pytest, pytest-html and other plugins write a report file."""

SHOW_TRACE: Final = "python -m playwright show-trace --host 127.0.0.1 --port 9323"
"""With `--host` and `--port`, any browser can open the viewer. Without them it needs a browser of Playwright's."""


ON_FAILURE: Final = {"tracing": "retain-on-failure", "screenshot": "only-on-failure"}
"""What a test that uses the harness saves unless the project decides otherwise: options of pytest-playwright."""


@contextmanager
def on_failure(config: pytest.Config) -> Iterator[None]:
    """During the context, apply the options of `ON_FAILURE` that are in no command, ini file or PYTEST_ADDOPTS."""
    words = [
        *config.getini("addopts"),
        *shlex.split(os.environ.get("PYTEST_ADDOPTS", "")),
        *map(str, config.invocation_params.args),
    ]
    given = {word.partition("=")[0] for word in words}
    ours = {name: value for name, value in ON_FAILURE.items() if f"--{name}" not in given}
    options = vars(config.option)
    before = {name: options[name] for name in ours}
    options.update(ours)
    try:
        yield
    finally:
        options.update(before)


class Kept:
    """A pytest plugin that collects the secrets of a run, and redacts them in all files that the run writes."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.secrets: set[str] = set()
        self.files: set[Path] = set()
        """Files written outside the output folder."""
        self.traces: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember the paths of traces, for the hint at the end of the run."""
        self.traces += [str(path) for kind, path in report.user_properties if kind == "playwright_trace"]

    def pytest_sessionfinish(self) -> None:
        """In a worker of pytest-xdist, send the secrets and files to the main process."""
        if (output := getattr(self._config, "workeroutput", None)) is not None:
            output["chatkey_kept"] = (sorted(self.secrets), sorted(map(str, self.files)))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receive the secrets and files of a pytest-xdist worker. A worker that crashed sends nothing."""
        secrets, files = getattr(node, "workeroutput", {}).get("chatkey_kept", ((), ()))
        self.secrets.update(secrets)
        self.files.update(map(Path, files))

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Redact all written files, regardless of the plugin that wrote them and of how the run ended."""
        if hasattr(self._config, "workerinput"):
            return  # other workers are still writing
        redact_folder(Path(str(self._config.getoption("output"))).absolute(), self.secrets)
        for path in self.files | set(self._reports()):
            if path.is_file():
                redact_file(path, self.secrets)

    def _reports(self) -> Iterator[Path]:
        for option in REPORTS:
            if name := getattr(self._config.option, option, None):
                yield _report(self._config, name)


def archives(members: dict[str, Any]) -> Iterator[Path]:
    """Return the files that a context with these arguments writes."""
    if path := members.get("record_har_path"):
        yield Path(path).absolute()


def tell(
    item: pytest.Item,
    report: pytest.TestReport,
    folder: Path | None,
    *,
    servers: Iterable[tuple[str, str]],
    logins: Iterable[tuple[str, str]],
) -> None:
    """Add the output of the servers and the logins to the report of a failure, and save both beside the test's traces.

    The links to the saved files are in the places where JUnit and pytest-html look for links.
    """
    output = [(f"output of {name}", text) for name, text in servers if text]
    for name, sections in {"servers": output, "logins": list(logins)}.items():
        report.sections += sections
        if sections and folder:
            path = folder / f"{name}.txt"
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("\n".join(f"{title}\n{text}" for title, text in sections))
            except OSError as error:
                report.sections.append((f"{name} not saved", f"{error}. Choose a folder with --output."))
                continue
            item.user_properties.append((f"chatkey_{name}", _from(item.config.invocation_params.dir, path)))
            _link(item.config, report, name, path)


def _link(config: pytest.Config, report: pytest.TestReport, name: str, path: Path) -> None:
    html: Any = config.pluginmanager.getplugin("html")
    written = getattr(config.option, "htmlpath", None)
    if html is None or not written:
        return
    extras = getattr(report, "extras", [])
    extras.append(html.extras.url(_from(_report(config, written).parent, path), name=name.capitalize()))
    report.extras = extras  # type: ignore[attr-defined]  # pytest-html reads it there


def _report(config: pytest.Config, name: str) -> Path:
    return Path(config.invocation_params.dir, Path(os.path.expandvars(name)).expanduser())


def _from(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()


def redact_report(report: pytest.TestReport, secrets: Iterable[str]) -> None:
    """Redact a test's report before the terminal, JUnit or pytest-html prints it."""
    clean = Masks(secrets).text
    report.longrepr = _cleaned(report.longrepr, clean)
    report.sections = _cleaned(report.sections, clean)
    report.user_properties = _cleaned(report.user_properties, clean)


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """Return a value in which `clean` was applied to every string. pytest's own objects are changed in place."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return type(value)(_cleaned(member, clean) for member in value)
    if is_dataclass(value) and not isinstance(value, type):
        for member in fields(value):
            if hasattr(value, member.name):
                object.__setattr__(value, member.name, _cleaned(getattr(value, member.name), clean))
    return value


def end_outside_playwright(traceback: TracebackType) -> None:
    """Cut a traceback after the last frame outside Playwright, because readers can change only their own code."""
    steps: list[TracebackType] = []
    step: TracebackType | None = traceback
    while step is not None:
        if "playwright" not in Path(step.tb_frame.f_code.co_filename).parts:
            steps.append(step)
        step = step.tb_next
    if steps:
        steps[-1].tb_next = None
