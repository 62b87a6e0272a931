"""Tests of the demo's hub page. It must show four modes with shops and code, and load nothing from other hosts."""

import re
from collections.abc import Iterator

import pytest
from litestar import Litestar
from litestar.testing import TestClient

from chatkey_demo.hub.app import create_app
from chatkey_demo.hub.curtain import Curtain, Demo
from chatkey_demo.hub.modes import MODES, OpenMode
from chatkey_stack.site.pages import snippet

Client = TestClient[Litestar]

AGENT = "http://localhost:8801/agent"
ADMIN = "http://localhost:8801/admin/"
SESSION = "chatkey_agent=a; HttpOnly; Path=/agent; SameSite=lax"
SDK = "http://localhost:8801/assets/sdk.js"
ORIGINS = [f"http://localhost:{port}" for port in (8811, 8812, 8813, 8814)]


def demo() -> Demo:
    modes = [
        OpenMode(mode, f"{origin}/{mode.key}/", snippet(mode.provider_id, SDK, get_token=mode.get_token))
        for mode, origin in zip(MODES, ORIGINS, strict=True)
    ]
    return Demo(modes, AGENT, ADMIN, "Mia", SESSION)


@pytest.fixture
def client() -> Iterator[Client]:
    with TestClient(create_app(Curtain(demo()))) as client:
        yield client


@pytest.fixture
def page(client: Client) -> str:
    return client.get("/").text


def test_until_the_servers_are_up_the_page_says_so_and_then_shows_the_demo() -> None:
    curtain = Curtain()
    with TestClient(create_app(curtain)) as client:
        before, answer = client.get("/").text, client.get("/ready").status_code
        curtain.demo = demo()

        assert (answer, client.get("/ready").status_code) == (204, 200)
        assert "Starting the shops" in before
        assert "Starting the shops" not in client.get("/").text


def test_the_admin_panel_is_linked_and_never_framed(page: str) -> None:
    assert page.count(f'<a href="{ADMIN}" target="_blank"') == 3
    assert f'src="{ADMIN}"' not in page


def test_the_shown_snippet_is_the_one_the_shops_use(page: str) -> None:
    assert page.count("providerId: &#34;demo-custom&#34;") == 1
    assert page.count("getToken: async ({ jkt, signal })") == 1
    assert page.count("&lt;script async src=&#34;http://localhost:8801/assets/sdk.js&#34;&gt;") == 4


def test_the_policy_admits_the_hubs_own_files_and_the_framed_origins_only(client: Client) -> None:
    answer = client.get("/")

    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy.pop("frame-src").split() == [*ORIGINS, "http://localhost:8801"]
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "connect-src": "'self'",
        "img-src": "data:",
        "form-action": "'none'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/static/hub.css", "/static/hub.js", "/static/sections.js", "/static/tile.js"])
def test_nothing_on_the_page_comes_from_elsewhere(client: Client, path: str) -> None:
    text = client.get(path).text

    elsewhere = [url for url in re.findall(r"https?://[^\s\"'<>&)]+", text) if not url.startswith("http://localhost:")]
    assert [url for url in elsewhere if not url.startswith("http://www.w3.org/")] == []  # the namespace of SVG
    assert "innerHTML" not in text
    assert not re.search(r"<[^>]+ (style|on\w+)=", text)


@pytest.mark.parametrize("name", ["app.py", "..%2Fapp.py", "nothing.js"])
def test_no_other_file_is_given_away(client: Client, name: str) -> None:
    assert client.get(f"/static/{name}").status_code == 404
