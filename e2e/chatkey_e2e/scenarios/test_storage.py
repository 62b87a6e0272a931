"""Tests storage that is missing, denied, slow, full or blocked: the visitor can chat, or gets a reason."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Frame, Page, expect

from chatkey_e2e.business import Business
from chatkey_e2e.pages.shop import ShopPage
from chatkey_e2e.pages.widget import SOCIAL_BUTTONS
from chatkey_e2e.plugin import Advance, MakeBusiness
from chatkey_e2e.scenarios.openers import errors_of
from chatkey_e2e.scenarios.test_clock import ENDS_AFTER
from chatkey_e2e.witness import Witness, claims_of
from chatkey_protocol.codes import Code
from chatkey_protocol.names import SOCIALS
from chatkey_protocol.storage_keys import DATABASE

pytestmark = pytest.mark.long

OPEN_THROWS = """IDBFactory.prototype.open = () => { throw new DOMException("denied", "SecurityError"); };"""
OPEN_FAILS = """IDBFactory.prototype.open = () => {
  const request = { error: new DOMException("broken", "UnknownError") };
  queueMicrotask(() => request.onerror(new Event("error")));
  return request;
};"""
NO_INDEXED_DB = "Object.defineProperty(window, 'indexedDB', { value: undefined });"
OPENS_IN_PLACE = "window.open = (url) => { location.href = url; return window; };"
NO_TRANSACTION = """IDBDatabase.prototype.transaction = () => {
  throw new DOMException("The connection is closing.", "InvalidStateError");
};"""
KEEPS_NO_KEY = """for (const name of ["add", "put"]) {
  IDBObjectStore.prototype[name] = () => { throw new DOMException("not cloned", "DataCloneError"); };
}"""
OPEN_HANGS = """
  window.closings = 0;
  IDBFactory.prototype.open = () => {
    window.request = { result: { close() { window.closings += 1; } } };
    return window.request;
  };"""

HANGS_ONCE = """
  const { %(name)s } = SubtleCrypto.prototype;
  window.hangs = 0;
  SubtleCrypto.prototype.%(name)s = function (...values) {
    window.hangs += 1;
    return window.hangs === 1 ? new Promise(() => {}) : %(name)s.apply(this, values);
  };"""

HOLD_KEY_LOCK = """() => { navigator.locks.request("wf_keys:create", () => new Promise(() => {})); }"""

NO_SUBTLE = "Object.defineProperty(crypto, 'subtle', { value: undefined });"
NO_LOCAL_STORAGE = """Object.defineProperty(window, "localStorage", {
  get() { throw new DOMException("denied", "SecurityError"); },
});"""
NOTHING_FITS = """() => {
  Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); };
}"""

HOLD_WITHOUT_STORE = """([name, yields]) => new Promise((resolve) => {
  const opening = indexedDB.open(name, 1);
  opening.onsuccess = () => {
    window.held = opening.result;
    if (yields) window.held.onversionchange = () => window.held.close();
    resolve();
  };
})"""

WHOLE_PAGE = 'style="position: fixed; inset: 0; width: 100%; height: 100%"'

EVERYTHING_STORED = """async () => {
  const answer = (request) => new Promise((resolve, reject) => {
    Object.assign(request, { onsuccess: () => resolve(request.result), onerror: () => reject(request.error) });
  });
  const found = { local: { ...localStorage }, session: { ...sessionStorage }, cookie: document.cookie, databases: [] };
  for (const { name } of await indexedDB.databases()) {
    const database = await answer(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const records = database.transaction(store).objectStore(store);
      found.databases.push([name, store, await answer(records.getAll())]);
    }
    database.close();
  }
  for (const name of await caches.keys()) {
    for (const request of await (await caches.open(name)).keys()) {
      found.databases.push([name, request.url, await (await caches.match(request)).text()]);
    }
  }
  return JSON.stringify(found);
}"""


def widget_of(frame: Frame) -> str:
    """Wait for the widget in a frame. Return the code of the widget's first error, or the identity without an error."""
    said: str = frame.wait_for_function(
        """() => {
          const error = window.Service?.debug().events?.find(({ name }) => name === "error");
          return error?.detail.code ?? window.Service?.identity?.identity;
        }"""
    ).json_value()
    return said


