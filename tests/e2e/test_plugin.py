"""Tests of the pytest plugin together with pytest-playwright: the files saved on failure, and the check for leaked
tokens.
"""

import zipfile

import pytest

from chatkey_peer.exits import Exit

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.long

STAND_INS = """
import zipfile
from types import SimpleNamespace

import pytest
from chatkey_e2e.overrides import *
from chatkey_oauth.client import Flow, Leg, Rule, Step
from chatkey_stack.browsers import Found

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJ0eXBlIjoidXNlciJ9.c2lnbmF0dXJl"


class Process:
    name, mark, text = "service", 0, ""

    def check(self):
        pass

    def output(self, since):
        return self.text


class Tracing:
    def start(self, **options):
        self.options = options

    def stop(self, path=None):
        if path:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("trace.network", TOKEN)


class Page:
    url = "about:blank"

    def is_closed(self):
        return False

    def screenshot(self, path, **options):
        path.write_bytes(b"png")


class Context:
    def __init__(self, **options):
        self.options, self.tracing, self.pages, self.closed = options, Tracing(), [Page()], False

    def on(self, name, listener):
        pass

    def expose_binding(self, name, listener):
        pass

    def add_init_script(self, script):
        pass

    def set_default_timeout(self, milliseconds):
        self.timeout = milliseconds

    def add_cookies(self, cookies):
        self.cookies = cookies

    def close(self):
        self.closed = True


class Lab:
    # The fake provider's lab: rules that a test may say were hit, and one login per context.

    def __init__(self):
        self.armed = []

    def arm(self, fault, scope, **members):
        self.armed.append(Rule(fault=fault, scope=scope, id=str(len(self.armed)), armed_at=0))
        return self.armed[-1]

    def rules(self):
        return self.armed

    def disarm(self, rule_id):
        self.armed.remove(next(rule for rule in self.armed if rule.id == rule_id))

    def flows(self, scope):
        step = Step(leg=Leg.TOKEN, at=1.5, method="POST", path="/token", status=400, faults=["code-used"])
        return [Flow(id="f_1", provider="google", client_id="shop", began_at=0, cookie=scope.cookie, steps=[step])]


class ServiceLab:
    # The service's lab, with faults that a test may say were hit.

    def __init__(self):
        self.rules = []

    def armed(self):
        return self.rules

    def disarm(self):
        self.rules = []


@pytest.fixture(scope="session")
def stack(chatkey_certificates):
    return SimpleNamespace(
        servers=[SimpleNamespace(process=Process())],
        provider=SimpleNamespace(browser_url="https://id.localhost:1"),
        provider_lab=Lab(),
        service_lab=ServiceLab(),
    )


@pytest.fixture(scope="session")
def playwright():
    return SimpleNamespace(request=SimpleNamespace(new_context=None))


@pytest.fixture(scope="session")
def browser(chatkey_trust):
    return SimpleNamespace(new_context=Context, trusts=chatkey_trust)


@pytest.fixture(scope="session")
def chatkey_browsers():
    return {"chromium": Found("chromium", "/usr/bin/chromium", "made up"), "firefox": Found("firefox", None, "made up")}
"""


