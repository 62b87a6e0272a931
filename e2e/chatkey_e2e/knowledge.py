"""Explains a failure with what the widget, the browser and the project's settings know about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Error, Page, Request

LOOK_MS: Final = 3000
"""How long a page may take to answer. A page whose scripts hang never answers."""

SHOWN_REQUESTS: Final = 5

READ: Final = """() => {
  const service = window.Service;
  if (typeof service?.debug !== "function") {
    const waits = service === undefined || Array.isArray(service);
    return JSON.stringify({ configured: waits && ("ServiceConfig" in window || service !== undefined) });
  }
  const { boot, stage, identity, troubles = [], events = [] } = service.debug();
  const last = (entries, name) => entries.filter((entry) => entry.name === name).at(-1)?.detail;
  return JSON.stringify({
    boot: boot?.state, stage, identity,
    error: last(troubles, "error") ?? boot?.error,
    closed: last(events, "socket:closed"),
  });
}"""

SETTINGS: Final[Mapping[str, tuple[object, str]]] = {
    "java_script_enabled": (
        False,
        "java_script_enabled=False: the widget is a script, so it does not run in this context.",
    ),
    "offline": (
        True,
        (
            "offline=True: nothing can be loaded. Open the context with offline=False, and call "
            "context.set_offline(True) once the widget is connected."
        ),
    ),
}
"""Arguments of a context with which no widget can connect: the value, and what to do."""

HEADERS: Final = (
    "extra_http_headers={{{names}}}: the browser also sends these headers to the service. Before that it asks the "
    "service for permission (a CORS preflight), and a service that does not allow the headers makes the requests "
    "fail. Leave out the headers in this test: @pytest.mark.browser_context_args(extra_http_headers={{}})."
)
PROXY: Final = (
    "proxy={server!r}: the browser also asks the proxy for the servers of the run, which only this machine can "
    "reach. Do not set a proxy for the tests that use them."
)
UNTRUSTED: Final = (
    "This browser does not trust the run's CA. The harness tells only the browsers of pytest-playwright's fixtures to "
    "trust it, and only in a test that names a fixture of the harness in its arguments, in "
    '@pytest.mark.usefixtures("stack"), or in a fixture that it uses. request.getfixturevalue(…) comes too late, and '
    "so does a browser of your own; start such a browser with the fixture launch_browser."
)


ASSERTED: Final = ("Call log:", "Actual value:")
"""Playwright's expectations raise `AssertionError` with these words in the message."""


LOOP: Final = (
    "A test of this run has used Playwright's synchronous API, which keeps an event loop running until the run ends. "
    "Asynchronous tests and fixtures cannot run in this process any more: run them with a pytest command of their own."
)


def explain_loop(error: BaseException) -> None:
    """Add a note to the error of an asynchronous test that runs after a test with Playwright."""
    if isinstance(error, RuntimeError) and "running event loop" in str(error):
        error.add_note(LOOP)


def explain(error: BaseException, pages: Iterable[Page], requests: Iterable[Request], asked: Mapping[str, Any]) -> None:
    """Add what is known to an error of Playwright, as notes. `asked` are the arguments of the test's contexts."""
    if not _is_playwrights(error):
        return
    failures = failed(requests)
    text = f"{error} {' '.join(failures)}"
    states = [state for state in map(widget_state, pages) if state and state not in text]
    for note in (*states, *failures, *settings(asked, text)):
        error.add_note(note)


def widget_state(page: Page) -> str:
    """Return sentences about the page's widget: its stage, its last error, and why its last socket was closed.

    A page without a widget gives an empty text.
    """
    if page.is_closed() or not page.url.startswith("http"):
        return ""
    where = page.url.partition("?")[0]
    try:
        known = json.loads(page.wait_for_function(READ, timeout=LOOK_MS).json_value())
    except Error:
        return f"The page {where} did not say what its widget knows within {LOOK_MS / 1000:g} s."
    if "configured" in known:
        return f"The page {where} has a ServiceConfig, but sdk.js has not run." if known["configured"] else ""
    return " ".join((f"The widget of {where}", *_sentences(known)))


def _sentences(known: dict[str, Any]) -> Iterator[str]:
    stage, identity = known.get("stage"), known.get("identity")
    if stage is None:
        yield f"has not started: its boot is {known.get('boot')!r}."
    else:
        yield f"is at the stage {stage!r}, {f'as a {identity}' if identity else 'and has not connected yet'}."
    error = known.get("error")
    yield (
        f"Its last error is {error.get('code')!r}: {error.get('message')} {error.get('remediation')}"
        if error
        else "It has reported no error."
    )
    closed = known.get("closed")
    if closed:
        reason = f" ({closed['reason']})" if closed.get("reason") else ""
        yield f"Its last socket was closed with {closed.get('code')}{reason}."
    else:
        yield "None of its sockets was closed."


def failed(requests: Iterable[Request]) -> list[str]:
    """Return one sentence for each address that could not be requested, without the query."""
    failures = {
        f"{request.method} {request.url.partition('?')[0]} failed: {request.failure}."
        for request in requests
        if request.failure and "ABORTED" not in request.failure
    }
    return sorted(failures)[:SHOWN_REQUESTS]


def settings(asked: Mapping[str, Any], text: str) -> Iterator[str]:
    """Yield a sentence for each setting that may be the cause. `text` says what has failed."""
    for name, (value, sentence) in SETTINGS.items():
        if asked.get(name) == value:
            yield f"This context was opened with {sentence}"
    if asked.get("extra_http_headers") and "failed" in text:
        names = ", ".join(repr(name) for name in asked["extra_http_headers"])
        yield f"This context was opened with {HEADERS.format(names=names)}"
    if proxy := asked.get("proxy"):
        yield f"The browser or this context was opened with {PROXY.format(server=_host(proxy['server']))}"
    if "CERT_" in text:
        yield UNTRUSTED


def _host(server: str) -> str:
    """Return a proxy's address without a password in it."""
    parts = urlsplit(server)
    return f"{parts.scheme}://{parts.hostname}:{parts.port}" if parts.hostname else server


def _is_playwrights(error: BaseException) -> bool:
    """Return whether Playwright's actions or expectations failed, and not a test's own assertion."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_playwrights, error.exceptions))
    return isinstance(error, Error) or (
        isinstance(error, AssertionError) and any(mark in str(error) for mark in ASSERTED)
    )
