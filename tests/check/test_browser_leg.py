"""Tests of the last part of a run with a browser, in which a real widget runs on the integrator's page."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.check.mutants.mutant_backend import PROVIDER, SECRET, SESSIONS, Backend, Clock
from tests.check.mutants.mutant_server import Answer, Request, Server

from chatkey_check.calls.memo import Memo
from chatkey_check.calls.shared import Calls
from chatkey_check.live.browser.launch import launched
from chatkey_check.live.browser.login import by_hand
from chatkey_check.live.legs import Live
from chatkey_check.model import Outcome, Report, Service, Verdict
from chatkey_check.run import Run, opened
from chatkey_check.running.runner import Selection, report_of
from chatkey_check.target import LiveOptions, Login, OptionError, Target
from chatkey_check.wire.http import HttpWire

pytestmark = pytest.mark.long

MEMBER, RELOAD, RENEW, LOGOUT = (f"e2e.widget-{name}" for name in ("member", "reload", "renew", "logout"))
WIDGET = Selection(only=["e2e.widget-*"])
SESSION = "net.session-works"
TOKEN = re.compile(rb"eyJ(?:hbGci|0eXAi)|eyJ[\w-]{5,}\.eyJ")
"""Matches any token, and the beginning of a JWT header, which may be truncated.

A plain `eyJ` also occurs in random text.
"""
STRICT = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'nonce-r4nd' https://chat.example/assets/; "
    "connect-src 'self' https://chat.example wss://chat.example https://chat.example/assets/; "
    "style-src 'self' https://chat.example/assets/; img-src 'self' data:"
)
"""The strictest policy in the documentation."""
FORM = (("user", "ada"), ("password", "hunter-2"))


class Site(Backend):
    """A site with a page and an endpoint without faults. A test can change the answers to browsers."""

    def __init__(self, policy: str = "", html: str = "<h1>Shop</h1>") -> None:
        super().__init__(Clock())
        self.policy = policy
        self.html = html
        self.by_browsers = 0
        self.for_browsers: Callable[[Answer, int], Answer] = lambda answer, _: answer
        self.attributes = "Path=/; HttpOnly; SameSite=Lax"

    async def handle(self, request: Request) -> Answer:
        """Serve the page, and answer other requests as a correct site does.

        `for_browsers` can change the endpoint's answers to browsers.
        """
        if request.path == "/page":
            return self.page()
        answer = await super().handle(request)
        if request.path == self.path and "Mozilla" in request.headers.get("user-agent", ""):
            self.by_browsers += 1
            return self.for_browsers(answer, self.by_browsers)
        return answer

    def page(self) -> Answer:
        """Return the page with the policy that the test has set."""
        policy = [("Content-Security-Policy", self.policy)] if self.policy else []
        return Answer(200, [("Content-Type", "text/html"), *policy], f"<html><head></head>{self.html}</html>".encode())

    def set_cookie(self, session: str) -> str:
        """Return the value of the Set-Cookie header for the session."""
        return f"{self.cookie}={session}; {self.attributes}"


@pytest.fixture(scope="module")
def ending() -> Iterator[ExitStack]:
    """When the module ends, closes everything that the module's fixtures have opened."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture(scope="module")
def service(ending: ExitStack) -> Service:
    """The reference server. It has the provider and the secret of the endpoints in these tests."""
    target = Target("http://127.0.0.1:1/chat/token", PROVIDER, SECRET, live=LiveOptions())
    return ending.enter_context(opened(target)).live.service


@pytest.fixture(scope="module")
def browser(ending: ExitStack) -> Browser:
    target = Target("http://127.0.0.1:1/")
    return launched(target, HttpWire(target), ending)


