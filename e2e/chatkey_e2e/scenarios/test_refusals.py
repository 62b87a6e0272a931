"""What a thief has is worth nothing without the key."""

import pytest
from playwright.sync_api import Page

from chatkey_demo.stack.stack import Stack
from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import WidgetPage
from chatkey_e2e.plugin import MakePeer
from chatkey_e2e.wire import Key
from chatkey_e2e.witness import Witness
from chatkey_protocol.codes import Close, Code
from chatkey_protocol.frames import Kind


@pytest.mark.contract("5.5/stolen-token", "7/proof-mismatch")
def test_a_stolen_member_token_is_refused_with_another_key(
    shop: ShopPage, witness: Witness, make_peer: MakePeer
) -> None:
    """A member's token opens no socket for anybody who does not hold the member's key."""
    shop.open()
    shop.sign_in()
    stolen = witness.frames(Kind.CONNECT)[-1]["token"]

    outcome = make_peer().connect_with(stolen, Key())

    assert (outcome.code, outcome.close) == (Code.PROOF_KEY_MISMATCH, Close.FORBIDDEN)


@pytest.mark.contract("5.5/stolen-uid", "4.2/no-binding", "7/proof-mismatch")
def test_a_stolen_visitor_token_is_refused_with_another_key(
    widget: WidgetPage, witness: Witness, make_peer: MakePeer
) -> None:
    """A visitor's token opens no socket for anybody who does not hold the visitor's key."""
    stolen = witness.frames(Kind.CONNECT)[-1]["token"]

    outcome = make_peer().connect_with(stolen, Key())

    assert (outcome.code, outcome.close) == (Code.PROOF_KEY_MISMATCH, Close.FORBIDDEN)


@pytest.mark.contract("4.9/one-time")
def test_a_replayed_proof_is_refused(widget: WidgetPage, witness: Witness, make_peer: MakePeer) -> None:
    """A proof that was overheard opens no second socket, even with the token it was made for."""
    (overheard,) = witness.frames(Kind.CONNECT)

    outcome = make_peer().say_connect(overheard["token"], overheard["proof"])

    assert (outcome.code, outcome.close) == (Code.PROOF_NONCE, Close.NONCE)


@pytest.mark.contract("2.4/cnf.jkt", "7/binding-missing")
def test_a_member_token_without_a_key_is_refused(business: Business, stack: Stack, make_peer: MakePeer) -> None:
    """A member's token without `cnf.jkt` opens no socket, whoever proves what."""
    unbound = business.mint(now=stack.service_lab.now(), uid="u-1")

    outcome = make_peer().connect_with(unbound, Key())

    assert (outcome.code, outcome.close) == (Code.PROOF_BINDING_MISSING, Close.FORBIDDEN)


@pytest.mark.contract("2.4/cnf.jkt", "5.5/proof-matches")
def test_a_member_token_with_its_own_key_is_accepted(business: Business, stack: Stack, make_peer: MakePeer) -> None:
    """The twin of the refusals above: the holder of the key connects."""
    key = Key()
    token = business.mint(now=stack.service_lab.now(), uid="u-1", cnf={"jkt": key.jkt})

    outcome = make_peer().connect_with(token, key)

    assert (outcome.frame["type"], outcome.frame["identity"], outcome.frame["uid"]) == (Kind.READY, "member", "u-1")


@pytest.mark.contract("5.6/secure-context", "D-10/insecure-origin")
def test_the_service_refuses_a_socket_from_an_insecure_origin(make_peer: MakePeer) -> None:
    """A page served by plain http from anywhere but this machine is refused before anything else is judged."""
    outcome = make_peer(origin="http://shop.example").outcome()

    assert (outcome.code, outcome.close) == (Code.INSECURE_ORIGIN, Close.FORBIDDEN)


@pytest.mark.contract("5.6/secure-context")
def test_the_widget_says_why_it_does_not_run_on_an_insecure_page(
    page: Page, business: Business, stack: Stack, witness: Witness
) -> None:
    """On a plain http page the widget connects nowhere and names the reason and the remedy."""
    script = stack.get("/assets/sdk.js").text
    page.route(
        "http://shop.example/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f"""<!doctype html><title>Shop</title>
            <script>
              window.ServiceConfig = {{ providerId: "{business.provider.id}" }};
              document.addEventListener("service:error", (event) => {{ window.told = event.detail; }});
            </script>
            <script async src="http://shop.example/sdk.js"></script>""",
        ),
    )
    page.route("http://shop.example/sdk.js", lambda route: route.fulfill(content_type="text/javascript", body=script))

    page.goto("http://shop.example/")
    page.wait_for_function("() => window.told")

    told = page.evaluate("() => window.told")
    assert told["code"] == "insecure_context"
    assert "https" in told["remediation"]
    assert witness.sockets == []
