"""Tests that stolen tokens and proofs are refused without the key."""

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import MakePeer
from chatkey_e2e.scenarios.openers import errors_of
from chatkey_e2e.witness import Witness
from chatkey_peer.key import BrowserKey
from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind
from chatkey_stack.stack import Stack


@pytest.mark.contract("5.5/stolen-token", "7/proof-mismatch")
def test_a_stolen_member_token_is_refused_with_another_key(
    shop: ShopPage, witness: Witness, make_peer: MakePeer
) -> None:
    """F123: a stolen member token must be refused if another key signs the proof."""
    shop.open()
    shop.sign_in()
    stolen = witness.frames(Kind.CONNECT)[-1]["token"]

    outcome = make_peer().connect_with(stolen, BrowserKey())

    assert (outcome.code, outcome.close) == (Code.PROOF_KEY_MISMATCH, Close.FORBIDDEN)


@pytest.mark.contract("5.5/stolen-uid", "4.2/no-binding", "7/proof-mismatch")
def test_a_stolen_visitor_token_is_refused_with_another_key(
    widget: WidgetPage, business: Business, stack: Stack, make_peer: MakePeer
) -> None:
    """F124: anyone can get the token for a visitor's uid, but without the visitor's key the token must be refused."""
    answer = stack.get(f"{business.visitor_token_path}?uid={widget.uid}")

    outcome = make_peer().connect_with(answer.json()["data"]["auth_token"], BrowserKey())

    assert answer.status_code == 200
    assert (outcome.code, outcome.close) == (Code.PROOF_KEY_MISMATCH, Close.FORBIDDEN)


@pytest.mark.contract("4.9/one-time")
def test_a_replayed_proof_is_refused(widget: WidgetPage, witness: Witness, make_peer: MakePeer) -> None:
    """F125: a replayed proof must be refused even together with its token, and the original socket must stay open."""
    (overheard,) = witness.frames(Kind.CONNECT)

    outcome = make_peer().say_connect(overheard["token"], overheard["proof"])
    widget.send("still here")

    assert widget.debug()["counters"]["socket:opening"] == 1
    assert (outcome.code, outcome.close) == (Code.PROOF_NONCE, Close.NONCE)


@pytest.mark.contract("2.4/cnf.jkt", "7/binding-missing")
def test_a_member_token_without_a_key_is_refused(business: Business, stack: Stack, make_peer: MakePeer) -> None:
    """A member token without `cnf.jkt` must be refused, regardless of the key that signs the proof."""
    unbound = business.mint(now=stack.service_lab.now(), uid="u-1")

    outcome = make_peer().connect_with(unbound, BrowserKey())

    assert (outcome.code, outcome.close) == (Code.PROOF_BINDING_MISSING, Close.FORBIDDEN)


@pytest.mark.contract("2.4/cnf.jkt", "5.5/proof-matches")
def test_a_member_token_with_its_own_key_is_accepted(business: Business, stack: Stack, make_peer: MakePeer) -> None:
    """A member token must be accepted if the key to which it is bound signs the proof."""
    key = BrowserKey()
    token = business.mint(now=stack.service_lab.now(), uid="u-1", cnf={"jkt": key.jkt})

    outcome = make_peer().connect_with(token, key)

    assert (outcome.frame["type"], outcome.frame["identity"], outcome.frame["uid"]) == (Kind.READY, "member", "u-1")


@pytest.mark.contract("5.6/secure-context", "D-10/insecure-origin")
def test_the_service_refuses_a_socket_from_an_insecure_origin(make_peer: MakePeer) -> None:
    """A page on plain http that is not on this machine must be refused before any other check."""
    outcome = make_peer(origin="http://shop.example").outcome()

    assert (outcome.code, outcome.close) == (Code.INSECURE_ORIGIN, Close.FORBIDDEN)


@pytest.mark.contract("5.6/secure-context")
@pytest.mark.parametrize(
    "origin", [pytest.param("http://insecure.test", id="F001"), pytest.param("http://192.168.7.20", id="WDG-015")]
)
def test_the_widget_says_why_it_does_not_run_on_an_insecure_page(
    page: Page, business: Business, stack: Stack, witness: Witness, origin: str
) -> None:
    """On a plain http page, the widget must create no key and no connection, and report the reason and the remedy."""
    thrown = errors_of(page)
    script = stack.get("/assets/sdk.js").text
    page.route(
        f"{origin}/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"""<!doctype html><title>Shop</title>
            <script>
              window.calls = 0;
              const getToken = async () => {{ window.calls += 1; return null; }};
              window.ServiceConfig = {{ providerId: "{business.provider.id}", getToken }};
              document.addEventListener("service:error", (event) => {{ window.told = event.detail; }});
            </script>
            <script async src="{origin}/sdk.js"></script>""",
        ),
    )
    page.route(f"{origin}/sdk.js", lambda route: route.fulfill(content_type="text/javascript", body=script))

    page.goto(f"{origin}/")
    page.wait_for_function("() => window.told")

    told = page.evaluate("() => window.told")
    assert told["code"] == "insecure_context"
    assert "https" in told["remediation"]
    assert page.evaluate("async () => [window.calls, (await indexedDB.databases()).length]") == [0, 0]
    assert {urlsplit(request.url).hostname for request in witness.requests} == {urlsplit(origin).hostname}
    assert witness.sockets == []
    assert thrown == []