@pytest.fixture
def visit(endpoints: Server, service: Service, browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Report]]:
    """Return a function that checks a site with a browser.

    Keyword arguments are options of the target. With `page`, the browser opens the page of the site.
    """
    with ExitStack() as ending:

        def check(site: Site, *, page: bool = False, selection: Selection = WIDGET, **given: Any) -> Report:
            base = endpoints.add(f"site-{id(site)}", site.handle)
            if "login" in given and given["login"].fields:
                given["login"] = replace(given["login"], url=f"{base}/login")
            members: dict[str, Any] = {
                "login": Login((("Cookie", f"sid={SESSIONS['ada']}"),)),
                "page_url": f"{base}/page" if page else None,
                "live": LiveOptions(browser=True, results=tmp_path / "kept"),
                **{name: value.format(base=base) if isinstance(value, str) else value for name, value in given.items()},
            }
            target = Target(f"{base}/chat/token", PROVIDER, SECRET, **members)
            calls = Calls(target, HttpWire(target), now=site.clock.now, sleep=site.clock.wait)
            run = ending.enter_context(Run(calls, Live(calls, memo=Memo({"service": service, "browser": browser}))))
            return report_of(run, selection=selection)

        yield check


class Guarded(Site):
    """A site that shows its page only to people who are logged in."""

    async def handle(self, request: Request) -> Answer:
        """If there is no session, redirect requests for the page to the login."""
        if request.path == "/page" and not self.person(request, None):
            return Answer(302, [("Location", "/login")])
        return await super().handle(request)


def verdicts(report: Report) -> list[str]:
    return [report.of(name).verdict for name in (MEMBER, RELOAD, RENEW, LOGOUT)]


def not_passed(report: Report) -> list[str]:
    outcomes = map(report.of, (MEMBER, RELOAD, RENEW, LOGOUT))
    return [f"{found.check.id} {found.verdict}: {found.message}" for found in outcomes if found.verdict != "pass"]


def failure(report: Report) -> Outcome:
    """Return the failed check, and assert that this failure blocks all later checks."""
    (failed,) = (outcome for outcome in report.outcomes if outcome.verdict is Verdict.FAIL)
    names = [MEMBER, RELOAD, RENEW, LOGOUT]
    after = [report.of(name) for name in names[names.index(failed.check.id) + 1 :]]
    assert {outcome.verdict for outcome in after} <= {Verdict.BLOCKED}
    assert {outcome.blocked_by for outcome in after} <= {failed.check.id}
    return failed


@pytest.mark.contract("3/get-token", "3/reuse-across-loads", "3/renewal", "3/logout")
def test_a_correct_endpoint_passes_login_reload_and_logout(visit: Any) -> None:
    """The browser must call the endpoint for the first page, but not for the second page.

    After most of an hour, the browser must call the endpoint again.
    """
    site = Site()

    report = visit(site)

    assert not_passed(report) == []
    assert (
        report.of(MEMBER).message
        == 'member "u-1001" on an empty page of your origin; use --page-url for one of your own'
    )
    assert site.by_browsers == 2


def test_a_page_with_the_strictest_policy_is_good_enough(visit: Any) -> None:
    report = visit(Site(STRICT), page=True)

    assert not_passed(report) == []
    assert report.of(MEMBER).message.endswith(
        "on your page, by a getToken of this program: the page configures no widget"
    )


def test_an_endpoint_that_logs_a_browser_out_of_the_shop_is_found_when_the_page_is_loaded_again(visit: Any) -> None:
    site = Guarded()
    site.for_browsers = lambda answer, _: answer.add("Set-Cookie", "sid=; Path=/; Max-Age=0")

    failed = failure(visit(site, page=True))

    assert failed.check.id == RELOAD
    assert "/page could not be loaded: status 302, redirect to " in failed.message


def test_a_page_that_needs_the_login_can_be_loaded_twice(visit: Any) -> None:
    assert not_passed(visit(Guarded(), page=True)) == []


