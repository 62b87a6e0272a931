"""Tests the connection key: one key per browser, no planted key, and recovery from its loss."""

import json
from base64 import b64encode

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from playwright.sync_api import BrowserContext

from chatkey_e2e.business import Business
from chatkey_e2e.pages.driven import DrivenWidget
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import Planted, WidgetPage
from chatkey_e2e.plugin import Advance, MakeBusiness, NewContext
from chatkey_e2e.scenarios.openers import FRAME, blank
from chatkey_e2e.sockets import Sent
from chatkey_e2e.witness import PRIVATE_KEY, Witness, claims_of
from chatkey_peer.key import BrowserKey
from chatkey_protocol.frames import Kind
from chatkey_protocol.storage_keys import DATABASE

pytestmark = pytest.mark.long

ROUNDS = 25
TABS = 3
NO_LOCKS = "Object.defineProperty(navigator, 'locks', { value: undefined });"

FOLLOW = """() => {
  const channel = new BroadcastChannel("rounds");
  channel.onmessage = ({ data }) => {
    if (data === "stop") {
      Service.shutdown();
      channel.postMessage("stopped");
    }
    if (data === "start") {
      const told = ({ uid }) => {
        Service.off("key:ready", told);
        channel.postMessage(uid);
      };
      initService(ServiceConfig).on("key:ready", told);
    }
  };
}"""
"""Stops and starts the widget when the conducting page asks, and sends the uid of each start."""

CONDUCT = """async ([rounds, tabs, database]) => {
  const channel = new BroadcastChannel("rounds");
  const ask = (word) => new Promise((resolve) => {
    const answers = [];
    channel.onmessage = ({ data }) => {
      if (answers.push(data) === tabs) resolve(answers);
    };
    channel.postMessage(word);
  });
  const forget = () => new Promise((resolve, reject) => {
    Object.assign(indexedDB.deleteDatabase(database), { onsuccess: resolve, onerror: reject });
  });
  const uids = [];
  while (uids.length < rounds) {
    await ask("stop");
    await forget();
    uids.push(await ask("start"));
  }
  return uids;
}"""
"""Starts the widget in all tabs at once, repeatedly, each time without a key. Returns the uids of all rounds."""

CLEAR_ALL = """async () => {
  localStorage.clear();
  sessionStorage.clear();
  for (const { name } of await indexedDB.databases()) {
    await new Promise((resolve, reject) => {
      Object.assign(indexedDB.deleteDatabase(name), { onsuccess: resolve, onerror: reject });
    });
  }
}"""
"""Deletes everything that scripts of the page can store. Cookies set by the server stay."""

PLANT_VECTOR = """(jwk) => {
  const algorithm = { name: "ECDSA", namedCurve: "P-256" };
  const { d, ...open } = jwk;
  const { subtle } = crypto;
  subtle.generateKey = async () => ({
    privateKey: await subtle.importKey("jwk", { ...jwk, key_ops: ["sign"] }, algorithm, false, ["sign"]),
    publicKey: await subtle.importKey("jwk", { ...open, key_ops: ["verify"] }, algorithm, true, ["verify"]),
  });
}"""

THUMBPRINT = """async ({ crv, kty, x, y }) => {
  const octets = new TextEncoder().encode(JSON.stringify({ crv, kty, x, y }));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", octets));
  return btoa(String.fromCharCode(...digest)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}"""

# Small multiples of the curve's generator: the x of 379·G starts with a zero byte, and so does the y of 43·G.
SHORT_KEYS: tuple[dict[str, str], ...] = (
    {
        "d": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAXs",
        "kty": "EC",
        "crv": "P-256",
        "x": "AFVDiUrz0A7X10Cr29dclrBod7eH219w7qeLkKjXwAo",
        "y": "u0yFo9jqKe-q-iRAaRLdhNWxTcMr9lbvbGvVil2UP5I",
    },
    {
        "d": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACs",
        "kty": "EC",
        "crv": "P-256",
        "x": "mGriUG8f8QTQQjCGHY9LSY9LxMbQCbMPdUTcEpuC0o0",
        "y": "ADzMwKZGDgrjKKTZfTx7YdhvxiicGJ8lJREMRBuwfpc",
    },
)


def used_since(witness: Witness, connections: int) -> list[str]:
    """Skip the first `connections` sockets, and return the tokens that opened the others."""
    return [frame["token"] for frame in witness.frames(Kind.CONNECT)[connections:]]