@pytest.fixture
def harness(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(STAND_INS)
    return pytester


def run(harness: pytest.Pytester, code: str, *args: str) -> pytest.RunResult:
    harness.makepyfile(code)
    return harness.runpytest_subprocess("-p", "playwright", "-p", "no:cacheprovider", *args)


def kept(harness: pytest.Pytester) -> list[str]:
    results = harness.path / "test-results"
    return sorted(str(path.relative_to(results)) for path in results.rglob("*") if path.is_file())


def test_a_test_that_passes_leaves_nothing_behind(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(new_context, stack):\n    new_context()")

    result.assert_outcomes(passed=1)
    assert kept(harness) == []


def test_a_failure_keeps_a_redacted_trace_a_screenshot_and_the_servers_output(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(new_context, stack):
            new_context()
            stack.servers[0].process.text = "socket.refused code=proof_ath"
            assert False
        """,
        *("--tracing", "retain-on-failure", "--screenshot", "only-on-failure"),
    )

    folder = "test-a-failure-keeps-a-redacted-trace-a-screenshot-and-the-servers-output-py-test-it-chromium"
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*output of service*",
            "socket.refused code=proof_ath",
            f"chatkey: show the trace with: *show-trace* *{folder}*.zip",
        ]
    )
    assert kept(harness) == [
        f"{folder}/{name}" for name in ("logins.txt", "servers.txt", "test-failed-1.png", "trace.zip")
    ]
    with zipfile.ZipFile(harness.path / "test-results" / folder / "trace.zip") as archive:
        assert archive.read("trace.network") == b"[redacted]"


@pytest.mark.contract("2.6/memory-only")
def test_no_report_of_a_failure_shows_a_token_or_secret(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        from conftest import TOKEN

        def test_it(new_context, witness, output_path, record_property):
            context = new_context(record_har_path="seen.har")
            witness.secrets.add("the-secret-key")
            print(f"said {TOKEN} and the-secret-key")
            record_property("token", TOKEN)
            with open("seen.har", "w") as har:
                har.write(TOKEN)
            assert f"{TOKEN} the-secret-key" == "x"
        """,
        *("--junitxml=junit.xml", "-p", "metadata", "-p", "html", "--html=report.html", "--self-contained-html", "-l"),
    )

    result.assert_outcomes(failed=1)
    written = [path for path in harness.path.rglob("*") if path.is_file() and path.suffix in {".xml", ".html", ".har"}]
    shown = [result.stdout.str(), *(path.read_text() for path in written)]
    assert len(written) == 3
    assert [
        text for text in shown if "eyJhbGciOi" in text or "said the-secret-key" in text or "and the-secret" in text
    ] == []
    assert all("[redacted]" in text for text in shown)
    assert "chatkey_logins" in (harness.path / "junit.xml").read_text()


def test_a_run_that_is_interrupted_leaves_no_secret_either(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pathlib

        def test_it(new_context, witness, output_path):
            witness.secrets.add("the-secret-key")
            folder = pathlib.Path(output_path)
            folder.mkdir(parents=True)
            (folder / "the-secret-key.txt").write_text("it is the-secret-key")
            (folder / "cut-short.zip").write_bytes(b"PK the-secret-key")
            raise KeyboardInterrupt
        """,
    )

    assert result.ret == pytest.ExitCode.INTERRUPTED
    (left,) = (harness.path / "test-results").rglob("*.*")
    assert (left.name, left.read_text()) == ("[redacted].txt", "it is [redacted]")


def test_a_trace_of_every_test_is_kept_on_request(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(new_context, stack):\n    new_context()", "--tracing", "on")

    result.assert_outcomes(passed=1)
    assert [name.rpartition("/")[2] for name in kept(harness)] == ["trace.zip"]


@pytest.mark.parametrize(
    ("options", "snapshots"),
    [
        (("--tracing", "retain-on-failure"), True),
        (("--tracing", "retain-on-failure", "--chatkey-traces", "steps"), False),
        (("--tracing", "on", "--chatkey-traces", "steps"), True),
    ],
    ids=["full", "steps", "on is full"],
)
def test_a_trace_holds_the_pages_unless_the_steps_are_enough(
    harness: pytest.Pytester, options: tuple[str, ...], snapshots: bool
) -> None:
    code = f"""
        def test_it(new_context, stack):
            assert new_context().tracing.options.get("snapshots", False) is {snapshots}
    """

    run(harness, code, *options).assert_outcomes(passed=1)


@pytest.mark.contract("2.6/memory-only")
def test_a_secret_in_a_servers_output_fails_the_test_and_is_not_shown(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(new_context, witness, stack):
            new_context()
            witness.secrets.add("the-secret-key")
            stack.servers[0].process.text = "oops the-secret-key"
        """,
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*a secret leaked:*", "*a secret of the business in service's output*"])
    result.stdout.no_fnmatch_line("*oops the-secret-key*")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((), ["logins.txt", "servers.txt", "test-failed-1.png", "trace.zip"]),
        (("--tracing=off", "--screenshot", "off"), ["logins.txt", "servers.txt"]),
        (("--tracing", "off"), ["logins.txt", "servers.txt", "test-failed-1.png"]),
        (("-n1",), ["logins.txt", "servers.txt", "test-failed-1.png", "trace.zip"]),
        (("-n1", "--tracing=off", "--screenshot=off"), ["logins.txt", "servers.txt"]),
    ],
    ids=["default", "both off", "no trace", "worker", "worker, both off"],
)
def test_a_failure_keeps_a_trace_and_a_screenshot_unless_the_project_decides_otherwise(
    harness: pytest.Pytester, options: tuple[str, ...], names: list[str]
) -> None:
    """Only for tests that use the harness: the others keep what pytest-playwright's options say."""
    result = run(
        harness,
        """
        def test_ours(new_context, stack):
            new_context()
            stack.servers[0].process.text = "socket.refused"
            assert False

        def test_theirs(new_context):
            new_context()
            assert False
        """,
        *("-p", "xdist", *options),
    )

    result.assert_outcomes(failed=2)
    assert [name.rpartition("/")[2] for name in kept(harness)] == names


def test_an_output_folder_that_cannot_be_written_is_told(harness: pytest.Pytester) -> None:
    (harness.path / "results").write_text("a file, not a folder")

    result = run(
        harness,
        """
        def test_it(new_context, stack):
            stack.servers[0].process.text = "socket.refused"
            assert 1 == 2
        """,
        *("--output", "results/here", "--tracing=off", "--screenshot=off"),
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2", "*servers not saved*", "*Choose a folder with --output.*"])


# the fake provider's faults


def test_a_fault_acts_only_in_the_tests_context_and_is_disarmed_afterwards(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(faults, context, stack):
            rule = faults.arm("code-used", provider="google")
            rule.hits = 1
            (cookie,) = context.cookies
            assert (cookie["name"], cookie["url"]) == ("chatkey_flow", "https://id.localhost:1")
            assert (rule.scope.cookie, rule.scope.provider) == (cookie["value"], "google")

        def test_behind_it(stack):
            assert stack.provider_lab.armed == []
        """,
    )

    result.assert_outcomes(passed=2)


@pytest.mark.contract("D-14/fault-missed")
def test_a_fault_that_is_never_hit_fails_its_test_and_is_disarmed(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(faults):
            faults.arm("code-used", provider="google")

        def test_behind_it(stack):
            assert stack.provider_lab.armed == []
        """,
    )

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["The fault 'code-used' for provider 'google', cookie '*' was armed but never acted.*"])


def test_a_fault_of_the_service_that_is_never_hit_fails_its_test_and_is_disarmed(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_never(stack):
            stack.service_lab.rules = [{"rule": {"action": "close", "where": "ack"}, "hits": 0}]

        def test_hit(stack):
            assert stack.service_lab.rules == []
            stack.service_lab.rules = [{"rule": {"action": "close", "where": "ack"}, "hits": 1}]

        def test_behind_it(stack):
            assert stack.service_lab.rules == []
        """,
    )

    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["The service's fault 'close' at 'ack' was armed and never hit."])


def test_a_failure_is_not_hidden_by_a_fault_that_was_not_hit(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(faults):\n    faults.arm('code-used')\n    assert 1 == 2")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2"])
    result.stdout.no_fnmatch_line("*never hit*")


def test_each_context_has_a_mark_of_its_own(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(new_context, make_faults):
            one, other = (make_faults(new_context()).arm("slow") for _ in range(2))
            one.hits = other.hits = 1
            assert one.scope.cookie != other.scope.cookie
        """,
    )

    result.assert_outcomes(passed=1)


def test_a_failing_report_has_the_timelines_of_the_tests_logins(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(new_context, stack):\n    new_context()\n    assert False")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*login f_1 at google*", "*+1.50 s*token*POST /token*400", "*fault: code-used"])


