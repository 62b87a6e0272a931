"""Tests the member logins in the admin panel: the business's own keys are validated, and then used."""

import secrets

import pytest
from playwright.sync_api import expect

from chatkey_e2e import axe
from chatkey_e2e.business import Business
from chatkey_e2e.pages.admin import AdminPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import NewContext
from chatkey_e2e.witness import Witness
from chatkey_stack.stack import Stack


@pytest.fixture
def admin(stack: Stack, new_context: NewContext, witness: Witness) -> AdminPage:
    """An administrator who has signed in."""
    username, password = f"admin-{secrets.token_hex(4)}", secrets.token_urlsafe(12)
    witness.secrets.add(password)
    stack.service_lab.add_administrator(username, password)
    admin = AdminPage(new_context().new_page(), stack.service.browser_url)
    admin.sign_in(username, password)
    return admin


@pytest.mark.long
@pytest.mark.needs("kit")
@pytest.mark.parametrize("scheme", axe.SCHEMES)
def test_axe_finds_nothing_serious_in_the_panel(admin: AdminPage, business: Business, scheme: axe.Scheme) -> None:
    """axe must find no serious problem in a list, a row, a form and the sign-in, and the form offers the providers."""
    admin.page.emulate_media(color_scheme=scheme)
    admin.page.reload()
    faults = []
    for place, awaited in {
        "domains": "table td",
        "social_logins/add": "select",
        "forms/erase-person": "option",
    }.items():
        admin.show(place)
        admin.page.locator(awaited).first.wait_for(state="attached")
        faults += axe.found(admin.page)
    expect(admin.page.locator(f"datalist option[value={business.provider.id}]")).to_be_attached()
    admin.page.context.clear_cookies()
    admin.page.reload()
    expect(admin.page.get_by_role("button", name="Sign in")).to_be_visible()

    assert [*faults, *axe.found(admin.page)] == []


@pytest.mark.skip_browser("firefox", because="Piccolo Admin's list of rows does not open in Firefox")
@pytest.mark.needs("kit")
@pytest.mark.contract("D-19/one-set-of-rules", "D-19/write-only")
def test_own_keys_without_a_secret_are_refused_and_with_it_the_shop_offers_the_login(
    admin: AdminPage, business: Business, witness: Witness, shop: ShopPage
) -> None:
    """The form must show why own keys without a secret are refused, keep the input, and never show the secret again."""
    secret = secrets.token_urlsafe(16)
    witness.secrets.add(secret)
    business.stack.service_lab.change_provider(business.provider.id, name=business.slug)
    admin.add("social_logins")
    admin.choose_business(business.slug)
    admin.choose("social", "google")
    admin.choose("key_source", "own")
    admin.fill("client_id", "shop-at-google")

    admin.save()

    expect(admin.page.get_by_text("client_secret").first).to_be_visible()
    expect(admin.field("client_id")).to_have_value("shop-at-google")

    admin.fill("client_secret", secret)
    admin.save()

    expect(admin.page.get_by_text("Successfully", exact=False)).to_be_visible()
    admin.show("social_logins")
    expect(admin.page.get_by_role("cell", name="shop-at-google")).to_be_visible()
    assert shop.open().offered_socials() == ["google"]