@pytest.mark.contract("D-04/insert-only", "D-12/tabs")
@pytest.mark.parametrize("shim", [pytest.param("", id="F012"), pytest.param(NO_LOCKS, id="F013")])
def test_three_tabs_that_open_at_once_are_one_visitor(
    context: BrowserContext, business: Business, witness: Witness, shim: str
) -> None:
    """Three tabs that open at once must create only one key, with and without Web Locks.

    The first round loads three pages. Then the three widgets start 25 times, each time after the key's database was
    deleted.
    """
    context.add_init_script(shim)
    shops = [ShopPage(context.new_page(), business) for _ in range(TABS)]
    for shop in shops:
        shop.page.evaluate("(url) => { location.href = url }", business.url)
    for shop in shops:
        shop.widget.wait_ready()
    loaded = [shop.widget.uid for shop in shops]
    for shop in shops:
        shop.page.evaluate(FOLLOW)
    conductor = context.new_page()
    conductor.goto(f"{business.origin}/")

    rounds: list[list[str]] = conductor.evaluate(CONDUCT, [ROUNDS, TABS, DATABASE])
    for shop in shops:
        shop.widget.wait_ready()
    shops[0].widget.send("Are we one?")

    keys = [set(uids) for uids in (loaded, *rounds)]
    assert [len(key) for key in keys] == [1] * (1 + ROUNDS)
    assert len(set.union(*keys)) == 1 + ROUNDS
    assert {shop.widget.uid for shop in shops} == keys[-1]
    assert shops[1].widget.lines(1) == ["Are we one?"]


@pytest.mark.contract("D-04/bad-record", "2.3/indexeddb")
def test_a_planted_record_is_deleted_and_the_key_made_anew(shop: ShopPage, business: Business) -> None:
    """F009, F018, F019: a stored record that is not a non-extractable P-256 key pair must be replaced."""
    planted: tuple[Planted, ...] = ("extractable", "P-384", "RSA", "sealed", "spoilt", "null")
    shop.page.goto(f"{business.origin}/")
    shop.widget.plant_record(planted[0])
    widget = shop.open()
    uids = {widget.uid}

    for kind in planted[1:]:
        assert widget.events("key:lost") == [{"reason": "corrupt"}]
        assert widget.events("storage:degraded") == []
        widget.plant_record(kind)
        widget.restart()
        uids.add(widget.uid)

    stored = widget.stored_key()
    assert widget.events("key:lost") == [{"reason": "corrupt"}]
    assert (stored.algorithm["namedCurve"], stored.extractable, stored.usages) == ("P-256", False, ["sign"])
    assert len(uids) == len(planted)


@pytest.mark.contract("D-04/bad-record", "D-06/dropped-before-connect", "2.3/cleared")
def test_a_browser_state_that_was_restored_from_a_file_has_lost_its_key(
    shop: ShopPage, business: Business, witness: Witness, new_context: NewContext
) -> None:
    """F009: a browser state restored from a file has no key. A new key must be created, and the old token deleted."""
    shop.open()
    before = shop.sign_in().jkt
    old = witness.frames(Kind.CONNECT)[-1]["token"]
    state = shop.page.context.storage_state(indexed_db=True)
    connections = len(witness.frames(Kind.CONNECT))

    restored = ShopPage(new_context(storage_state=state).new_page(), business).open()
    restored.wait_for("member")

    assert restored.events("key:lost") == [{"reason": "corrupt"}]
    assert restored.events("token:dropped") == [{"reason": "unusable"}]
    assert old not in used_since(witness, connections)
    assert claims_of(restored.stored(business.storage_key) or "")["cnf"] == {"jkt": restored.jkt}
    assert restored.jkt != before


@pytest.mark.contract("D-06/dropped-before-connect", "2.3/cleared")
def test_a_token_whose_key_was_evicted_is_never_sent(shop: ShopPage, business: Business, witness: Witness) -> None:
    """F010, WDG-005: if the browser deletes only the key, the token must be deleted and `getToken` called."""
    shop.open()
    widget = shop.sign_in()
    old, calls, connections = widget.jkt, business.token_calls, len(witness.frames(Kind.CONNECT))
    widget.clear_key()

    shop.reload().wait_for("member")

    stored = claims_of(widget.stored(business.storage_key) or "")
    used = [claims_of(token) for token in used_since(witness, connections)]
    assert widget.jkt != old
    assert stored["cnf"] == {"jkt": widget.jkt}
    assert [claims.get("cnf") for claims in used if claims["type"] == "user"] == [{"jkt": widget.jkt}]
    assert business.token_calls == calls + 1