@pytest.mark.parametrize(
    ("policy", "says", "hint"),
    [
        (STRICT.replace("'wasm-unsafe-eval' ", ""), "blocks WebAssembly (script-src).", "Add 'wasm-unsafe-eval' to"),
        ("default-src 'self'", "/assets/sdk.js (script-src).", "/assets/ to its script-src. Use your own service's"),
        (
            STRICT.replace("connect-src 'self'", "connect-src"),
            "/chat/token (connect-src).",
            "Add 'self' to its connect",
        ),
        (
            "script-src * 'wasm-unsafe-eval'; connect-src 'self'",
            " (connect-src).",
            "to its connect-src. Use your own",
        ),
    ],
    ids=["no WebAssembly", "only its own", "no endpoint", "no service"],
)
def test_a_policy_that_blocks_the_widget_is_told_with_what_to_add(
    visit: Any, policy: str, says: str, hint: str
) -> None:
    report = visit(Site(policy), page=True)

    failed = failure(report)
    assert failed.check.id == MEMBER
    assert failed.message.startswith("The widget does not become the member. The Content-Security-Policy of the page")
    assert failed.message.endswith(says)
    assert hint in failed.hint
    assert failed.hint.endswith("docs/csp.md has the strictest policy that works.")


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ("Path=/account; SameSite=Lax", "it is for Path=/account"),
        ("Path=/; SameSite=None", "SameSite=None needs Secure"),
        (
            "Path=/; Domain=shop.example; SameSite=Lax",
            "Domain=shop.example is not the host 127.0.0.1 or a domain above it",
        ),
    ],
)
def test_a_cookie_that_no_browser_sends_is_reported_before_a_browser_starts(
    visit: Any, attributes: str, why: str
) -> None:
    site = Site()
    site.attributes = attributes
    form = Login(url="", fields=FORM, passwords=("hunter-2",))

    report = visit(site, login=form, selection=Selection(only=[SESSION, "e2e.widget-*"]))

    assert report.of(SESSION).message == f"Browsers do not send the cookie sid to the endpoint: {why}."
    assert {report.of(name).blocked_by for name in (MEMBER, RELOAD, RENEW, LOGOUT)} == {SESSION}


def test_an_endpoint_without_a_member_for_browsers_is_reported(visit: Any) -> None:
    site = Site()
    site.for_browsers = lambda _answer, _number: site.json(200, {"token": None})

    failed = failure(visit(site))

    assert failed.message.endswith("to the browser, although the browser sends the same cookies as this program.")
    assert failed.evidence[0].label == "the widget's call, in the browser"
    assert '{"token":null}' in failed.evidence[0].response


def test_an_endpoint_that_refuses_browsers_is_told_in_the_widgets_words(visit: Any) -> None:
    site = Site()
    site.for_browsers = lambda _answer, _number: site.refusal(403, "bad origin")

    failed = failure(visit(site))

    assert "The widget reports gettoken_failed: " in failed.message
    assert "HTTP 403" in failed.evidence[0].response


def test_a_call_that_is_sent_to_another_origin_is_told(visit: Any) -> None:
    site = Site()
    site.for_browsers = lambda _answer, _number: Answer(307, [("Location", "http://localhost:9/chat/token")])

    failed = failure(visit(site))

    assert "The widget reports gettoken_failed: " in failed.message
    assert failed.hint.startswith("Answer the call on the page's origin: it was redirected to http://localhost:9")


def test_a_token_of_another_person_for_browsers_is_reported(visit: Any) -> None:
    class Mixed(Site):
        def claims(self, person: Any, jkt: Any) -> Any:
            return super().claims({**person, "uid": "u-7"} if self.by_browsers else person, jkt)

        async def endpoint(self, request: Request) -> Answer:
            self.by_browsers += "Mozilla" in request.headers.get("user-agent", "")
            return await super().endpoint(request)

    failed = failure(visit(Mixed()))

    assert failed.message == 'The widget became the member "u-7", not "u-1001".'


WORKER = """
self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  if (event.request.url.endsWith("/chat/token")) event.respondWith(Response.json({ token: null }));
});
"""


def test_a_service_worker_that_answers_for_the_endpoint_is_told(visit: Any) -> None:
    class Worker(Site):
        async def handle(self, request: Request) -> Answer:
            if request.path == "/worker.js":
                return Answer(200, [("Content-Type", "text/javascript")], WORKER.encode())
            return await super().handle(request)

    report = visit(Worker(html='<script>navigator.serviceWorker.register("worker.js")</script>'), page=True)

    failed = failure(report)
    assert failed.message.endswith("A service worker of the page answered instead of the endpoint.")
    assert failed.hint == "Exclude the endpoint and the widget's files from the service worker."


