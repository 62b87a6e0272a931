"""The fixtures: a stack for each session; a business, faults and page objects for each test."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, BrowserType, Page, Playwright, expect

from chatkey_conform.capabilities import NotApplicable
from chatkey_e2e import keeping, needs, options, ours
from chatkey_e2e.aim import applicable, restarting
from chatkey_e2e.aim.aim import Aim
from chatkey_e2e.aim.around import aimed
from chatkey_e2e.aim.widget import WidgetAim
from chatkey_e2e.annotations import (
    Advance,
    MakeBusiness,
    MakeDriven,
    MakeFaults,
    MakePeer,
    Members,
    NewContext,
    Restart,
    Watch,
)
from chatkey_e2e.business import Business, close_business, open_business
from chatkey_e2e.clerk import Clerk
from chatkey_e2e.clocks import Clocks
from chatkey_e2e.freshness import StaleError, refresh
from chatkey_e2e.misbehaviour import Faults, Marks
from chatkey_e2e.pages.agent import AgentPage
from chatkey_e2e.pages.driven import DrivenWidget
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.people import People, Person, trusting
from chatkey_e2e.stashed import (
    aim_key,
    faults_key,
    folder_key,
    found_key,
    kept_key,
    marks_key,
    timings_key,
    widget_key,
)
from chatkey_e2e.witness import LEAKED, Witness, witness_key
from chatkey_oauth.client import LabError
from chatkey_peer.exits import Exit
from chatkey_peer.peer import Peer, peer
from chatkey_protocol.names import SOCIALS
from chatkey_stack import browsers
from chatkey_stack.process import ProcessError, ended_in_order
from chatkey_stack.stack import UNLIMITED, Flavour, Stack, running
from chatkey_stack.tls import NAMES, Certificates, issue

UNWATCHED = (
    "The harness does not watch this context, so the fake provider cannot tell its logins from those of other "
    "contexts. Open the context with the fixture new_context, not with browser.new_context(), or pass it to the "
    "fixture chatkey_watch. A fixture `context` or `page` of your project may have opened it."
)


@pytest.fixture(scope="session")
def chatkey_options(pytestconfig: pytest.Config) -> options.Options:
    """The harness's command-line options."""
    return options.read(pytestconfig)


@pytest.fixture(scope="session")
def chatkey_aim(pytestconfig: pytest.Config) -> Aim | None:
    """The target of this run, or None if it runs against our own stack."""
    return pytestconfig.stash.get(aim_key, None)


@pytest.fixture(scope="session")
def chatkey_widget(pytestconfig: pytest.Config) -> WidgetAim | None:
    """The widget that this run judges with our own stack, or None."""
    return pytestconfig.stash.get(widget_key, None)


@pytest.fixture(scope="session")
def chatkey_certificates(tmp_path_factory: pytest.TempPathFactory, chatkey_aim: Aim | None) -> Iterator[Certificates]:
    """The CA of the run, and the certificates of the servers."""
    folder = tmp_path_factory.mktemp("certificates")
    names = (*NAMES, *chatkey_aim.hosts) if chatkey_aim else NAMES
    with issue(folder, tuple(dict.fromkeys(names))) as made:
        yield chatkey_aim.trusting(made) if chatkey_aim else made


@pytest.fixture(scope="session")
def stack(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    chatkey_certificates: Certificates,
    chatkey_aim: Aim | None,
    chatkey_options: options.Options,
) -> Iterator[Stack]:
    """The service, the fake provider and the site, over TLS on three sites; or the servers around a target."""
    if any("chatkey_browsers" in getattr(item, "fixturenames", ()) for item in request.session.items):
        request.getfixturevalue("chatkey_browsers")  # before the servers, to report a missing browser at once
    with ExitStack() as ending:
        ending.enter_context(ended_in_order())
        try:
            refresh()
            folder = tmp_path_factory.mktemp("stack")
            stack = ending.enter_context(
                aimed(chatkey_aim, folder=folder, certificates=chatkey_certificates, patience=chatkey_options.patience)
                if chatkey_aim
                else running(
                    Flavour.TLS,
                    folder=folder,
                    settings=UNLIMITED,
                    certificates=chatkey_certificates,
                    socials=tuple(SOCIALS),  # includes the ones that are only announced
                    patience=chatkey_options.patience,
                )
            )
        except (StaleError, ProcessError, LabError) as error:
            pytest.exit(f"The stack could not start: {error}", returncode=Exit.NOT_STARTED)
        stack.service_lab.on_ask = needs.note_ask
        yield stack