@pytest.mark.contract("2.3/indexeddb", "3/get-token")
def test_a_key_whose_token_was_evicted_stays(shop: ShopPage, business: Business) -> None:
    """F011: if the browser deletes only the token, one `getToken` call must restore the same member."""
    shop.open()
    widget = shop.sign_in()
    uid, jkt, calls = widget.uid, widget.jkt, business.token_calls
    widget.page.evaluate("(key) => localStorage.removeItem(key)", business.storage_key)

    shop.reload().wait_for("member")

    assert (widget.uid, widget.jkt) == (uid, jkt)
    assert business.token_calls == calls + 1


@pytest.mark.only_browser("chromium", because="only Chromium's driver can clear an origin's data while a page is open")
@pytest.mark.contract("2.3/cleared", "D-12/always-chat")
@pytest.mark.parametrize("member", [False, True], ids=["visitor", "member"])
def test_data_cleared_under_an_open_page_ends_no_chat(shop: ShopPage, business: Business, *, member: bool) -> None:
    """F014: if data is cleared while a page is open, the visitor can chat. The next load must be a new visitor."""
    widget = shop.open()
    visitor = widget.uid
    if member:
        shop.sign_in()
    session = shop.page.context.new_cdp_session(shop.page)

    session.send("Storage.clearDataForOrigin", {"origin": business.origin, "storageTypes": "all"})
    widget.wait_for("visitor")
    widget.send("Still here?")
    during = widget.uid
    after = shop.reload().uid

    assert during == visitor
    assert after.startswith("v_")
    assert after != visitor
    assert widget.lines(0) == []
    assert widget.events("error") == []


@pytest.mark.needs("clock")
@pytest.mark.contract("2.3/cleared", "3/get-token")
def test_storage_that_is_deleted_after_a_week_makes_a_new_visitor(
    advance: Advance, shop: ShopPage, business: Business
) -> None:
    """F015: after storage was deleted, the visitor must be new, and a signed-in customer must be the same member."""
    widget = shop.open()
    visitor = widget.uid
    widget.send("See you in a week")
    advance(8 * 86_400)
    widget.page.goto(f"{business.origin}/")
    widget.page.evaluate(CLEAR_ALL)

    shop.open()
    fresh, lines, errors = widget.uid, widget.lines(0), widget.events("error")
    member = shop.sign_in().uid
    advance(8 * 86_400)
    widget.page.goto(f"{business.origin}/")
    widget.page.evaluate(CLEAR_ALL)
    shop.open().wait_for("member")

    assert fresh.startswith("v_")
    assert fresh != visitor
    assert (lines, errors) == ([], [])
    assert widget.uid == member


@pytest.mark.needs("businesses")
@pytest.mark.contract("2.8/member-token-key", "D-04/uid")
def test_two_businesses_on_one_origin_share_the_key_and_no_token(
    shop: ShopPage, make_business: MakeBusiness, witness: Witness
) -> None:
    """F020: two businesses on one origin must share the key (D-04), but have separate cached tokens."""
    shop.open()
    widget = shop.sign_in()
    other = ShopPage(shop.page.context.new_page(), make_business(get_token=False))

    visitor = other.open()

    assert visitor.jkt == widget.jkt
    assert visitor.uid == f"v_{widget.jkt}"
    assert (widget.uid, widget.stored(other.business.storage_key)) == (shop.business.ada, None)
    assert {claims_of(frame["token"])["pid"] for frame in witness.frames(Kind.CONNECT)[-1:]} == {
        other.business.provider.id
    }


@pytest.mark.contract("2.3/uid-derived", "D-12/always-chat")
def test_a_widget_in_a_page_of_another_site_is_another_visitor(
    context: BrowserContext, shop: ShopPage, business: Business
) -> None:
    """F021: in a frame on another site, the widget must be a different visitor, because browsers partition storage.

    Playwright's Chromium does not partition ordinary frames, so the test uses a `credentialless` frame.
    """
    context.grant_permissions(["local-network-access"])  # for pages loaded from elsewhere
    alone = shop.open().uid
    page = context.new_page()
    page.goto(blank(context, "https://news.example/article"))

    page.evaluate(FRAME.replace("{ src }", "{ src, credentialless: true }"), business.url)

    page.frame_locator("iframe").get_by_role("button", name="Open chat").click()
    framed = page.frames[1].wait_for_function("() => Service.identity?.uid").json_value()
    assert framed.startswith("v_")
    assert framed != alone


