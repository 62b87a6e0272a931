"""Tests the widget's interface to the page: the handle, the queue, the events and the debug bundle."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ADA, ShopPage
from chatkey_e2e.plugin import MakeBusiness
from chatkey_e2e.witness import Witness, claims_of
from chatkey_protocol.frames import Kind
from chatkey_stack.stack import Stack

QUEUE = """() => {
  window.told = [];
  const note = (by) => (detail, name) => told.push([by, name, detail]);
  (window.Service ??= []).push((service) => { service.on("*", note("queue")); });
  for (const type of ["service:ready", "service:error"]) {
    document.addEventListener(type, ({ detail, target }) => told.push([target === document, type, detail]));
  }
}"""

HANDLE = """() => Object.entries(Object.getOwnPropertyDescriptors(Service)).map(([name, { get, value }]) =>
  [name, get ? "value" : typeof value]).sort()"""


@pytest.mark.contract("D-12/handle", "D-01/queue", "D-01/globals")
def test_what_waits_in_the_queue_hears_all_that_happens(page: Page, shop: ShopPage) -> None:
    """Listeners that the page put into `Service` before the script ran must get every event.

    The handle must have `push`.
    """
    page.add_init_script(f"({QUEUE})()")

    widget = shop.open()

    told: list[tuple[object, str, dict[str, Any]]] = page.evaluate("() => told")
    names = [name for by, name, _ in told if by == "queue"]
    (ready,) = [detail for by, name, detail in told if (by, name) == (True, "service:ready")]
    assert names.index("key:ready") < names.index("socket:ready") < names.index("identity:changed")
    assert names.index("identity:changed") < names.index("ready")
    assert ready == {"identity": "visitor", "uid": widget.uid} == page.evaluate("() => Service.ready")
    assert page.evaluate("() => { window.Service.push((service) => { told = service; }); return told === Service; }")


@pytest.mark.contract("D-12/handle")
def test_the_handle_is_complete_and_cannot_be_changed(shop: ShopPage) -> None:
    """The handle must have every member of `sdk.d.ts` and be frozen. Its listeners and panel functions must work."""
    widget = shop.open()
    page = widget.page

    members = page.evaluate(HANDLE)
    page.evaluate("() => Service.open()")
    opened = widget.panel.is_visible()
    page.evaluate("() => Service.close()")
    heard = page.evaluate(
        """async () => {
          const heard = [];
          const listener = (detail, name) => heard.push(name);
          const same = Service.on("token:none", listener).off("token:none", listener).on("token:requested", listener);
          const asked = new Promise((resolve) => { Service.on("token:none", resolve); });
          await Service.refreshIdentity();
          await asked;
          return [same === Service, heard];
        }"""
    )

    values, functions = ["identity", "ready"], ["close", "debug", "logout", "off", "on", "open", "push"]
    functions += ["refreshIdentity", "shutdown"]
    assert members == sorted([[name, "value"] for name in values] + [[name, "function"] for name in functions])
    assert page.evaluate("() => Object.isFrozen(Service)")
    assert (opened, widget.panel.is_visible()) == (True, False)
    assert heard == [True, ["token:requested"]]


@pytest.mark.contract("D-12/always-chat", "D-12/handle")
def test_an_error_comes_by_the_handle_the_document_and_the_console(page: Page, shop: ShopPage) -> None:
    """An error must be reported with the same five members to the handle, the document and the console."""
    page.add_init_script(f"({QUEUE})()")
    shop.open()

    with page.expect_console_message() as said:
        page.evaluate("() => { initService({ providerId: 'another' }); }")

    told = page.evaluate("() => told.filter(([, name]) => name.endsWith('error'))")
    assert [(by, name) for by, name, _ in told] == [("queue", "error"), (True, "service:error")]
    assert told[0][2] == told[1][2]
    assert told[0][2].keys() == {"code", "phase", "message", "remediation", "retryable"}
    assert told[0][2]["code"] == "already_initialized"
    assert told[0][2]["remediation"] in said.value.text
    assert shop.widget.debug()["boot"]["error"]["code"] == "already_initialized"


@pytest.mark.contract("D-12/debug")
def test_the_bundle_of_a_member_goes_into_a_ticket(page: Page, make_business: MakeBusiness, witness: Witness) -> None:
    """The debug bundle must have version, browser, state and history, but no tokens, proofs, nonces or messages."""
    shop = ShopPage(page, make_business())
    widget = shop.open()
    shop.sign_in(ADA)
    widget.send("Where is my parcel?")
    thrown = "ada@shop.example eyJhbGciOi.eyJ1a.x"
    page.evaluate("(text) => { ServiceConfig.getToken = () => { throw new Error(text); }; }", thrown)
    with widget.expect_event("error"):
        widget.refresh_identity()

    pasted: str = page.evaluate("() => JSON.stringify(Service.debug())")

    bundle = json.loads(pasted)
    proofs = [claims_of(frame["proof"]) for frame in witness.frames(Kind.CONNECT)]
    tokens = [str(frame["token"]) for frame in witness.frames(Kind.CONNECT)]
    planted = [ADA, "ada@shop.example", "Where is my parcel?", "eyJ", *tokens]
    planted += [str(claims[name]) for claims in proofs for name in ("nonce", "jti", "ath")]
    assert len(planted) > 6
    assert [secret for secret in planted if secret in pasted] == []
    assert bundle["browser"]["origin"] == shop.business.origin
    assert "Mozilla" in bundle["browser"]["userAgent"]
    assert (bundle["boot"]["state"], bundle["stage"], bundle["identity"]) == ("running", "ready", "member")
    assert bundle["troubles"][-1]["detail"]["code"] == "gettoken_failed"
    assert bundle["counters"]["message:sent"] == 1
    assert f'"version":"{bundle["version"]}"' in shop.business.stack.get("/assets/sdk.js").text


@pytest.mark.contract("D-17/pinned")
def test_a_page_that_pins_the_script_starts_the_widget_and_runs_no_other(page: Page, business: Business) -> None:
    """With the published integrity hash, the script must start. With another hash, the script must be blocked."""
    pinned = business.stack.get("/assets/sdk.json").json()
    wrong = f"sha384-{'A' * 64}"
    right, spoilt = (
        business.add_page(
            f"""<!doctype html><title>Shop</title>
            <script>
              window.ServiceConfig = {{ providerId: "{business.provider.id}" }};
              const told = (outcome) => {{ window.outcome = outcome; }};
            </script>
            <script async src="{pinned["url"]}" integrity="{integrity}" crossorigin="anonymous"
              onload="told('loaded')" onerror="told('blocked')"></script>"""
        )
        for integrity in (pinned["integrity"], wrong)
    )

    page.goto(right)
    page.wait_for_function("() => window.Service?.identity?.identity === 'visitor'")
    started = page.evaluate("() => window.outcome")
    page.goto(spoilt)
    page.wait_for_function("() => window.outcome")

    assert (started, page.evaluate("() => [window.outcome, window.Service]")) == ("loaded", ["blocked", None])


@pytest.mark.contract("D-12/types")
def test_the_types_are_beside_the_script(stack: Stack) -> None:
    """The type declarations must be served beside the script."""
    script, types = stack.get("/assets/sdk.js"), stack.get("/assets/sdk.d.ts")

    assert (script.status_code, types.status_code) == (200, 200)
    assert "declare const Service: chatkey.Handle;" in types.text
