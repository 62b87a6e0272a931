"""The pytest plugin: a stack and a browser per session, a business, a context and page objects per test.

Load it with `-p chatkey_e2e.plugin`, or `pytest_plugins = ["chatkey_e2e.plugin"]` in the top-most conftest.py.
"""

import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from chatkey_e2e import drivers, options
from chatkey_e2e.business import Business, close_business, open_business
from chatkey_e2e.freshness import StaleError, refresh
from chatkey_e2e.misbehaviour import Faults, Marks, missed
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.redaction import redact, redact_zip
from chatkey_e2e.timings import Timings
from chatkey_e2e.wire import Peer, peer
from chatkey_e2e.witness import Witness
from chatkey_oauth.client import LabError
from chatkey_protocol.names import SOCIALS
from chatkey_stack import browsers
from chatkey_stack.process import ProcessError
from chatkey_stack.stack import Flavour, Stack, running

MakeBrowser = Callable[[browsers.Profile], Browser]
MakeBusiness = Callable[..., Business]
MakeContext = Callable[..., BrowserContext]
MakeFaults = Callable[[BrowserContext], Faults]
MakePeer = Callable[..., Peer]
Advance = Callable[[float], None]

failed_key = pytest.StashKey[bool]()
found_key = pytest.StashKey[browsers.Found]()
witness_key = pytest.StashKey[Witness]()
marks_key = pytest.StashKey[Marks]()
faults_key = pytest.StashKey[list[Faults]]()
timings_key = pytest.StashKey[Timings]()

NOT_STARTED = 3
"""Exit status when a server does not start; without a browser it is `browsers.NO_BROWSER`."""