def test_a_page_that_empties_the_storage_asks_again(visit: Any) -> None:
    report = visit(Site(html="<script>localStorage.clear()</script>"), page=True)

    failed = failure(report)
    assert failed.check.id == RELOAD
    assert failed.message == "After the reload, the widget called the endpoint again."


def test_an_endpoint_that_fails_at_the_renewal_is_told(visit: Any) -> None:
    site = Site()
    site.for_browsers = lambda answer, number: answer if number == 1 else site.refusal(500, "once only")

    report = visit(site)

    failed = failure(report)
    assert failed.check.id == RENEW
    assert failed.message.startswith(
        "Shortly before its token expires, the widget gets no new token. The widget reports"
    )


def test_a_page_that_cannot_be_seen_is_told(visit: Any) -> None:
    report = visit(Site(), page_url="{base}/nowhere")

    failed = failure(report)
    assert failed.message.endswith("/nowhere could not be loaded: status 404.")
    assert "--page-url" in failed.hint


def test_a_page_of_another_origin_is_told(visit: Any) -> None:
    failed = failure(visit(Site(), page_url="http://localhost:1/page"))

    assert failed.message.startswith("http://localhost:1/page is not on the origin http://127.0.0.1:")


FETCHED = """
const call = async (body, more = {}) => (await fetch("chat/token", { method: "POST", credentials: "include",
  headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), ...more })).json();
const providerId = "prov_selftest";
"""
SDK = "https://chat.example/assets/sdk.js"
OWN_CODE = {
    "before the widget": ("window.ServiceConfig = { providerId, getToken };", ""),
    "at the end": ("", f"<script>ServiceConfig = {{ providerId, getToken }}</script><script src={SDK}></script>"),
    "in a module": ("", "<script type=module>window.ServiceConfig = { providerId, getToken }</script>"),
    "after the load": ('addEventListener("load", () => { window.ServiceConfig = { providerId, getToken } })', ""),
    "onload of its script": ("", f"<script src={SDK} onload='initService({{ providerId, getToken }})'></script>"),
    "a list of calls": ("window.Service = [() => initService({ providerId, getToken })]", ""),
    "a method": (
        "window.ServiceConfig = { providerId, last: null, getToken(asked) { return this.last = getToken(asked) } }",
        "",
    ),
}


@pytest.mark.parametrize("where", OWN_CODE)
def test_the_pages_own_get_token_runs(visit: Any, where: str) -> None:
    before, after = OWN_CODE[where]
    code = f"{FETCHED} const getToken = async ({{ jkt }}) => (await call({{ jkt }})).token; {before}"
    site = Site(html=f"<script>{code}</script>{after}")

    report = visit(site, page=True)

    assert not_passed(report) == []
    assert report.of(MEMBER).message == 'member "u-1001" on your page, by the page\'s own getToken'
    assert report.of(RENEW).message == "the page's getToken was called 3 times in all"
    assert site.by_browsers == 3


@pytest.mark.parametrize(
    ("code", "check", "says"),
    [
        ("getToken: ({ jkt }) => call({ jkt })", MEMBER, "an object with a member 'token'"),
        (
            "getToken: async ({ jkt }) => window.kept ??= (await call({ jkt })).token",
            RENEW,
            "without a call of the endpoint",
        ),
        ("providerId: 'prov_other', getToken: async ({ jkt }) => (await call({ jkt })).token", MEMBER, "prov_other"),
        ("getToken: async (jkt) => (await call({ jkt })).token", MEMBER, "undefined"),
        (
            "getToken: async ({ jkt }) => (await call({ jkt }, { credentials: 'omit' })).token",
            MEMBER,
            "without cookies",
        ),
        ("getToken: async ({ jkt }) => call({ jkt }).token", MEMBER, "undefined"),
        ("getToken: async () => null", MEMBER, "null without a call of the endpoint"),
        ("token: async ({ jkt }) => (await call({ jkt })).token", MEMBER, "configures no getToken"),
    ],
    ids=["object", "keeps", "other provider", "sends object", "no cookies", "no await", "no call", "other name"],
)
def test_a_fault_of_the_pages_own_code_is_found(visit: Any, code: str, check: str, says: str) -> None:
    report = visit(Site(html=f"<script>{FETCHED} window.ServiceConfig = {{ providerId, {code} }}</script>"), page=True)

    failed = failure(report)
    assert failed.check.id == check
    assert says in failed.message


