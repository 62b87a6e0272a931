"""The pytest plugin: what it keeps of a failure, and that a leaked token fails the test that leaked it."""

import pytest

from chatkey_e2e import plugin  # loaded here, so that no inner run has to

pytest_plugins = ["pytester"]

STAND_INS = """
import zipfile
from types import SimpleNamespace

import chatkey_e2e.plugin  # noqa: F401  (loaded here, so that no inner run has to)
import pytest
from chatkey_oauth.client import Flow, Leg, Rule, Step

pytest_plugins = ["chatkey_e2e.plugin"]
TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJ0eXBlIjoidXNlciJ9.c2lnbmF0dXJl"


class Process:
    name, mark, text = "service", 0, ""

    def check(self):
        pass

    def output(self, since):
        return self.text


class Tracing:
    def start(self, **options):
        pass

    def stop(self, path=None):
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("trace.network", TOKEN)


class Page:
    url = "about:blank"

    def is_closed(self):
        return False

    def screenshot(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"png")


class Context:
    def __init__(self, **options):
        self.tracing, self.pages, self.closed = Tracing(), [Page()], False

    def on(self, name, listener):
        pass

    def expose_binding(self, name, listener):
        pass

    def add_init_script(self, script):
        pass

    def set_default_timeout(self, milliseconds):
        pass

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


@pytest.fixture(scope="session")
def stack():
    return SimpleNamespace(
        servers=[SimpleNamespace(process=Process())],
        provider=SimpleNamespace(browser_url="https://id.localhost:1"),
        provider_lab=Lab(),
    )


@pytest.fixture(scope="session")
def browser():
    return SimpleNamespace(new_context=Context, browser_type=SimpleNamespace(name="chromium"))
"""


@pytest.fixture
def harness(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(STAND_INS)
    return pytester


def run(harness: pytest.Pytester, code: str, *args: str) -> pytest.RunResult:
    harness.makepyfile(code)
    return harness.runpytest_inprocess("-p", "no:cacheprovider", *args)


def kept(harness: pytest.Pytester) -> list[str]:
    results = harness.path / "e2e-results"
    return sorted(str(path.relative_to(results)) for path in results.rglob("*") if path.is_file())


def test_a_test_that_passes_leaves_nothing_behind(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(make_context):\n    make_context()")

    result.assert_outcomes(passed=1)
    assert kept(harness) == []


def test_a_failure_keeps_a_redacted_trace_and_a_screenshot_and_the_servers_output(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(make_context, stack):
            make_context()
            stack.servers[0].process.text = "socket.refused code=proof_ath"
            assert False
        """,
    )

    folder = "test_a_failure_keeps_a_redacted_trace_and_a_screenshot_and_the_servers_output.py-test_it"
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*output of service*", "socket.refused code=proof_ath"])
    assert kept(harness) == [f"{folder}/context-1-page-1.png", f"{folder}/trace-1.zip"]


def test_a_trace_of_every_test_is_kept_on_request(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(make_context):\n    make_context()", "--chatkey-trace", "on")

    result.assert_outcomes(passed=1)
    assert [name.rpartition("/")[2] for name in kept(harness)] == ["trace-1.zip"]


@pytest.mark.contract("2.6/memory-only")
def test_a_secret_in_a_servers_output_fails_the_test_and_is_not_shown(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(make_context, witness, stack):
            make_context()
            witness.secrets.add("the-secret-key")
            stack.servers[0].process.text = "oops the-secret-key"
        """,
    )

    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*a secret is where it must not be:*", "*a secret of the business in service's output*"]
    )
    result.stdout.no_fnmatch_line("*oops the-secret-key*")


# the fake provider's faults


def test_a_fault_that_is_hit_is_for_the_tests_own_context_and_gone_behind_it(harness: pytest.Pytester) -> None:
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
def test_a_fault_that_is_never_hit_fails_the_test_that_armed_it_and_is_gone_too(harness: pytest.Pytester) -> None:
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
    result.stdout.fnmatch_lines(["The fault 'code-used' for provider 'google', cookie '*' was armed and never hit.*"])


def test_a_failure_is_not_hidden_by_a_fault_that_was_not_hit(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(faults):\n    faults.arm('code-used')\n    assert 1 == 2")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2"])
    result.stdout.no_fnmatch_line("*never hit*")


def test_each_context_has_a_mark_of_its_own(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(make_context, make_faults):
            one, other = (make_faults(make_context()).arm("slow") for _ in range(2))
            one.hits = other.hits = 1
            assert one.scope.cookie != other.scope.cookie
        """,
    )

    result.assert_outcomes(passed=1)


def test_a_failing_report_has_the_timelines_of_the_tests_logins(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(make_context):\n    make_context()\n    assert False")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*login f_1 at google*", "*+1.50 s*token*POST /token*400", "*fault: code-used"])


def test_a_fake_that_has_ended_does_not_hide_the_failure(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import httpx

        def refuse(scope):
            raise httpx.ConnectError("refused")

        def test_it(make_context, stack):
            make_context()
            stack.provider_lab.flows = refuse
            assert 1 == 2
        """,
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2", "*The fake provider does not tell: refused*"])


def test_a_results_folder_is_one_folder_whatever_the_parameters_are() -> None:
    name = plugin._folder_name("scenarios/test_popup.py::test_start[/v1/o?a=b]")

    assert name == "test_popup.py-test_start-v1-o-a-b"
