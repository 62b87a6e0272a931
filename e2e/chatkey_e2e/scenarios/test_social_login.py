"""Tests social login with a popup, with the service's keys (mode 3) or the business's own keys (mode 4)."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Page

from chatkey_e2e.business import Business
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.plugin import Advance, MakeBusiness
from chatkey_e2e.scenarios.logins import each
from chatkey_e2e.witness import Witness, claims_of
from chatkey_protocol.names import AVAILABLE_SOCIALS, SOCIALS
from chatkey_stack.stack import Stack


@pytest.fixture
def business(make_business: MakeBusiness, social: str) -> Business:
    """A business whose visitors may sign in with a social login, through the service's keys."""
    return make_business(get_token=False, service_keys=[social])


def clients_asked(witness: Witness, stack: Stack) -> set[str]:
    """Return every `client_id` that browsers sent to the provider. TikTok uses the name `client_key`."""
    asked = (urlsplit(r.url) for r in witness.requests if r.url.startswith(stack.provider.browser_url))
    queries = [parse_qs(url.query) for url in asked]
    return {client for query in queries for name in ("client_id", "client_key") for client in query.get(name, [])}


@pytest.mark.contract(
    "1/mode-service-keys", "1/modes-optional", "3/social-click", "4.6/exchange", "2.5/uid-form", "2.7/social-record"
)
@pytest.mark.parametrize("social", each(SOCIALS))
def test_signing_in_through_the_services_keys(
    page: Page, make_business: MakeBusiness, witness: Witness, stack: Stack, social: str
) -> None:
    """Mode 3: a login with the service's application must turn the visitor into a member."""
    business = make_business(get_token=False, service_keys=[social])
    widget = ShopPage(page, business).open()

    consent = widget.sign_in_with(social)
    application = consent.application
    consent.approve()
    widget.wait_for("member")

    assert application == "Chat Service"
    assert clients_asked(witness, stack) == {f"service-{social}"}
    assert widget.uid.startswith(f"{social}:")
    if (records := business.records) is not None:
        assert [(record["uid"], record["auth_provider"]) for record in records] == [(widget.uid, social)]


@pytest.mark.needs("own-keys")
@pytest.mark.contract("1/mode-own-keys", "1/modes-optional", "3/social-click", "4.6/exchange", "2.1/socials")
@pytest.mark.parametrize("social", each(SOCIALS))
def test_signing_in_through_the_businesss_own_keys(
    page: Page, make_business: MakeBusiness, witness: Witness, stack: Stack, social: str
) -> None:
    """Mode 4: a login must use the business's own application and not the service's."""
    business = make_business(get_token=False, own_keys=[social])
    widget = ShopPage(page, business).open()

    consent = widget.sign_in_with(social)
    application = consent.application
    consent.approve()
    widget.wait_for("member")

    assert application == "Alder & Loam"
    assert clients_asked(witness, stack) == {business.own_keys[social].client_id}
    assert widget.uid.startswith(f"{social}:")


@pytest.mark.needs("clock", "social")
@pytest.mark.contract("2.6/memory-only", "2.6/refresh", "2.8/member-token-key", "D-06/identity-cached")
def test_the_identity_token_is_cached_and_the_auth_token_never_is(
    advance: Advance, shop: ShopPage, business: Business, witness: Witness, social: str
) -> None:
    """After a reload, the member must be back without a popup. Socket tokens must stay in memory and be refreshed."""
    widget = shop.open()
    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    uid = widget.uid

    shop.reload()
    with widget.expect_event("token:refreshed"):
        advance(51)

    cached = claims_of(widget.stored(business.storage_key) or "")
    kept = str(shop.page.context.storage_state(indexed_db=True))
    assert widget.uid == uid == cached["uid"]
    assert (cached["type"], cached["cnf"]) == ("identity", {"jkt": widget.jkt})
    assert len(set(witness.identity_tokens)) == 1
    assert len(witness.socket_tokens) >= 4
    assert not [token for token in witness.socket_tokens if token in kept]
    assert not [r for r in witness.requests for token in witness.socket_tokens if token in r.url]


