"""Tests faults of the page's `getToken` and its backend: the page gets a specific error, and the visitor can chat."""

from typing import Any

import jwt
import pytest

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance
from chatkey_e2e.witness import claims_of

pytestmark = pytest.mark.long

TOKEN_URL = "**/chat/token"

WRONG = {
    "() => undefined": ("token_wrong_type", "undefined"),
    "async () => { }": ("token_wrong_type", "is a return statement missing?"),
    "async () => ({ token: 'a.b.c' })": ("token_wrong_type", "return data.token"),
    "async () => ['a.b.c']": ("token_wrong_type", "an object instead"),
    "async () => 42": ("token_wrong_type", "a number"),
    "async () => false": ("token_wrong_type", "a boolean"),
    "async () => ''": ("token_empty", "empty"),
    "async () => 'undefined'": ("token_malformed", "'undefined'"),
    "async () => `${{}}`": ("token_malformed", "converted to a string"),
    'async () => \'{"token": "a.b.c"}\'': ("token_malformed", "encoded twice"),
    "() => { throw new Error('before any promise'); }": ("gettoken_failed", "before any promise"),
    "() => Promise.reject(new Error('a promise of none'))": ("gettoken_failed", "a promise of none"),
    "() => Promise.reject()": ("gettoken_failed", "getToken failed: undefined"),
    "() => ({ then: (_, reject) => reject('no real promise') })": ("gettoken_failed", "no real promise"),
}
"""Faulty `getToken` functions, with the error code and words that the page gets."""

NO_FUNCTIONS = ("'/chat/token'", "undefined", "class { }", "{ }", "0")


def let_get_token_be(widget: WidgetPage, function: str) -> None:
    """Replace the page's `getToken` from now on."""
    widget.page.evaluate(f"() => {{ ServiceConfig.getToken = {function}; }}")


def start_anew(widget: WidgetPage, script: str) -> None:
    """Shut down the page's widget, run a script that can use `providerId`, and wait for the new widget."""
    widget.page.evaluate(f"() => {{ const {{ providerId }} = ServiceConfig; Service.shutdown(); {script} }}")
    widget.wait_ready()


def wait_to_be_told(widget: WidgetPage, code: str, words: str) -> dict[str, Any]:
    """Wait for an error with this code and these words in the message, and return the error."""
    widget.page.wait_for_function(
        """([code, words]) => window.Service?.debug().events
            .some(({ name, detail }) => name === "error" && detail.code === code && detail.message.includes(words))""",
        arg=[code, words],
    )
    return next(error for error in widget.events("error") if error["code"] == code and words in error["message"])


def chats_on(widget: WidgetPage, uid: str) -> None:
    """Check that the widget still has this visitor, who can send a message."""
    widget.send("I am still here")
    assert (widget.identity["identity"], widget.uid) == ("visitor", uid)


@pytest.mark.contract("D-12/get-token-bounds", "D-12/always-chat", "3/get-token-failed")
def test_whatever_get_token_does_instead_is_named(shop: ShopPage, business: Business) -> None:
    """F031, F032, F033, F034, F036, F037, WDG-006: a wrong result must cause an error that names the right value."""
    widget = shop.open()
    uid = widget.uid

    for function, (code, words) in WRONG.items():
        let_get_token_be(widget, function)
        widget.refresh_identity()
        error = wait_to_be_told(widget, code, words)
        assert error["phase"] == "getToken"
        assert "null" in error["remediation"]
        assert error["retryable"] is (code == "gettoken_failed")

    chats_on(widget, uid)
    assert widget.stored(business.storage_key) is None


@pytest.mark.contract("3/get-token", "3/get-token-null")
def test_a_value_is_as_good_as_a_promise(shop: ShopPage, business: Business) -> None:
    """F030, F035: `getToken` may return a token or null directly, without a promise."""
    widget = shop.open()
    now = business.stack.service_lab.now()
    token = business.mint(now=now, uid="u-1", cnf={"jkt": widget.jkt})

    widget.page.evaluate("(token) => { ServiceConfig.getToken = () => token; Service.refreshIdentity(); }", token)
    widget.wait_for("member")
    let_get_token_be(widget, "() => null")
    widget.refresh_identity()
    widget.wait_for("visitor")

    assert widget.events("token:received") == [{"uid": "u-1", "expires_at": int(now) + 3600}]
    assert widget.events("error") == []


@pytest.mark.contract("D-12/get-token-bounds", "4.8/get-token-argument")
def test_a_promise_that_does_not_settle_is_given_up_and_what_it_brings_later_ignored(
    page_time: Advance, shop: ShopPage, business: Business
) -> None:
    """F038, F039: `signal` must fire after ten seconds, and a token that arrives later must be ignored."""
    widget = shop.open()
    widget.wait_for_event("token:none")
    uid = widget.uid
    late = business.mint(now=business.stack.service_lab.now(), uid="u-1", cnf={"jkt": widget.jkt})
    let_get_token_be(
        widget,
        "({ signal }) => window.asked ? null : new Promise((resolve) => { window.asked = { signal, resolve }; })",
    )
    widget.refresh_identity()
    widget.page.wait_for_function("() => window.asked")
    given_up_at_once = widget.page.evaluate("() => asked.signal.aborted")

    page_time(10)
    widget.wait_for_error("gettoken_timeout")
    given_up = widget.page.evaluate("(token) => { asked.resolve(token); return asked.signal.aborted; }", late)
    page_time(2)
    widget.wait_for_event("token:none", count=2)  # getToken is called again, and answers

    assert (given_up_at_once, given_up) == (False, True)
    assert widget.events("token:received") == []
    chats_on(widget, uid)


