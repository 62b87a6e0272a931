"""Tests of the login by hand at a site that only accepts passkeys.

The first login creates a passkey in a file, and the next login uses this passkey.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from tests.check.mutants.mutant_backend import Backend, Clock
from tests.check.mutants.mutant_server import Answer, Request, Server

from chatkey_check.live.browser.login import by_hand
from chatkey_check.options.table import Given
from chatkey_check.options.target import target as read
from chatkey_check.target import LiveOptions, OptionError, Target
from chatkey_stack import browsers

pytestmark = pytest.mark.long

PAGE = b"""<!doctype html><title>passkeys only</title>
<button id="make">Sign up</button><button id="use">Sign in</button><p id="done"></p>
<script>
const challenge = new Uint8Array(32), rp = { id: "localhost", name: "shop" };
const user = { id: new Uint8Array(16), name: "ada", displayName: "Ada" };
const enter = (credential) => { document.cookie = "sid=by-" + credential.id; done.textContent = credential.id; };
make.onclick = async () => enter(await navigator.credentials.create({ publicKey: {
  challenge, rp, user, pubKeyCredParams: [{ type: "public-key", alg: -7 }],
  authenticatorSelection: { residentKey: "required", userVerification: "required" } } }));
use.onclick = async () => enter(await navigator.credentials.get({ publicKey: { challenge, rpId: rp.id } }));
</script>"""


class PasskeysOnly(Backend):
    """A shop with a page that creates and uses passkeys."""

    def missing(self, request: Request) -> Answer:
        return Answer(200, [("Content-Type", "text/html")], PAGE)


@pytest.fixture
def shop(endpoints: Server, tmp_path: Path) -> Target:
    """The shop as a target. The shop's host name allows passkeys, and the passkeys are stored in a file."""
    base = endpoints.add("passkeys", PasskeysOnly(Clock()).handle).replace("127.0.0.1", "localhost")
    live = LiveOptions(browser=True, by_hand=True, passkeys=tmp_path / "passkeys.json")
    return Target(f"{base}/chat/token", page_url=f"{base}/", live=live)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = browsers.find(browsers.machine(playwright, {}))
        with browsers.launch(playwright, found) as launched:
            yield launched


def clicking(button: str) -> Callable[[Page], None]:
    """Return a function that clicks the button and then closes the window, as a person would."""

    def act(page: Page) -> None:
        page.click(button)
        page.wait_for_selector("#done:not(:empty)")
        page.close()

    return act


def test_a_passkey_is_made_at_the_first_login_and_used_at_the_next(shop: Target, browser: Browser) -> None:
    first = by_hand(browser, shop, act=clicking("#make"))
    second = by_hand(browser, shop, act=clicking("#use"))

    assert first.login == second.login
    assert first.login is not None
    assert first.login.headers[0][1].startswith("sid=by-")
    assert shop.live is not None
    assert shop.live.passkeys is not None
    assert stat.S_IMODE(shop.live.passkeys.stat().st_mode) == 0o600


def test_a_file_of_passkeys_is_made_unreadable_for_others(shop: Target, browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "passkeys.json"
    file.write_text("[]")
    file.chmod(0o644)

    by_hand(browser, shop, act=clicking("#make"))

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "privateKey" in file.read_text()


def test_a_file_that_cannot_be_written_is_told_before_the_login(shop: Target, browser: Browser, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"Cannot write --passkeys .*passkeys.json: No such file or directory\."):
        by_hand(browser, replace(shop, live=LiveOptions(passkeys=tmp_path / "none" / "passkeys.json")))


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", '[{"id": 1}]'])
def test_a_file_without_passkeys_is_refused(shop: Target, browser: Browser, tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)

    with pytest.raises(OptionError, match="--passkeys"):
        by_hand(browser, replace(shop, live=LiveOptions(passkeys=file)))


def test_passkeys_without_a_login_by_hand_are_refused() -> None:
    with pytest.raises(OptionError, match="--browser-login"):
        read(Given(url="http://localhost/", passkeys=Path("x")))
