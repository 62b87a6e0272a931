"""The callback page in a real browser: no text breaks out of it, and its message reaches the right window alone.

The ids `HTM-…` in the names of the tests are those of the rows of refusals.
"""

import json
import re
import secrets
from collections.abc import Callable, Iterator
from html import unescape
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, Response, expect

from chatkey_demo.stack.stack import Stack
from chatkey_demo.stack.tls import trust
from chatkey_e2e.business import Business
from chatkey_e2e.misbehaviour import Faults
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import Advance, MakeBusiness, MakeContext
from chatkey_e2e.witness import Witness, claims_of
from chatkey_oauth.client import LabError, Person

BLANK = "<!doctype html><title>A page</title><p>Nothing here."
EVIL = "https://evil.example"
STATE_SECONDS = 600

LISTEN = """() => {
  window.heard = [];
  addEventListener("message", (event) => heard.push({ origin: event.origin, data: event.data }));
}"""
FRAME = "(src) => { document.body.append(Object.assign(document.createElement('iframe'), { src })); }"
STAY_OPEN = "window.close = () => {};"
WATCH_BROADCASTS = """
  window.told = [];
  const Channel = window.BroadcastChannel;
  window.BroadcastChannel = class extends Channel { postMessage(m) { told.push(m); super.postMessage(m); } };
  window.postMessage = (...parts) => { told.push(parts); };
"""

Guest = Callable[[str | None], str]
Serve = Callable[..., str]


class Opener:
    """A page at an origin of the test's choice that opens logins and hears what it is told."""

    def __init__(self, page: Page, business: Business, serve: Serve) -> None:
        self.page = page
        self._business = business
        self._serve = serve

    def at(self, origin: str, **headers: str) -> "Opener":
        """Go to a page of this origin and listen there."""
        self.page.goto(self._serve(f"{origin}/an-opener", **headers))
        self.page.evaluate(LISTEN)
        return self

    def start(self, social: str = "google", **query: str) -> Page:
        """Open a login in a popup and wait for the consent page, or for what comes instead."""
        with self.page.expect_popup() as popup:
            self.page.evaluate("(url) => { window.open(url, '', 'popup'); }", self.address(social, **query))
        popup.value.wait_for_load_state()
        return popup.value

    def address(self, social: str = "google", **query: str) -> str:
        """Return the address that starts a login."""
        asked = urlencode({"origin": self._business.origin, "nonce": "n-1", **query})
        return f"{self._business.stack.service.browser_url}{self._business.oauth_start_path(social)}?{asked}"

    def wait(self, count: int = 1) -> list[dict[str, object]]:
        """Wait for so many messages and return them all."""
        self.page.wait_for_function("(count) => window.heard.length >= count", arg=count)
        return self.heard

    @property
    def heard(self) -> list[dict[str, object]]:
        """Every message so far: its origin and data."""
        messages: list[dict[str, object]] = self.page.evaluate("() => window.heard")
        return messages

    def token(self) -> str:
        """Wait for the one message with an identity token, and return it."""
        (message,) = self.wait()
        data = message["data"]
        assert isinstance(data, dict)
        assert message["origin"] == self._business.stack.service.browser_url
        assert {name: data[name] for name in data if name != "token"} == {
            "type": "wf:oauth",
            "providerId": self._business.provider.id,
            "social": "google",
            "nonce": "n-1",
        }
        return str(data["token"])


@pytest.fixture
def business(make_business: MakeBusiness) -> Business:
    """A business whose visitors may sign in with Google and GitHub."""
    return make_business(get_token=False, service_keys=["google", "github"])


@pytest.fixture
def serve(context: BrowserContext) -> Serve:
    """Let an address answer a blank page, in this context, with these headers."""

    def answer(url: str, **headers: str) -> str:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        context.route(url, lambda route: route.fulfill(content_type="text/html", headers=named, body=BLANK))
        return url

    return answer