def test_a_login_by_header_is_sent_by_the_page(visit: Any) -> None:
    class ByHeader(Site):
        def person(self, request: Request, body: Any) -> Any:
            request.headers["cookie"] = f"sid={request.headers.get('authorization', '').removeprefix('Bearer ')}"
            return super().person(request, body)

    report = visit(ByHeader(), login=Login((("Authorization", f"Bearer {SESSIONS['ada']}"),)))

    assert not_passed(report) == []


def test_the_screenshot_and_trace_of_a_failure_contain_no_secret(visit: Any) -> None:
    site = Site("default-src 'self'; connect-src http:; script-src http: 'wasm-unsafe-eval'", "<p>Shop</p>")
    site.for_browsers = lambda answer, number: answer if number == 1 else site.refusal(500, "once only")

    report = visit(site, page=True)

    picture, trace = failure(report).files
    assert Path(picture).read_bytes().startswith(b"\x89PNG")
    with zipfile.ZipFile(trace) as archive:
        kept = b"".join(archive.read(name) for name in archive.namelist())
    assert b"chat/token" in kept
    assert SESSIONS["ada"].encode() not in kept
    assert SECRET.encode() not in kept
    assert TOKEN.search(kept) is None


def test_without_the_option_there_is_no_browser(visit: Any) -> None:
    report = visit(Site(), live=LiveOptions())

    assert verdicts(report) == ["skip"] * 4
    assert report.of(MEMBER).option == "--browser"


def test_a_failure_before_the_browser_leg_blocks_it(visit: Any) -> None:
    class Wrong(Site):
        def claims(self, person: Any, jkt: Any) -> Any:
            return {**super().claims(person, jkt), "pid": "prov_other"}

    report = visit(Wrong())

    assert verdicts(report) == ["blocked"] * 4
    assert report.of(LOGOUT).blocked_by == "claim.pid"


def test_a_login_by_hand_gives_its_cookies(endpoints: Server, browser: Browser) -> None:
    """When the person closes the window, the checker must use the cookies of the login."""
    site = Site(html='<a href="login">Log in</a>')
    base = endpoints.add("by-hand", site.handle)
    target = Target(f"{base}/chat/token", page_url=f"{base}/login", live=LiveOptions(browser=True, by_hand=True))

    def act(page: Page) -> None:
        page.evaluate("""() => document.querySelector("form").innerHTML += "<input name=password value=hunter-2>" """)
        page.locator("[name=user]").fill("ada")
        with page.expect_navigation():
            page.locator("form").evaluate("(form) => form.submit()")
        page.close()

    found = by_hand(browser, target, act=act)

    assert found.login is not None
    ((name, value),) = found.login.headers
    assert name == "Cookie"
    assert site.sessions[value.removeprefix("sid=")] == "ada"


def test_a_window_that_is_closed_without_a_login_is_told(endpoints: Server, browser: Browser) -> None:
    base = endpoints.add("nobody-by-hand", Site().handle)

    with pytest.raises(
        OptionError,
        match=r"^When the window was closed, there was no cookie for .*Log in before you close the window\.$",
    ):
        by_hand(browser, Target(f"{base}/chat/token", page_url=f"{base}/page"), act=lambda page: page.close())


LOGS_OUT = (
    """<form method="get" action="/elsewhere" onsubmit="Service.logout()"><button id="out">Log out</button></form>"""
)


@pytest.mark.parametrize(
    ("html", "selector", "said"),
    [
        ('<button id="out" onclick="Service.logout()">Log out</button>', "#out", ""),
        ('<button id="out">Log out</button>', "#out", "After a click on the page's own logout the widget is not"),
        ("", "#out", "--logout-selector #out"),
    ],
)
def test_the_pages_own_logout_is_clicked(visit: Callable[..., Report], html: str, selector: str, said: str) -> None:
    report = visit(Site(html=html), page=True, logout_selector=selector)

    found = report.of(LOGOUT)
    assert (found.verdict is Verdict.PASS) is (not said)
    assert said in found.message
