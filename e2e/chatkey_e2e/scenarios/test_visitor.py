"""Tests the visitor (mode 1), who is anonymous and bound to a key that never leaves the browser."""

import jwt
import pytest

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance, MakeBusiness, NewContext
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
    """When first opened, the widget must create a visitor identity without asking, and connect with this identity."""
    uid, jkt = widget.uid, widget.jkt

    (connect,) = witness.frames(Kind.CONNECT)
    proof = jwt.get_unverified_header(connect["proof"])
    assert uid == f"v_{jkt}"
    assert claims_of(connect["token"])["uid"] == uid
    assert {"x": proof["jwk"]["x"], "y": proof["jwk"]["y"]}.items() <= widget.stored_key().public_jwk.items()
    assert len(witness.asked(business.visitor_token_path)) == 1


@pytest.mark.contract("2.3/indexeddb", "2.8/key-pair", "5.5/key-at-load")
def test_the_key_cannot_be_exported_and_survives_a_reload(shop: ShopPage) -> None:
    """WDG-014: exporting the private key must fail with InvalidAccessError, and a reload must use the same key."""
    before = shop.open().stored_key()

    after = shop.reload().stored_key()

    assert before == after
    assert before.algorithm == {"name": "ECDSA", "namedCurve": "P-256"}
    assert before.usages == ["sign"]
    assert not before.extractable
    assert before.exported == dict.fromkeys(("jwk", "pkcs8", "raw", "spki"), "InvalidAccessError")


@pytest.mark.contract("2.3/uid-derived")
def test_a_reload_keeps_the_visitor(shop: ShopPage) -> None:
    """The same browser must be the same visitor after a reload."""
    before = shop.open().uid

    after = shop.reload().uid

    assert after == before


@pytest.mark.contract("2.3/cleared")
def test_a_cleared_key_makes_a_new_visitor(shop: ShopPage) -> None:
    """If the key is deleted, the next load must create a new visitor."""
    widget = shop.open()
    before = widget.uid
    widget.clear_key()

    after = shop.reload().uid

    assert after.startswith("v_")
    assert after != before


@pytest.mark.needs("clock")
@pytest.mark.contract("2.6/refresh", "8/refresh-50")
def test_the_token_is_refreshed_after_50_seconds_on_the_same_socket(
    advance: Advance, widget: WidgetPage, witness: Witness
) -> None:
    """About every 50 seconds, a new visitor token must be sent over the open socket."""
    due_in = widget.debug()["timers"]["refresh"]
    with widget.expect_event("token:refreshed"):
        advance(51)

    (connect,) = witness.frames(Kind.CONNECT)
    refresh = witness.frames(Kind.REFRESH)[-1]
    assert 40 < due_in <= 50
    assert refresh["token"] != connect["token"]
    assert claims_of(refresh["token"])["uid"] == claims_of(connect["token"])["uid"]
    assert [socket.is_closed() for socket in witness.sockets] == [False]


@pytest.mark.contract("2.3/uid-derived", "D-17/fresh-randomness")
def test_another_browser_is_another_visitor(widget: WidgetPage, new_context: NewContext, business: Business) -> None:
    """Two browsers must never have the same visitor identity, although both start from the same snapshot."""
    other = ShopPage(new_context().new_page(), business).open()

    assert other.uid != widget.uid