@pytest.fixture
def opener(page: Page, business: Business, serve: Serve) -> Opener:
    """A page of the business that listens."""
    return Opener(page, business, serve).at(business.origin)


@pytest.fixture
def stays_open(context: BrowserContext) -> None:
    """Keep popups open, so that one can look at them."""
    context.add_init_script(STAY_OPEN)


@pytest.fixture
def guest(stack: Stack) -> Iterator[Guest]:
    """Make a person of this name known to the social providers, and return their account."""
    made: list[str] = []

    def know(name: str | None) -> str:
        made.append(f"guest-{secrets.token_hex(4)}")
        stack.provider_lab.put_person(Person(id=made[-1], name=name, email=f"{made[-1]}@example.com"))
        return made[-1]

    yield know
    for account in made:
        stack.provider_lab.remove_person(account)


def approve(popup: Page, account: str = "rhea") -> None:
    """Choose an account on the consent page and go on."""
    popup.locator(f'input[type=radio][value="{account}"]').check()
    popup.get_by_role("button", name="Continue").click()


def approved(stack: Stack, start: str) -> str:
    """Go through a login without a browser, and return the address of the callback that comes of it."""
    consent = stack.get(start.removeprefix(stack.service.browser_url)).headers["location"]
    consent = consent.replace(stack.provider.browser_url, stack.provider.local_url)
    with httpx.Client(verify=trust(stack.ca), trust_env=False) as browser:
        page = browser.get(consent)
        (action,) = re.findall(r'<form method="post" action="([^"]*)"', page.text)
        form = {"decision": "approve", "account": "rhea"}
        answer = browser.post(page.url.join(unescape(action)), data=form)
    return str(answer.headers["location"])


def finish(popup: Page, account: str = "rhea") -> Response:
    """Approve, and return the callback's answer; for a popup that stays open."""
    with popup.expect_response(lambda response: urlsplit(response.url).path.endswith("/callback")) as answered:
        approve(popup, account)
    popup.wait_for_load_state()
    return answered.value


def errors_of(page: Page) -> list[str]:
    """Return the list to which every error of the page's scripts will be added."""
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


def go(page: Page, url: str) -> None:
    """Let the page itself go there: where the browser is told to, a popup loses its opener."""
    with page.expect_navigation():
        page.evaluate("(url) => { location.href = url; }", url)


def state_of(popup: Page) -> str:
    """Return the state that a consent page was asked with."""
    return parse_qs(urlsplit(popup.url).query)["state"][0]


def callback(stack: Stack, social: str = "google", **query: str) -> str:
    """Return the address of a callback with these parameters."""
    return f"{stack.callback(social)}?{urlencode(query)}"


# what is in the page


@pytest.mark.contract("D-09/page")
@pytest.mark.usefixtures("stays_open")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("</script><script>parent.x=1</script>", None, id="HTM-001"),
        pytest.param("<img src=x onerror=parent.x=1>", None, id="HTM-001-image"),
        pytest.param("</ScRiPt >", None, id="HTM-002-closing"),
        pytest.param("<!--<script>", None, id="HTM-002-comment"),
        pytest.param("]]>", None, id="HTM-002-cdata"),
        pytest.param("Rhea\u2028Quill\u2029!\0?", "Rhea Quill ! ?", id="HTM-003"),
        pytest.param("${7*7} {{7*7}} {% raw %}", None, id="HTM-004"),
        pytest.param("$& $' $$ $`", None, id="HTM-005"),
    ],
)
def test_a_name_is_text_in_the_page_and_in_the_token(
    opener: Opener, guest: Guest, witness: Witness, name: str, shown: str | None
) -> None:
    """Whatever somebody is called is shown as it is, runs nothing, and arrives whole."""
    account = guest(name)
    popup = opener.start()
    errors = errors_of(popup)

    finish(popup, account)

    assert claims_of(opener.token())["name"] == (shown or name)
    assert popup.locator("bdi").text_content() == f"Welcome, {shown or name}."
    assert popup.locator("bdi *, img").count() == 0
    for page in (popup, opener.page):
        assert page.evaluate("() => window.x") is None
    assert errors == []
    assert not [said for said in witness.said if "Content Security Policy" in said or "Error" in said]


