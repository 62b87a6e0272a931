"""Hooks and fixtures shared by several scenario files."""

from collections.abc import Generator

import pytest
from playwright.sync_api import Page

from chatkey_conform.capabilities import CAPABILITIES, socials
from chatkey_e2e import needs
from chatkey_e2e.aim.aim import Aim
from chatkey_e2e.business import Business
from chatkey_e2e.overrides import *  # noqa: F403  (as every project outside does)
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.scenarios.openers import Opener
from chatkey_e2e.scenarios.visitors import Visitor
from chatkey_e2e.witness import Witness


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget the capabilities that the previous scenario used."""
    needs.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a scenario that uses a capability without declaring it in `needs`, or declares one without using it."""
    result = yield
    if lie := needs.untrue(item):
        pytest.fail(lie, pytrace=False)
    return result


@pytest.fixture(scope="session")
def social(chatkey_aim: Aim | None) -> str:
    """The social provider of scenarios that need only one: the first that the target declares."""
    return next(iter(socials(chatkey_aim.have if chatkey_aim else CAPABILITIES)), "none")


@pytest.fixture
def visitor(shop: ShopPage, business: Business, witness: Witness) -> Visitor:
    """A visitor in the shop, who can sign in."""
    return Visitor(shop.open(), business, witness)


@pytest.fixture
def opener(page: Page, business: Business, social: str) -> Opener:
    """A page at the business's origin that opens logins without a widget, and records the received messages."""
    return Opener(page, business, social).at(business.origin)
