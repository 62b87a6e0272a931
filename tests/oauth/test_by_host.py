"""Tests of providers that clients call by a host name: `google.localhost`, or a real host that is redirected to the
fake.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from click.testing import CliRunner
from tests.oauth.test_serving import running
from tests.oauth.visitor import CALLBACK, SITES, Visitor, claims_of, content

from chatkey_oauth.by_host import every_name
from chatkey_oauth.cli import fake_oauth
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.http import Answer
from chatkey_oauth.fake import HOSTS
from chatkey_oauth.providers import NAMES, load, real_hosts
from chatkey_oauth.ready_made import READY_MADE

if TYPE_CHECKING:
    from pathlib import Path

    from chatkey_oauth.app import App

EVERY_HOST = pytest.mark.parametrize("host", list(every_name()))
DISCOVERY = "/.well-known/openid-configuration"


class Named(Visitor):
    """A visitor who calls a provider by its host name, with paths that begin at the root."""

    host = ""

    def send(self, method: str, path: str, query: str = "", body: bytes = b"", headers: Any = ()) -> Answer:
        named = {"user-agent": "tests", "host": self.host} | {
            name.replace("_", "-"): value for name, value in dict(headers).items()
        }
        return self.fake.answer(Call(method, path, query, named, body))


def named(fake: App, host: str) -> Named:
    """Return a visitor for the provider with this host name."""
    name = real_hosts().get(host.partition(":")[0]) or host.partition(".")[0]
    visitor = Named(fake, name)
    visitor.host = host
    return visitor


@EVERY_HOST
def test_the_real_paths_are_at_the_root_of_every_name(fake: App, host: str) -> None:
    visitor = named(fake, host)

    token = visitor.login()

    assert token["access_token"]
    if visitor.site.profile:
        assert visitor.subject(token["access_token"])


@pytest.mark.parametrize("name", NAMES)
def test_a_login_may_change_between_the_names(fake: App, name: str) -> None:
    code = named(fake, f"{name}.localhost").callback()["code"]
    elsewhere = [Visitor(fake, name), *(named(fake, host) for host in load(name).hosts)]

    answer = elsewhere[-1].redeem(code)

    assert content(answer)["access_token"]
    again = content(elsewhere[0].redeem(code))
    assert "access_token" not in again


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("google.localhost:9911", "https://google.localhost:9911"),
        ("accounts.google.com", "https://accounts.google.com"),
        ("oauth2.googleapis.com", "https://accounts.google.com"),
        ("oauth2.googleapis.com:8443", "https://accounts.google.com:8443"),
        ("gitlab.com", "https://gitlab.com"),
        ("discordapp.com", "https://discord.com"),
    ],
)
def test_addresses_and_issuer_use_the_host_of_the_request(fake: App, host: str, base: str) -> None:
    visitor = named(fake, host)

    document = content(visitor.get(DISCOVERY))

    id_token = visitor.login(scope="openid")["id_token"]
    claims = claims_of(id_token)
    assert document["issuer"] == claims["iss"] == base
    tokens = base.replace("accounts.google.com", "oauth2.googleapis.com")
    assert document["token_endpoint"].startswith(f"{tokens}/")


@pytest.mark.parametrize(
    ("host", "path", "endpoints"),
    [
        (
            "accounts.google.com",
            DISCOVERY,
            {
                "authorization_endpoint": "https://accounts.google.com/o/oauth2/v2/auth",
                "token_endpoint": "https://oauth2.googleapis.com/token",
                "userinfo_endpoint": "https://openidconnect.googleapis.com/v1/userinfo",
                "revocation_endpoint": "https://oauth2.googleapis.com/revoke",
                "jwks_uri": "https://www.googleapis.com/oauth2/v3/certs",
            },
        ),
        (
            "login.microsoftonline.com",
            f"/common/v2.0{DISCOVERY}",
            {
                "token_endpoint": "https://login.microsoftonline.com/common/oauth2/v2.0/token",
                "userinfo_endpoint": "https://graph.microsoft.com/oidc/userinfo",
            },
        ),
        (
            "www.linkedin.com",
            f"/oauth{DISCOVERY}",
            {
                "token_endpoint": "https://www.linkedin.com/oauth/v2/accessToken",
                "userinfo_endpoint": "https://api.linkedin.com/v2/userinfo",
            },
        ),
    ],
)
def test_a_document_at_a_real_host_names_the_real_hosts(
    fake: App, host: str, path: str, endpoints: dict[str, str]
) -> None:
    document = content(named(fake, host).get(path))

    assert {name: document[name] for name in endpoints} == endpoints


def test_facebook_without_www_shows_the_page_that_leads_back(fake: App) -> None:
    answer = named(fake, "facebook.com").decide()

    assert dict(answer.headers)["location"].startswith(f"{CALLBACK}?code=")


def test_metadata_before_the_issuers_path_is_at_the_root_too(fake: App) -> None:
    document = content(named(fake, "github.com").get("/.well-known/oauth-authorization-server/login/oauth"))

    assert document["issuer"] == "https://github.com/login/oauth"


def test_the_consent_form_stays_at_the_host(fake: App) -> None:
    page = named(fake, "x.localhost").ask()

    assert b'action="/consent?client_id=ours&amp;' in page.body


def test_the_provider_in_the_path_overrides_the_host(fake: App) -> None:
    asked = Call("GET", f"/gitlab{DISCOVERY}", headers={"host": "google.localhost"})

    assert content(fake.answer(asked))["issuer"] == "https://id.localhost/gitlab"


@pytest.mark.parametrize(
    "host", ["", "localhost", "nobody.localhost", "google.com", "evil.accounts.google.com", "[::1"]
)
def test_an_unknown_host_gets_404(fake: App, host: str) -> None:
    assert fake.answer(Call("GET", DISCOVERY, headers={"host": host})).status == 404


def test_any_number_of_ports_uses_bounded_memory(fake: App) -> None:
    for port in range(HOSTS + 10):
        named(fake, f"google.localhost:{port}").get(DISCOVERY)

    assert len(fake._at_hosts) == HOSTS


def test_every_provider_says_which_hosts_it_stands_for() -> None:
    assert {name for name in NAMES if not load(name).hosts} == {"oidc"}
    assert set(SITES) == set(NAMES)


def test_a_client_with_built_in_hosts_logs_in_over_https_by_trusting_the_ca_of_the_run(tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    app = next(client for client in READY_MADE if client.provider == "google")
    asked = {"client_id": app.client_id, "redirect_uri": "http://127.0.0.1:1/cb", "response_type": "code"}

    with running("--tls", str(ca), "--auto-approve", "rhea") as (address, process):
        assert process.stdout is not None
        assert process.stdout.readline().strip() == f"ca {ca}"
        led = Led(address.removeprefix("https://"), ssl.create_default_context(cafile=ca))
        with httpx.Client(transport=led) as client:
            back = client.get("https://accounts.google.com/o/oauth2/v2/auth", params=asked | {"scope": "openid"})
            form = asked | {
                "code": httpx.URL(back.headers["location"]).params["code"],
                "client_secret": app.client_secret,
                "grant_type": "authorization_code",
            }
            token = client.post("https://oauth2.googleapis.com/token", data=form).json()

    claims = claims_of(token["id_token"])
    assert claims["iss"] == "https://accounts.google.com"


class Led(httpx.HTTPTransport):
    """A transport that connects to one fixed address, whatever the host name, as with a hosts file."""

    def __init__(self, netloc: str, trust: ssl.SSLContext) -> None:
        super().__init__(verify=trust)
        self._host, _, port = netloc.partition(":")
        self._port = int(port)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Connect to the fixed address. The TLS handshake names the original host."""
        request.extensions = {**request.extensions, "sni_hostname": request.url.host}
        request.url = request.url.copy_with(host=self._host, port=self._port)
        return super().handle_request(request)


def test_a_certificate_is_made_or_brought_not_both() -> None:
    result = CliRunner().invoke(fake_oauth, ["--port", "0", "--tls", "--tls-cert", "a.pem", "--tls-key", "b.pem"])

    assert result.exit_code == 1
    assert "--tls cannot be combined with --tls-cert" in result.output


def test_the_callback_goes_where_it_was_asked_to(fake: App) -> None:
    assert dict(named(fake, "discord.com").decide().headers)["location"].startswith(f"{CALLBACK}?code=")


def test_an_avatar_is_at_the_host(fake: App) -> None:
    visitor = named(fake, "api.github.com")

    picture = content(visitor.profile(visitor.access_token()))["avatar_url"]

    assert picture == "https://github.com/avatars/rhea.svg"
    assert visitor.get("/avatars/rhea.svg").status == 200


def test_a_file_for_the_certificate_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    result = CliRunner().invoke(fake_oauth, ["--port", "0", "--tls", str(tmp_path / "no" / "ca.pem")])

    assert result.exit_code == 1
    assert result.output.startswith("Error: --tls: ")
    assert "cannot be written: No such file or directory." in result.output
