"""The pytest plugin: what it keeps of a failure, and that a leaked token fails the test that leaked it."""

import pytest

import chatkey_e2e.plugin  # noqa: F401  (loaded here, so that no inner run has to)

pytest_plugins = ["pytester"]

STAND_INS = """
import zipfile
from types import SimpleNamespace

import chatkey_e2e.plugin  # noqa: F401  (loaded here, so that no inner run has to)
import pytest

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

    def set_default_timeout(self, milliseconds):
        pass

    def close(self):
        self.closed = True


@pytest.fixture(scope="session")
def stack():
    return SimpleNamespace(servers=[SimpleNamespace(process=Process())])


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