def frame_of(page: Page, html: str) -> Frame:
    """Insert an iframe, given as HTML, into the page, and return its frame."""
    with page.expect_event("frameattached") as attached:
        page.evaluate("(html) => { document.body.insertAdjacentHTML('beforeend', html); }", html)
    return attached.value


def embedding(business: Business, **config: str) -> str:
    """Return the HTML of a small page with the widget."""
    sdk = f"{business.stack.service.browser_url}/assets/sdk.js"
    config_text = json.dumps({"providerId": business.provider.id, **config})
    return (
        "<!doctype html><meta charset='utf-8'><title>A page</title><body>"
        f"<script>window.ServiceConfig = {config_text};</script><script async src='{sdk}'></script>"
    )


@pytest.mark.contract("D-12/always-chat")
@pytest.mark.parametrize(
    ("shim", "reason"),
    [
        pytest.param(OPEN_THROWS, "SecurityError", id="F003-throws"),
        pytest.param(OPEN_FAILS, "UnknownError", id="F003-fails"),
        pytest.param(NO_INDEXED_DB, "missing", id="F003-missing"),
        pytest.param(NO_TRANSACTION, "InvalidStateError", id="F003-closing"),
        pytest.param(KEEPS_NO_KEY, "DataCloneError", id="F006"),
    ],
)
def test_a_visitor_whose_browser_keeps_no_key_can_chat(shop: ShopPage, shim: str, reason: str) -> None:
    """WDG-012: if the browser cannot store the key, the page must be told why, and each load must be a new visitor."""
    shop.page.add_init_script(shim)

    widget = shop.open()
    widget.send("Can you read this?")
    first = widget.uid
    widget.restart()

    assert widget.events("storage:degraded") == [{"what": "key", "reason": reason}]
    assert widget.events("error") == []
    assert first.startswith("v_")
    assert widget.uid != first


@pytest.mark.parametrize("name", ["generateKey", "exportKey"])
def test_a_key_that_never_comes_is_reported_and_requested_again(page_time: Advance, shop: ShopPage, name: str) -> None:
    """F223: after 15 seconds the page must be told, and the next attempt must work."""
    shop.page.add_init_script(HANGS_ONCE % {"name": name})
    shop.visit()
    shop.page.wait_for_function("() => window.hangs")

    page_time(15.1)
    shop.widget.wait_for_error("key_timeout")
    page_time(1.1)

    shop.widget.wait_ready()
    shop.widget.send("Can you read this?")
    assert [error["code"] for error in shop.widget.events("error")] == ["key_timeout"]
    assert shop.widget.events("storage:degraded") == []


def test_a_tab_that_holds_the_lock_for_ever_keeps_no_tab_from_its_key(
    page_time: Advance, shop: ShopPage, business: Business
) -> None:
    """F223: a frozen tab may hold the lock with which only one tab at a time creates the key."""
    frozen = shop.page.context.new_page()
    frozen.goto(f"{business.origin}/")
    frozen.evaluate(HOLD_KEY_LOCK)

    shop.visit()
    shop.page.wait_for_function("() => navigator.locks.query().then(({ pending }) => pending.length)")
    page_time(5.1)

    shop.widget.wait_ready()
    assert shop.widget.events("storage:degraded") == []


@pytest.mark.contract("D-12/always-chat")
def test_a_database_that_never_answers_is_waited_for_three_seconds(page_time: Advance, shop: ShopPage) -> None:
    """F004: if the database does not open in three seconds, the key must be kept in memory."""
    shop.page.add_init_script(OPEN_HANGS)
    shop.visit()
    shop.page.wait_for_function("() => window.request")

    page_time(3.1)

    shop.widget.wait_ready()
    assert shop.widget.events("storage:degraded") == [{"what": "key", "reason": "timeout"}]
    shop.page.evaluate("() => request.onsuccess(new Event('success'))")
    assert shop.page.evaluate("() => window.closings") == 1


