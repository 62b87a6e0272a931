"""Tests of the fake over ASGI and in a process."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from click.testing import CliRunner
from tests.oauth.visitor import content

from chatkey_oauth.app import BODY_BYTES
from chatkey_oauth.cli import fake_oauth, guide
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.providers import NAMES
from chatkey_oauth.ready_made import READY_MADE
from chatkey_oauth.settings import Settings, SettingsError, read_addresses, read_clients, read_issuers
from chatkey_serving.few_lines import AT_ONCE_SECONDS, PER_SECOND
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from chatkey_oauth.app import App

RUN = "from chatkey_oauth.cli import fake_oauth; fake_oauth()"
CLIENT = {"provider": "google", "client_id": "ours", "client_secret": "s", "redirect_uris": ["https://a.example/cb"]}


@pytest.fixture
async def http(fake: App) -> Any:
    transport = httpx.ASGITransport(app=fake)
    async with httpx.AsyncClient(transport=transport, base_url="https://id.localhost") as client:
        yield client


async def test_head_answers_like_get_without_a_body(http: httpx.AsyncClient) -> None:
    get = await http.get("/google/.well-known/openid-configuration")
    head = await http.head("/google/.well-known/openid-configuration")

    assert head.status_code == get.status_code == 200
    assert head.headers == get.headers
    assert head.content == b""


async def test_an_encoded_at_sign_is_decoded(http: httpx.AsyncClient) -> None:
    assert (await http.get("/discord/api/users/%40me")).json() == {"message": "401: Unauthorized", "code": 0}


@pytest.mark.parametrize(("length", "status"), [(BODY_BYTES, 401), (BODY_BYTES + 1, 413)])
async def test_a_body_is_read_up_to_its_limit(http: httpx.AsyncClient, length: int, status: int) -> None:
    answer = await http.post("/gitlab/oauth/token", content=b"x" * length)

    assert answer.status_code == status


@contextmanager
def running(*options: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run the fake in a process, and yield the fake's address and the process."""
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

    with running("--clients", str(clients)) as (address, process):
        query = {
            "client_id": "ours",
            "redirect_uri": "https://a.example/cb",
            "response_type": "code",
            "scope": "openid",
        }
        page = httpx.get(f"{address}/google/o/oauth2/v2/auth", params=query, trust_env=False, timeout=PATIENCE)
        lab = httpx.get(f"{address}/lab", trust_env=False, timeout=PATIENCE)
        process.send_signal(signal.SIGINT)
        more, errors = process.communicate(timeout=PATIENCE)

    assert process.returncode == 0
    assert (page.status_code, lab.status_code) == (200, 200)
    assert "server" not in page.headers
    assert (more, errors) == ("", "")


@pytest.mark.contract("D-14/fake-lab")
def test_the_lab_can_be_left_out_and_is_where_others_could_reach_it(tmp_path: Path) -> None:
    with running("--no-lab") as (address, _):
        left_out = httpx.get(f"{address}/lab", trust_env=False, timeout=PATIENCE)
    with running("--host", "0.0.0.0") as (address, process):
        elsewhere = httpx.get(f"{address.replace('0.0.0.0', '127.0.0.1')}/lab", trust_env=False, timeout=PATIENCE)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=PATIENCE)
    asked_for = CliRunner().invoke(fake_oauth, ["--host", "0.0.0.0", "--port", "0", "--lab"])

    assert (left_out.status_code, elsewhere.status_code) == (404, 404)
    assert told == "The lab is off: 0.0.0.0 is reachable from other machines, and CHATKEY_LAB_TOKEN is not set.\n"
    assert asked_for.exit_code == 1
    assert asked_for.output == (
        "Error: The lab must only be reachable from this machine: listen on 127.0.0.1 instead of '0.0.0.0' "
        "and keep --browser-url on this machine, or set CHATKEY_LAB_TOKEN. All clients of the lab must then send "
        "its value.\n"
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--browser-url", "gogle=http://a.example"], "--browser-url: 'gogle' is not a provider. Available: google, "),
        (["--server-url", "a.example"], "--server-url: 'a.example' is not an address; write it like http://"),
        (["--server-url", "http://ada:secret@["], "--server-url: this is not an address"),
        (["--server-url", "google="], "--server-url: '' is not an address"),
        (["--browser-url", "http://["], "--browser-url: 'http://[' is not an address"),
        (
            ["--issuer", "http://a.example"],
            "--issuer: 'http://a.example' does not name a provider; write it like google=http",
        ),
        (["--issuer", "myspace=http://a.example"], "--issuer: 'myspace' is not a provider"),
        (["--auto-approve", "who"], "--auto-approve: 'who' is not one of rhea, "),
        (["--switch", "google.iss"], "'google.iss' is not a valid switch setting"),
        (["--switch", "google.isss=on"], "'google.isss': google has no switch 'isss'. Available: "),
        (["--switch", "myspace.iss=on"], "'myspace.iss': there is no provider 'myspace'"),
    ],
)
def test_an_option_that_cannot_be_used_is_told_in_a_sentence(options: list[str], told: str) -> None:
    result = CliRunner().invoke(fake_oauth, ["--port", "0", *options])

    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {told}")


