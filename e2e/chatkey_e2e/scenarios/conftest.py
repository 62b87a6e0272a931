"""What several files of scenarios use."""

import pytest

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import Advance
from chatkey_e2e.scenarios.visitors import Visitor
from chatkey_e2e.witness import Witness


@pytest.fixture
def visitor(advance: Advance, shop: ShopPage, business: Business, witness: Witness) -> Visitor:
    """Somebody in the shop who may sign in."""
    return Visitor(shop.open(), business, witness, advance)