@pytest.mark.contract("2.3/indexeddb", "D-12/always-chat")
@pytest.mark.parametrize("yields", [True, False], ids=["yields", "stays"])
def test_a_database_without_its_store_is_mended_unless_another_tab_is_in_the_way(
    page_time: Advance, context: BrowserContext, shop: ShopPage, business: Business, *, yields: bool
) -> None:
    """F005: a database without its store must be repaired. If a tab blocks the repair, the key stays in memory."""
    other = context.new_page()
    other.goto(f"{business.origin}/")
    other.evaluate(HOLD_WITHOUT_STORE, [DATABASE, yields])
    shop.page.add_init_script(
        """const { open } = IDBFactory.prototype;
        IDBFactory.prototype.open = function (...how) {
          const request = open.apply(this, how);
          request.addEventListener("blocked", () => { window.blocked = true; });
          return request;
        };"""
    )
    shop.visit()

    if not yields:
        shop.page.wait_for_function("() => window.blocked")
        page_time(3.1)
    shop.widget.wait_ready()

    degraded = [] if yields else [{"what": "key", "reason": "blocked"}]
    assert shop.widget.events("storage:degraded") == degraded
    if yields:
        before = shop.widget.uid
        assert shop.reload().uid == before


def test_the_widget_is_in_no_other_tabs_way(shop: ShopPage) -> None:
    """F005: the widget must keep no database connection open, so that another tab can upgrade the database."""
    shop.open()

    opened = shop.page.evaluate(
        """(name) => new Promise((resolve) => {
          const opening = indexedDB.open(name, 7);
          opening.onblocked = () => resolve("blocked");
          opening.onsuccess = () => { opening.result.close(); resolve("opened"); };
        })""",
        DATABASE,
    )
    before = shop.widget.uid
    after = shop.reload().uid

    assert opened == "opened"
    assert after == before


@pytest.mark.contract("D-12/always-chat", "3/get-token")
def test_a_member_whose_browser_denies_local_storage_is_asked_for_at_each_load(
    shop: ShopPage, business: Business
) -> None:
    """F016, WDG-012: without localStorage, the page must get one warning, and each load must call `getToken` again."""
    shop.page.add_init_script(NO_LOCAL_STORAGE)
    shop.open()
    widget = shop.sign_in()
    told, calls = widget.events("storage:degraded"), business.token_calls

    shop.reload().wait_for("member")

    assert told == [{"what": "token", "reason": "SecurityError"}]
    assert widget.events("error") == []
    assert business.token_calls == calls + 1


@pytest.mark.needs("clock")
@pytest.mark.contract("3/renewal", "D-12/always-chat")
def test_a_member_whose_storage_is_full_is_renewed_all_the_same(
    advance: Advance, shop: ShopPage, business: Business, witness: Witness
) -> None:
    """WDG-012: if storage is full, the renewed token must stay in memory, and the older one must not be used."""
    shop.open()
    widget = shop.sign_in()
    uid = widget.uid
    widget.page.evaluate(NOTHING_FITS)

    for _ in range(2):
        with widget.expect_event("token:received"), widget.expect_event("token:used"):
            advance(3590)
        widget.page.wait_for_function(ENDS_AFTER, arg=business.stack.service_lab.now() + 600)

    ends = [claims_of(token)["exp"] for token in witness.socket_tokens if claims_of(token)["type"] == "user"]
    assert widget.uid == uid
    assert ends[-1] > ends[0] + 7000
    assert widget.events("token:adopted") == []
    assert widget.events("storage:degraded") == [{"what": "token", "reason": "QuotaExceededError"}]