def test_a_failure_is_reported_even_if_the_fake_has_ended(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import httpx

        def refuse(scope):
            raise httpx.ConnectError("refused")

        def test_it(new_context, stack):
            new_context()
            stack.provider_lab.flows = refuse
            assert 1 == 2
        """,
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2", "*The fake provider's timelines could not be read: refused*"])


# tests that use none of our fixtures


def test_a_test_without_our_fixtures_is_left_unchanged(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        from playwright.sync_api import expect

        def test_theirs(context, browser):
            assert browser.trusts is None
            assert (context.options, hasattr(context, "cookies"), hasattr(context, "timeout")) == ({}, False, False)
            assert expect._timeout is None

        def test_ours(context, browser, stack):
            assert browser.trusts
            assert context.options == {"reduced_motion": "reduce"}
            assert (len(context.cookies), context.timeout) == (1, 7000)
            assert expect._timeout == 7000

        def test_theirs_again(context, browser):
            assert browser.trusts is None
            assert expect._timeout is None
        """,
        "--chatkey-patience=7",
    )

    result.assert_outcomes(passed=3)


def test_options_of_a_test_for_its_context_override_ours(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        def test_an_argument(new_context, stack):
            assert new_context(reduced_motion="no-preference").options == {"reduced_motion": "no-preference"}

        @pytest.mark.browser_context_args(reduced_motion="no-preference", locale="de")
        def test_a_mark(new_context, stack):
            assert new_context().options == {"reduced_motion": "no-preference", "locale": "de"}

        @pytest.mark.parametrize("browser_type_launch_args", [{"ignore_default_args": ["--x"]}], indirect=True)
        def test_a_browser_of_its_own(new_context, browser_type_launch_args, stack):
            assert new_context().options == {}
            assert browser_type_launch_args["ignore_default_args"] == ["--x"]
        """,
    )

    result.assert_outcomes(passed=3)


def test_an_argument_that_the_project_sets_already_is_named(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        @pytest.fixture(scope="session")
        def browser_context_args(browser_context_args):
            return {**browser_context_args, "locale": "de-DE"}

        def test_twice(new_context, stack):
            new_context(locale="fr")

        @pytest.mark.browser_context_args(locale="fr")
        def test_a_mark(new_context, stack):
            assert new_context().options["locale"] == "fr"
        """,
    )

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["new_context(locale='fr'): the fixture browser_context_args*browser_context_args(locale*"]
    )