@pytest.mark.contract("D-09/page", "D-09/error")
@pytest.mark.usefixtures("stays_open")
@pytest.mark.parametrize(
    "error", ["<script>parent.x=1</script>", "\"'><svg onload=parent.x=1>"], ids=["script", "attribute"]
)
def test_htm_006_what_a_provider_says_of_an_error_is_not_shown(opener: Opener, stack: Stack, error: str) -> None:
    """The texts of an error come from the address, which anybody can write: none of them is in the page."""
    popup = opener.start()
    said = {"error": error, "error_description": f"Because {error}", "error_uri": "javascript:parent.x=1"}

    go(popup, callback(stack, state=state_of(popup), **said))

    (message,) = opener.wait()
    assert "parent.x" not in json.dumps(message) + popup.content()
    assert "javascript:" not in popup.content()
    expect(popup.get_by_role("alert")).to_contain_text("Google did not sign you in (unknown error).")
    for page in (popup, opener.page):
        assert page.evaluate("() => window.x") is None


@pytest.mark.contract("D-08/exact")
@pytest.mark.parametrize(
    "domain",
    ['shop.example"', "shop.example</script>", "'-alert(1)-'", "shop.example/x", "*", "shop.example\\"],
    ids=["quote", "script", "apostrophe", "path", "star", "backslash"],
)
def test_htm_010_an_origin_that_would_not_be_one_is_not_registered(stack: Stack, domain: str) -> None:
    """What the administrator types cannot become a target of messages unless it is a host."""
    with pytest.raises(LabError, match="cannot be registered") as refused:
        stack.service_lab.add_provider(domains=[domain])

    assert refused.value.code == "parameter_invalid"


@pytest.mark.contract("D-09/page")
@pytest.mark.usefixtures("stays_open")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("content-type", r"text/html; charset=utf-8", id="HTM-011"),
        pytest.param("x-content-type-options", r"nosniff", id="HTM-011-nosniff"),
        pytest.param(
            "content-security-policy",
            r"default-src 'none'; script-src 'nonce-([\w-]{22,})'; style-src 'nonce-\1'; "
            r"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            id="HTM-012",
        ),
        pytest.param("content-security-policy", r"(?!.*sandbox).*", id="HTM-014"),
        pytest.param("x-frame-options", r"DENY", id="HTM-015-header"),
        pytest.param("referrer-policy", r"no-referrer", id="HTM-016-header"),
        pytest.param("cache-control", r"no-store", id="HTM-017-header"),
        pytest.param("cross-origin-opener-policy", r"", id="HTM-018"),
    ],
)
def test_the_page_is_locked_down_and_its_message_arrives(opener: Opener, name: str, value: str) -> None:
    """The headers forbid all that is not needed, and what is needed works under them."""
    answer = finish(opener.start())

    assert re.fullmatch(value, answer.headers.get(name, ""))
    assert opener.token()


@pytest.mark.contract("D-09/page")
@pytest.mark.usefixtures("stays_open")
def test_htm_013_each_page_has_a_nonce_of_its_own(opener: Opener) -> None:
    """The nonce of the policy is long, new every time, and not in the address."""
    nonces = []
    for _ in range(2):
        answer = finish(opener.start())
        found = re.search(r"'nonce-([\w-]+)'", answer.headers["content-security-policy"])
        assert found
        assert found[1] not in answer.url
        nonces.append(found[1])

    assert len(set(nonces)) == 2
    assert all(len(nonce) * 6 >= 128 for nonce in nonces)


