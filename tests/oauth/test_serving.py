"""The fake over ASGI, and as a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import trustme
from click.testing import CliRunner

from chatkey_oauth.app import BODY_BYTES
from chatkey_oauth.cli import fake_oauth
from chatkey_oauth.settings import Settings, SettingsError, read_clients

if TYPE_CHECKING:
    from pathlib import Path

    from chatkey_oauth.app import App

RUN = "from chatkey_oauth.cli import fake_oauth; fake_oauth()"
CLIENT = {"provider": "google", "client_id": "ours", "client_secret": "s", "redirect_uris": ["https://a.example/cb"]}


@pytest.fixture
async def http(fake: App) -> Any:
    """A client of the fake, without a network."""
    transport = httpx.ASGITransport(app=fake)
    async with httpx.AsyncClient(transport=transport, base_url="https://id.example") as client:
        yield client


async def test_head_answers_like_get_without_a_body(http: httpx.AsyncClient) -> None:
    get = await http.get("/google/.well-known/openid-configuration")
    head = await http.head("/google/.well-known/openid-configuration")

    assert head.status_code == get.status_code == 200
    assert head.headers == get.headers
    assert head.content == b""


async def test_an_encoded_at_sign_is_the_same(http: httpx.AsyncClient) -> None:
    assert (await http.get("/discord/api/users/%40me")).json() == {"message": "401: Unauthorized", "code": 0}


@pytest.mark.parametrize(("length", "status"), [(BODY_BYTES, 401), (BODY_BYTES + 1, 413)])
async def test_a_body_is_read_up_to_its_limit(http: httpx.AsyncClient, length: int, status: int) -> None:
    answer = await http.post("/gitlab/oauth/token", content=b"x" * length)

    assert answer.status_code == status


@contextmanager
def running(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process of the fake and the address it says it is ready at."""
    command = [sys.executable, "-c", RUN, "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert line.startswith("ready http"), line + (process.stderr.read() if process.stderr else "")
            yield line.removeprefix("ready ").strip(), process
        finally:
            process.kill()


def test_a_process_is_ready_when_it_says_so_and_ends_when_it_is_told(tmp_path: Path) -> None:
    clients = tmp_path / "clients.json"
    clients.write_text(json.dumps([CLIENT]))

    with running("--lab", "--clients", str(clients)) as (address, process):
        query = {
            "client_id": "ours",
            "redirect_uri": "https://a.example/cb",
            "response_type": "code",
            "scope": "openid",
        }
        page = httpx.get(f"{address}/google/o/oauth2/v2/auth", params=query, trust_env=False)
        lab = httpx.get(f"{address}/lab", trust_env=False)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=10)

    assert (page.status_code, lab.status_code) == (200, 200)
    assert "server" not in page.headers
    assert errors == ""


def test_a_process_serves_https(tmp_path: Path) -> None:
    ca, chain, key = trustme.CA(), tmp_path / "chain.pem", tmp_path / "key.pem"
    issued = ca.issue_cert("127.0.0.1")
    issued.private_key_and_cert_chain_pem.write_to_path(str(chain))
    issued.private_key_pem.write_to_path(str(key))
    trust = ssl.create_default_context()
    ca.configure_trust(trust)

    with running("--tls-cert", str(chain), "--tls-key", str(key)) as (address, _):
        answer = httpx.get(f"{address}/gitlab/.well-known/openid-configuration", verify=trust, trust_env=False)

    assert address.startswith("https://127.0.0.1:")
    assert answer.json()["issuer"] == f"{address}/gitlab"


@pytest.mark.contract("D-18/light-start")
def test_what_the_first_request_does_not_need_is_not_imported() -> None:
    code = (
        "import sys; from chatkey_oauth.app import create_app; from chatkey_oauth.engine.http import Call\n"
        "answer = create_app().answer(Call('GET', '/google/.well-known/openid-configuration'))\n"
        "assert answer.status == 200\n"
        "heavy = {'litestar', 'cryptography', 'jinja2', 'authlib', 'httpx', 'piccolo', 'jwt'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"


def test_a_port_in_use_is_told_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = CliRunner().invoke(fake_oauth, ["--port", str(taken.getsockname()[1])])

    assert result.exit_code == 1
    assert "Address already in use. Stop what listens there, or give another port with --port." in result.output


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is not a list of clients"),
        ('[{"provider": "google"}]', "missing required field `client_id`"),
        ('[{"provider": "google", "client_id": "x", "redirect_uris": ["/cb"]}]', "is not an absolute URI"),
    ],
)
def test_an_unusable_clients_file_is_told_by_name(tmp_path: Path, content: str | None, told: str) -> None:
    path = tmp_path / "clients.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(SettingsError) as refused:
        read_clients(path)

    assert str(path) in str(refused.value)
    assert told in str(refused.value)


def test_half_of_tls_is_refused() -> None:
    with pytest.raises(SettingsError, match="--tls-cert and --tls-key"):
        Settings(tls_cert="chain.pem")


@pytest.mark.parametrize(
    ("settings", "addresses"),
    [
        ({}, ("http://127.0.0.1:9911", "http://127.0.0.1:9911")),
        ({"host": "::1", "tls_cert": "c", "tls_key": "k"}, ("https://[::1]:9911", "https://[::1]:9911")),
        ({"browser_url": "https://id.example/"}, ("https://id.example", "https://id.example")),
        ({"server_url": "http://fake:1/"}, ("http://127.0.0.1:9911", "http://fake:1")),
    ],
)
def test_addresses_follow_from_the_settings(settings: dict[str, str], addresses: tuple[str, str]) -> None:
    made = Settings(**settings)  # type: ignore[arg-type]

    assert (made.for_browsers, made.for_servers) == addresses


def test_an_app_below_a_path_sends_its_form_there(make_fake: Callable[..., App]) -> None:
    fake = make_fake()
    fake.settings = Settings(browser_url="https://host.example/idp", clients=fake.settings.clients)

    assert fake.provider("google").browser_path == "/idp/google"
