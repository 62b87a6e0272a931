"""Tests of the lab's pages."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.oauth.lab.answers import data
from tests.oauth.visitor import CALLBACK, Visitor

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.ready_made import READY_MADE

if TYPE_CHECKING:
    from chatkey_oauth.app import App

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
NASTY = "\"'</style><script>alert(1)</script>"


async def test_a_browser_gets_a_page_and_a_program_the_same_as_json(
    lab: httpx.AsyncClient, fake: App, google: Visitor
) -> None:
    google.login()

    page, overview = await lab.get("/lab", headers=BROWSER), data(await lab.get("/lab"))

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["vary"] == "accept"
    assert all(f"<b>{fault['name']}</b>" in page.text for fault in overview["faults"])
    assert all(place["browser_url"] in page.text for place in overview["providers"].values())
    assert all(switch["key"] in page.text for switch in overview["switches"])
    assert f'href="/lab/flows/{fake.flows.all()[0].id}/page"' in page.text


async def test_the_page_of_a_flow_shows_how_far_it_came_and_what_was_wrong(
    lab: httpx.AsyncClient, google: Visitor
) -> None:
    data(await lab.post("/lab/faults", json={"fault": "status-500", "with": {"leg": "token"}}))
    google.redeem(google.callback()["code"])
    (flow,) = data(await lab.get("/lab/flows"))

    page = await lab.get(f"/lab/flows/{flow['id']}/page")

    assert page.status_code == 200
    assert "fault: status-500" in page.text
    stations = page.text.partition('<ol class="way"')[2].partition("</ol>")[0]
    assert [stations.count(words) for words in ("went well", "has problems", "not reached")] == [2, 1, 2]
    for step in flow["steps"]:
        assert all(verdict["words"].replace("'", "&#x27;") in page.text for verdict in step["verdicts"].values())


async def test_the_page_has_a_button_for_every_action_of_the_lab(lab: httpx.AsyncClient, fake: App) -> None:
    rule = data(await lab.post("/lab/faults", json={"fault": "slow"}))

    page = unescape((await lab.get("/lab", headers=BROWSER)).text)

    assert all(f'data-fault="{fault.name}"' in page for fault in fake.faults.catalogue())
    assert all(f'data-path="/lab/switches/{switch.key}"' in page for switch in fake.world.switches.all())
    assert all(f'data-path="/lab/people/{person.id}"' in page for person in fake.world.people.all())
    assert f'data-method="DELETE" data-path="/lab/faults/{rule["id"]}"' in page
    assert 'data-path="/lab/clock" data-body="{"advance":3600}"' in page
    assert '<option value="" selected>nobody: ask on the page</option>' in page
    assert 'data-path="/lab/reset"' in page


async def test_the_lab_accepts_the_requests_of_the_buttons(lab: httpx.AsyncClient, fake: App) -> None:
    page = unescape((await lab.get("/lab", headers=BROWSER)).text)
    buttons = re.findall(r'data-method="(\w+)" data-path="([^"]+)"(?: data-body="({[^}]*})")?', page)

    answers = [await lab.request(method, path, **sent(body)) for method, path, body in buttons]

    assert len(buttons) > len(fake.world.switches.all())
    assert {answer.status_code for answer in answers} == {200}


def sent(body: str) -> dict[str, Any]:
    """Return the request options that the script of the lab's pages would use to send this body."""
    return {"content": body, "headers": {"content-type": "application/json"}} if body else {}


async def test_a_flow_is_listed_with_its_time(lab: httpx.AsyncClient, google: Visitor) -> None:
    google.ask()

    page = (await lab.get("/lab", headers=BROWSER)).text

    assert '<span class="when">11:06:40</span>' in page


async def test_the_page_shows_the_ready_made_secrets_to_copy_and_no_other(lab: httpx.AsyncClient, fake: App) -> None:
    known = next(client for client in READY_MADE if client.provider == "google")
    for client in (known, Client(provider="x", client_id="own", client_secret="hush", redirect_uris=("https://a.b/",))):
        fake.world.clients.add(client)

    page = await lab.get("/lab", headers=BROWSER)

    assert f'data-copy="{known.client_id}"' in page.text
    assert f'data-copy="{known.client_secret}"' in page.text
    assert 'data-copy="own"' in page.text
    assert "hush" not in page.text
    assert known.client_secret not in (await lab.get("/lab")).text