@pytest.mark.contract("2.3/indexeddb", "D-06/dropped-before-connect")
def test_a_key_in_memory_leaves_the_token_of_the_stored_key_alone(shop: ShopPage, business: Business) -> None:
    """If the database fails for one load, the stored token must stay, and the next load must restore the member."""
    shop.open()
    widget = shop.sign_in()
    token, jkt = widget.stored(business.storage_key), widget.jkt
    widget.page.evaluate(f"() => {{ window.real = IDBFactory.prototype.open; {OPEN_THROWS} }}")

    widget.restart()
    widget.wait_for("member")
    meanwhile = widget.jkt, widget.stored(business.storage_key)
    shop.reload()

    assert meanwhile[0] != jkt
    assert meanwhile[1] == token
    assert (widget.jkt, widget.identity["identity"]) == (jkt, "member")


@pytest.mark.contract("D-06/dropped-before-connect", "2.8/exp-before-reuse")
def test_garbage_in_the_place_of_the_token_is_deleted(shop: ShopPage, business: Business, witness: Witness) -> None:
    """F017: an invalid token or one for another key must be deleted from localStorage. The visitor must connect."""
    widget = shop.open()
    widget.wait_for_event("token:none")
    visitor, calls = widget.uid, business.token_calls
    now = business.stack.service_lab.now()
    foreign = business.mint(now=now, uid="u-1002", cnf={"jkt": "x" * 43})

    for value in ("{", "null", "x" * 1_000_000, foreign):
        widget.page.evaluate("([key, value]) => localStorage.setItem(key, value)", [business.storage_key, value])
        widget.restart()
        widget.wait_for_event("token:none")
        assert widget.stored(business.storage_key) is None
        assert widget.events("token:dropped") == [{"reason": "unusable"}]
        assert widget.uid == visitor

    assert business.token_calls == calls + 4
    assert foreign not in witness.socket_tokens


def test_a_secure_page_without_keys_is_told_so(shop: ShopPage, witness: Witness) -> None:
    """F002: without `crypto.subtle`, the page must get one error with the remedy, and there must be no connection."""
    shop.page.add_init_script(NO_SUBTLE)

    shop.visit()

    shop.widget.wait_for_error("key_unavailable")
    panel = shop.widget.open()
    panel.get_by_text("The chat is not available in this browser.").wait_for()
    (error,) = shop.widget.events("error")
    assert "crypto.subtle" in error["message"] + error["remediation"]
    assert witness.sockets == []


@pytest.mark.needs("clock", "social")
@pytest.mark.contract("2.6/memory-only")
def test_tokens_of_the_endpoints_are_stored_nowhere(
    advance: Advance, page: Page, make_business: MakeBusiness, witness: Witness, social: str
) -> None:
    """WDG-018: no `auth_token` of a visitor or social member may be in any storage, even after a refresh."""
    shop = ShopPage(page, make_business(get_token=False, service_keys=[social]))
    widget = shop.open()
    with widget.expect_event("token:refreshed"):
        advance(51)
    consent = widget.sign_in_with(social)
    with consent.page.expect_event("close"):
        consent.approve()
    widget.wait_for("member")
    with widget.expect_event("token:refreshed"):
        advance(51)

    stored = page.evaluate(EVERYTHING_STORED) + json.dumps(page.context.cookies())

    assert {claims_of(token)["type"] for token in witness.socket_tokens} == {"visitor", "user"}
    assert [token for token in witness.socket_tokens if token in stored] == []
    assert witness.identity_tokens[0] in stored  # proves that the search covers what is stored


@pytest.mark.contract("D-12/always-chat")
def test_a_frame_without_an_origin_is_told_why_it_cannot_chat(page: Page, make_business: MakeBusiness) -> None:
    """F080: a sandboxed frame without `allow-same-origin` must be refused with a reason, without a script error.

    The widget keeps its key in memory there. A service accepts no socket from a page without an origin (D-10).
    """
    business = make_business(get_token=False)
    thrown = errors_of(page)
    page.goto(f"{business.origin}/")

    frame = frame_of(page, f'<iframe sandbox="allow-scripts" src="{business.url}"></iframe>')

    assert widget_of(frame) == Code.ORIGIN_NOT_ALLOWED
    told = frame.evaluate("() => Service.debug().events.map(({ name, detail }) => [name, detail.reason])")
    assert ["storage:degraded", "SecurityError"] in told
    assert thrown == []


