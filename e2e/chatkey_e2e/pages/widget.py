"""The widget, driven through its user interface and its JavaScript handle."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as TimedOut

from chatkey_e2e.knowledge import widget_state
from chatkey_e2e.needs import HANDLE, note
from chatkey_e2e.pages.consent import ConsentPage
from chatkey_protocol.storage_keys import DATABASE, RECORD, STORE

Identity = Literal["visitor", "member"]

DEBUG_POLL_MS = 40
"""Milliseconds between two polls of the debug bundle. Polling at every frame would slow the widget down."""


READ_KEY = """async ([database, store, record]) => {
  const answer = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const db = await answer(indexedDB.open(database));
  const pair = await answer(db.transaction(store).objectStore(store).get(record));
  db.close();
  const exported = await Promise.all(["jwk", "pkcs8", "raw", "spki"].map(async (format) =>
    [format, await crypto.subtle.exportKey(format, pair.privateKey).then(() => "exported", (error) => error.name)]));
  return {
    algorithm: pair.privateKey.algorithm,
    extractable: pair.privateKey.extractable,
    usages: pair.privateKey.usages,
    exported: Object.fromEntries(exported),
    publicJwk: await crypto.subtle.exportKey("jwk", pair.publicKey),
  };
}"""

CONNECTED_UNTIL = """() => Math.max(0, ...(window.Service?.debug().events ?? [])
  .filter((event) => ["socket:ready", "token:refreshed"].includes(event.name))
  .map((event) => event.detail.expires_at))"""

CLEAR_KEY = """(database) => new Promise((resolve, reject) => {
  const request = indexedDB.deleteDatabase(database);
  request.onsuccess = () => resolve();
  request.onerror = () => reject(request.error);
})"""


PLANT_RECORD = """async ([database, store, record, kind]) => {
  const P256 = { name: "ECDSA", namedCurve: "P-256" };
  const pair = (algorithm, extractable) => crypto.subtle.generateKey(algorithm, extractable, ["sign", "verify"]);
  const sealed = async ({ privateKey, publicKey }) => {
    const jwk = await crypto.subtle.exportKey("jwk", publicKey);
    return { privateKey, publicKey: await crypto.subtle.importKey("jwk", jwk, P256, false, ["verify"]) };
  };
  const planted = await {
    extractable: () => pair(P256, true),
    "P-384": () => pair({ name: "ECDSA", namedCurve: "P-384" }, false),
    RSA: () => pair({ name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 2048,
                      publicExponent: Uint8Array.of(1, 0, 1) }, false),
    sealed: async () => sealed(await pair(P256, false)),
    spoilt: () => ({ privateKey: {} }),
    null: () => null,
  }[kind]();
  await new Promise((resolve, reject) => {
    const opening = indexedDB.open(database, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(store);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const transaction = opening.result.transaction(store, "readwrite");
      transaction.objectStore(store).put(planted, record);
      transaction.oncomplete = () => { opening.result.close(); resolve(); };
      transaction.onabort = () => reject(transaction.error);
    };
  });
}"""

SOCIAL_BUTTONS = "chatkey-widget [data-social]"

Planted = Literal["extractable", "P-384", "RSA", "sealed", "spoilt", "null"]


@dataclass(frozen=True, slots=True)
class StoredKey:
    """The connection key as stored in IndexedDB."""

    algorithm: dict[str, str]
    extractable: bool
    usages: list[str]
    exported: dict[str, str]
    """The result of exporting the private key, by format: `exported`, or the name of the error."""
    public_jwk: dict[str, Any]


def test_id(name: str) -> str:
    """Return a selector for a part of the widget. The test ids do not depend on the language of the page."""
    return f'[data-testid="chatkey-{name}"]'


class WidgetPage:
    """The widget in one tab."""

    def __init__(self, page: Page) -> None:
        self.page = page

    # the JavaScript handle

    def wait_ready(self) -> None:
        """Wait until the widget has connected for the first time."""
        note(HANDLE)
        self._wait("() => window.Service?.identity")

    def wait_for(self, identity: Identity) -> None:
        """Wait until the widget is connected as a visitor, or as a member."""
        self._wait("(wanted) => window.Service?.identity?.identity === wanted", identity)

    def wait_for_event(self, name: str, *, count: int = 1) -> dict[str, Any]:
        """Wait until the widget has emitted an event `count` times on this page, and return the last detail."""
        self._wait("([name, count]) => (window.Service?.debug().counters?.[name] ?? 0) >= count", [name, count])
        return self.events(name)[-1]

    def wait_for_error(self, code: str) -> None:
        """Wait until the widget has emitted an error with this code."""
        self._wait(
            """(code) => window.Service?.debug().events
                ?.some((event) => event.name === "error" && event.detail.code === code)""",
            code,
        )

    @contextmanager
    def expect_event(self, name: str) -> Iterator[None]:
        """When the block ends, wait until the widget has emitted the event once more."""
        told: int = self.debug()["counters"].get(name, 0)
        yield
        self.wait_for_event(name, count=told + 1)

    @contextmanager
    def expect_fresh_token(self) -> Iterator[None]:
        """When the block ends, wait until the same identity is connected with a token that expires later.

        If hours have passed, the widget opens a new socket and emits no `token:refreshed`.
        """
        before = self.page.evaluate(CONNECTED_UNTIL)
        identity = self.identity["identity"]
        yield
        self._wait(
            f"([before, identity]) => Service.identity?.identity === identity && ({CONNECTED_UNTIL})() > before",
            [before, identity],
        )

    def events(self, name: str) -> list[dict[str, Any]]:
        """Return the details of all events with this name, oldest first."""
        return [event["detail"] for event in self.debug()["events"] if event["name"] == name]

    def debug(self) -> dict[str, Any]:
        """Return the debug bundle of the handle."""
        note(HANDLE)
        bundle: dict[str, Any] = self.page.evaluate("() => Service.debug()")
        return bundle

    @property
    def identity(self) -> dict[str, Any]:
        """The widget's current identity: identity, uid, name, avatar."""
        note(HANDLE)
        identity: dict[str, Any] = self.page.evaluate("() => Service.identity")
        return identity

    @property
    def uid(self) -> str:
        return str(self.identity["uid"])

    @property
    def jkt(self) -> str:
        """The fingerprint of the connection key."""
        return str(self.debug()["jkt"])

    def logout(self) -> None:
        """End the member session through the handle, as the page that embeds the widget does."""
        self.page.evaluate("() => Service.logout()")
        self.wait_for("visitor")

    def restart(self) -> None:
        """Shut the widget down, start the widget again on the same page, and wait until it is connected."""
        self.page.evaluate("() => { Service.shutdown(); initService(ServiceConfig); }")
        self.wait_ready()

    def _wait(self, condition: str, arg: object = None) -> None:
        """Wait for a condition. The message of a time-out quotes what the widget knows."""
        try:
            self.page.wait_for_function(condition, arg=arg, polling=DEBUG_POLL_MS)
        except TimedOut as error:
            known = widget_state(self.page) or f"The page {self.page.url.partition('?')[0]} has no widget."
            raise TimedOut(f"{error}\n{known}") from None

    # the user interface

    @property
    def panel(self) -> Locator:
        return self.part("panel")

    def part(self, name: str) -> Locator:
        """Return a part of the widget by its test id without `chatkey-`, which is the same in every language."""
        return self.page.locator(test_id(name))

    def open(self) -> Locator:
        """Open the panel if it is closed, and return it."""
        if not self.panel.is_visible():
            self.part("launcher").click()
        return self.panel

    def close(self) -> None:
        """Close the panel if it is open."""
        if self.panel.is_visible():
            self.part("close").click()
            expect(self.panel).to_be_hidden()

    def send(self, text: str) -> None:
        """Write a message, send it, and wait until the service has stored it."""
        self.write(text)
        expect(self._log.locator('li[data-state="sent"]').filter(has_text=text)).to_be_visible()

    def write(self, text: str) -> None:
        """Write a message and press Send."""
        self.open()
        self.part("message").fill(text)
        self.part("send").click()

    def lines(self, count: int) -> list[str]:
        """Wait for `count` messages in the conversation, and return the texts."""
        self.open()
        bodies = self._log.locator("li > p")
        expect(bodies).to_have_count(count)
        return bodies.all_inner_texts()

    def search(self, query: str) -> list[str]:
        """Search the conversation, return the texts of the results, and go back to the conversation."""
        note("search")
        self.open()
        self.part("search").click()
        self.part("search-text").fill(query)
        self.part("search-text").press("Enter")
        expect(self.part("search-count")).not_to_be_empty()
        found = self.part("search-results").locator("li > p").all_inner_texts()
        self.turn_back()
        return found

    def offered_socials(self) -> list[str]:
        """Go to the sign-in page, and return the names of the offered social providers in order."""
        self.open()
        self.part("sign-in").click()
        expect(self._socials.first).to_be_visible()
        names: list[str] = self._socials.evaluate_all("(buttons) => buttons.map((button) => button.dataset.social)")
        return names

    def turn_back(self) -> None:
        """Go back from the sign-in page or the search to the conversation."""
        self.part("back").filter(visible=True).click()

    def refresh_identity(self, *, force: bool = False) -> None:
        """Call `refreshIdentity` of the handle: the page's user may have changed or, with `force`, has changed."""
        self.page.evaluate("(force) => { Service.refreshIdentity({ force }); }", force)

    def sign_in_with(self, social: str) -> ConsentPage:
        """Press a social provider's button, and return the provider's consent page when it has loaded."""
        return self.start_signing_in(social).wait()

    def start_signing_in(self, social: str) -> ConsentPage:
        """Press a social provider's button, and return the popup without waiting for its content."""
        with self.page.expect_popup() as popup:
            self.social_button(social).click()
        return ConsentPage(popup.value)

    def sign_in_by_key(self, social: str, key: str) -> ConsentPage:
        """Press a key on a social provider's button, and return the provider's consent page when it has loaded."""
        with self.page.expect_popup() as popup:
            self.social_button(social).press(key)
        return ConsentPage(popup.value).wait()

    def press_after_another_popup(self, social: str) -> None:
        """Open one popup and press a social provider's button in the same script. Browsers block the second popup."""
        self.social_button(social).evaluate("(button) => { window.open('about:blank').close(); button.click(); }")

    @property
    def reopen_button(self) -> Locator:
        """The button in the notice about a blocked popup, which opens the popup."""
        return self.part("open-sign-in")

    def reopen(self) -> ConsentPage:
        """Press `reopen_button`, and return the consent page in the popup."""
        with self.page.expect_popup() as popup:
            self.reopen_button.click()
        return ConsentPage(popup.value)

    def sign_out(self) -> None:
        """Press the sign-out button of the widget, and wait until the widget is connected as a visitor."""
        self.open()
        self.part("sign-out").click()
        self.wait_for("visitor")

    def call(self) -> None:
        """Call the business, and wait until the call rings."""
        note("calls")
        self.open()
        self.part("call").click()
        self.wait_for_call("ringing")

    def wait_for_call(self, state: Literal["ringing", "active", "ended", "elsewhere"]) -> None:
        """Wait until the panel shows that the call is ringing, active, ended, or in another tab."""
        expect(self.part("call-bar").and_(self.page.locator(f'[data-state="{state}"]'))).to_be_visible()

    def social_button(self, social: str) -> Locator:
        """Return the button of a social provider. Go to the sign-in page first if necessary."""
        self.open()
        button = self.part(f"social-{social.lower()}")
        if not button.is_visible():
            self.part("sign-in").click()
        return button

    @property
    def _socials(self) -> Locator:
        return self.page.locator(SOCIAL_BUTTONS)

    @property
    def _log(self) -> Locator:
        return self.part("conversation")

    # the browser's storage

    def stored_key(self) -> StoredKey:
        """Read the key pair from IndexedDB, and try to export the private key in every format."""
        read = self.page.evaluate(READ_KEY, [DATABASE, STORE, RECORD])
        return StoredKey(read["algorithm"], read["extractable"], read["usages"], read["exported"], read["publicJwk"])

    def plant_record(self, kind: Planted) -> None:
        """Store a record of this kind in place of the key."""
        self.page.evaluate(PLANT_RECORD, [DATABASE, STORE, RECORD, kind])

    def clear_key(self) -> None:
        """Delete the key, as the browser does when people clear the site's data."""
        self.page.evaluate(CLEAR_KEY, DATABASE)

    def stored(self, key: str) -> str | None:
        value: str | None = self.page.evaluate("(key) => localStorage.getItem(key)", key)
        return value