@pytest.mark.contract("D-09/page")
def test_htm_015_the_page_cannot_be_framed(opener: Opener, page: Page, stack: Stack) -> None:
    """In a frame of another site there is nothing to see; in a window of its own there is."""
    framed, alone = (approved(stack, opener.address()) for _ in range(2))
    opener.at(EVIL)

    with page.expect_event("requestfailed", lambda request: request.url == framed):
        page.evaluate(FRAME, framed)
    (frame,) = page.main_frame.child_frames
    frame.wait_for_url("chrome-error://**")

    assert opener.heard == []
    page.goto(alone)
    expect(page.locator("bdi")).to_have_text("Welcome, Rhea Quill.", use_inner_text=False)


@pytest.mark.contract("D-09/page")
@pytest.mark.usefixtures("stays_open")
def test_htm_016_the_page_asks_for_nothing_and_names_no_referrer(
    opener: Opener, witness: Witness, stack: Stack, serve: Serve
) -> None:
    """Code and state stand in the address of the page: nothing it loads or links may carry them on."""
    popup = opener.start()
    answer = finish(popup)
    asked = len(witness.requests)

    elsewhere = serve(f"{EVIL}/elsewhere")
    go(popup, elsewhere)

    after = [request for request in witness.requests[:asked] if request.url == answer.url or request.frame == popup]
    assert [request.url for request in after] == [answer.url]
    (left,) = [request for request in witness.requests[asked:] if request.url == elsewhere]
    assert "referer" not in left.headers
    assert popup.evaluate("() => document.referrer") == ""


@pytest.mark.contract("D-07/single-use", "D-09/page")
@pytest.mark.usefixtures("stays_open")
def test_htm_017_going_back_delivers_no_second_token(opener: Opener, serve: Serve) -> None:
    """The page is not kept: back in the history, the state is asked for again, and is used up."""
    popup = opener.start()
    finish(popup)
    assert opener.token()

    go(popup, serve(f"{EVIL}/elsewhere"))
    with popup.expect_navigation():
        popup.evaluate("() => history.back()")

    expect(popup.get_by_role("alert")).to_contain_text("already completed")
    _, second = opener.wait(2)
    assert isinstance(second["data"], dict)
    assert second["data"]["error"]["code"] == "state_used"
    assert "token" not in second["data"]


@pytest.mark.contract("D-09/page")
def test_htm_024_visited_directly_the_page_says_what_is_wrong_and_tells_nobody(
    context: BrowserContext, page: Page, business: Business, opener: Opener, stack: Stack
) -> None:
    """Without an opener the page explains itself; the token goes nowhere else instead."""
    context.add_init_script(WATCH_BROADCASTS)
    errors = errors_of(page)
    page.goto(opener.address())

    finish(page)

    expect(page.get_by_role("alert")).to_contain_text("This window has lost the page that opened it")
    expect(page.get_by_text("You are signed in", exact=True)).to_be_hidden()
    assert page.evaluate("() => [told, Object.keys(localStorage), Object.keys(sessionStorage), document.cookie]") == [
        [],
        [],
        [],
        "",
    ]
    assert errors == []
    assert "eyJ" not in page.url


