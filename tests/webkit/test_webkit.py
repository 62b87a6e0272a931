"""Tests of the most important behaviour of the widget in WebKitGTK, whose engine Safari also uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from chatkey_protocol.storage_keys import DATABASE, RECORD, STORE

if TYPE_CHECKING:
    from tests.webkit.conftest import MakeBusiness
    from tests.webkit.driven import Tab

    from chatkey_e2e.business import Business
    from chatkey_stack.stack import Stack

EXPORT = """
const [database, store, record, done] = arguments;
const opening = indexedDB.open(database);
opening.onsuccess = () => {
  const reading = opening.result.transaction(store).objectStore(store).get(record);
  reading.onsuccess = () => crypto.subtle.exportKey("jwk", reading.result.privateKey)
    .then(() => done("exported"), (error) => done(error.name));
};
"""
WITHOUT_SNAPSHOT = """
const served = window.fetch;
window.fetch = (url, ...more) => served(String(url).replace(/\\.snapshot$/, ".gone"), ...more);
const script = Object.assign(document.createElement("script"), { src: arguments[0] });
window.ServiceConfig = { providerId: arguments[1] };
document.body.append(script);
"""


def test_a_visitor_starts_from_the_snapshot_and_keeps_the_key(tab: Tab, business: Business) -> None:
    tab.open(business.url)
    uid = tab.uid

    tab.reload()

    assert tab.uid == uid
    assert uid.startswith("v_")
    assert tab.debug()["boot"]["from"] == "snapshot"


def test_the_private_key_cannot_be_exported(tab: Tab, business: Business) -> None:
    tab.open(business.url)

    outcome = tab.driver.execute_async_script(EXPORT, DATABASE, STORE, RECORD)

    assert outcome == "InvalidAccessError"


def test_without_the_snapshot_the_widget_starts_from_its_sources(tab: Tab, business: Business) -> None:
    tab.driver.get(business.url.replace(business.slug, "health"))

    tab.run(WITHOUT_SNAPSHOT, f"{business.stack.service.browser_url}/assets/sdk.js", business.provider.id)
    tab.until("return ['running', 'failed'].includes(window.Service?.debug().boot.state)")

    assert tab.debug()["boot"]["from"] == "sources"


def test_a_message_goes_to_the_agent_and_an_answer_comes_back(tab: Tab, business: Business, stack: Stack) -> None:
    tab.open(business.url)
    tab.send("Is the moss cup for tea?")
    shop, title = tab.driver.current_window_handle, f"Visitor {tab.uid[2:8]}"

    tab.driver.switch_to.new_window("window")
    tab.driver.get(f"{stack.service.browser_url}/agent")
    tab.press_in_page("Continue as lab agent")
    tab.until("return document.querySelector('nav')?.innerText.includes(arguments[0])", title)
    tab.press_in_page(title)
    tab.until("return document.querySelector('main textarea')").send_keys("It is for coffee.")
    tab.press_in_page("Send")
    tab.driver.switch_to.window(shop)

    assert tab.lines(2) == ["Is the moss cup for tea?", "It is for coffee."]


def test_a_customer_of_the_shop_is_the_member_also_after_a_reload(tab: Tab, business: Business) -> None:
    tab.open(business.url)
    visitor = tab.uid

    tab.press_in_page("Ada")
    tab.wait_for("member")
    member = tab.uid
    tab.reload()
    kept, calls = tab.uid, business.token_calls
    tab.run("Service.logout()")
    tab.wait_for("visitor")

    assert kept == member
    assert calls <= 2
    assert tab.uid == visitor


def test_a_social_login_by_popup(tab: Tab, make_business: MakeBusiness) -> None:
    business = make_business(get_token=False, service_keys=["google"])
    tab.open(business.url)

    shop = tab.sign_in_with("Google")
    tab.press_in_page("Continue")
    tab.driver.switch_to.window(shop)
    tab.wait_for("member")
    member = tab.uid
    tab.reload()

    assert member.startswith("google:")
    assert tab.uid == member


def test_a_declined_social_login_is_reported(tab: Tab, make_business: MakeBusiness) -> None:
    business = make_business(get_token=False, service_keys=["google"])
    tab.open(business.url)

    shop = tab.sign_in_with("Google")
    tab.press_in_page("Cancel")
    tab.driver.switch_to.window(shop)

    tab.wait_for_error("oauth_denied")


def test_a_closed_sign_in_window_is_reported(tab: Tab, make_business: MakeBusiness) -> None:
    business = make_business(get_token=False, service_keys=["google"])
    tab.open(business.url)

    shop = tab.sign_in_with("Google")
    tab.until("return document.readyState === 'complete' && location.href !== 'about:blank'")
    tab.driver.switch_to.window(shop)
    tab.until("return (Service.debug().counters['oauth:opened'] ?? 0) > 0")
    popup = next(handle for handle in tab.driver.window_handles if handle != shop)
    tab.driver.switch_to.window(popup)
    tab.driver.close()
    tab.driver.switch_to.window(shop)

    tab.wait_for_error("popup_closed")


@pytest.mark.parametrize("identity", ["visitor", "member"])
def test_a_logout_is_followed_in_the_other_tab(tab: Tab, business: Business, identity: str) -> None:
    tab.open(business.url)
    if identity == "member":
        tab.press_in_page("Ada")
        tab.wait_for("member")
    first = tab.driver.current_window_handle
    tab.driver.switch_to.new_window("tab")
    tab.open(business.url)
    tab.wait_for(identity)

    tab.run("Service.logout()")
    tab.wait_for("visitor")
    visitor = tab.uid
    tab.driver.switch_to.window(first)
    tab.wait_for("visitor")

    assert tab.uid == visitor


def test_a_connection_that_was_lost_comes_back_with_its_message(tab: Tab, business: Business, stack: Stack) -> None:
    tab.open(business.url)
    tab.send("before")
    stack.service_lab.arm(where="ack", action="close", code=1012)

    tab.send("once only")

    assert tab.lines(2) == ["before", "once only"]
    assert tab.counted("socket:ready") == 2


def test_a_service_that_was_away_is_found_again(tab: Tab, business: Business, stack: Stack) -> None:
    tab.open(business.url)
    uid = tab.uid

    stack.service.process.stop()
    tab.until("return ['waiting', 'opening', 'loading'].includes(Service.debug().stage)")
    stack.service.process.start()
    tab.until("return Service.debug().stage === 'ready'")

    assert tab.uid == uid