def test_a_person_at_a_terminal_is_told_what_is_where() -> None:
    settings = Settings(lab=True, browser_urls={"google": "http://google.test"}, auto_approve="rhea")

    lines = guide(settings).splitlines()

    assert {line.split()[0]: line.split(maxsplit=1)[1] for line in lines[1:-2]} == {
        **{name: f"http://127.0.0.1:9911/{name}" for name in NAMES},
        "google": "http://google.test",
        "lab": "http://127.0.0.1:9911/lab",
        "approval": "automatic, as rhea",
    }
    assert lines[-1] == "Press Ctrl+C to stop."


def test_a_person_at_a_terminal_is_told_the_ready_made_ids_and_secrets_and_of_others_the_ids() -> None:
    own = Client(provider="github", client_id="my-app", client_secret="hush", redirect_uris=("http://localhost/",))

    ready, mixed = (guide(Settings(clients=clients)) for clients in (READY_MADE, (own,)))

    for client in READY_MADE:
        assert f"id      {client.client_id}\n" in ready
        assert (f"secret  {client.client_secret}" if client.client_secret else "team    READYMADE0") in ready
    assert "id      my-app" in mixed
    assert "hush" not in mixed


def test_a_provider_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys; from chatkey_oauth.app import create_app; from chatkey_oauth.engine.call import Call\n"
        "from chatkey_oauth.ready_made import READY_MADE; from chatkey_oauth.settings import Settings\n"
        "app = create_app(Settings(lab=True, clients=READY_MADE))\n"
        "loaded = lambda: [name for name in ('google', 'gitlab') if f'chatkey_oauth.providers.{name}' in sys.modules]\n"
        "print(loaded(), end=' ')\n"
        "app.answer(Call('GET', '/google/.well-known/openid-configuration'))\n"
        "print(loaded(), end=' ')\n"
        "print(app.world.clients.all()[0].provider, loaded())"
    )

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed == "[] ['google'] google ['google', 'gitlab']\n"


