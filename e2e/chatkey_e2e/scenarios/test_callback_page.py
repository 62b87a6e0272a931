"""Tests the callback page in a real browser: the security headers work, and no text is executed as markup or script.

The ids `HTM-…` in the names of the tests refer to the rows of refusals.
"""

import json
import re
import secrets
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from chatkey_e2e import needs
from chatkey_e2e.business import Business
from chatkey_e2e.plugin import MakeBusiness, NewContext
from chatkey_e2e.scenarios.openers import (
    EVIL,
    FRAME,
    Opener,
    approved,
    blank,
    callback,
    errors_of,
    finish,
    go,
    keep_popups_open,
    says,
    state_of,
)
from chatkey_e2e.witness import Witness, claims_of
from chatkey_oauth.client import LabError, Person
from chatkey_peer.redaction import JWT
from chatkey_protocol.names import SOCIALS
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.long

WATCH_BROADCASTS = """
  window.told = [];
  const Channel = window.BroadcastChannel;
  window.BroadcastChannel = class extends Channel { postMessage(m) { told.push(m); super.postMessage(m); } };
  window.postMessage = (...parts) => { told.push(parts); };
"""

Guest = Callable[[str | None], str]


@pytest.fixture
def business(request: pytest.FixtureRequest, make_business: MakeBusiness, social: str) -> Business:
    return make_business(get_token=False, service_keys=needs.socials_of(request.node, social))


@pytest.fixture
def stays_open(context: BrowserContext) -> None:
    """Keep popups open for inspection."""
    keep_popups_open(context)


@pytest.fixture
def guest(stack: Stack) -> Iterator[Guest]:
    """Register a person with this name at the social providers, and return the account."""
    made: list[str] = []

    def know(name: str | None) -> str:
        made.append(f"guest-{secrets.token_hex(4)}")
        stack.provider_lab.put_person(Person(id=made[-1], name=name, email=f"{made[-1]}@example.com"))
        return made[-1]

    yield know
    for account in made:
        stack.provider_lab.remove_person(account)


@pytest.mark.needs("social")
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
    opener: Opener, guest: Guest, witness: Witness, *, name: str, shown: str | None, social: str
) -> None:
    """A person's name must be shown as text, must run no script, and must be unchanged in the token."""
    account = guest(name)
    popup = opener.start()
    errors = errors_of(popup)

    finish(popup, account)

    assert claims_of(opener.token())["name"] == (shown or name)
    if opener.stack.is_ours:
        assert popup.locator("bdi").text_content() == f"Welcome, {shown or name}."
        assert popup.locator("bdi *").count() == 0
    assert popup.locator("img").count() == 0
    for page in (popup, opener.page):
        assert page.evaluate("() => window.x") is None
    assert errors == []
    assert not [said for said in witness.said if "Content Security Policy" in said or "Error" in said]


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/page", "D-09/error")
@pytest.mark.usefixtures("stays_open")
@pytest.mark.parametrize(
    "error", ["<script>parent.x=1</script>", "\"'><svg onload=parent.x=1>"], ids=["script", "attribute"]
)
def test_htm_006_what_a_provider_says_of_an_error_is_not_shown(
    opener: Opener, stack: Stack, error: str, social: str
) -> None:
    """The page must not show the error texts from its address, because anyone can write an address."""
    popup = opener.start()
    said = {"error": error, "error_description": f"Because {error}", "error_uri": "javascript:parent.x=1"}

    go(popup, callback(stack, social, state=state_of(popup), **said))

    (message,) = opener.wait()
    assert "parent.x" not in json.dumps(message) + popup.content()
    assert "javascript:" not in popup.content()
    says(popup, stack, f"{SOCIALS[social].title} did not sign you in (unknown error).")
    for page in (popup, opener.page):
        assert page.evaluate("() => window.x") is None