def test_firefox_ignores_certificate_errors_also_if_the_test_asks_for_it(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(new_context, browser_name, stack):
            wanted = {"reduced_motion": "reduce"}
            if browser_name == "firefox":
                wanted["ignore_https_errors"] = True
            assert new_context().options == wanted
            assert new_context(ignore_https_errors=True).options == {**wanted, "ignore_https_errors": True}
        """,
        *("--browser", "firefox", "--browser", "chromium", "-v"),
    )

    result.assert_outcomes(passed=2)
    result.stdout.re_match_lines_random([r".*test_it\[firefox\] PASSED", r".*test_it\[chromium\] PASSED"])


def test_the_arguments_of_a_further_browser_are_added_to_ours(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        @pytest.fixture(scope="session")
        def browser_type():
            class Type:
                def launch(self, **options):
                    return options

            return Type()

        def test_it(launch_browser, browser_type_launch_args, stack):
            ours = browser_type_launch_args["args"]
            assert any(argument.startswith("--ignore-certificate-errors-spki-list=") for argument in ours)
            launched = launch_browser(args=["--mine"], headless=False)
            assert (launched["args"], launched["headless"]) == ([*ours, "--mine"], False)
            assert launch_browser(channel="chrome")["executable_path"] is None
        """,
    )

    result.assert_outcomes(passed=1)


# tests of a project that are not functions, and fixtures with the names of ours


TEST_CASE = """
    import unittest

    import pytest

    class Chat(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def _given(self, stack, context, browser):
            self.context, self.browser = context, browser

        def test_it(self):
            assert self.browser.trusts
            assert self.context.options == {"reduced_motion": "reduce"}

    class Theirs(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def _given(self, context, browser):
            self.context, self.browser = context, browser

        def test_it(self):
            assert self.browser.trusts is None
            assert self.context.options == {}
"""


def test_a_test_case_gets_a_browser_that_trusts_the_ca(harness: pytest.Pytester) -> None:
    """pytest parametrizes no methods of a TestCase, so trust cannot come from `pytest_generate_tests`."""
    result = run(harness, TEST_CASE)

    result.assert_outcomes(passed=2)