@pytest.mark.contract("D-18/light-start")
def test_the_first_request_imports_only_what_it_needs() -> None:
    code = (
        "import sys; from chatkey_oauth.app import create_app; from chatkey_oauth.engine.call import Call\n"
        "from chatkey_oauth.ready_made import READY_MADE; from chatkey_oauth.settings import Settings\n"
        "app = create_app(Settings(lab=True, clients=READY_MADE, switches={'google.iss': False}))\n"
        "answer = app.answer(Call('GET', '/google/.well-known/openid-configuration'))\n"
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
    assert (
        "Address already in use. Stop the program that listens there, or choose another port with --port."
        in result.output
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "is not a list of clients"),
        ('[{"provider": "google"}]', "missing required field `client_id`"),
        ('[{"provider": "google", "client_id": "x", "redirect_uris": ["/cb"]}]', "is not an absolute URI"),
        (
            '[{"provider": "myspace", "client_id": "x", "redirect_uris": ["http://a/"]}]',
            "provider of entry 0: 'myspace' is not a provider. Available: google, ",
        ),
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


def test_a_certificate_without_a_key_is_refused() -> None:
    with pytest.raises(SettingsError, match="--tls-cert and --tls-key"):
        Settings(tls_cert="chain.pem")


@pytest.mark.parametrize(
    ("settings", "addresses"),
    [
        ({}, ("http://127.0.0.1:9911", "http://127.0.0.1:9911")),
        ({"host": "::1", "tls_cert": "c", "tls_key": "k"}, ("https://[::1]:9911", "https://[::1]:9911")),
        ({"port": 80}, ("http://127.0.0.1", "http://127.0.0.1")),
        ({"port": 443}, ("http://127.0.0.1:443", "http://127.0.0.1:443")),
        ({"port": 443, "tls_cert": "c", "tls_key": "k"}, ("https://127.0.0.1", "https://127.0.0.1")),
        ({"browser_url": "https://id.localhost/"}, ("https://id.localhost", "https://id.localhost")),
        ({"server_url": "http://fake:1/"}, ("http://127.0.0.1:9911", "http://fake:1")),
    ],
)
def test_addresses_follow_from_the_settings(settings: dict[str, Any], addresses: tuple[str, str]) -> None:
    made = Settings(**settings)

    assert (made.for_browsers, made.for_servers) == addresses


def test_a_providers_own_addresses_go_before_the_general_ones() -> None:
    browser, by_browser = read_addresses("--browser-url", ["https://id.localhost", "google=https://g.example/"])
    server, by_server = read_addresses("--server-url", ["github=http://fake:1/github", "http://fake:1"])

    made = Settings(browser_url=browser, browser_urls=by_browser, server_url=server, server_urls=by_server)

    assert [(made.browser_base(name), made.server_base(name)) for name in ("google", "github", "x")] == [
        ("https://g.example", "http://fake:1/google"),
        ("https://id.localhost/github", "http://fake:1/github"),
        ("https://id.localhost/x", "http://fake:1/x"),
    ]


def test_a_single_address_of_a_provider_applies_to_backends() -> None:
    made = Settings(browser_urls={"google": "https://g.example"})

    assert (made.server_base("google"), made.server_base("x")) == ("https://g.example", "http://127.0.0.1:9911/x")


@pytest.mark.parametrize(
    ("issuers", "issuer"),
    [((), "https://g.example"), (("google=https://accounts.google.com",), "https://accounts.google.com")],
)
def test_browsers_and_backends_are_told_the_same_issuer(
    make_fake: Callable[..., App], issuers: tuple[str, ...], issuer: str
) -> None:
    places = {"browser_urls": {"google": "https://g.example"}, "server_urls": {"google": "http://fake:1/google"}}
    fake = make_fake(**places, issuers=read_issuers(issuers))

    document = content(fake.answer(Call("GET", "/google/.well-known/openid-configuration")))

    assert document["issuer"] == issuer
    assert document["authorization_endpoint"].startswith("https://g.example/")
    assert document["token_endpoint"].startswith("http://fake:1/google/")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("redirect_uri", "ends"),
    [
        ("http://localhost:3000/cb", True),
        ("https://app.localhost/cb?x=1", True),
        ("http://[::1]:8080/", True),
        ("https://evil.example/cb", False),
        ("http://127.0.0.1.evil.example/", False),
        ("ftp://127.0.0.1/", False),
    ],
)
def test_ready_made_applications_come_back_to_this_machine_only(name: str, redirect_uri: str, ends: bool) -> None:
    (client,) = (client for client in READY_MADE if client.provider == name)

    assert client.leads_home(redirect_uri) is ends
    assert client.is_public is False


def test_an_app_below_a_path_sends_its_form_there(make_fake: Callable[..., App]) -> None:
    fake = make_fake()
    fake.settings = Settings(browser_url="https://host.example/idp", clients=fake.settings.clients)

    assert fake.provider("google").browser_path == "/idp/google"


def test_300_requests_that_are_no_http_write_few_log_lines_and_do_not_block_others() -> None:
    with running() as (address, process):
        url, started = httpx.URL(address), time.monotonic()
        for _ in range(300):
            with socket.create_connection((url.host, url.port or 0), timeout=PATIENCE) as wire:
                wire.sendall(b"\x16\x03\x01\r\n\r\n")
                while wire.recv(4096):
                    pass
        answer = httpx.get(f"{address}/google/.well-known/openid-configuration", trust_env=False)
        process.terminate()
        _, logged = process.communicate(timeout=PATIENCE)

    assert answer.status_code == 200
    assert 0 < logged.count("Invalid HTTP request") <= PER_SECOND * (AT_ONCE_SECONDS + time.monotonic() - started)