@pytest.mark.needs("kit")
@pytest.mark.contract("D-08/exact")
@pytest.mark.parametrize(
    "domain",
    ['shop.example"', "shop.example</script>", "'-alert(1)-'", "shop.example/x", "*", "shop.example\\"],
    ids=["quote", "script", "apostrophe", "path", "star", "backslash"],
)
def test_htm_010_an_origin_that_would_not_be_one_is_not_registered(stack: Stack, domain: str) -> None:
    """A domain that is not a valid host must not be registered as an origin."""
    with pytest.raises(LabError, match="cannot be registered") as refused:
        stack.service_lab.add_provider(domains=[domain])

    assert refused.value.code == "parameter_invalid"


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/page")
@pytest.mark.usefixtures("stays_open")
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"content-type": "text/html; charset=utf-8", "x-content-type-options": "nosniff"}, id="HTM-011"),
        pytest.param(
            {
                "content-security-policy": r"(?=.*\bdefault-src 'none')(?=.*'nonce-[\w+/=-]{22,}')"
                r"(?!.*'unsafe-(?:inline|eval)').*"
            },
            id="HTM-012",
        ),
        pytest.param({"content-security-policy": r"(?!.*sandbox).*"}, id="HTM-014"),
        pytest.param({"cross-origin-opener-policy": "", "cross-origin-embedder-policy": ""}, id="HTM-018"),
    ],
)
def test_the_page_is_locked_down_and_its_message_arrives(opener: Opener, headers: dict[str, str], social: str) -> None:
    """The security headers must be strict, and the page must still deliver its message."""
    answer = finish(opener.start())

    for name, value in headers.items():
        assert re.fullmatch(value, answer.headers.get(name, ""))
    assert opener.token()


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/page")
@pytest.mark.usefixtures("stays_open")
def test_htm_013_each_page_has_a_nonce_of_its_own(opener: Opener, social: str) -> None:
    """The nonce of the policy must be long, new for every page, and absent from the address."""
    nonces = []
    for _ in range(2):
        answer = finish(opener.start())
        found = re.search(r"'nonce-([\w-]+)'", answer.headers["content-security-policy"])
        assert found
        assert found[1] not in answer.url
        nonces.append(found[1])

    assert len(set(nonces)) == 2
    assert all(len(nonce) * 6 >= 128 for nonce in nonces)


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/page")
def test_htm_015_the_page_cannot_be_framed(opener: Opener, page: Page, stack: Stack, social: str) -> None:
    """The page must not be shown in a frame of another site, but must be shown in a separate window."""
    framed, alone = (approved(stack, opener.address()) for _ in range(2))
    opener.at(EVIL)

    with page.expect_event("requestfailed", lambda request: request.url == framed):
        page.evaluate(FRAME, framed)
    (frame,) = page.main_frame.child_frames
    frame.wait_for_url(re.compile(r"^(chrome-error:|about:neterror)"), wait_until="commit")

    assert opener.heard == []
    answer = page.goto(alone)
    assert answer
    assert answer.headers["x-frame-options"] == "DENY"
    if stack.is_ours:
        expect(page.locator("bdi")).to_have_text("Welcome, Rhea Quill.", use_inner_text=False)


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/page")
@pytest.mark.usefixtures("stays_open")
def test_htm_016_the_page_asks_for_nothing_and_names_no_referrer(
    opener: Opener, witness: Witness, context: BrowserContext, social: str
) -> None:
    """The page must load nothing and send no referrer, because its address contains the code and the state."""
    popup = opener.start()
    answer = finish(popup)
    asked = len(witness.requests)

    elsewhere = blank(context, f"{EVIL}/elsewhere")
    go(popup, elsewhere)

    assert answer.headers["referrer-policy"] == "no-referrer"
    assert witness.requests[asked - 1].url == answer.url  # the last request; only the navigation away follows
    (left,) = witness.requests[asked:]
    assert left.url == elsewhere
    assert "referer" not in left.headers
    assert popup.evaluate("() => document.referrer") == ""


@pytest.mark.needs("social")
@pytest.mark.contract("D-07/single-use", "D-09/page")
@pytest.mark.usefixtures("stays_open")
def test_htm_017_going_back_delivers_no_second_token(opener: Opener, context: BrowserContext, social: str) -> None:
    """Going back in the history requests the callback again. The used state must bring no second token."""
    popup = opener.start()
    answer = finish(popup)
    assert answer.headers["cache-control"] == "no-store"
    assert opener.token()

    go(popup, blank(context, f"{EVIL}/elsewhere"))
    with popup.expect_navigation():
        popup.evaluate("() => { setTimeout(() => history.back()); }")

    says(popup, opener.stack, "asked for this page twice")
    popup.wait_for_load_state()
    assert [message["data"] for message in opener.heard[1:] if "token" in str(message["data"])] == []


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/page")
def test_htm_024_visited_directly_the_page_says_what_is_wrong_and_tells_nobody(
    context: BrowserContext, page: Page, opener: Opener, social: str
) -> None:
    """F166, F185: without an opener, the page must explain the problem and send the token nowhere."""
    context.add_init_script(WATCH_BROADCASTS)
    errors = errors_of(page)
    page.goto(opener.address())

    answer = finish(page)

    says(page, opener.stack, "This window has lost the connection to the page that opened it")
    if opener.stack.is_ours:
        expect(page.get_by_text("You are signed in", exact=True)).to_be_hidden()
    assert page.evaluate("() => [told, Object.keys(localStorage), Object.keys(sessionStorage), document.cookie]") == [
        [],
        [],
        [],
        "",
    ]
    assert errors == []
    if opener.stack.is_ours:
        assert "eyJ" not in page.url + page.content()
    assert (answer.headers["cache-control"], answer.headers["referrer-policy"]) == ("no-store", "no-referrer")


@pytest.mark.skip_browser("firefox", because="Firefox's driver cannot switch JavaScript off")
@pytest.mark.needs("social")
@pytest.mark.contract("D-09/page")
def test_htm_027_without_javascript_the_page_says_so_and_shows_no_token(
    new_context: NewContext, opener: Opener, stack: Stack, social: str
) -> None:
    """Without JavaScript, the page must say that it cannot report to the chat, and must not show a token."""
    page = new_context(java_script_enabled=False).new_page()

    page.goto(approved(stack, opener.address()))

    if not stack.is_ours:
        assert JWT.search(page.locator("body").inner_text().encode()) is None
        return  # a service may pass the token to its script in any way
    # If a debugger disables JavaScript, Chromium parses <noscript> but does not show it.
    assert "<noscript><p>Without JavaScript the chat cannot learn that you are signed in." in page.content()
    expect(page.locator("#lost")).to_be_hidden()
    assert "eyJ" not in (page.locator("main").text_content() or "")
    assert len(re.findall(r"eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+", page.content())) == 1  # in the script's data