@pytest.mark.contract("4.8/config", "D-12/always-chat")
def test_a_get_token_that_cannot_be_called_is_told_at_the_start(shop: ShopPage) -> None:
    """F048: a `getToken` that is not a function must cause an error when the widget starts. null counts as missing."""
    widget = shop.open()
    uid = widget.uid

    for value in NO_FUNCTIONS:
        start_anew(widget, f"initService({{ providerId, getToken: {value} }});")
        (error,) = widget.events("error")
        assert (error["code"], error["phase"]) == ("config_invalid", "start")
        assert "getToken must be a function" in error["message"]
        assert widget.uid == uid
    start_anew(widget, "initService({ providerId, getToken: null });")

    assert widget.events("error") == []
    chats_on(widget, uid)


@pytest.mark.contract("D-12/tabs", "D-12/handle")
def test_a_page_that_starts_the_widget_twice_is_asked_once(shop: ShopPage) -> None:
    """F042, WDG-008: two simultaneous `initService()` or `refreshIdentity()` calls must cause one `getToken` call."""
    widget = shop.open()

    start_anew(
        widget,
        """window.calls = 0;
        const config = () => ({ providerId, getToken: async () => { calls += 1; return null; } });
        initService(config());
        initService(config());""",
    )
    widget.wait_for_event("token:none")
    at_the_start = widget.page.evaluate("() => calls")
    with widget.expect_event("token:none"):
        widget.page.evaluate("() => { Service.refreshIdentity(); Service.refreshIdentity(); }")

    assert at_the_start == 1
    assert widget.page.evaluate("() => calls") == 2


@pytest.mark.contract("3/get-token-null", "3/get-token-failed", "D-12/no-hammering")
def test_the_snippet_reads_its_backends_answers_as_they_are_meant(shop: ShopPage, business: Business) -> None:
    """F041: 401 and 403 mean that nobody is signed in. 5xx, 429 and a redirect to a page must be retried."""
    answer: dict[str, Any] = {}
    shop.page.route(TOKEN_URL, lambda route: route.fulfill(**answer))
    answer.update(status=401)
    widget = shop.open()
    uid = widget.uid
    widget.wait_for_event("token:none")

    answer.update(status=403)
    with widget.expect_event("token:none"):
        widget.refresh_identity()
    errors_by_then = widget.events("error")
    for status, headers, words in (
        (500, {}, "answered 500"),
        (429, {"retry-after": "30"}, "answered 429"),
        (302, {"location": business.url}, "SyntaxError"),  # a redirect to an HTML page instead of JSON
    ):
        answer.update(status=status, headers=headers)
        widget.refresh_identity()
        wait_to_be_told(widget, "gettoken_failed", words)

    widget.page.wait_for_function(
        """() => Service.debug().events.some(({ name, detail }) => name === "token:requested" && detail.attempt > 1)"""
    )

    assert errors_by_then == []
    chats_on(widget, uid)


@pytest.mark.contract("4.7/request", "D-12/always-chat")
def test_a_backend_on_another_origin_is_a_failing_one(shop: ShopPage, business: Business) -> None:
    """F050: if the browser blocks a cross-origin backend, `getToken` must fail, and the visitor can chat."""
    widget = shop.open()
    uid = widget.uid
    shop.sign_in()
    elsewhere = f"{business.url.replace(business.origin, business.stack.site.local_url)}chat/token"

    let_get_token_be(
        widget,
        f"""async ({{ jkt }}) => {{
            const body = JSON.stringify({{ jkt }}), headers = {{ "Content-Type": "application/json" }};
            const answer = await fetch("{elsewhere}", {{ method: "POST", credentials: "include", headers, body }});
            return (await answer.json()).token;
        }}""",
    )
    widget.logout()
    widget.refresh_identity()
    error = wait_to_be_told(widget, "gettoken_failed", "TypeError")

    assert error["retryable"]
    chats_on(widget, uid)


@pytest.mark.contract("D-05/rotation", "D-12/no-hammering", "2.8/member-token-key")
def test_a_cached_token_under_a_secret_that_was_rotated_is_replaced(shop: ShopPage, business: Business) -> None:
    """F112, F113: after a secret rotation, one call must replace the cached token.

    The member must not become a visitor.
    """
    widget = shop.open()
    claims = claims_of(shop.sign_in().stored(business.storage_key) or "")
    calls, old = business.token_calls, jwt.encode(claims, "the secret of before, in no less than 32 bytes")
    widget.page.evaluate("([key, old]) => localStorage.setItem(key, old)", [business.storage_key, old])

    shop.reload()

    assert [error["code"] for error in widget.events("error")] == ["token_signature"]
    assert [changed["identity"] for changed in widget.events("identity:changed")] == ["member"]
    assert widget.stored(business.storage_key) not in {old, None}
    assert business.token_calls == calls + 1