@pytest.mark.contract("D-09/page")
def test_htm_027_without_javascript_the_page_says_so_and_shows_no_token(
    make_context: MakeContext, opener: Opener, stack: Stack
) -> None:
    """With JavaScript off nothing can be delivered; the page tells that, and its text has no token."""
    page = make_context(java_script_enabled=False).new_page()

    page.goto(approved(stack, opener.address()))

    # In a page that JavaScript is kept from by a debugger, Chromium reads <noscript> without showing it.
    assert "<noscript><p>The chat cannot be told without JavaScript." in page.content()
    expect(page.locator("#lost")).to_be_hidden()
    assert "eyJ" not in (page.locator("main").text_content() or "")
    assert len(re.findall(r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+", page.content())) == 1  # in the script's data


# where its message goes


@pytest.mark.contract("6/post-message", "5.7/verified-origin", "D-08/exact")
def test_htm_021_the_message_goes_to_the_registered_origin_whatever_else_is_asked(
    opener: Opener, business: Business
) -> None:
    """An opener of another origin hears nothing; parameters that would name a target are passed over."""
    targets = {"targetOrigin": "*", "target_origin": EVIL, "redirect_uri": EVIL, "return_to": EVIL}
    opener.at(EVIL)
    popup = opener.start(**targets)
    with popup.expect_event("close"):
        approve(popup)
    assert opener.heard == []

    opener.at(business.origin)
    approve(opener.start(**targets))

    assert opener.token()


@pytest.mark.contract("6/post-message", "5.7/verified-origin")
def test_htm_022_an_opener_that_went_to_another_site_hears_nothing(opener: Opener, business: Business) -> None:
    """While the popup was open its opener became somebody else: nothing is delivered to them."""
    popup = opener.start()
    opener.at(EVIL)

    with popup.expect_event("close"):
        approve(popup)

    assert opener.heard == []
    opener.at(business.origin)
    approve(opener.start())
    assert opener.token()


@pytest.mark.contract("D-08/exact", "D-03/start-pages")
def test_htm_023_a_loopback_page_under_another_name_is_told_why(
    opener: Opener, business: Business, stack: Stack
) -> None:
    """`localhost` and `127.0.0.1` are two origins: the start says so, and the browser delivers nothing between them."""
    registered, other = "https://127.0.0.1:8899", "https://localhost:8899"
    stack.service_lab.change_provider(business.provider.id, domains=["127.0.0.1:8899"])
    stack.service_lab.ask("POST", "/reset")

    opener.at(other)
    refused = opener.start(origin=other)
    expect(refused.get_by_role("alert")).to_contain_text(f"'{other}' is not a registered domain of this chat.")
    refused.close()
    popup = opener.start(origin=registered)
    with popup.expect_event("close"):
        approve(popup)

    assert opener.heard == []
    opener.at(registered)
    approve(opener.start(origin=registered))
    assert opener.token()


# the widget, which listens


def forged(business: Business, stack: Stack, widget: WidgetPage, nonce: str, **claims: object) -> dict[str, object]:
    """Return a message as the callback page sends it, with an identity token that the widget would take."""
    honest = {"uid": "google:mallory", "name": "Mallory", "data": {"auth_provider": "google"}}
    bound = {"type": "identity", "cnf": {"jkt": widget.jkt}}
    token = business.mint(now=stack.service_lab.now(), **{**honest, **bound, **claims})
    asked = {"type": "wf:oauth", "providerId": business.provider.id, "social": "google", "nonce": nonce}
    return {**asked, "token": token}


def nonce_of(witness: Witness, business: Business, social: str = "google") -> str:
    """Return the nonce with which the widget started its last login."""
    start = witness.asked(business.oauth_start_path(social))[-1]
    return parse_qs(urlsplit(start.url).query)["nonce"][0]


@pytest.mark.contract("D-09/accepted-once")
def test_htm_029_a_message_of_another_origin_is_ignored(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness, serve: Serve
) -> None:
    """The right shape, the right nonce and a good token, but from another site's frame or the page: ignored."""
    widget = shop.open()
    consent = widget.sign_in_with("google")
    message = forged(business, stack, widget, nonce_of(witness, business))
    with shop.page.expect_event("framenavigated") as navigated:
        shop.page.evaluate(FRAME, serve(f"{EVIL}/frame"))

    navigated.value.evaluate("(message) => { parent.postMessage(message, '*'); }", message)
    shop.page.evaluate("(message) => { postMessage(message, '*'); }", message)
    consent.approve()
    widget.wait_for("member")

    assert widget.identity["name"] == "Rhea Quill"
    assert widget.events("oauth:failed") == []


@pytest.mark.contract("D-09/accepted-once")
def test_htm_030_a_message_of_another_window_of_the_service_is_ignored(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness, serve: Serve
) -> None:
    """The right origin is not enough: the message has to come from the popup that the widget opened."""
    widget = shop.open()
    consent = widget.sign_in_with("google")
    message = forged(business, stack, widget, nonce_of(witness, business))
    address = serve(f"{stack.service.browser_url}/another-window")
    with shop.page.expect_popup() as other:
        shop.page.evaluate("(url) => { window.open(url, 'other', 'popup'); }", address)
    other.value.wait_for_url(address)

    other.value.evaluate("(message) => { opener.postMessage(message, '*'); }", message)
    consent.approve()
    widget.wait_for("member")

    assert widget.identity["name"] == "Rhea Quill"
    assert widget.events("oauth:failed") == []


@pytest.mark.contract("D-09/accepted-once")
def test_htm_032_a_second_message_of_the_popup_is_ignored(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness, serve: Serve
) -> None:
    """Origin, window and nonce are right both times: the first message counts, the second never does."""
    widget = shop.open()
    popup = widget.sign_in_with("google").page
    nonce = nonce_of(witness, business)
    first, second = (forged(business, stack, widget, nonce, uid=f"google:{n}", name=f"Guest {n}") for n in (1, 2))
    go(popup, serve(f"{stack.service.browser_url}/played"))

    with popup.expect_event("close"):
        popup.evaluate("(messages) => { for (const m of messages) opener.postMessage(m, '*'); }", [first, second])
    widget.wait_for("member")

    assert widget.uid == "google:1"
    assert len(widget.events("oauth:completed")) == 1


@pytest.mark.contract("D-09/accepted-once")
@pytest.mark.usefixtures("stays_open")
def test_htm_033_the_result_of_a_login_that_was_replaced_is_not_taken_for_the_other(
    shop: ShopPage, stack: Stack
) -> None:
    """Google is clicked, then GitHub; Google's answer comes first, in the very same popup: it is not GitHub's."""
    widget = shop.open()
    of_google = state_of(widget.sign_in_with("google").page)
    popup = widget.sign_in_with("github").page

    go(popup, callback(stack, state=of_google, error="access_denied"))
    expect(popup.get_by_role("alert")).to_contain_text("You did not let Google sign you in.")
    with popup.expect_navigation():
        popup.evaluate("() => history.back()")
    ConsentPage(popup).approve()
    widget.wait_for("member")

    assert widget.uid.startswith("github:")
    assert widget.events("oauth:failed") == []


@pytest.mark.contract("D-09/error", "D-12/always-chat")
def test_htm_034_a_popup_that_is_closed_leaves_the_visitor_and_the_button(shop: ShopPage) -> None:
    """Whoever closes the popup stays a visitor, and may try again."""
    widget = shop.open()
    visitor = widget.uid
    widget.sign_in_with("google").page.close()
    failed = widget.wait_for_event("oauth:failed")

    assert failed["social"] == "google"
    assert failed["code"] in {"popup_closed", "popup_lost"}
    assert (widget.identity["identity"], widget.uid) == ("visitor", visitor)
    widget.sign_in_with("google").approve()
    widget.wait_for("member")


@pytest.mark.contract("5.7/ten-minutes", "D-12/always-chat")
def test_htm_034_a_popup_that_was_open_for_ten_minutes_is_too_late(advance: Advance, shop: ShopPage) -> None:
    """The state has expired: the widget is told, stays a visitor, and the next login works."""
    widget = shop.open()
    consent = widget.sign_in_with("google")

    advance(STATE_SECONDS + 1)
    consent.approve()
    failed = widget.wait_for_event("oauth:failed")

    assert failed == {"social": "google", "code": "state_expired"}
    assert widget.identity["identity"] == "visitor"
    widget.sign_in_with("google").approve()
    widget.wait_for("member")


@pytest.mark.contract("4.6/exchange", "D-12/always-chat")
def test_htm_035_an_identity_token_that_is_refused_is_dropped(
    shop: ShopPage, business: Business, stack: Stack
) -> None:
    """The member token endpoint answers 401: the token is forgotten, the visitor chats on and is told."""
    widget = shop.open()
    visitor = widget.uid
    stack.service_lab.arm(where=business.member_token_path, action="status", status=401)

    widget.sign_in_with("google").approve()
    widget.wait_for_event("token:dropped")
    widget.wait_for("visitor")

    assert widget.uid == visitor
    assert widget.stored(business.storage_key) is None
    expect(widget.panel.get_by_text("Signing in did not work. Please try again.")).to_be_visible()
    widget.sign_in_with("google").approve()
    widget.wait_for("member")


@pytest.mark.contract("4.6/exchange")
def test_htm_035_a_service_that_fails_at_the_exchange_is_asked_again(
    shop: ShopPage, business: Business, stack: Stack, witness: Witness
) -> None:
    """A 500 says nothing about the token: it is kept and exchanged a little later; until then nobody is a member."""
    widget = shop.open()
    stack.service_lab.arm(where=business.member_token_path, action="status", status=500, times=2)

    widget.sign_in_with("google").approve()
    widget.wait_for("member")

    assert len(witness.asked(business.member_token_path)) == 3
    assert widget.events("token:dropped") == []


# pages that cut the popup off


@pytest.mark.contract("D-09/page", "D-12/always-chat")
def test_htm_019_a_provider_that_cuts_the_popup_off_hangs_nobody(
    shop: ShopPage, faults: Faults, stack: Stack, business: Business
) -> None:
    """With COOP on the consent page the popup has no opener: both windows say so, and the button works again."""
    widget = shop.open()
    faults.arm("coop-same-origin", provider="google")
    consent = widget.sign_in_with("google")
    failed = widget.wait_for_event("oauth:failed")

    consent.approve()
    expect(consent.page.get_by_role("alert")).to_contain_text("This window has lost the page that opened it")

    assert failed["code"] in {"popup_lost", "popup_closed"}
    assert widget.identity["identity"] == "visitor"
    widget.sign_in_with("google").approve()
    widget.wait_for("member")


def with_coop(shop: ShopPage, stack: Stack, policy: str) -> None:
    """Let the shop's page say this Cross-Origin-Opener-Policy."""
    url = shop.business.url
    answer = httpx.get(
        url.replace(stack.site.browser_url, stack.site.local_url), verify=trust(stack.ca), trust_env=False
    )
    headers = {"content-type": answer.headers["content-type"], "cross-origin-opener-policy": policy}
    shop.page.route(url, lambda route: route.fulfill(headers=headers, body=answer.text))
    shop.page.context.grant_permissions(["local-network-access"])  # a page that was not loaded from here needs it


@pytest.mark.contract("D-12/always-chat")
@pytest.mark.parametrize(
    ("policy", "works"), [("same-origin", False), ("same-origin-allow-popups", True)], ids=["alone", "with-popups"]
)
def test_htm_020_a_page_that_cuts_its_popups_off_is_told_which_header_to_change(
    shop: ShopPage, stack: Stack, policy: str, works: bool
) -> None:
    """COOP `same-origin` on the shop's page breaks the login, with a diagnosis; `same-origin-allow-popups` does not."""
    with_coop(shop, stack, policy)
    widget = shop.open()
    consent = widget.sign_in_with("google")

    if works:
        consent.approve()
        widget.wait_for("member")
        return
    failed = widget.wait_for_event("oauth:failed")
    (error,) = [error for error in widget.events("error") if error["code"] == failed["code"]]

    assert widget.identity["identity"] == "visitor"
    assert failed["code"] == "popup_lost"
    assert "same-origin-allow-popups" in error["remediation"]
    expect(widget.panel.get_by_text("This page lost sight of the sign-in window")).to_be_visible()