UNLIMITED = {"CHATKEY_LIMIT_TOKEN_RATE": "0", "CHATKEY_LIMIT_OAUTH_RATE": "0"}
"""All tests come from one address; what limits do has tests of its own."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the harness's options."""
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers (which sentences of the contract a test shows, which browsers can run it); keep the time."""
    config.addinivalue_line("markers", "contract(*ids): the entries of docs/contract.toml that this test shows")
    config.addinivalue_line("markers", drivers.MARKER)
    if file := options.read(config).timings:
        config.stash[timings_key] = Timings(file)
        config.pluginmanager.register(config.stash[timings_key])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the driver of the chosen browser cannot do."""
    drivers.leave_out(items, browsers.kind_of(options.read(config).browser or ""))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that armed a fault which was never hit: it did not show what it says."""
    result = yield
    if faults_key in item.stash and (sentences := missed(item.stash[faults_key])):
        pytest.fail(sentences, pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember a failure for the fixtures' ends, and attach what the servers wrote and how the logins went."""
    if call.excinfo is not None:
        _end_outside_playwright(call.excinfo.tb)
    report = yield
    if report.failed:
        item.stash[failed_key] = True
        witness = item.stash.get(witness_key, None)
        if witness is not None:
            report.sections += [
                (f"output of {name}", redact(text, witness.secrets)) for name, text in witness.output().items() if text
            ]
        if marks_key in item.stash:
            report.sections += item.stash[marks_key].timelines()
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which browser was driven, and where to look after a failure."""
    for line in drivers.counted(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(f"chatkey: {line}")
    if found_key in config.stash:
        terminalreporter.write_line(f"chatkey: drove {config.stash[found_key]}")
        if terminalreporter.stats.keys() & {"failed", "error"}:
            chosen = options.read(config)
            more = (
                "" if chosen.trace == "on" else "; with --trace they also show the pages and what went over the network"
            )
            terminalreporter.write_line(f"chatkey: traces and screenshots are in {chosen.results}{more}")


@pytest.fixture(scope="session")
def chatkey_options(pytestconfig: pytest.Config) -> options.Options:
    """What was asked for on the command line."""
    return options.read(pytestconfig)


@pytest.fixture(scope="session")
def stack(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The service, the fake provider and the site, over TLS on three sites."""
    if any("found_browser" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("found_browser")  # before the servers: a missing browser is told at once
    with ExitStack() as ending:
        try:
            refresh()
            folder = tmp_path_factory.mktemp("stack")
            socials = tuple(SOCIALS)  # those that are only announced are tested like the others
            stack = ending.enter_context(running(Flavour.TLS, folder=folder, settings=UNLIMITED, socials=socials))
        except (StaleError, ProcessError, LabError) as error:
            pytest.exit(f"The stack does not start: {error}", returncode=NOT_STARTED)
        yield stack


@pytest.fixture(scope="session")
def playwright(chatkey_options: options.Options) -> Iterator[Playwright]:
    """Playwright's driver."""
    expect.set_options(timeout=chatkey_options.patience * 1000)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def found_browser(
    pytestconfig: pytest.Config, playwright: Playwright, chatkey_options: options.Options
) -> browsers.Found:
    """Which browser there is to drive."""
    environ = {**os.environ, "CHATKEY_BROWSER": chatkey_options.browser or ""}
    try:
        found = browsers.find(browsers.machine(playwright, environ))
    except browsers.NoBrowserError as error:
        pytest.exit(str(error), returncode=browsers.NO_BROWSER)
    pytestconfig.stash[found_key] = found
    return found


@pytest.fixture(scope="session")
def make_browser(
    found_browser: browsers.Found, playwright: Playwright, stack: Stack, chatkey_options: options.Options
) -> Iterator[MakeBrowser]:
    """Start a browser in a profile; each profile once per session."""
    spki = stack.certificates.spki if stack.certificates else None
    with ExitStack() as ending:

        @cache
        def make(profile: browsers.Profile) -> Browser:
            started = browsers.launch(
                playwright,
                found_browser,
                profile=profile,
                headed=chatkey_options.headed,
                trusted_spki=spki,
                args=browsers.ONE_COMPILER if profile is browsers.Profile.DEFAULT else (),
            )
            ending.callback(started.close)
            return started

        yield make


@pytest.fixture(scope="session")
def browser(make_browser: MakeBrowser) -> Browser:
    """The browser in its default profile."""
    return make_browser(browsers.Profile.DEFAULT)


@pytest.fixture
def make_business(stack: Stack, witness: Witness) -> Iterator[MakeBusiness]:
    """Open businesses of this test's own; see `open_business` for how they may differ."""
    with ExitStack() as ending:

        def make(**members: Any) -> Business:
            business = open_business(stack, **members)
            ending.callback(close_business, business)
            witness.secrets.update(business.secrets)
            return business

        yield make


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    """A business with custom login and no social login."""
    return make_business()


@pytest.fixture
def witness(request: pytest.FixtureRequest, stack: Stack) -> Witness:
    """What this test's contexts and the servers say and do."""
    for server in stack.servers:
        server.process.check()
    witness = Witness(stack)
    request.node.stash[witness_key] = witness
    return witness


@pytest.fixture
def marks(request: pytest.FixtureRequest, stack: Stack) -> Marks:
    """The marks by which the fake provider knows this test's contexts."""
    marks = request.node.stash[marks_key] = Marks(stack)
    return marks


@pytest.fixture
def make_context(
    request: pytest.FixtureRequest,
    browser: Browser,
    witness: Witness,
    marks: Marks,
    chatkey_options: options.Options,
) -> Iterator[MakeContext]:
    """Open browser contexts; at the end nothing secret may be anywhere, and a failure keeps trace and screenshots."""
    contexts: list[BrowserContext] = []

    def make(**members: Any) -> BrowserContext:
        chosen: Browser = members.pop("browser", browser)
        context = chosen.new_context(**{**_defaults(chosen, calm=chosen is browser), **members})
        context.set_default_timeout(chatkey_options.patience * 1000)
        witness.watch(context)
        marks.mark(context)
        if timings_key in request.config.stash:
            request.config.stash[timings_key].watch(context)
        if chatkey_options.trace != "off":
            full = chatkey_options.trace == "on"  # what is in the page costs a third of a scenario's time
            name = _folder_name(request.node.nodeid)
            context.tracing.start(name=name, screenshots=full, snapshots=full, sources=True)
        contexts.append(context)
        return context

    yield make
    try:
        leaks = witness.leaks(contexts)
        failed = bool(leaks) or request.node.stash.get(failed_key, False)
        _keep(contexts, failed, chatkey_options, _folder_name(request.node.nodeid), witness.secrets)
    finally:
        for context in contexts:
            context.close()
    if leaks:
        pytest.fail("a secret is where it must not be:\n" + "\n".join(sorted(set(leaks))), pytrace=False)


@pytest.fixture
def context(make_context: MakeContext) -> BrowserContext:
    """One person's browser."""
    return make_context()


@pytest.fixture
def make_faults(request: pytest.FixtureRequest, stack: Stack, marks: Marks) -> Iterator[MakeFaults]:
    """Let the fake provider misbehave for one of this test's contexts; a fault that is never hit fails the test."""
    made = request.node.stash[faults_key] = []

    def make(context: BrowserContext) -> Faults:
        made.append(Faults(stack.provider_lab, marks.by_context[context]))
        return made[-1]

    yield make
    for faults in made:
        faults.disarm()


@pytest.fixture
def faults(make_faults: MakeFaults, context: BrowserContext) -> Faults:
    """What the fake provider does wrong for `context`: `faults.arm("deny", provider="google")`."""
    return make_faults(context)


@pytest.fixture
def page(context: BrowserContext) -> Page:
    """One tab."""
    return context.new_page()


@pytest.fixture
def shop(page: Page, business: Business) -> ShopPage:
    """The business's shop, not opened yet."""
    return ShopPage(page, business)


@pytest.fixture
def widget(shop: ShopPage) -> WidgetPage:
    """The widget in the opened shop, connected as a visitor."""
    return shop.open()


@pytest.fixture
def make_agent(stack: Stack, make_context: MakeContext) -> Callable[[], AgentPage]:
    """Sign agents in to the agent panel, each in a browser of their own."""

    def make() -> AgentPage:
        agent = AgentPage(make_context().new_page(), stack.service.browser_url)
        agent.sign_in()
        return agent

    return make


@pytest.fixture
def agent(make_agent: Callable[[], AgentPage]) -> AgentPage:
    """An agent who has signed in to the agent panel."""
    return make_agent()


@pytest.fixture
def make_peer(stack: Stack, business: Business, chatkey_options: options.Options) -> Iterator[MakePeer]:
    """Open sockets without a browser, from the business's origin or another."""
    with ExitStack() as ending:

        def make(origin: str = business.origin) -> Peer:
            opening = peer(business.socket_uri, origin=origin, ca=stack.ca, patience=chatkey_options.patience)
            return ending.enter_context(opening)

        yield make


@pytest.fixture
def advance(stack: Stack, context: BrowserContext) -> Iterator[Advance]:
    """Move every clock at once: the servers', then that of all pages of `context`.

    A page's clock must be taken over before it loads: name `advance` before `widget` in a test's arguments.
    """
    if any(page.url != "about:blank" for page in context.pages):
        pytest.fail("name advance before the fixture that opens a page", pytrace=False)
    context.clock.install()

    def move(seconds: float) -> None:
        stack.advance(seconds)
        context.clock.fast_forward(int(seconds * 1000))

    yield move
    stack.reset()


def _defaults(browser: Browser, *, calm: bool) -> dict[str, Any]:
    """Return how contexts are opened: calm ones wait for no animation, and Firefox cannot trust a CA by its key."""
    motion = {"reduced_motion": "reduce"} if calm else {}
    return {**motion, "ignore_https_errors": True} if browser.browser_type.name == "firefox" else motion


def _end_outside_playwright(traceback: TracebackType) -> None:
    """Cut a traceback after its last step that is not Playwright's own: there is what people can do something about."""
    steps: list[TracebackType] = []
    step: TracebackType | None = traceback
    while step is not None:
        if "playwright" not in Path(step.tb_frame.f_code.co_filename).parts:
            steps.append(step)
        step = step.tb_next
    if steps:
        steps[-1].tb_next = None


def _keep(contexts: list[BrowserContext], failed: bool, chosen: options.Options, name: str, secrets: set[str]) -> None:
    folder = chosen.results / name
    for number, context in enumerate(contexts, 1):
        if failed:
            _screenshots(context, folder, number)
        if chosen.trace == "on" or (chosen.trace == "retain-on-failure" and failed):
            trace = folder / f"trace-{number}.zip"
            context.tracing.stop(path=trace)
            redact_zip(trace, secrets)
        elif chosen.trace != "off":
            context.tracing.stop()


def _screenshots(context: BrowserContext, folder: Path, number: int) -> None:
    for tab, page in enumerate(context.pages, 1):
        page.screenshot(path=folder / f"context-{number}-page-{tab}.png")


def _folder_name(node_id: str) -> str:
    path, _, test = node_id.partition("::")
    return re.sub(r"[^\w.-]+", "-", f"{Path(path).name}-{test}").strip("-")[:120]