@pytest.mark.needs("social")
@pytest.mark.contract("D-12/always-chat")
def test_a_frame_that_may_open_no_popups_chats(page: Page, make_business: MakeBusiness, social: str) -> None:
    """F080: in a sandboxed frame without `allow-popups`, the blocked sign-in must be reported. Chat must work."""
    business = make_business(get_token=False, service_keys=[social])
    page.goto(f"{business.origin}/")
    sandbox = "allow-scripts allow-same-origin allow-forms"
    frame = frame_of(page, f'<iframe {WHOLE_PAGE} sandbox="{sandbox}" src="{business.url}"></iframe>')
    assert widget_of(frame) == "visitor"

    frame.get_by_role("button", name="Open chat").click()
    frame.get_by_role("button", name="Sign in", exact=True).click()
    frame.get_by_role("button", name=f"Continue with {SOCIALS[social].title}").click()

    assert widget_of(frame) == "popup_blocked"
    assert frame.evaluate("() => Service.identity.identity") == "visitor"


@pytest.mark.contract("D-12/always-chat")
def test_a_page_that_sets_its_domain_keeps_its_key(shop: ShopPage) -> None:
    """F080: setting `document.domain` must change neither the page's storage nor its visitor."""
    before = shop.open().uid
    shop.page.add_init_script("try { document.domain = 'localhost'; } catch { /* some refuse it */ }")

    after = shop.reload().uid

    assert after == before


@pytest.mark.contract("2.3/uid-derived", "5.6/secure-context")
def test_a_frame_written_into_its_page_is_the_pages_visitor(shop: ShopPage, business: Business) -> None:
    """F084: an iframe with `srcdoc` shares its parent's origin and storage, and must have the same visitor."""
    visitor = shop.open().uid
    shop.page.goto(f"{business.origin}/")

    frame = frame_of(shop.page, "<iframe></iframe>")
    shop.page.evaluate("(html) => { document.querySelector('iframe').srcdoc = html; }", embedding(business))

    assert widget_of(frame) == "visitor"
    assert frame.evaluate("() => Service.identity.uid") == visitor


@pytest.mark.contract("5.6/secure-context", "D-10/insecure-origin")
def test_a_page_from_a_file_is_told_why_it_cannot_chat(
    context: BrowserContext, page: Page, business: Business, tmp_path: Path
) -> None:
    """F084: a page from a file has no origin, so the widget must refuse to run with one error."""
    context.grant_permissions(["local-network-access"])  # for pages loaded from elsewhere
    file = tmp_path / "page.html"
    file.write_text(embedding(business), encoding="utf-8")

    page.goto(file.as_uri())

    assert widget_of(page.main_frame) == Code.ORIGIN_NOT_ALLOWED


@pytest.mark.needs("social")
@pytest.mark.contract("D-12/always-chat")
@pytest.mark.parametrize("script", [f"{NO_INDEXED_DB} window.open = () => null;", OPENS_IN_PLACE])
def test_an_apps_built_in_browser_says_where_to_sign_in(
    page: Page, make_business: MakeBusiness, script: str, social: str
) -> None:
    """F023: in an app's built-in browser, chat must work, and a hint must replace the sign-in buttons."""
    page.add_init_script(script)
    shop = ShopPage(page, make_business(get_token=False, service_keys=[social]))
    widget = shop.open()
    widget.send("From inside an app")

    widget.social_button(social).click()

    widget.wait_for_error("popup_unsupported")
    hint = widget.panel.get_by_text("To sign in, open this page in your browser.")
    expect(hint).to_have_count(2)  # in the notice, and on the page
    expect(hint.first).to_be_visible()
    expect(hint.last).to_be_visible()
    expect(widget.page.locator(SOCIAL_BUTTONS).filter(visible=True)).to_have_count(0)
    assert widget.identity["identity"] == "visitor"
