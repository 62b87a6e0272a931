"""Mode 1: the visitor, anonymous and bound to a key that never leaves the browser."""

from typing import Literal

import jwt
import pytest
from playwright.sync_api import BrowserContext

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance, MakeBusiness, MakeContext
from chatkey_e2e.witness import Witness, claims_of
from chatkey_protocol.frames import Kind


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    """A business without any login."""
    return make_business(get_token=False)


@pytest.mark.contract(
    "3/first-open", "1/visitor-always", "1/mode-visitor", "2.3/silent", "2.3/uid-derived", "5.5/proof-matches"
)
def test_first_open_connects_a_visitor_whose_uid_comes_from_the_key(
    business: Business, widget: WidgetPage, witness: Witness
) -> None:
    """The first open makes a visitor identity silently and connects with it."""
    uid, jkt = widget.uid, widget.jkt

    (connect,) = witness.frames(Kind.CONNECT)
    proof = jwt.get_unverified_header(connect["proof"])
    assert uid == f"v_{jkt}"
    assert claims_of(connect["token"])["uid"] == uid
    assert {"x": proof["jwk"]["x"], "y": proof["jwk"]["y"]}.items() <= widget.stored_key().public_jwk.items()
    assert len(witness.asked(business.visitor_token_path)) == 1


@pytest.mark.contract("2.3/indexeddb", "2.8/key-pair", "5.5/key-at-load")
def test_the_key_cannot_be_exported_and_survives_a_reload(shop: ShopPage) -> None:
    """The private key is a non-extractable P-256 key in IndexedDB, and a reload finds the same one."""
    before = shop.open().stored_key()

    after = shop.reload().stored_key()

    assert before == after
    assert before.algorithm == {"name": "ECDSA", "namedCurve": "P-256"}
    assert before.usages == ["sign"]
    assert not before.extractable
    assert before.exported == []


@pytest.mark.contract("2.3/uid-derived")
def test_a_reload_keeps_the_visitor(shop: ShopPage) -> None:
    """The same browser is the same visitor after a reload."""
    before = shop.open().uid

    after = shop.reload().uid

    assert after == before


@pytest.mark.contract("2.3/cleared")
def test_a_cleared_key_makes_a_new_visitor(shop: ShopPage) -> None:
    """When the key is cleared, a new visitor identity is made."""
    widget = shop.open()
    before = widget.uid
    widget.clear_key()

    after = shop.reload().uid

    assert after.startswith("v_")
    assert after != before


@pytest.mark.contract("D-04/bad-record", "2.3/indexeddb")
@pytest.mark.parametrize("kind", ["extractable", "P-384", "spoilt"])
def test_a_planted_record_is_deleted_and_the_key_made_anew(
    shop: ShopPage, business: Business, kind: Literal["extractable", "P-384", "spoilt"]
) -> None:
    """What is no non-extractable P-256 pair is never used: it is replaced, and the page is told."""
    shop.page.goto(f"{business.origin}/")
    planted = shop.widget.plant_record(kind)

    widget = shop.open()

    stored = widget.stored_key()
    assert widget.events("key:lost") == [{"reason": "corrupt"}]
    assert widget.uid == f"v_{widget.jkt}"
    assert (stored.algorithm["namedCurve"], stored.extractable, stored.exported) == ("P-256", False, [])
    assert stored.public_jwk["x"] != planted


@pytest.mark.contract("D-12/always-chat")
def test_a_visitor_whose_browser_denies_storage_can_chat(shop: ShopPage) -> None:
    """Without IndexedDB the key lives in memory: the page is told, and the visitor chats until the page is left."""
    shop.page.add_init_script(
        'IDBFactory.prototype.open = () => { throw new DOMException("denied", "SecurityError"); };'
    )

    widget = shop.open()
    widget.send("Can you read this?")
    first = widget.uid
    second = shop.reload().uid

    assert widget.events("storage:degraded") == [{"reason": "SecurityError: denied"}]
    assert first.startswith("v_")
    assert second != first


@pytest.mark.contract("2.6/refresh", "8/refresh-50")
def test_the_token_is_refreshed_after_50_seconds_on_the_same_socket(
    advance: Advance, widget: WidgetPage, witness: Witness
) -> None:
    """About every 50 seconds a fresh visitor token goes over the socket that is open."""
    due_in = widget.debug()["timers"]["refresh"]
    with widget.expect_event("token:refreshed"):
        advance(51)

    (connect,) = witness.frames(Kind.CONNECT)
    refresh = witness.frames(Kind.REFRESH)[-1]
    assert 40 < due_in <= 50
    assert refresh["token"] != connect["token"]
    assert claims_of(refresh["token"])["uid"] == claims_of(connect["token"])["uid"]
    assert [socket.is_closed() for socket in witness.sockets] == [False]


@pytest.mark.contract("D-04/insert-only", "D-12/tabs")
def test_three_tabs_opened_at_once_are_one_visitor(context: BrowserContext, business: Business) -> None:
    """The first visit in three tabs at the same time makes one key."""
    shops = [ShopPage(context.new_page(), business) for _ in range(3)]
    for shop in shops:
        shop.page.evaluate("(url) => { location.href = url }", business.url)

    uids = set()
    for shop in shops:
        shop.widget.wait_ready()
        uids.add(shop.widget.uid)

    assert len(uids) == 1


@pytest.mark.contract("2.3/uid-derived", "D-17/fresh-randomness")
def test_another_browser_is_another_visitor(widget: WidgetPage, make_context: MakeContext, business: Business) -> None:
    """Two browsers never share a visitor identity, though both start from the same snapshot."""
    other = ShopPage(make_context().new_page(), business).open()

    assert other.uid != widget.uid