@pytest.mark.needs("clock", "social")
@pytest.mark.contract("2.8/exp-before-reuse", "D-06/dropped-before-connect", "D-05/identity")
def test_a_member_who_comes_back_after_a_day_is_a_visitor(
    advance: Advance, shop: ShopPage, business: Business, witness: Witness, social: str
) -> None:
    """After 24 hours, the identity token must be dropped without an exchange, and the person must be a visitor."""
    widget = shop.open()
    visitor = widget.uid
    widget.sign_in_with(social).approve()
    widget.wait_for("member")
    shop.page.goto("about:blank")
    exchanges = len(witness.asked(business.member_token_path))

    advance(24 * 3600 + 1)
    shop.open()
    widget.wait_for_event("token:dropped")

    assert (widget.identity["identity"], widget.uid) == ("visitor", visitor)
    assert widget.stored(business.storage_key) is None
    assert len(witness.asked(business.member_token_path)) == exchanges


@pytest.mark.needs("social")
@pytest.mark.contract("2.8/deleted-by-logout", "3/logout")
def test_signing_out_goes_back_to_the_visitor(shop: ShopPage, business: Business, social: str) -> None:
    """Signing out in the widget must end the social session and restore the earlier visitor."""
    widget = shop.open()
    visitor = widget.uid
    widget.sign_in_with(social).approve()
    widget.wait_for("member")

    widget.sign_out()

    assert widget.uid == visitor
    assert widget.stored(business.storage_key) is None


@pytest.mark.needs("member-records", "social")
@pytest.mark.contract("2.7/same-record")
def test_a_second_login_updates_the_same_record(shop: ShopPage, business: Business, stack: Stack, social: str) -> None:
    """A second login must update the member's record and create no other record."""
    widget = shop.open()
    for _ in range(2):
        widget.sign_in_with(social).approve("Omar Haddad")
        widget.wait_for("member")
        widget.sign_out()

    (record,) = stack.service_lab.members(business.provider.id)
    assert record["updated_at"] >= record["created_at"]


@pytest.mark.needs("social")
@pytest.mark.contract("2.2/oauth-providers", "7/not-enabled-404", "4.4/enabled-only")
def test_a_disabled_provider_is_absent_and_not_found(
    shop: ShopPage, business: Business, stack: Stack, social: str
) -> None:
    """The sign-in page must list only enabled providers. The login start endpoint must answer 404 for others."""
    widget = shop.open()

    offered = widget.offered_socials()
    query = urlencode({"origin": business.origin})
    answers = {
        social: stack.get(f"{business.oauth_start_path(social)}?{query}").status_code for social in AVAILABLE_SOCIALS
    }

    if not business.provider.origin:  # a business made by hand may have more logins than the test asked for
        assert offered == [social]
    assert social in offered
    assert answers == {social: 302 if social in offered else 404 for social in AVAILABLE_SOCIALS}


@pytest.mark.needs("social")
@pytest.mark.contract("3/no-automatic-oauth")
def test_nothing_starts_a_login_but_a_click(shop: ShopPage, witness: Witness, business: Business, social: str) -> None:
    """WDG-016: opening the page, the panel and the sign-in page must not start a login."""
    widget = shop.open()
    widget.offered_socials()

    assert witness.asked(business.oauth_start_path(social)) == []


@pytest.mark.needs("social")
@pytest.mark.contract("4.5/page", "6/post-message", "5.7/verified-origin")
def test_the_message_reaches_the_verified_origin_only(
    page: Page, business: Business, stack: Stack, social: str
) -> None:
    """A page of another origin that starts a login in the business's name must not receive the result."""
    evil = stack.site.local_url.replace("127.0.0.1", "localhost")
    page.goto(f"{evil}/")
    page.evaluate("() => { window.heard = []; addEventListener('message', (event) => heard.push(event.data)); }")
    query = urlencode({"origin": business.origin})
    start = f"{stack.service.browser_url}{business.oauth_start_path(social)}?{query}"

    with page.expect_popup() as opened:
        page.evaluate("(url) => { window.open(url, 'login', 'popup'); }", start)
    consent = ConsentPage(opened.value)
    with opened.value.expect_event("close"):
        consent.approve()

    assert page.evaluate("() => window.heard") == []


@pytest.mark.needs("social")
@pytest.mark.contract("4.4/origin-checked", "D-03/start-pages")
def test_a_foreign_origin_cannot_start_a_login(business: Business, stack: Stack, social: str) -> None:
    """The login start endpoint must refuse an origin that the business has not registered, with an error page."""
    query = urlencode({"origin": "https://evil.example"})

    answer = stack.get(f"{business.oauth_start_path(social)}?{query}")

    assert answer.status_code == 403
    assert answer.headers["content-type"].startswith("text/html")
