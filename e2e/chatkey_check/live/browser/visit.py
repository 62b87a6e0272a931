"""A visit to the integrator's page with a real widget, in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from playwright.sync_api import Browser, ConsoleMessage, Request, Route
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from chatkey_check.calls.sessions import Session
from chatkey_check.calls.shared import Calls
from chatkey_check.exchange import Broken, Exchange, Response
from chatkey_check.exchange import Request as Sent
from chatkey_check.live.browser.page import EMPTY_PATH, Document, configuration, document
from chatkey_check.model import Finding, Service, Unusable, Verdict
from chatkey_peer.redaction import redact_zip
from chatkey_protocol.storage_keys import MEMBER_TOKEN_PREFIX

STEP_SECONDS: Final = 20.0
CLICK_MS: Final = 5_000
END_MS: Final = 2_000
"""Milliseconds to wait for Playwright to report the end of a call."""
UNTIL: Final = """([identity, events, after]) => {
  const { told = [], blocked = [], page = {} } = window.chatkeyCheck ?? {};
  const since = told.slice(after).map(({ name }) => name);
  const there = window.Service?.identity?.identity === identity &&
    events.every((names) => names.some((name) => since.includes(name)));
  const missing = document.readyState === "complete" && !window.Service;
  const mute = page.provider && page.getToken !== "function" && window.Service?.identity;
  return there || missing || mute || blocked.length > 0 || since.includes("error") || since.includes("token:none");
}"""
RENEWED: Final = (("token:received",), ("token:refreshed", "socket:ready"))
"""After a jump of the clock, the old socket may be lost. The widget then opens a new one, as after a sleep."""
STATE: Final = """() => ({
  told: window.chatkeyCheck?.told ?? [],
  blocked: window.chatkeyCheck?.blocked ?? [],
  page: window.chatkeyCheck?.page ?? null,
  identity: window.Service?.identity ?? null,
  worker: Boolean(navigator.serviceWorker?.controller),
})"""
BROWSERS_OWN: Final = frozenset({"cookie", "host", "origin", "referer", "user-agent", "content-type"})
"""Headers that a page cannot set, or need not set."""


class Visit:
    """The visit of one person: the cookies, the page, and the widget on the page."""

    def __init__(self, calls: Calls, service: Service, browser: Browser) -> None:
        self.calls = calls
        self.service = service
        self.token_calls: list[Request] = []
        """The calls to the endpoint that the page made, oldest first."""
        self.complaints: list[str] = []
        """Requests to the service or the endpoint that failed, and the browser's own errors."""
        self._document = Document(200, (), b"")
        self._after = 0
        self._earlier_calls = 0
        self._finished: set[Request] = set()
        self._kept: tuple[str, ...] | None = None
        self._context = browser.new_context(
            ignore_https_errors=calls.target.insecure_tls,
            reduced_motion="reduce",
            viewport={"width": 900, "height": 700},
        )
        self._prepare()
        self.page = self._context.new_page()
        self._listen()

    # actions

    def open(self) -> None:
        """Show the page, and wait until the widget is connected as the member or until an error occurs.

        Raises `Unusable`.
        """
        member = self.calls.member
        self._show(lambda: self.page.goto(self.address, wait_until="commit"), member, member.lines.values())

    def reload(self) -> None:
        """Reload the page with the browser's cookies, and wait as in `open`. Raises `Unusable`."""
        self._earlier_calls = self.page_calls
        cookies = {name: str(cookie["value"]) for name, cookie in self._cookies_for(self.address).items()}
        self._show(lambda: self.page.reload(wait_until="commit"), self.calls.member.with_cookies(cookies))

    def renew(self, seconds: float) -> None:
        """Move the page's clock. Wait until the widget has connected with a new token, or until an error occurs."""
        self._after = len(self.state["told"])
        self._context.clock.fast_forward(int(seconds * 1000))
        self._wait_for("member", RENEWED)

    def log_out(self) -> None:
        """Log the widget out, and wait until the widget is a visitor."""
        self._after = len(self.state["told"])
        selector = self.calls.target.logout_selector
        if selector is None:
            self.page.evaluate("() => { window.Service.logout(); }")
        else:
            self._click(selector)
        self._wait_for("visitor")

    def _click(self, selector: str) -> None:
        """Click the page's logout button or link. Raises `Unusable` if the element cannot be clicked."""
        try:
            self.page.click(selector, timeout=CLICK_MS)
        except PlaywrightError as error:
            said = error.message.splitlines()[0].rstrip(".")
            raise Unusable(f"--logout-selector {selector} could not be clicked: {said}.") from error

    def close(self) -> None:
        """Close the page, and discard the person's cookies and storage."""
        self._context.close()

    # observations

    @property
    def address(self) -> str:
        target = self.calls.target
        return target.page_url or target.page + EMPTY_PATH

    @property
    def elsewhere(self) -> bool:
        """Whether the browser has gone to another page, which does not have our widget."""
        return self.page.url.partition("#")[0] != self.address and not self.page.evaluate("() => !!window.Service")

    @property
    def state(self) -> dict[str, Any]:
        """The widget's events and identity, what a policy blocked, and whether a service worker is active.

        `page` is the configuration of the page: its provider, the type of its getToken, and how often that was called.
        """
        state: dict[str, Any] = self.page.evaluate(STATE)
        return state

    @property
    def page_calls(self) -> int:
        """How often the page's own getToken was called, before and after the reload."""
        return self._earlier_calls + int(self.state["page"]["calls"])

    @property
    def events(self) -> list[dict[str, Any]]:
        """The widget's events since the last step, each with `name` and `detail`."""
        told: list[dict[str, Any]] = self.state["told"][self._after :]
        return told

    def told(self, name: str) -> list[dict[str, Any]]:
        """Return the details of all events with this name since the last step."""
        return [event["detail"] for event in self.events if event["name"] == name]

    @property
    def stored(self) -> str | None:
        """The token that the widget has stored in localStorage for the next page."""
        value: str | None = self.page.evaluate(
            "(key) => localStorage.getItem(key)", MEMBER_TOKEN_PREFIX + self.calls.provider_id
        )
        return value

    @property
    def cookies(self) -> dict[str, dict[str, Any]]:
        """The cookies that the browser sends to the endpoint, by name."""
        return self._cookies_for(self.calls.target.url)

    def _cookies_for(self, url: str) -> dict[str, dict[str, Any]]:
        return {str(cookie.get("name")): dict(cookie) for cookie in self._context.cookies(url)}

    @property
    def exchanges(self) -> list[Exchange]:
        """The page's calls to the endpoint, in the format of the checker's own calls."""
        return [self._exchange(request) for request in self.token_calls]

    def _exchange(self, request: Request) -> Exchange:
        exchange = _exchange(request, is_over=request in self._finished)
        return replace(exchange, request=replace(exchange.request, token_at=self.calls.target.shape.token_at))

    @property
    def led_to(self) -> str:
        """The address to which the last call to the endpoint was redirected, or the address of the endpoint."""
        last = self.token_calls[-1]
        while last.redirected_to is not None:
            last = last.redirected_to
        if last not in self._finished and not last.failure:
            with suppress(PlaywrightTimeout):  # the widget may learn of the end of a call before we do
                self.page.wait_for_event("requestfinished", lambda ended: ended == last, timeout=END_MS)
        return _exchange(last, is_over=last in self._finished).location

    @property
    def by_worker(self) -> bool:
        """Whether a service worker of the page answered the last call to the endpoint."""
        answer = self.token_calls[-1].response() if self._finished.intersection(self.token_calls[-1:]) else None
        return answer is not None and answer.from_service_worker

    def keep(self) -> tuple[str, ...]:
        """Save a screenshot and the trace, without secrets, and return their paths. Only the first call saves files."""
        if self._kept is None:
            live = self.calls.target.live
            folder = live.results if live else Path()
            folder.mkdir(parents=True, exist_ok=True)
            screenshot, trace = folder / "page.png", folder / "trace.zip"
            self.page.screenshot(path=screenshot)
            with TemporaryDirectory() as private:  # keeps the trace private until it is redacted
                whole = Path(private, "trace.zip")
                self._context.tracing.stop(path=whole)
                redact_zip(whole, self._secrets)
                if whole.exists():  # redact_zip deletes an incomplete trace
                    shutil.move(whole, trace)
            self._kept = (str(screenshot), str(trace))
        return self._kept

    def failed(self, message: str, hint: str | None = None) -> Finding:
        """Return a failure with the last call to the endpoint and the saved files."""
        return Finding(Verdict.FAIL, message, hint, tuple(self.exchanges[-1:]), self.keep())

    # internals

    def _prepare(self) -> None:
        target, session = self.calls.target, self.calls.member
        with suppress(PlaywrightError):  # older browsers do not know this permission
            self._context.grant_permissions(["local-network-access"])
        given = {name: value for name, value in session.cookies.items() if name not in session.lines}
        root = f"{target.origin}/"  # a login given as a header has no path
        self._context.add_cookies([{"name": name, "value": value, "url": root} for name, value in given.items()])
        headers = [*session.headers, *((name, session.filled(value)) for name, value in target.headers)]
        script = configuration(
            self.service,
            target=target,
            provider_id=self.calls.provider_id,
            headers=[header for header in headers if header[0].lower() not in BROWSERS_OWN],
        )
        self._context.add_init_script(script)
        self._context.clock.install()
        self._context.route(lambda url: url.partition("#")[0] == self.address, self._answer)
        self._context.route(lambda url: url.endswith("/sdk.js") and url != self.service.sdk_url, self._replace)
        self._context.tracing.start(screenshots=True, snapshots=True)

    def _listen(self) -> None:
        self.page.on("request", self._note_request)
        self.page.on("requestfinished", self._note_end)
        self.page.on("requestfailed", self._note_failure)
        self.page.on("console", self._note_console)

    def _show(self, go: Callable[[], object], session: Session, set_cookies: Iterable[str] = ()) -> None:
        self._after = 0
        fetched = None
        if self.calls.target.page_url is not None:
            fetched = self.calls.fetch("the page, for the browser", self.address, session)
            if not fetched.succeeded:
                led = f", redirect to {fetched.location}" if fetched.redirected else ""
                raise Unusable(f"{self.address} could not be loaded: {fetched.result}{led}.", fetched)
        self._document = document(fetched, self.service, set_cookies)
        try:
            go()
        except PlaywrightError as error:
            raise Unusable(f"The browser could not load {self.address}: {error.message.splitlines()[0]}.") from error
        self._wait_for("member")

    def _wait_for(self, identity: str, events: Sequence[Sequence[str]] = ()) -> None:
        try:
            self.page.wait_for_function(UNTIL, arg=[identity, events, self._after], timeout=STEP_SECONDS * 1000)
        except PlaywrightTimeout:
            self.complaints.append(f"nothing happened for {STEP_SECONDS:g} s")

    def _answer(self, route: Route) -> None:
        if route.request.is_navigation_request():
            page = self._document
            route.fulfill(status=page.status, headers=page.header_map, body=page.body)
        else:
            route.continue_()

    def _replace(self, route: Route) -> None:
        """Answer the page's request for its widget with our script, so that `onload` of the script's element runs."""
        route.fulfill(response=route.fetch(url=self.service.sdk_url))

    def _note_request(self, request: Request) -> None:
        target = self.calls.target
        there = request.url.partition("?")[0] == target.url.partition("?")[0]
        if there and request.method == target.shape.method:
            self.token_calls.append(request)

    def _note_end(self, request: Request) -> None:
        self._finished.add(request)

    def _note_failure(self, request: Request) -> None:
        if request.url.startswith((self.service.url, self.calls.target.url)):
            self.complaints.append(f"{request.url}: {request.failure}")

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    @property
    def _secrets(self) -> list[str]:
        target, session = self.calls.target, self.calls.member
        values = [*session.secrets, *([target.secret] if target.secret else [])]
        return [form for value in values for form in (value, quote(value, safe=""))]


def _exchange(request: Request, *, is_over: bool) -> Exchange:
    sent = Sent(
        "the widget's call, in the browser",
        request.method,
        request.url,
        tuple(request.all_headers().items()),
        request.post_data_buffer or b"",
    )
    answer = request.response() if is_over else None  # otherwise this would wait for a response that may never come
    if answer is None:
        return Exchange(sent, None, Broken.CUT if request.failure else Broken.TIMEOUT, 0.0, 0.0)
    try:
        body = answer.body()
    except PlaywrightError:  # the browser discards the body when it leaves the page
        body = b""
    headers = tuple((header["name"], header["value"]) for header in answer.headers_array())
    timing = request.timing
    return Exchange(sent, Response(answer.status, headers, body), None, 0.0, max(timing["responseEnd"], 0) / 1000)
