"""Stand-ins for the stack and the browser, and helpers for tests of the plugin."""

import pytest

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


LOADED = ("-p", "playwright", "-p", "chatkey.pytest_plugin", "-p", "no:cacheprovider")


def run(harness: pytest.Pytester, code: str, *args: str) -> pytest.RunResult:
    harness.makepyfile(code)
    return harness.runpytest_subprocess(*LOADED, *args)


def kept(harness: pytest.Pytester) -> list[str]:
    results = harness.path / "test-results"
    return sorted(str(path.relative_to(results)) for path in results.rglob("*") if path.is_file())
