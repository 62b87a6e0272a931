"""Tests that the page objects work with the settings that a project gives its browser contexts."""

import pytest

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import MakeBusiness

pytestmark = pytest.mark.long


@pytest.fixture
def business(make_business: MakeBusiness, social: str) -> Business:
    return make_business(service_keys=[social])


def house(name: str, *marks: pytest.MarkDecorator, **settings: object) -> object:
    """Return a parameter whose test opens its contexts with these settings."""
    return pytest.param(id=name, marks=[pytest.mark.browser_context_args(**settings), *marks])


ONLY_CHROMIUM = pytest.mark.only_browser("chromium", because="other browsers do not support this setting")


@pytest.mark.needs("search", "calls", "social")
@pytest.mark.parametrize(
    (),
    [
        house("German", locale="de-DE"),
        house("Arabic", locale="ar-EG", timezone_id="Africa/Cairo"),
        house("a language that the widget lacks", locale="fi-FI", timezone_id="Pacific/Kiritimati"),
        house("a header", extra_http_headers={"X-House": "1"}),
        house("a login for a staging site", ONLY_CHROMIUM, extra_http_headers={"Authorization": "Basic aDpo"}),
        house("a password", http_credentials={"username": "house", "password": "house"}),
        house("a small screen", viewport={"width": 320, "height": 480}),
        house("a phone", ONLY_CHROMIUM, viewport={"width": 390, "height": 664}, is_mobile=True, has_touch=True),
        house("no viewport", no_viewport=True),
        house("a dark screen", ONLY_CHROMIUM, color_scheme="dark", forced_colors="active", contrast="more"),
        house("animations", reduced_motion="no-preference"),
        house("another browser's name", user_agent="House/1.0"),
        house("no service workers", ONLY_CHROMIUM, service_workers="block"),
        house("no policy", ONLY_CHROMIUM, bypass_csp=True),
        house("permissions", ONLY_CHROMIUM, permissions=["geolocation", "notifications", "clipboard-read"]),
        house("strict selectors", strict_selectors=True),
        house("a base address", base_url="https://house.example/app/"),
        house("a state", storage_state={"cookies": [], "origins": []}),
    ],
)
def test_a_person_does_everything_with_the_settings_of_the_project(shop: ShopPage, social: str) -> None:
    """F240: the page objects find each part of the widget in every language, and added headers stop nothing."""
    widget = shop.open()

    widget.send("Is the moss cup for tea?")
    assert widget.lines(1) == ["Is the moss cup for tea?"]
    assert widget.search("moss") == ["Is the moss cup for tea?"]
    widget.call()
    assert widget.offered_socials() == [social]
    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    widget.sign_out()
    shop.sign_in()
    widget.send("And for coffee?")
