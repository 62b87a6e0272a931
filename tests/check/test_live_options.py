"""Tests of the last part of a run: its options, its plan, and the addresses that the browser uses."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatkey_check.command.invocation import Invocation
from chatkey_check.command.plan import plan
from chatkey_check.live.browser import launch, login
from chatkey_check.live.service import ReferenceServer
from chatkey_check.options.table import Given
from chatkey_check.options.target import target
from chatkey_check.running.known import Known
from chatkey_check.target import BrowserMissing, LiveOptions, Login, OptionError, Target

URL = "https://shop.localhost/chat/token"
GIVEN = Given(url=URL)


def planned(given: Target) -> Counter[str]:
    """Return how often a run would send each request, by label."""
    made = plan(given)
    assert [o for o in made.report.outcomes if o.verdict not in {"pass", "skip"}] == []
    return Counter(request.label for request in made.requests)


def test_the_live_options_are_read() -> None:
    sdk = "https://cdn.localhost/sdk.js"
    given = Given(url=URL, service_url="https://chat.localhost/", sdk_url=sdk, browser=True, results=Path("kept"))

    assert target(given).live == LiveOptions("https://chat.localhost", sdk, browser=True, results=Path("kept"))


def test_a_login_by_hand_implies_the_browser() -> None:
    assert target(Given(url=URL, socket=True, browser_login=True)).live == LiveOptions(browser=True, by_hand=True)


@pytest.mark.parametrize("given", [{"browser": True}, {"browser_login": True}])
def test_a_browser_that_nothing_installed_can_drive_is_refused_with_what_to_type(
    given: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatkey_check.options.target.find_spec", lambda name: None)

    with pytest.raises(BrowserMissing, match=r"not installed: pip install 'chatkey\[browser\]'$"):
        target(Given(url=URL, **given))

    assert target(Given(url=URL)).live == LiveOptions()


def test_with_no_socket_there_are_no_live_options() -> None:
    assert target(Given(url=URL, socket=False)).live is None


@pytest.mark.parametrize(
    "given", [{"browser": True}, {"browser_login": True}, {"service_url": "https://chat.localhost"}]
)
def test_options_that_need_a_socket_are_refused_with_no_socket(given: Any) -> None:
    with pytest.raises(OptionError, match=r"^--no-socket cannot be combined with --service-url or --browser"):
        target(Given(url=URL, socket=False, **given))


@pytest.mark.parametrize(
    "given", [{"login": ("Cookie: sid=1",)}, {"login_url": "https://shop.localhost/login", "login_field": ("a=b",)}]
)
def test_a_login_by_hand_is_the_only_first_login(given: Any) -> None:
    with pytest.raises(OptionError, match=r"^--browser-login cannot be combined with --login or --login-field"):
        target(Given(url=URL, socket=True, browser_login=True, **given))


def test_a_second_login_may_stand_beside_a_login_by_hand() -> None:
    given = Given(url=URL, socket=True, browser_login=True, login_b=("Cookie: sid=2",))

    assert target(given).login_b is not None


@pytest.mark.parametrize("address", ["https://chat.localhost/v1", "chat.localhost"])
def test_the_address_of_a_service_is_an_origin(address: str) -> None:
    with pytest.raises(OptionError, match=r"^--service-url must be an "):
        target(Given(url=URL, socket=True, service_url=address))


@pytest.mark.parametrize("given", [{"browser": True}, {"service_url": "https://chat.localhost"}, {}])
def test_a_script_is_for_a_widget_at_a_service_that_is_named(given: Any) -> None:
    with pytest.raises(OptionError, match=r"^--sdk-url needs --browser and --service-url"):
        target(Given(url=URL, sdk_url="https://cdn.localhost/sdk.js", **given))


def test_with_a_service_on_another_machine_the_run_is_not_local() -> None:
    """The service receives tokens, so a remote service needs the same permission as a remote endpoint."""
    elsewhere = Given(url=URL, service_url="https://chat.localhost", sdk_url="https://cdn.example/sdk.js", browser=True)

    assert not target(elsewhere).local
    assert not target(Given(url=URL, socket=True, service_url="https://chat.example")).local
    assert target(Given(url=URL, socket=True, service_url="https://chat.localhost")).local


@pytest.fixture
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if a server or a browser is started."""

    def starting(*_: object) -> None:
        pytest.fail("a plan starts nothing")

    monkeypatch.setattr(ReferenceServer, "begin", starting)
    monkeypatch.setattr(launch, "launched", starting)


@pytest.mark.usefixtures("nothing_starts")
def test_the_plan_contains_the_calls_of_the_live_checks_and_starts_nothing(target: Target) -> None:
    without = planned(target)
    with_socket = planned(replace(target, live=LiveOptions()))
    paged = replace(target, page_url=f"{target.origin}/page")
    with_page = planned(replace(paged, live=LiveOptions()))
    with_browser = planned(replace(paged, live=LiveOptions(browser=True)))

    assert with_socket - without == Counter({"the call with a new key's fingerprint": 1})
    assert with_page - with_socket == Counter({"a visitor opens a page of the site": 1, "the page with the widget": 1})
    assert with_browser - with_page == Counter({"the page, for the browser": 2, "the widget's call, in the browser": 2})


def test_a_login_by_hand_comes_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The login by hand happens only if the options ask for it."""
    monkeypatch.setattr(login, "logged_in", lambda given: replace(given, login=Login((("Cookie", "sid=9"),))))
    by_hand = Target(URL, live=LiveOptions(browser=True, by_hand=True))

    asked = Invocation(GIVEN, by_hand, Known()).with_login_by_hand()
    not_asked = Invocation(GIVEN, Target(URL, live=LiveOptions(browser=True)), Known()).with_login_by_hand()

    assert asked.target.login == Login((("Cookie", "sid=9"),))
    assert not_asked.target.login is None


def test_the_browser_finds_hosts_where_the_checker_finds_them() -> None:
    given = Target(URL, connect_to={"shop.localhost": "127.0.0.1", "chat.example": "::1"})
    rule = "--host-resolver-rules=MAP shop.localhost 127.0.0.1,MAP chat.example [::1]"

    assert list(launch.addresses(given)) == [rule]
    assert list(launch.addresses(Target(URL))) == []
