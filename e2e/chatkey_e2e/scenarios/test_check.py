"""Tests `chatkey check` as a whole, against the shop over TLS, with a browser that the check starts."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

import pytest
from playwright.sync_api import Page, expect

from chatkey_e2e import axe
from chatkey_e2e.business import Business

pytestmark = [pytest.mark.long, pytest.mark.needs("kit")]

SECRET = "CHAT_SECRET"
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\S+/")


def environ(business: Business) -> Mapping[str, str]:
    """Return the environment for a check, with the business's secret."""
    return {**os.environ, SECRET: business.provider.secret_key, "PYTHONUNBUFFERED": "1"}


def check(business: Business, *options: str) -> Sequence[str]:
    """Return the command that checks the shop's token endpoint with the login of a customer."""
    service, shop = business.stack, business.url
    command = [sys.executable, "-m", "chatkey", "check", f"{shop}chat/token", *options]
    command += ["--provider-id", business.provider.id, "--secret-env", SECRET, "--ca", str(service.ca)]
    return [*command, "--login-url", f"{shop}login", "--login-field", "person=u-1001"]


@pytest.mark.contract("3/get-token", "3/reuse-across-loads", "3/renewal", "3/logout", "5.5/proof-matches")
def test_the_checker_finds_the_shops_endpoint_good_in_a_browser(business: Business) -> None:
    """The browser checks must pass on the shop's page with the strictest policy and the running service."""
    service = business.stack.service.browser_url
    options = ("--browser", "--verbose", "--page-url", f"{business.url}?csp=strict", "--service-url", service)
    command = check(business, *options, "--only", "e2e.*")

    done = subprocess.run(command, env=environ(business), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert f'e2e.socket-accepts  {service} answers ready for the member "u-1001"' in done.stdout
    assert 'e2e.widget-member  member "u-1001" on your page' in done.stdout
    assert "6 passed" in done.stdout


@pytest.mark.long
@pytest.mark.contract("3/get-token")
def test_the_widget_of_the_checker_can_come_from_elsewhere(business: Business) -> None:
    """The widget's script must be loaded from `--sdk-url`, and a missing script must be reported."""
    service = business.stack.service.browser_url
    command = check(business, "--browser", "--service-url", service, "--only", "e2e.widget-member")

    found, missing = (
        subprocess.run(
            [*command, "--sdk-url", f"{service}/assets/{name}"],
            env=environ(business),
            capture_output=True,
            text=True,
            check=False,
        )
        for name in ("sdk.js?from=elsewhere", "none/sdk.js")
    )

    assert (found.returncode, found.stderr) == (0, "")
    assert missing.returncode == 1
    assert f"{service}/assets/none/sdk.js" in missing.stdout


@pytest.fixture
def desk(business: Business) -> Iterator[str]:
    """The address of the page that `--ui` opens for the shop."""
    command = check(business, "--ui", "--only", "req.post-json", "--only", "jwt.*", "--only", "anon.null")
    with subprocess.Popen(command, env=environ(business), stdout=subprocess.PIPE, text=True) as checking:
        assert checking.stdout
        yield next(found[0] for line in checking.stdout if (found := ADDRESS.search(line)))
        checking.terminate()


def test_on_the_page_of_ui_a_call_is_changed_and_sent_again(desk: str, page: Page) -> None:
    """The page of `--ui` must show requests and answers, and send a changed request again."""
    page.goto(desk)
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("passed"))
    expect(page.get_by_label("Headers")).to_have_value(re.compile("^Cookie: •••$", re.MULTILINE))

    page.get_by_label("Body").fill('{"jkt": "short"}')
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Status 400; added at the end of the calls.")).to_be_visible()
    page.get_by_label("Search").fill("short")

    expect(page.get_by_role("list", name="Calls").get_by_role("button")).to_have_count(1)
    assert axe.found_in_both_schemes(page) == []


def test_on_the_page_of_ui_a_pasted_token_is_explained(desk: str, page: Page, business: Business) -> None:
    """The page of `--ui` must explain a pasted token without sending the token to another server."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(desk)
    page.get_by_label("Paste a token").fill("eyJhbGciOiJub25lIn0.eyJ1aWQiOiJ1LTEifQ.")
    page.get_by_role("button", name="Explain").click()

    expect(page.get_by_text(re.compile(r"\d+ of \d+ checks found something"))).to_be_visible()
    expect(page.get_by_text('"uid": "u-1"')).to_be_visible()
    assert {url.removeprefix(desk) for url in asked} - {"progress"} == {"", "state", "token"}
