"""What several files of scenarios use."""

import pytest
from playwright.sync_api import Page

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.scenarios.openers import Opener
from chatkey_e2e.scenarios.visitors import Visitor
from chatkey_e2e.witness import Witness


@pytest.fixture
def visitor(shop: ShopPage, business: Business, witness: Witness) -> Visitor:
    """Somebody in the shop who may sign in."""
    return Visitor(shop.open(), business, witness)


@pytest.fixture
def opener(page: Page, business: Business) -> Opener:
    """A page at the business's origin that opens sign-ins by itself and hears what it is told."""
    return Opener(page, business).at(business.origin)