@pytest.mark.contract("D-04/jkt", "D-04/uid", "D-04/vectors", "5.5/proof-matches")
def test_one_key_has_the_same_thumbprint_everywhere(shop: ShopPage) -> None:
    """F022: page, widget and service must compute the same thumbprint for coordinates that start with zero bytes."""
    shop.page.add_init_script(f"({PLANT_VECTOR})({json.dumps(SHORT_KEYS[0])});")
    widget = shop.open()
    seen = [(widget.jkt, widget.uid)]
    widget.page.evaluate(PLANT_VECTOR, SHORT_KEYS[1])
    widget.clear_key()

    widget.restart()

    seen.append((widget.jkt, widget.uid))
    expected = [widget.page.evaluate(THUMBPRINT, key) for key in SHORT_KEYS]
    assert seen == [(jkt, f"v_{jkt}") for jkt in expected]


@pytest.mark.contract("D-12/tabs", "4.9/one-time")
def test_a_duplicated_tab_is_the_same_visitor_on_a_socket_of_its_own(
    shop: ShopPage, context: BrowserContext, witness: Witness
) -> None:
    """F144: a duplicated tab must have the same key, but a separate socket. Both tabs must show all messages."""
    widget = shop.open()
    with context.expect_page() as opened:
        shop.page.evaluate("() => { window.open(location.href); }")
    copy = WidgetPage(opened.value)
    copy.wait_ready()

    widget.send("Which of us is me?")

    proofs = [claims_of(frame["proof"]) for frame in witness.frames(Kind.CONNECT)]
    assert copy.uid == widget.uid
    assert len({proof["nonce"] for proof in proofs}) == len(proofs) == 2
    assert copy.lines(1) == ["Which of us is me?"]


PLANT = """async ([text, bytes]) => {
  const answer = (request) => new Promise((resolve, reject) => {
    Object.assign(request, { onsuccess: () => resolve(request.result), onerror: () => reject(request.error) });
  });
  const opening = indexedDB.open("planted", 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore("kept");
  const database = await answer(opening);
  const key = await crypto.subtle.importKey(
    "pkcs8", Uint8Array.from(bytes), { name: "ECDSA", namedCurve: "P-256" }, true, ["sign"],
  );
  const kept = database.transaction("kept", "readwrite").objectStore("kept");
  await answer(kept.put(new Map([["inner", { key }]]), "a key"));
  database.close();
  localStorage.setItem("planted", text);
  sessionStorage.setItem("planted", text);
  document.cookie = `planted=${encodeURIComponent(text)}`;
  window.name = text;
  history.replaceState({ text }, "", `#${encodeURIComponent(text)}`);
  await (await caches.open("planted")).put("/planted", new Response(text));
  document.body.append(Object.assign(document.createElement("input"), { value: text }), document.createComment(text));
  await fetch("", { method: "POST", body: Uint8Array.from(bytes) });
  postMessage({ text }, "*");
  new BroadcastChannel("planted").postMessage(Uint8Array.from(bytes).buffer);
}"""
PLACES = {
    "IndexedDB planted of {}",
    "localStorage['planted']",
    "sessionStorage of {}",
    "cookie of {}",
    "name of {}",
    "url of {}",
    "history.state of {}",
    "Cache Storage of {}",
    "a field of {}",
    "the DOM of {}",
    "the request of {}",
    "a message between windows",
}


@pytest.mark.contract("2.8/key-pair")
def test_a_private_key_would_be_found_wherever_a_page_can_keep_it(driven: DrivenWidget) -> None:
    """The check must name each place of the key of a connection, and none of a key without a connection."""
    driven.visit()
    key, witness = BrowserKey(), driven.witness
    der = key.private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())

    driven.page.evaluate(PLANT, [b64encode(der).decode(), list(der)])
    driven.until(lambda: len(witness.messages) >= 2, "two messages")
    clean = witness.leaks([driven.page.context])
    proof = key.prove(token="t", nonce="n", htu=driven.business.socket_uri)
    witness.sent.append(Sent(driven.business.socket_uri, json.dumps({"type": Kind.CONNECT, "proof": proof})))
    found = {leak.removeprefix(f"{PRIVATE_KEY} in ") for leak in witness.leaks([driven.page.context])}
    witness.sent.pop()  # otherwise this scenario's own check would find the key too

    assert clean == []
    assert found == {place.format(driven.business.url) for place in PLACES}
