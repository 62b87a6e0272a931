"""Tests how Pyodide starts in other browsers. The current browser pretends to be another browser."""

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import NewContext

IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 "
    "Mobile/15E148 Safari/604.1"
)


def test_a_phone_of_apples_starts_from_the_snapshot(new_context: NewContext, business: Business) -> None:
    """For an iPhone, Pyodide omits CPython's call helper. The snapshot must start, and a visitor can chat."""
    shop = ShopPage(new_context(user_agent=IPHONE).new_page(), business)

    widget = shop.open()
    widget.send("Is the moss cup for tea?")

    assert widget.debug()["boot"]["from"] == "snapshot"
