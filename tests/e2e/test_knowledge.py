"""Tests of the notes that explain a failure."""

import json
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from playwright.sync_api import Error, Page, Request
from playwright.sync_api import TimeoutError as TimedOut

from chatkey_e2e import knowledge
from chatkey_e2e.knowledge import widget_state
from chatkey_e2e.pages.widget import WidgetPage

REFUSED = {
    "boot": "running",
    "stage": "stopped",
    "identity": None,
    "error": {"code": "origin_refused", "message": "This page is not registered.", "remediation": "Register it."},
    "closed": {"code": 4403, "reason": "origin_refused"},
}
SAID = (
    "The widget of https://shop.localhost/ is at the stage 'stopped', and has not connected yet. "
    "Its last error is 'origin_refused': This page is not registered. Register it. "
    "Its last socket was closed with 4403 (origin_refused)."
)


@dataclass
class FakePage:
    """A page that answers with `known`, or never."""

    known: dict[str, Any] | None = field(default_factory=lambda: {"configured": False})
    url: str = "https://shop.localhost/?a=secret"

    def is_closed(self) -> bool:
        return False

    def wait_for_function(self, script: str, **options: object) -> "FakePage":
        if script != knowledge.READ or self.known is None:
            raise TimedOut("Page.wait_for_function: Timeout 30000ms exceeded.")
        return self

    def json_value(self) -> str:
        return json.dumps(self.known)


@dataclass
class FakeRequest:
    url: str
    failure: str | None
    method: str = "GET"


def page(known: dict[str, Any] | None) -> Page:
    return cast("Page", FakePage(known))


def explained(error: BaseException, *pages: Page, failures: tuple[str, ...] = (), **asked: object) -> list[str]:
    requests = [cast("Request", FakeRequest(f"https://chat.localhost/assets/sdk.js?{why}", why)) for why in failures]
    knowledge.explain(error, pages, requests, asked)
    return getattr(error, "__notes__", [])


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (REFUSED, SAID),
        (
            {"boot": "running", "stage": "ready", "identity": "member"},
            (
                "The widget of https://shop.localhost/ is at the stage 'ready', as a member. It has reported no error. "
                "None of its sockets was closed."
            ),
        ),
        (
            {"boot": "failed", "error": {"code": "boot_failed", "message": "It failed.", "remediation": "Look."}},
            (
                "The widget of https://shop.localhost/ has not started: its boot is 'failed'. "
                "Its last error is 'boot_failed': It failed. Look. None of its sockets was closed."
            ),
        ),
        ({"configured": True}, "The page https://shop.localhost/ has a ServiceConfig, but sdk.js has not run."),
        ({"configured": False}, ""),
        (None, "The page https://shop.localhost/ did not say what its widget knows within 3 s."),
    ],
    ids=["refused", "connected", "not started", "no script", "no widget", "hangs"],
)
def test_the_state_of_a_widget(known: dict[str, Any] | None, said: str) -> None:
    assert widget_state(page(known)) == said


def test_a_time_out_quotes_what_the_widget_knows() -> None:
    with pytest.raises(TimedOut) as caught:
        WidgetPage(page(REFUSED)).wait_for("member")

    assert str(caught.value) == f"Page.wait_for_function: Timeout 30000ms exceeded.\n{SAID}"


@pytest.mark.parametrize(
    "error",
    [
        TimedOut("Locator.click: Timeout 30000ms exceeded."),
        AssertionError("Locator expected to be visible\nActual value: None"),
        ExceptionGroup("Soft assertion failures", [AssertionError("Locator\nCall log:\n- waiting")]),
    ],
    ids=["an action", "an expectation", "soft expectations"],
)
def test_a_failure_of_playwright_is_explained(error: BaseException) -> None:
    assert explained(error, page(REFUSED), page({"configured": False})) == [SAID]


def test_a_state_that_the_message_quotes_is_not_repeated() -> None:
    assert explained(TimedOut(f"Timeout\n{SAID}"), page(REFUSED)) == []


def test_an_assertion_of_the_test_is_not_explained() -> None:
    assert explained(AssertionError("assert 1 == 2"), page(REFUSED), offline=True) == []


def test_requests_that_failed_are_named_without_their_query() -> None:
    notes = explained(TimedOut("Timeout"), failures=("net::ERR_FAILED", "net::ERR_ABORTED", "net::ERR_FAILED"))

    assert notes == ["GET https://chat.localhost/assets/sdk.js failed: net::ERR_FAILED."]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"offline": True}, "opened with offline=True"),
        ({"java_script_enabled": False}, "opened with java_script_enabled=False"),
        ({"extra_http_headers": {"X-House": "hidden"}}, "opened with extra_http_headers={'X-House'}"),
        ({"proxy": {"server": "http://me:hidden@proxy.example:3128"}}, "proxy='http://proxy.example:3128'"),
    ],
)
def test_a_setting_that_may_be_the_cause_is_named_without_its_secrets(asked: dict[str, Any], told: str) -> None:
    notes = explained(TimedOut("Timeout"), failures=("net::ERR_FAILED",), **asked)

    assert len(notes) == 2
    assert told in notes[1]
    assert "hidden" not in notes[1]


def test_a_time_out_on_a_page_without_a_widget_says_so() -> None:
    with pytest.raises(TimedOut, match=r"The page https://shop\.localhost/ has no widget\."):
        WidgetPage(page({"configured": False})).wait_ready()


def test_an_asynchronous_test_after_playwright_is_explained() -> None:
    error = RuntimeError("Runner.run() cannot be called from a running event loop")

    knowledge.explain_loop(error)

    assert error.__notes__ == [knowledge.LOOP]


def test_a_browser_that_does_not_trust_the_ca_is_explained() -> None:
    notes = explained(Error("Page.goto: net::ERR_CERT_AUTHORITY_INVALID at https://shop.localhost:1/"))

    assert len(notes) == 1
    assert "usefixtures" in notes[0]