@pytest.fixture(scope="session")
def chatkey_browsers(pytestconfig: pytest.Config, playwright: Playwright) -> dict[str, browsers.Found]:
    """The browsers of the kinds that `--browser` names, or Chromium. Ends the run if a browser is missing."""
    named = os.environ.get("CHATKEY_BROWSER", "")
    try:
        found = {
            kind: browsers.find(browsers.machine(playwright, {"CHATKEY_BROWSER": wanted}))
            for kind in pytestconfig.option.browser or ["chromium"]
            for wanted in [named if named and browsers.kind_of(named) == kind else kind]
        }
    except browsers.NoBrowserError as error:
        pytest.exit(str(error), returncode=Exit.NO_BROWSER)
    pytestconfig.stash[found_key] = found
    return found


@pytest.fixture(scope="session")
def chatkey_trust(request: pytest.FixtureRequest, chatkey_aim: Aim | None) -> str | None:
    """The key of the run's CA, which the browser must trust. None if the test does not use the stack.

    If a target's fake provider has another certificate, the key of this certificate follows after a comma, as Chromium
    expects.
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
    """Return a function that completes the launch arguments of a test."""
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
    """Watch a context, and set the harness's timeouts for the context. At the end, fail if a secret has leaked."""
    milliseconds = chatkey_options.step * 1000
    request.node.stash[folder_key] = Path(output_path)

    def watch(context: BrowserContext, asked: Members | None = None) -> BrowserContext:
        request.config.stash[kept_key].files.update(keeping.archives(asked or {}))
        witness.settings.update(asked or {})
        context.set_default_timeout(milliseconds)
        witness.watch(context)
        chatkey_marks.mark(context)
        if widget := request.config.stash.get(widget_key, None):
            widget.serve(context, witness.stack.service.browser_url)
        if timings_key in request.config.stash:
            request.config.stash[timings_key].watch(context)
        if chatkey_options.traces == "steps" and request.config.option.tracing != "off":
            context.tracing.stop()  # snapshots of the page cost a third of a scenario's time
            context.tracing.start(title=request.node.name, sources=True)
        return context

    with _patient(milliseconds):
        yield watch
    if leaks := witness.leaks(witness.contexts):
        pytest.fail(LEAKED + "\n".join(sorted(set(leaks))), pytrace=False)


@pytest.fixture
def make_business(request: pytest.FixtureRequest, stack: Stack, witness: Witness) -> Iterator[MakeBusiness]:
    """Open businesses that exist only for this test. `open_business` describes the options."""
    ours.check(request, "witness", witness, Witness)
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
    """Records the actions and the output of this test's contexts and of the servers."""
    if not hasattr(stack, "servers"):
        ours.check(request, "stack", stack, Stack)
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
    """Browsers of people who return in a later test of the run. The run keeps the profiles of these browsers."""
    profiles = tmp_path_factory.getbasetemp() / "people"
    recorder = request.getfixturevalue("_artifacts_recorder")  # so that --tracing etc. apply to these contexts, too
    complete: Callable[[Members], Members] = request.getfixturevalue("chatkey_launch")
    launch = complete(browser_type_launch_args)  # a project's own fixture of this name may lack our arguments
    people = People(profiles, browser_type, launch, trusting(browser_type.name, browser_context_args), recorder)
    yield people
    people.close()


@pytest.fixture
def person(chatkey_people: People, chatkey_watch: Watch) -> Person:
    """Open a person's browser by name. The same name is the same visitor in a later test of the run."""
    return lambda name, **members: chatkey_watch(chatkey_people.open(name, **members), members)


@pytest.fixture
def chatkey_marks(request: pytest.FixtureRequest, stack: Stack) -> Marks:
    """The marks with which the fake provider recognises this test's contexts."""
    marks = request.node.stash[marks_key] = Marks(stack)
    return marks


