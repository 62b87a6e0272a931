"""Tests the configuration: changes by an administrator, and the ways to embed the widget in a page."""

import pytest

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import Advance
from chatkey_stack.lab import SocialKeys
from chatkey_stack.stack import Stack


@pytest.mark.needs("change", "clock")
@pytest.mark.contract("4.1/edge-cache", "8/edge-60", "2.2/oauth-providers")
def test_an_admins_change_is_there_after_a_minute(
    advance: Advance, shop: ShopPage, business: Business, stack: Stack
) -> None:
    """A social login that an administrator enables must appear on the sign-in page within 60 seconds."""
    widget = shop.open()
    before = widget.wait_for_event("configuration:loaded")["socials"]
    stack.service_lab.change_provider(business.provider.id, socials={"gitlab": SocialKeys("service")})

    advance(60)
    after = shop.reload().wait_for_event("configuration:loaded")["socials"]

    assert (before, after) == ([], ["gitlab"])


@pytest.mark.contract("4.8/sdk")
def test_the_widget_runs_under_the_strictest_policy(shop: ShopPage) -> None:
    """The widget must work on a page whose policy requires nonces and forbids `unsafe-inline` and `unsafe-eval`."""
    widget = shop.open(csp="strict")

    assert widget.identity["identity"] == "visitor"
    assert widget.debug()["boot"]["from"] == "snapshot"


@pytest.mark.contract("4.8/config")
def test_the_configuration_may_come_after_the_script(shop: ShopPage) -> None:
    """`ServiceConfig` must be found whether it is set before or after the script tag."""
    widget = shop.open(config="after")

    assert widget.identity["identity"] == "visitor"


@pytest.mark.contract("4.8/config", "D-12/handle")
def test_init_service_is_idempotent(shop: ShopPage, business: Business) -> None:
    """Calling `initService` again must return the same handle and open no second socket."""
    widget = shop.open()

    same = widget.page.evaluate(
        "(providerId) => initService({ providerId }) === Service && initService({ providerId }) === Service",
        business.provider.id,
    )

    assert same
    assert widget.debug()["counters"]["socket:opening"] == 1


@pytest.mark.contract("D-01/globals", "D-01/queue")
def test_calls_made_before_the_widget_runs_are_kept_for_it(shop: ShopPage) -> None:
    """The handle must exist once the script has run, and listeners that are added at once must get all events."""
    shop.page.add_init_script(
        """window.heard = [];
        let handle;
        Object.defineProperty(window, "Service", {
          configurable: true,
          get: () => handle,
          set: (value) => { handle = value; handle.on("*", (detail, name) => heard.push(name)); },
        });"""
    )

    shop.visit()
    shop.page.wait_for_function("() => window.heard.includes('ready')")

    heard = shop.page.evaluate("() => window.heard")
    assert heard.index("key:ready") < heard.index("socket:ready") < heard.index("ready")