async def test_the_pages_run_no_other_script_load_nothing_and_no_text_breaks_out(
    lab: httpx.AsyncClient, fake: App, google: Visitor
) -> None:
    fake.world.clients.add(Client(provider="google", client_id="'<b>\"", name=NASTY, redirect_uris=("https://a.b/",)))
    google.ask(client_id="'<b>\"", redirect_uri="https://a.b/", login_hint=NASTY, code_challenge="x" * 43)
    data(await lab.post("/lab/faults", json={"fault": "slow", "scope": {"login_hint": NASTY}}))
    (flow,) = data(await lab.get("/lab/flows"))

    pages = [await lab.get("/lab", headers=BROWSER), await lab.get(f"/lab/flows/{flow['id']}/page")]

    for page, own_scripts in zip(pages, (1, 0), strict=True):
        assert "&lt;script&gt;" in page.text
        assert page.text.count("<script") == own_scripts
        assert not [tag for tag in ("<img", "<link", "'<b>\"") if tag in page.text]
        policy = page.headers["content-security-policy"]
        assert policy.count("script-src 'sha256-") == own_scripts
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert policy.endswith("frame-ancestors 'none'")
    assert "&#x27;&lt;b&gt;&quot;" in pages[1].text


@pytest.mark.parametrize("accept", ["*/*", "application/json", ""])
async def test_without_accepting_html_the_answer_is_json(lab: httpx.AsyncClient, accept: str) -> None:
    assert data(await lab.get("/lab", headers={"accept": accept}))["people"]


def ending(page: str, heading: str) -> str:
    """Return the first line of a list on the overview page."""
    return page.partition(f'data-live="{heading}"')[2].partition("<li>")[2].partition("</li>")[0]


@pytest.mark.parametrize(
    ("name", "redirect_uri", "mark", "words"),
    [
        ("google", "https://a.b/", "wrong", "failed: token 400"),
        ("tiktok", "https://a.b/", "wrong", "failed: token 200"),
        ("google", CALLBACK, "good", "token 200"),
    ],
)
async def test_a_flow_that_failed_looks_failed(
    *, lab: httpx.AsyncClient, visitor: Visitor, redirect_uri: str, mark: str, words: str
) -> None:
    visitor.redeem(visitor.callback()["code"], redirect_uri=redirect_uri)

    row = ending((await lab.get("/lab", headers=BROWSER)).text, "flows")

    assert f'<span class="chip {mark}">' in row
    assert words in row


async def test_a_declined_flow_and_a_refused_request_are_told_from_a_success(
    lab: httpx.AsyncClient, google: Visitor
) -> None:
    google.decide(decision="deny")
    declined = ending((await lab.get("/lab", headers=BROWSER)).text, "flows")
    google.ask(response_type="nothing")
    refused = ending((await lab.get("/lab", headers=BROWSER)).text, "flows")

    assert '<span class="chip odd">' in declined
    assert "declined" in declined
    assert '<span class="chip wrong">' in refused


async def test_a_spent_fault_is_no_longer_listed_as_armed(lab: httpx.AsyncClient, google: Visitor) -> None:
    data(await lab.post("/lab/faults", json={"fault": "status-500", "with": {"leg": "token"}}))
    google.redeem(google.callback()["code"])

    page = (await lab.get("/lab", headers=BROWSER)).text

    assert "No fault is armed." in page
    assert "status-500" in ending(page, "spent")


async def test_the_newest_requests_are_listed(lab: httpx.AsyncClient, google: Visitor) -> None:
    google.redeem("unknown")

    row = ending((await lab.get("/lab", headers=BROWSER)).text, "requests")

    assert "POST /token" in row
    assert '<span class="chip wrong">' in row