def test_a_failure_of_a_test_case_is_explained(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import unittest

        import pytest
        from playwright.sync_api import TimeoutError

        @pytest.mark.browser_context_args(offline=True)
        class Chat(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _given(self, stack, context):
                pass

            def test_it(self):
                raise TimeoutError("Locator.click: Timeout 30000ms exceeded.")
        """,
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Locator.click: Timeout*", "*This context was opened with offline=True*"])


@pytest.mark.parametrize(
    "code",
    [
        "async def test_it(stack, context):\n    pass",
        """
        import unittest

        import pytest

        class Chat(unittest.IsolatedAsyncioTestCase):
            @pytest.fixture(autouse=True)
            def _given(self, stack, context):
                pass

            async def test_it(self):
                pass
        """,
    ],
    ids=["function", "test case"],
)
def test_an_asynchronous_test_is_refused_with_what_to_write(harness: pytest.Pytester, code: str) -> None:
    result = run(harness, code)

    assert "passed" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*test_it is asynchronous, but uses fixtures of the harness*"])


def test_an_asynchronous_test_of_the_project_is_left_alone(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import unittest

        class Theirs(unittest.IsolatedAsyncioTestCase):
            async def test_it(self):
                pass
        """,
    )

    result.assert_outcomes(passed=1)


def test_a_fixture_stack_of_the_project_is_theirs(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        @pytest.fixture
        def stack():
            return ["theirs"]

        def test_it(stack, context, browser):
            assert stack == ["theirs"]
            assert browser.trusts is None
            assert context.options == {}
        """,
    )

    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("name", "asked", "wanted"),
    [
        ("stack", "witness", "chatkey_stack.stack.Stack"),
        ("business", "shop", "chatkey_e2e.business.Business"),
        ("page", "shop", "playwright.sync_api._generated.Page"),
        ("shop", "widget", "chatkey_e2e.pages.shop.ShopPage"),
    ],
)
def test_a_fixture_that_takes_a_name_of_ours_is_named(
    harness: pytest.Pytester, name: str, asked: str, wanted: str
) -> None:
    code = f"""
        import pytest
        from chatkey_e2e.business import Business
        from playwright.sync_api import Page

        @pytest.fixture
        def page():
            return object.__new__(Page)

        @pytest.fixture
        def business():
            return object.__new__(Business)

        @pytest.fixture
        def {name}():
            return {{"name": "theirs"}}

        def test_it({asked}):
            pass
    """

    result = run(harness, code)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [f"The fixture '{name}' of test_*.py:* returned a dict, but the harness needs a {wanted}*"]
    )


def test_faults_for_a_context_that_is_not_watched_are_refused(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        @pytest.fixture
        def context(browser):
            return browser.new_context()

        def test_it(faults):
            pass
        """,
    )

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["The harness does not watch this context*new_context*"])


def test_the_patience_governs_the_start_of_the_servers(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest("from chatkey_e2e.overrides import *")
    pytester.makepyfile("def test_it(stack):\n    pass")

    result = pytester.runpytest_subprocess("-p", "playwright", "--chatkey-patience", "0.05")

    assert result.ret == Exit.NOT_STARTED
    result.stdout.fnmatch_lines(
        ["*The stack could not start: service *within 0.05 s*the load of this machine*--chatkey-patience 0.1 in*"]
    )


def test_a_conftest_of_a_subfolder_works_with_the_plugin_in_the_settings(harness: pytest.Pytester) -> None:
    """pytest refuses `pytest_plugins` in a conftest.py that is not the top-most one."""
    folder = harness.mkdir("chat")
    (harness.path / "conftest.py").rename(folder / "conftest.py")
    (folder / "test_it.py").write_text("def test_it(stack, browser):\n    assert browser.trusts")
    harness.makeini("[pytest]\naddopts = -p chatkey_e2e.plugin")

    result = harness.runpytest_subprocess("-p", "playwright", "-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)


def test_without_pytest_playwright_the_line_to_type_is_told(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from chatkey_e2e.overrides import *")

    result = pytester.runpytest_subprocess("-p", "no:playwright")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*needs pytest-playwright, which is disabled.*no:playwright-asyncio*"])
