"""Tests the change from one person to another, who must not see the first person's chat."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from chatkey_e2e.business import Business
from chatkey_e2e.clerk import Clerk
from chatkey_e2e.pages.shop import ADA, TOMAS, ShopPage
from chatkey_e2e.plugin import MakeBusiness, MakePeer
from chatkey_e2e.scenarios.lines import stop_clocks, wait_until
from chatkey_e2e.scenarios.test_custom_login import TOKEN_URL
from chatkey_e2e.witness import Witness, claims_of
from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long


@pytest.fixture
def both(make_business: MakeBusiness, social: str) -> Business:
    """A business with custom login and a social login."""
    return make_business(service_keys=[social])


@pytest.fixture
def shop_with_both(page: Page, both: Business) -> ShopPage:
    """The shop of `both`, not opened yet."""
    return ShopPage(page, both)


@pytest.mark.contract("3/reuse-across-loads", "4.8/logout")
def test_a_site_that_logs_out_without_telling_keeps_its_member_in_the_chat(
    context: BrowserContext, shop: ShopPage, business: Business
) -> None:
    """F195, F196: after a site's logout, the cached member must stay until `logout()` or the token's expiry."""
    visitor = shop.open().uid
    shop.sign_in()
    calls = business.token_calls
    context.clear_cookies()

    nobody = shop.reload().identity["name"]
    shop.sign_in_elsewhere(TOMAS)
    somebody_else = shop.reload().identity["name"]
    asked = business.token_calls
    shop.widget.logout()

    assert (nobody, somebody_else) == (ADA, ADA)
    assert asked == calls
    assert shop.widget.uid == visitor


@pytest.mark.needs("agent")
@pytest.mark.contract("D-12/force", "2.7/history-apart")
def test_a_forced_refresh_shows_the_next_person_and_nothing_of_the_last(
    context: BrowserContext, shop: ShopPage, business: Business, clerk: Clerk
) -> None:
    """F196: after a forced refresh, the widget must first be a visitor.

    The next person must see nothing of the previous person.
    """
    context.clock.install()
    shop.open()
    widget = shop.sign_in()
    widget.send("from Ada")
    ada = widget.uid
    shop.sign_in_elsewhere(TOMAS)
    held: list[Route] = []
    shop.page.route(TOKEN_URL, lambda route: held.append(route))  # noqa: PLW0108  (Playwright takes no built-in method)

    with shop.page.expect_request(TOKEN_URL):
        widget.refresh_identity(force=True)
    meanwhile = widget.identity["identity"], widget.lines(0), widget.panel.get_by_text(ADA).count()
    kept = widget.stored(business.storage_key)
    clerk.answer(ada, "for Ada only")
    stop_clocks(context)
    before = widget.page.evaluate("() => Date.now()")
    widget.page.evaluate("() => { Service.on('socket:ready', () => { window.readyAt = Date.now(); }); }")
    held.pop().continue_()
    widget.page.wait_for_function("(name) => window.readyAt && Service.identity.name === name", arg=TOMAS)
    widget.send("from Tomás")

    assert meanwhile == ("visitor", [], 0)
    assert kept is None
    assert widget.page.evaluate("() => window.readyAt") == before
    assert widget.lines(1) == ["from Tomás"]
    assert "message:received" not in widget.debug()["counters"]


@pytest.mark.needs("social")
@pytest.mark.contract("D-12/latest-act", "3/reuse-across-loads")
def test_a_social_member_who_signs_in_to_the_site_is_its_customer_once_the_page_says_so(
    shop_with_both: ShopPage, both: Business, social: str
) -> None:
    """F197: a cached social login must survive a reload until the page calls `refreshIdentity()` for its customer."""
    widget = shop_with_both.open()
    widget.wait_for_event("token:none")
    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    member, calls = widget.uid, both.token_calls
    shop_with_both.sign_in_elsewhere()

    after_a_load = shop_with_both.reload().uid
    asked = both.token_calls
    with widget.expect_event("identity:changed"):
        widget.refresh_identity()

    assert member.startswith(f"{social}:")
    assert (after_a_load, asked) == (member, calls)
    assert widget.uid == shop_with_both.reload().uid == shop_with_both.business.ada
    assert claims_of(widget.stored(both.storage_key) or "")["type"] == "user"


@pytest.mark.needs("social")
@pytest.mark.contract("D-12/latest-act", "D-11/custom-not-social")
def test_a_customer_of_the_site_who_clicks_a_social_button_is_the_social_member(
    shop_with_both: ShopPage, both: Business, witness: Witness, social: str
) -> None:
    """F197: a member must be offered no other login. After a sign-out in the chat, a social login must work."""
    shop_with_both.open()
    widget = shop_with_both.sign_in()
    widget.open()
    before = len(witness.sockets) - 1
    offered = widget.panel.get_by_role("button", name="Sign in", exact=True).count()

    widget.sign_out()
    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    member = widget.uid
    sockets = witness.sockets[before:]
    wait_until(widget.page, lambda: [each.is_closed() for each in sockets] == [True, True, False], "the last one alone")

    assert offered == 0
    assert member.startswith(f"{social}:")
    assert shop_with_both.reload().uid == member


@pytest.mark.needs("member-records", "social")
@pytest.mark.contract("D-11/custom-not-social", "2.7/history-apart", "2.7/custom-on-first")
def test_a_custom_uid_that_looks_social_opens_nothing_of_the_social_member(
    shop_with_both: ShopPage, both: Business, stack: Stack, social: str
) -> None:
    """F106, F199: a custom member with a social member's uid must have a separate conversation and record."""
    widget = shop_with_both.open()
    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    widget.send("of the social member")
    uid = widget.uid
    by_callback = [(member["login"], member["uid"]) for member in stack.service_lab.members(both.provider.id)]
    token = both.mint(now=stack.service_lab.now(), uid=uid, name="Mallory", cnf={"jkt": widget.jkt})
    shop_with_both.page.route(TOKEN_URL, lambda route: route.fulfill(json={"token": token}))

    with widget.expect_event("socket:ready"):
        widget.refresh_identity()
    seen = widget.lines(0)
    silent = len(stack.service_lab.members(both.provider.id))
    widget.send("of the custom one")

    assert seen == []
    assert by_callback == [("social", uid)]
    assert silent == 1
    records = stack.service_lab.members(both.provider.id)
    assert sorted((str(record["login"]), record["uid"]) for record in records) == [("custom", uid), ("social", uid)]