@pytest.fixture
def make_faults(request: pytest.FixtureRequest, stack: Stack, chatkey_marks: Marks) -> Iterator[MakeFaults]:
    """Let the fake provider misbehave for one context of this test. A fault that is never triggered fails the test."""
    made = request.node.stash[faults_key] = []

    def make(context: BrowserContext) -> Faults:
        if context not in chatkey_marks.by_context:
            pytest.fail(UNWATCHED, pytrace=False)
        made.append(Faults(stack.provider_lab, chatkey_marks.by_context[context]))
        return made[-1]

    yield make
    for faults in made:
        faults.disarm()


@pytest.fixture
def faults(make_faults: MakeFaults, context: BrowserContext) -> Faults:
    """The faults of the fake provider for `context`: `faults.arm("deny", provider="google")`."""
    return make_faults(context)


@pytest.fixture
def shop(request: pytest.FixtureRequest, page: Page, business: Business) -> ShopPage:
    """The business's shop, which is not opened yet."""
    ours.check(request, "page", page, Page)
    ours.check(request, "business", business, Business)
    return ShopPage(page, business)


@pytest.fixture
def widget(request: pytest.FixtureRequest, shop: ShopPage) -> WidgetPage:
    """The widget in the opened shop, connected as a visitor."""
    ours.check(request, "shop", shop, ShopPage)
    return shop.open()


@pytest.fixture
def make_driven(
    business: Business,
    witness: Witness,
    chatkey_aim: Aim | None,
    chatkey_widget: WidgetAim | None,
    chatkey_options: options.Options,
) -> MakeDriven:
    """Drive the widget of a page with selectors: those of the judged widget, or those of our widget."""
    witness.judges_widget = True
    judged = chatkey_widget or chatkey_aim
    selectors = judged.selectors if judged else {}
    return lambda page: DrivenWidget(page, business, witness, selectors, chatkey_options.patience)


@pytest.fixture
def driven(make_driven: MakeDriven, page: Page) -> DrivenWidget:
    """Any widget, driven with selectors, in the business's shop, which is not opened yet."""
    return make_driven(page)


@pytest.fixture
def make_agent(stack: Stack, new_context: NewContext) -> Callable[[], AgentPage]:
    """Sign agents in to the agent panel, each in a separate browser."""

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
def clerk(request: pytest.FixtureRequest, stack: Stack, business: Business) -> Clerk:
    """An agent of the business who reads, answers and ends calls without the agent panel. Works with any service."""
    ours.check(request, "business", business, Business)
    return Clerk(stack.service_lab, business.provider.id)


@pytest.fixture
def make_peer(stack: Stack, business: Business, chatkey_options: options.Options) -> Iterator[MakePeer]:
    """Open sockets without a browser, by default with the business's origin."""
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
    """Move the clocks of the servers and of all pages of `context`. Without `advance`, no work becomes due.

    The fixture replaces the clock of the pages, so the fixture must run before a page loads: name `advance` before
    `widget` in a test's arguments.
    """
    needs.note("clock")
    if any(page.url != "about:blank" for page in context.pages):
        pytest.fail("`advance` must come before the fixture that opens a page", pytrace=False)
    yield Clocks(stack, context, chatkey_options.patience).advance
    stack.reset()


@pytest.fixture
def page_time(stack: Stack, context: BrowserContext, chatkey_options: options.Options) -> Advance:
    """Move only the clock of all pages of `context`, which suffices for the widget's own timers."""
    if any(page.url != "about:blank" for page in context.pages):
        pytest.fail("`page_time` must come before the fixture that opens a page", pytrace=False)
    return Clocks(stack, context, chatkey_options.patience).advance_pages


@pytest.fixture
def restart(stack: Stack, chatkey_aim: Aim | None, chatkey_options: options.Options) -> Restart:
    """Restart the service as an administrator would, and wait until the service is available."""

    def again() -> None:
        needs.note("restart")
        if chatkey_aim:
            restarting.restart(chatkey_aim.target, chatkey_options.patience)
        else:
            stack.service.process.restart()

    return again


@contextmanager
def _patient(milliseconds: float) -> Iterator[None]:
    """Set Playwright's `expect` timeout during the context, and restore it afterwards."""
    before = expect._timeout  # noqa: SLF001  (there is no other way to put it back)
    expect.set_options(timeout=milliseconds)
    try:
        yield
    finally:
        expect.set_options(timeout=before)
