"""Tests that use fixtures of the harness."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage


@pytest.mark.parametrize("who", ["one", "other"])
def test_a_member_fails(shop: ShopPage, seen: Callable[..., None], who: str, business: Business, page: Page) -> None:
    shop.open()
    widget = shop.sign_in()
    widget.send("Hello")
    seen(page, url=business.url, uid=widget.uid)
    token = widget.stored(business.storage_key)
    print(token, business.provider.secret_key)
    assert token == who


def test_a_visitor(widget: WidgetPage, seen: Callable[..., None], page: Page) -> None:
    widget.send("Hello")
    seen(page, uid=widget.uid)
