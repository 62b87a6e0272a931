"""Pages that open logins without a widget, and functions that keep popups open for inspection."""

import re
from html import unescape
from typing import Literal
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from playwright.sync_api import BrowserContext, Error, Page, Response, expect

from chatkey_e2e.business import Business
from chatkey_stack.patience import PATIENCE
from chatkey_stack.stack import Stack
from chatkey_stack.tls import trust

EVIL = "https://evil.example"
"""A foreign site with no relation to the business."""

FRAME = "(src) => { document.body.append(Object.assign(document.createElement('iframe'), { src })); }"

THROWN = re.compile("Error$|^uncaught")

LISTEN = """() => {
  window.heard = [];
  addEventListener("message", (event) => heard.push({ origin: event.origin, data: event.data }));
}"""


class Opener:
    """A page of any origin that opens logins and records the received messages."""

    def __init__(self, page: Page, business: Business, social: str) -> None:
        self.page = page
        self._business = business
        self._social = social

    def at(self, origin: str) -> "Opener":
        """Go to a page of this origin, and start to record messages."""
        self.page.goto(blank(self.page.context, f"{origin}/an-opener"))
        self.page.evaluate(LISTEN)
        return self

    def start(self, **query: str) -> Page:
        """Open a login in a popup, and wait for the consent page or any other page."""
        with self.page.expect_popup() as popup:
            self.page.evaluate("(url) => { window.open(url, '', 'popup'); }", self.address(**query))
        popup.value.wait_for_url(lambda reached: reached != "about:blank")
        return popup.value

    def address(self, **query: str) -> str:
        """Return the URL that starts a login."""
        asked = urlencode({"origin": self._business.origin, "nonce": "n-1", **query})
        return f"{self._business.stack.service.browser_url}{self._business.oauth_start_path(self._social)}?{asked}"

    def wait(self, count: int = 1) -> list[dict[str, object]]:
        """Wait until this many messages have been received, and return all messages."""
        self.page.wait_for_function("(count) => window.heard.length >= count", arg=count)
        return self.heard

    @property
    def stack(self) -> Stack:
        return self._business.stack

    @property
    def heard(self) -> list[dict[str, object]]:
        """All messages received so far, with origin and data."""
        messages: list[dict[str, object]] = self.page.evaluate("() => window.heard")
        return messages

    def token(self) -> str:
        """Wait for the only message, check the message, and return its identity token."""
        (message,) = self.wait()
        data = message["data"]
        assert isinstance(data, dict)
        assert message["origin"] == self._business.stack.service.browser_url
        assert {name: data[name] for name in data if name != "token"} == {
            "type": "wf:oauth",
            "providerId": self._business.provider.id,
            "social": self._social,
            "nonce": "n-1",
        }
        return str(data["token"])


def blank(context: BrowserContext, url: str) -> str:
    """Serve a blank page at this URL to this context, and return the URL."""
    body = "<!doctype html><title>A page</title><p>Nothing here."
    context.route(url, lambda route: route.fulfill(content_type="text/html", body=body))
    return url


def keep_popups_open(context: BrowserContext) -> None:
    """Prevent the pages of this context from closing themselves."""
    context.add_init_script("window.close = () => {};")


def approve(popup: Page, account: str = "rhea") -> None:
    """Choose an account on the consent page, and continue."""
    popup.locator(f'input[type=radio][value="{account}"]').check()
    popup.get_by_role("button", name="Continue").click()


def approved(stack: Stack, start: str) -> str:
    """Complete a login up to the callback without a browser, and return the URL of the callback."""
    consent = stack.get(start.removeprefix(stack.service.browser_url)).headers["location"]
    consent = consent.replace(stack.provider.browser_url, stack.provider.local_url)
    with httpx.Client(verify=trust(stack.ca), trust_env=False, timeout=PATIENCE) as browser:
        page = browser.get(consent)
        (action,) = re.findall(r'<form method="post" action="([^"]*)"', page.text)
        form = {"decision": "approve", "account": "rhea"}
        answer = browser.post(page.url.join(unescape(action)), data=form)
    return str(answer.headers["location"])


def finish(popup: Page, account: str = "rhea") -> Response:
    """Approve in a popup that stays open, and return the callback's response."""
    with popup.expect_response(lambda response: urlsplit(response.url).path.endswith("/callback")) as answered:
        approve(popup, account)
    popup.wait_for_url(lambda reached: reached == answered.value.url)
    return answered.value


def says(popup: Page, stack: Stack, words: str, *, role: Literal["alert", "heading"] = "alert") -> None:
    """Check that the popup shows a page of the service and, if the service is ours, that the page contains these words.

    The contract leaves markup and wording to the service.
    """
    popup.wait_for_url(f"{stack.service.browser_url}/**")
    if stack.is_ours:
        expect(popup.get_by_role(role)).to_contain_text(words)


def errors_of(page: Page) -> list[str]:
    """Return a list that collects all script errors of the page."""
    errors: list[str] = []
    browser = page.context.browser
    is_firefox = browser is not None and browser.browser_type.name == "firefox"

    def note(error: Error) -> None:
        # Its driver also reports loads that the browser blocks: a forbidden icon, a module's wrong type.
        if not is_firefox or THROWN.search(error.name or ""):
            errors.append(str(error))

    page.on("pageerror", note)
    return errors


def go(page: Page, url: str) -> None:
    """Navigate from within the page. A popup would lose its opener if the browser driver navigated."""
    with page.expect_navigation(url=lambda reached: reached == url):
        page.evaluate("(url) => { location.href = url; }", url)


def state_of(popup: Page) -> str:
    """Return the `state` in the consent page's address."""
    popup.wait_for_url("**state=**")
    return parse_qs(urlsplit(popup.url).query)["state"][0]


def callback(stack: Stack, social: str, **query: str) -> str:
    """Return the URL of a callback with these parameters."""
    return f"{stack.callback(social)}?{urlencode(query)}"