@pytest.mark.contract("4.9/one-time", "4.8/logout")
def test_what_was_sent_before_a_logout_opens_no_socket_after_it(
    shop: ShopPage, witness: Witness, make_peer: MakePeer
) -> None:
    """F194: after a logout, the old `connect` frame must be refused. The token must still be valid with its key."""
    shop.open()
    widget = shop.sign_in()
    old = witness.frames(Kind.CONNECT)[-1]
    widget.logout()

    replayed = make_peer().say_connect(old["token"], old["proof"])
    shop.page.route(TOKEN_URL, lambda route: route.fulfill(json={"token": old["token"]}))
    widget.refresh_identity()
    widget.wait_for("member")

    assert (replayed.code, replayed.close) == (Code.PROOF_NONCE, Close.NONCE)
    assert witness.frames(Kind.CONNECT)[-1]["token"] == old["token"]


@pytest.mark.needs("social")
@pytest.mark.contract("3/logout", "2.8/deleted-by-logout")
def test_a_logout_offline_is_one_after_the_next_load_too(shop_with_both: ShopPage, both: Business, social: str) -> None:
    """F193: a logout while offline must remove the member at once and permanently."""
    widget = shop_with_both.open()
    visitor = widget.uid
    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    widget.send("as a member")

    widget.page.context.set_offline(True)
    widget.logout()
    offline: dict[str, Any] = {"lines": widget.lines(0), "stored": widget.stored(both.storage_key)}
    widget.page.context.set_offline(False)
    shop_with_both.reload()

    assert offline == {"lines": [], "stored": None}
    assert (widget.identity["identity"], widget.uid) == ("visitor", visitor)
    assert widget.lines(0) == []


@pytest.mark.needs("social")
@pytest.mark.contract("3/logout", "D-12/always-chat")
def test_a_logout_closes_the_sign_in_window(shop_with_both: ShopPage, both: Business, social: str) -> None:
    """F192: a logout must close the sign-in popup, so that nobody becomes a member. The button must work again."""
    widget = shop_with_both.open()
    consent = widget.sign_in_with(social)

    with consent.page.expect_event("close"):
        widget.page.evaluate("() => Service.logout()")
    expect(widget.panel.get_by_role("status").filter(has_text="Waiting")).to_have_count(0)
    stored = widget.stored(both.storage_key)
    widget.sign_in_with(social).approve()
    widget.wait_for("member")

    assert stored is None
