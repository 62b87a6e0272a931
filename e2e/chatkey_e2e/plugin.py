"""The pytest plugin: a stack per session; a business, faults and page objects per test.

Browsers, contexts and pages, and what is kept of them, are pytest-playwright's. `chatkey_e2e.overrides` loads this.
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, BrowserType, Page, Playwright, expect

from chatkey_e2e import drivers, keeping, needs, options
from chatkey_e2e.aim import applicable, restarting
from chatkey_e2e.aim.aim import Aim, take_aim
from chatkey_e2e.aim.around import aimed
from chatkey_e2e.aim.known import KnownFailures
from chatkey_e2e.business import Business, close_business, open_business
from chatkey_e2e.clerk import Clerk
from chatkey_e2e.clocks import Clocks
from chatkey_e2e.conform.capabilities import NotApplicable
from chatkey_e2e.conform.grades.business import HarnessError
from chatkey_e2e.conform.target import TargetError
from chatkey_e2e.freshness import StaleError, refresh
from chatkey_e2e.misbehaviour import Faults, Marks, missed, missed_by
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.driven import DrivenWidget
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.people import People, Person
from chatkey_e2e.redaction import redact_folder
from chatkey_e2e.timings import Timings
from chatkey_e2e.wire import Peer, peer
from chatkey_e2e.witness import Witness
from chatkey_oauth.client import LabError
from chatkey_protocol.names import SOCIALS
from chatkey_stack import browsers
from chatkey_stack.lab import ServiceLab
from chatkey_stack.process import ProcessError, ended_in_order
from chatkey_stack.stack import UNLIMITED, Flavour, Stack, running
from chatkey_stack.tls import NAMES, Certificates, issue

Members = dict[str, Any]
NewContext = Callable[..., BrowserContext]
MakeBusiness = Callable[..., Business]
MakeDriven = Callable[[Page], DrivenWidget]
MakeFaults = Callable[[BrowserContext], Faults]
MakePeer = Callable[..., Peer]
Advance = Callable[[float], None]
Restart = Callable[[], None]
Watch = Callable[..., BrowserContext]

kept_key = pytest.StashKey[keeping.Kept]()
found_key = pytest.StashKey[dict[str, browsers.Found]]()
folder_key = pytest.StashKey[Path]()
witness_key = pytest.StashKey[Witness]()
marks_key = pytest.StashKey[Marks]()
faults_key = pytest.StashKey[list[Faults]]()
aim_key = pytest.StashKey[Aim]()
known_key = pytest.StashKey[KnownFailures]()
timings_key = pytest.StashKey[Timings]()

NOT_STARTED = 3
"""Exit status when a server does not start; without a browser it is `browsers.NO_BROWSER`."""

SYNCHRONOUS = ("playwright", "pytest_playwright.pytest_playwright")
"""The names under which pytest-playwright may be loaded."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the harness's options."""
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Declare a marker, choose the browser that CHATKEY_BROWSER names unless `--browser` does, and keep the time.

    Raises `pytest.UsageError` without pytest-playwright.
    """
    if not any(config.pluginmanager.has_plugin(name) for name in SYNCHRONOUS):
        raise pytest.UsageError(
            "chatkey_e2e needs pytest-playwright, and it is switched off. Where pytest-playwright-asyncio is installed "
            "too, leave that one out, `-p no:playwright-asyncio`: the harness drives Playwright's synchronous API."
        )
    config.addinivalue_line("markers", "contract(*ids): the entries of docs/contract.toml that this test shows")
    config.addinivalue_line(
        "markers", "needs(*capabilities): what this test needs of the service that it is run against"
    )
    config.addinivalue_line("markers", "smoke: comes first at a target, and ends the run where it fails")
    config.addinivalue_line("markers", "any_widget: this test drives a widget without the handle of ours")
    config.stash[kept_key] = keeping.Kept(config)
    config.pluginmanager.register(config.stash[kept_key])
    if not config.option.browser and (named := os.environ.get("CHATKEY_BROWSER")):
        config.option.browser = [browsers.kind_of(named)]
    if target := options.read(config).target:
        config.stash[aim_key] = _aimed_at(config, target)
        config.stash[known_key] = KnownFailures(config.stash[aim_key].known)
        config.pluginmanager.register(applicable.Smoke())
    if file := options.read(config).timings:
        config.stash[timings_key] = Timings(file)
        config.pluginmanager.register(config.stash[timings_key])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests that ask for the stack a browser that trusts it, and leave the others theirs."""
    if {"stack", "chatkey_trust"} <= set(metafunc.fixturenames):
        metafunc.parametrize("chatkey_trust", [True], ids=[pytest.HIDDEN_PARAM], indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Say why a browser, or what a target does not have, is left out."""
    drivers.leave_out(items)
    if aim := config.stash.get(aim_key, None):
        applicable.leave_out(items, aim)
        config.stash[known_key].excuse(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that armed a fault which was never hit: it did not show what it says."""
    result = yield
    if sentences := "\n".join((*missed(item.stash.get(faults_key, [])), *missed_by(_service_lab(item)))):
        pytest.fail(sentences, pytrace=False)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Leave no fault of the service to the next test."""
    if lab := _service_lab(item):
        lab.disarm()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """To a failure of ours add what the servers wrote and how the logins went; let no secret into any report."""
    witness = item.stash.get(witness_key, None)
    if witness is None:
        return (yield)
    if call.excinfo is not None:
        keeping.end_outside_playwright(call.excinfo.tb)
    report = yield
    secrets = item.config.stash[kept_key].secrets | witness.secrets
    folder = item.stash.get(folder_key, None)
    if report.failed:
        logins = item.stash[marks_key].timelines() if marks_key in item.stash else ()
        keeping.tell(item, report, folder, servers=witness.output().items(), logins=logins)
    keeping.redact_report(report, secrets)
    if folder and report.when == "teardown":
        redact_folder(folder, secrets)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which browsers were driven, and how to look at a failure."""
    for line in drivers.counted(terminalreporter.stats.get("skipped", [])):
        terminalreporter.write_line(f"chatkey: {line}")
    if aim := config.stash.get(aim_key, None):
        terminalreporter.write_line(f"chatkey: {applicable.verdict(terminalreporter.stats, aim)}")
        for name in config.stash[known_key].mended(terminalreporter.stats):
            terminalreporter.write_line(f"chatkey: known failure {name} passes now: take it out of the file")
    for found in config.stash.get(found_key, {}).values():
        terminalreporter.write_line(f"chatkey: drove {found}")
    if terminalreporter.stats.keys() & {"failed", "error"} and (traces := config.stash[kept_key].traces):
        terminalreporter.write_line(f"chatkey: to look at it: {keeping.SHOW_TRACE} {traces[-1]}")


def _aimed_at(config: pytest.Config, file: Path) -> Aim:
    if set(config.option.browser or ["chromium"]) != {"chromium"}:
        raise pytest.UsageError("A target is looked at with Chromium alone: no other browser can be led to the front.")
    try:
        return take_aim(file)
    except (TargetError, HarnessError) as error:
        pytest.exit(f"The target cannot be aimed at: {error}", returncode=NOT_STARTED)


def _service_lab(item: pytest.Item) -> ServiceLab | None:
    stack = getattr(item, "funcargs", {}).get("stack")
    return stack.service_lab if stack else None


@pytest.fixture(scope="session")
def chatkey_options(pytestconfig: pytest.Config) -> options.Options:
    """What was asked of the harness on the command line."""
    return options.read(pytestconfig)


@pytest.fixture(scope="session")
def chatkey_aim(pytestconfig: pytest.Config) -> Aim | None:
    """The target of this run, None where it is our own stack."""
    return pytestconfig.stash.get(aim_key, None)


@pytest.fixture(scope="session")
def chatkey_certificates(tmp_path_factory: pytest.TempPathFactory, chatkey_aim: Aim | None) -> Certificates:
    """The run's own CA, and the servers' certificates."""
    folder = tmp_path_factory.mktemp("certificates")
    if chatkey_aim is None:
        return issue(folder)
    return chatkey_aim.trusting(issue(folder, tuple(dict.fromkeys((*NAMES, *chatkey_aim.hosts)))))


@pytest.fixture(scope="session")
def stack(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    chatkey_certificates: Certificates,
    chatkey_aim: Aim | None,
) -> Iterator[Stack]:
    """The service, the fake provider and the site, over TLS on three sites; or what stands around a target."""
    if any("chatkey_browsers" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("chatkey_browsers")  # before the servers: a missing browser is told at once
    with ExitStack() as ending:
        ending.enter_context(ended_in_order())
        try:
            refresh()
            folder = tmp_path_factory.mktemp("stack")
            stack = ending.enter_context(
                aimed(chatkey_aim, folder=folder, certificates=chatkey_certificates)
                if chatkey_aim
                else running(
                    Flavour.TLS,
                    folder=folder,
                    settings=UNLIMITED,
                    certificates=chatkey_certificates,
                    socials=tuple(SOCIALS),  # those that are only announced are tested like the others
                )
            )
        except (StaleError, ProcessError, LabError) as error:
            pytest.exit(f"The stack does not start: {error}", returncode=NOT_STARTED)
        stack.service_lab.on_ask = needs.note_ask
        yield stack


@pytest.fixture(scope="session")
def chatkey_browsers(pytestconfig: pytest.Config, playwright: Playwright) -> dict[str, browsers.Found]:
    """The browser of each kind that `--browser` names, or Chromium's; ends the run where one is missing."""
    named = os.environ.get("CHATKEY_BROWSER", "")
    try:
        found = {
            kind: browsers.find(browsers.machine(playwright, {"CHATKEY_BROWSER": wanted}))
            for kind in pytestconfig.option.browser or ["chromium"]
            for wanted in [named if named and browsers.kind_of(named) == kind else kind]
        }
    except browsers.NoBrowserError as error:
        pytest.exit(str(error), returncode=browsers.NO_BROWSER)
    pytestconfig.stash[found_key] = found
    return found


@pytest.fixture(scope="session")
def chatkey_trust(request: pytest.FixtureRequest, chatkey_aim: Aim | None) -> str | None:
    """The key of the run's CA, which the browsers of tests that ask for the stack trust; for other tests None.

    A target's own fake provider may have another; then both, as Chromium takes a list.
    """
    if not getattr(request, "param", False):
        return None
    certificates: Certificates = request.getfixturevalue("chatkey_certificates")
    return ",".join((certificates.spki, *(chatkey_aim.trusted_spki if chatkey_aim else ())))


@pytest.fixture(scope="session")
def chatkey_launch(
    browser_name: str,
    chatkey_browsers: dict[str, browsers.Found],
    chatkey_trust: str | None,
    chatkey_aim: Aim | None,
) -> Callable[[Members], Members]:
    """What a launch needs, given what was asked of it."""
    found = chatkey_browsers[browser_name]

    def complete(asked: Members) -> Members:
        if chatkey_trust is None:
            return browsers.located(found, asked)
        quick: tuple[str, ...] = () if "ignore_default_args" in asked else browsers.ONE_COMPILER
        quick += chatkey_aim.browser_args if chatkey_aim else ()
        args = [*quick, *(argument for argument in asked.get("args", ()) if argument not in quick)]
        return browsers.launch_options(found, {**asked, "args": args}, trusted_spki=chatkey_trust)

    return complete


@pytest.fixture
def chatkey_watch(
    request: pytest.FixtureRequest,
    witness: Witness,
    chatkey_marks: Marks,
    chatkey_options: options.Options,
    output_path: str,
) -> Iterator[Watch]:
    """Watch a context, with the harness's patience; at the end nothing secret may be anywhere."""
    contexts: list[BrowserContext] = []
    milliseconds = 0 if os.environ.get("PWDEBUG") else chatkey_options.patience * 1000
    request.node.stash[folder_key] = Path(output_path)

    def watch(context: BrowserContext, *files: Path) -> BrowserContext:
        request.config.stash[kept_key].files.update(files)
        context.set_default_timeout(milliseconds)
        witness.watch(context)
        chatkey_marks.mark(context)
        if timings_key in request.config.stash:
            request.config.stash[timings_key].watch(context)
        if chatkey_options.traces == "steps" and request.config.option.tracing != "off":
            context.tracing.stop()  # what is in the page costs a third of a scenario's time
            context.tracing.start(title=request.node.name, sources=True)
        contexts.append(context)
        return context

    with _patient(milliseconds):
        yield watch
    if leaks := witness.leaks(contexts):
        pytest.fail("a secret is where it must not be:\n" + "\n".join(sorted(set(leaks))), pytrace=False)


@pytest.fixture
def make_business(stack: Stack, witness: Witness) -> Iterator[MakeBusiness]:
    """Open businesses of this test's own; see `open_business` for how they may differ."""
    with ExitStack() as ending:
        made = 0

        def make(**members: Any) -> Business:
            nonlocal made
            made += 1
            if made > 1:
                needs.note("businesses")
            try:
                business = open_business(stack, **members)
            except NotApplicable as lacking:
                pytest.skip(f"{applicable.NOT_APPLICABLE}: {lacking.capability}")
            ending.callback(close_business, business)
            witness.secrets.update(business.secrets)
            return business

        yield make


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    """A business with custom login and no social login."""
    return make_business()


@pytest.fixture
def witness(request: pytest.FixtureRequest, stack: Stack) -> Iterator[Witness]:
    """What this test's contexts and the servers say and do."""
    for server in stack.servers:
        server.process.check()
    witness = request.node.stash[witness_key] = Witness(stack)
    yield witness
    request.config.stash[kept_key].secrets |= witness.secrets  # here, because an interrupted test has no report


@pytest.fixture
def chatkey_people(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    browser_type: BrowserType,
    browser_type_launch_args: Members,
    browser_context_args: Members,
) -> Iterator[People]:
    """The browsers of people who come back, in the profiles that this run keeps."""
    profiles = tmp_path_factory.getbasetemp() / "people"
    recorder = request.getfixturevalue("_artifacts_recorder")  # so that --tracing and its kin mean these contexts, too
    people = People(profiles, browser_type, browser_type_launch_args, browser_context_args, recorder)
    yield people
    people.close()


@pytest.fixture
def person(chatkey_people: People, chatkey_watch: Watch) -> Person:
    """Open a person's browser, by name: in another test of the run they come back as the same visitor."""
    return lambda name, **members: chatkey_watch(chatkey_people.open(name, **members))


@pytest.fixture
def chatkey_marks(request: pytest.FixtureRequest, stack: Stack) -> Marks:
    """The marks by which the fake provider knows this test's contexts."""
    marks = request.node.stash[marks_key] = Marks(stack)
    return marks


@pytest.fixture
def make_faults(request: pytest.FixtureRequest, stack: Stack, chatkey_marks: Marks) -> Iterator[MakeFaults]:
    """Let the fake provider misbehave for one of this test's contexts; a fault that is never hit fails the test."""
    made = request.node.stash[faults_key] = []

    def make(context: BrowserContext) -> Faults:
        made.append(Faults(stack.provider_lab, chatkey_marks.by_context[context]))
        return made[-1]

    yield make
    for faults in made:
        faults.disarm()


@pytest.fixture
def faults(make_faults: MakeFaults, context: BrowserContext) -> Faults:
    """What the fake provider does wrong for `context`: `faults.arm("deny", provider="google")`."""
    return make_faults(context)


@pytest.fixture
def shop(page: Page, business: Business) -> ShopPage:
    """The business's shop, not opened yet."""
    return ShopPage(page, business)


@pytest.fixture
def widget(shop: ShopPage) -> WidgetPage:
    """The widget in the opened shop, connected as a visitor."""
    return shop.open()


@pytest.fixture
def make_driven(
    business: Business, witness: Witness, chatkey_aim: Aim | None, chatkey_options: options.Options
) -> MakeDriven:
    """Drive the widget of a page by selectors: those of a target's own widget, or those of ours."""
    given = chatkey_aim.target.document.widget if chatkey_aim else None
    selectors = given.selectors if given else {}
    return lambda page: DrivenWidget(page, business, witness, selectors, chatkey_options.patience)


@pytest.fixture
def driven(make_driven: MakeDriven, page: Page) -> DrivenWidget:
    """The widget as anybody's, in the business's shop, not opened yet."""
    return make_driven(page)


@pytest.fixture
def make_agent(stack: Stack, new_context: NewContext) -> Callable[[], AgentPage]:
    """Sign agents in to the agent panel, each in a browser of their own."""

    def make() -> AgentPage:
        needs.note(needs.KIT)
        agent = AgentPage(new_context().new_page(), stack.service.browser_url)
        agent.sign_in()
        return agent

    return make


@pytest.fixture
def agent(make_agent: Callable[[], AgentPage]) -> AgentPage:
    """An agent who has signed in to the agent panel."""
    return make_agent()


@pytest.fixture
def clerk(stack: Stack, business: Business) -> Clerk:
    """An agent of the business, whatever panel the service has: reads, answers and ends calls."""
    return Clerk(stack.service_lab, business.provider.id)


@pytest.fixture
def make_peer(stack: Stack, business: Business, chatkey_options: options.Options) -> Iterator[MakePeer]:
    """Open sockets without a browser, from the business's origin or another."""
    with ExitStack() as ending:

        def make(origin: str = business.origin) -> Peer:
            port = urlsplit(stack.service.local_url).port
            opening = peer(
                business.socket_uri, origin=origin, ca=stack.ca, port=port, patience=chatkey_options.patience
            )
            return ending.enter_context(opening)

        yield make


@pytest.fixture
def advance(stack: Stack, context: BrowserContext, chatkey_options: options.Options) -> Iterator[Advance]:
    """Move every clock: the servers' and that of all pages of `context`, and only then does what has become due happen.

    A page's clock must be taken over before it loads: name `advance` before `widget` in a test's arguments.
    """
    needs.note("clock")
    if any(page.url != "about:blank" for page in context.pages):
        pytest.fail("name advance before the fixture that opens a page", pytrace=False)
    yield Clocks(stack, context, chatkey_options.patience).advance
    stack.reset()


@pytest.fixture
def page_time(stack: Stack, context: BrowserContext, chatkey_options: options.Options) -> Advance:
    """Move the clock of all pages of `context` alone: enough for what a widget waits for by itself."""
    if any(page.url != "about:blank" for page in context.pages):
        pytest.fail("name page_time before the fixture that opens a page", pytrace=False)
    return Clocks(stack, context, chatkey_options.patience).advance_pages


@pytest.fixture
def restart(stack: Stack, chatkey_aim: Aim | None, chatkey_options: options.Options) -> Restart:
    """Start the service anew, as its administrator does, and wait until it is there."""

    def again() -> None:
        needs.note("restart")
        if chatkey_aim:
            restarting.restart(chatkey_aim.target, chatkey_options.patience)
        else:
            stack.service.process.restart()

    return again


@contextmanager
def _patient(milliseconds: float) -> Iterator[None]:
    """Let `expect` wait as long as everything else here; whoever comes next finds it as it was."""
    before = expect._timeout  # noqa: SLF001  (there is no other way to put it back)
    expect.set_options(timeout=milliseconds)
    try:
        yield
    finally:
        expect.set_options(timeout=before)
