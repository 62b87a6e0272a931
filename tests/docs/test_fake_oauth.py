"""Tests of the fake provider's pages. They must have a section for every provider and a working example."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from chatkey_oauth.app import create_app
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.providers import NAMES
from chatkey_oauth.ready_made import READY_MADE
from chatkey_oauth.settings import Settings, read_clients

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join(page.read_text() for page in sorted(DOCS.glob("fake-oauth*.md")) if page.stem != "fake-oauth-recipes")


def block(language: str, having: str) -> str:
    """Return the pages' only code block in this language that contains the text `having`."""
    (found,) = (text for text in re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL) if having in text)
    return str(found)


def statements(page: str) -> dict[str, int]:
    """Return the number of list items in each section of a page."""
    sections = (DOCS / page).read_text().split("\n## ")[1:]
    return {text.partition("\n")[0]: len(re.findall(r"^- ", text, re.MULTILINE)) for text in sections}


def title_of(name: str) -> str:
    text = (DOCS / "fake-oauth-providers.md").read_text().partition(f"endpoints below `/{name}`:")[0]
    return text.rpartition("\n## ")[2].partition("\n")[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_provider_lists_what_is_imitated_and_what_is_not(name: str) -> None:
    title = title_of(name)

    assert statements("fake-oauth-providers.md")[title] >= 3
    assert statements("fake-oauth-gaps.md")[title] >= 1


@pytest.fixture
def by_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `httpx.get` and `httpx.post` call a fake in this process. The fake is configured as the page describes."""
    fake = create_app(Settings(clients=READY_MADE, auto_approve="rhea"))

    def answer(request: httpx.Request) -> httpx.Response:
        call = Call(request.method, request.url.path, request.url.query.decode(), request.headers, request.read())
        made = fake.answer(call)
        return httpx.Response(made.status, headers=list(made.headers), content=made.body)

    client = httpx.Client(transport=httpx.MockTransport(answer))
    verbs: dict[str, Callable[..., Any]] = {"get": client.get, "post": client.post}
    for name, verb in verbs.items():
        monkeypatch.setattr(httpx, name, verb)


@pytest.mark.usefixtures("by_http")
def test_the_login_without_a_browser_works_as_it_is_printed() -> None:
    names: dict[str, Any] = {}

    exec(block("python", "Ov23liReadyMade00000"), names)

    assert names["user"]["login"] == "rquill"


@pytest.mark.usefixtures("by_http")
def test_the_settings_of_the_page_name_the_issuer_that_the_fake_says_it_is() -> None:
    settings = dict(re.findall(r"^export (\w+)=(\S+)$", block("console", "CHATKEY_GITHUB_ISSUER"), re.MULTILINE))

    metadata = httpx.get(f"{settings['CHATKEY_GITHUB_SERVER_URL']}/login/oauth/.well-known/openid-configuration")

    assert metadata.json()["issuer"] == settings["CHATKEY_GITHUB_ISSUER"]


def test_the_plugin_of_the_page_has_the_fixtures_of_the_table() -> None:
    (name,) = block("python", "pytest_plugins").split('"')[1:2]
    table = PAGE.partition("| fixture | |")[2].partition("\n\n")[0]

    plugin = import_module(name)

    fixtures = {name for name in vars(plugin) if "fake_oauth" in name}
    assert set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE)) == fixtures


def test_the_clients_file_can_be_read_and_the_table_has_every_member(tmp_path: Path) -> None:
    path = tmp_path / "clients.json"
    path.write_text(block("json", "a-public-app"))

    clients = read_clients(path)

    table = PAGE.partition("| member | |")[2].partition("\n\n")[0]
    assert [client.is_public for client in clients] == [False, True]
    assert set(re.findall(r"`(\w+)`", re.sub(r"\| [^|]* \|$", "", table, flags=re.MULTILINE))) >= set(
        Client.__struct_fields__
    )
