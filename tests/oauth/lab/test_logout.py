"""Tests of sessions at a provider, and of logout."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import httpx
import jwt
import msgspec
import pytest
from tests.oauth.lab.answers import data
from tests.oauth.visitor import CALLBACK, Visitor, claims_of, parameters

from chatkey_oauth.engine.clients import Client, ClientError
from chatkey_oauth.engine.http import encode
from chatkey_oauth.engine.logout import EVENT
from chatkey_oauth.engine.world import Message
from chatkey_stack.patience import PATIENCE

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer

HOME = "https://chat.example/goodbye"
LISTENER = "https://chat.example/backchannel"
WITH_SESSIONS = pytest.mark.parametrize("name", ["oidc", "microsoft"])


class Browser:
    """A browser with the cookies of one provider."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.cookie = ""

    def kept(self, answer: Answer) -> Answer:
        for name, value in answer.headers:
            if name == "set-cookie":
                self.cookie = value.partition(";")[0]
        return answer

    def login(self, person: str = "rhea", **changes: str) -> dict[str, Any]:
        query, form = encode(self.visitor.request(**changes)), encode({"account": person, "decision": "approve"})
        answer = self.kept(self.visitor.post("/consent", form.encode(), query, cookie=self.cookie))
        token: dict[str, Any] = msgspec.json.decode(self.visitor.redeem(parameters(answer)["code"]).body)
        return token

    def ask(self, **changes: str) -> Answer:
        answer = self.visitor.get(self.visitor.site.authorize, self.visitor.request(**changes), cookie=self.cookie)
        return self.kept(answer)

    def log_out(self, path: str = "/logout", **params: str) -> Answer:
        return self.kept(self.visitor.get(path, params, cookie=self.cookie))


@pytest.fixture
def sent(fake: App, oidc: Visitor) -> list[tuple[Message, str]]:
    """The logout tokens that the fake sends to our application, which has registered addresses for its logout."""
    tokens: list[tuple[Message, str]] = []

    def post(message: Message, body: bytes) -> None:
        tokens.append((message, parse_qs(body.decode())["logout_token"][0]))

    fake.world = fake.world._replace(post=post)
    ours = fake.world.clients.get("oidc", "ours")
    assert ours is not None
    fake.world.clients.add(
        msgspec.structs.replace(ours, post_logout_redirect_uris=(HOME,), backchannel_logout_uri=LISTENER)
    )
    del oidc
    return tokens


@WITH_SESSIONS
def test_a_silent_login_succeeds_while_there_is_a_session(visitor: Visitor) -> None:
    browser = Browser(visitor)
    before = parameters(browser.ask(prompt="none"))
    browser.login()
    during = parameters(browser.ask(prompt="none"))
    browser.log_out("/logout" if visitor.name == "oidc" else "/common/oauth2/v2.0/logout")
    if visitor.name == "oidc":
        visitor.post("/logout", {"decision": "sign-out"}, cookie=browser.cookie)
    after = parameters(browser.ask(prompt="none"))

    assert (before["error"], "code" in during, after["error"]) == ("login_required", True, "login_required")


@WITH_SESSIONS
def test_a_session_keeps_its_id_and_time_until_the_person_must_sign_in_again(visitor: Visitor) -> None:
    browser = Browser(visitor)
    first = claims_of(browser.login()["id_token"])
    visitor.clock.advance(100)
    second = claims_of(browser.login()["id_token"])
    third = claims_of(browser.login(prompt="login")["id_token"])
    other = claims_of(browser.login("omar")["id_token"])

    assert second["sid"] == first["sid"]
    assert len({first["sid"], third["sid"], other["sid"]}) == 3
    if visitor.name == "oidc":
        assert second["auth_time"] == first["auth_time"] == third["auth_time"] - 100


def test_an_old_session_is_not_enough_for_max_age(oidc: Visitor) -> None:
    browser = Browser(oidc)
    browser.login()
    oidc.clock.advance(60)

    enough = parameters(browser.ask(prompt="none", max_age="61"))
    too_old = parameters(browser.ask(prompt="none", max_age="60"))

    assert "code" in enough
    assert too_old["error"] == "login_required"
    assert claims_of(browser.login(max_age="60")["id_token"])["auth_time"] == int(oidc.clock())


def test_a_logout_with_an_id_token_leads_home_and_tells_the_application(
    oidc: Visitor, sent: list[tuple[Message, str]]
) -> None:
    browser = Browser(oidc)
    id_token = browser.login()["id_token"]

    answer = browser.log_out(id_token_hint=id_token, post_logout_redirect_uri=HOME, state="a b")

    assert (answer.status, dict(answer.headers)["location"]) == (302, f"{HOME}?state=a+b")
    assert "Max-Age=0" in dict(answer.headers)["set-cookie"]
    ((message, token),) = sent
    claims = jwt.decode(token, options={"verify_signature": False})
    assert message.uri == LISTENER
    assert jwt.get_unverified_header(token)["typ"] == "logout+jwt"
    assert claims["events"] == {EVENT: {}}
    assert {name: claims[name] for name in ("iss", "sub", "aud", "sid")} == {
        name: claims_of(id_token)[name] for name in ("iss", "sub", "aud", "sid")
    }
    assert "nonce" not in claims


def test_without_an_id_token_the_person_is_asked(oidc: Visitor, sent: list[tuple[Message, str]]) -> None:
    browser = Browser(oidc)
    browser.login()

    page = browser.log_out(client_id="ours", post_logout_redirect_uri=HOME)
    before = len(sent)
    form = {"client_id": "ours", "post_logout_redirect_uri": HOME, "decision": "sign-out"}
    answer = oidc.post("/logout", form, cookie=browser.cookie)

    assert page.status == 200
    assert b"Sign out?" in page.body
    assert (before, len(sent)) == (0, 1)
    assert dict(answer.headers)["location"] == HOME


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"id_token_hint": "not.a.token"}, "was not issued by this provider"),
        ({"post_logout_redirect_uri": HOME}, "is not registered for the application"),
        ({"client_id": "ours", "post_logout_redirect_uri": "https://evil.example/"}, "is not registered"),
        ({"client_id": "unknown"}, "The client_id is unknown"),
    ],
)
def test_a_logout_that_could_lead_elsewhere_is_refused_on_a_page(
    oidc: Visitor, sent: list[tuple[Message, str]], params: dict[str, str], words: str
) -> None:
    browser = Browser(oidc)
    browser.login()

    answer = browser.log_out(**params)

    assert answer.status == 400
    assert words in answer.body.decode()
    assert sent == []


def test_a_hint_of_another_application_is_refused(oidc: Visitor) -> None:
    browser = Browser(oidc)

    answer = browser.log_out(id_token_hint=browser.login()["id_token"], client_id="theirs")

    assert answer.status == 400
    assert "issued to another application" in answer.body.decode()


def test_the_metadata_names_the_endpoint(oidc: Visitor, microsoft: Visitor) -> None:
    documents = [
        msgspec.json.decode(oidc.get("/.well-known/openid-configuration").body),
        msgspec.json.decode(microsoft.get("/common/v2.0/.well-known/openid-configuration").body),
    ]

    assert documents[0]["end_session_endpoint"].endswith("/oidc/logout")
    assert documents[0]["backchannel_logout_session_supported"] is True
    assert documents[1]["end_session_endpoint"].endswith("/microsoft/common/oauth2/v2.0/logout")


def test_microsoft_leads_only_to_registered_addresses(microsoft: Visitor) -> None:
    path = "/common/oauth2/v2.0/logout"

    home, elsewhere = (
        microsoft.get(path, {"post_logout_redirect_uri": uri}) for uri in (CALLBACK, "https://evil.example/")
    )

    assert (home.status, dict(home.headers)["location"]) == (302, CALLBACK)
    assert elsewhere.status == 200
    assert b"You are signed out" in elsewhere.body


def test_microsoft_names_the_numbers_of_its_silent_errors(microsoft: Visitor) -> None:
    nobody = parameters(microsoft.ask(prompt="none"))
    undecided = parameters(
        microsoft.get(microsoft.site.authorize, microsoft.request(prompt="none"), cookie=microsoft.cookie())
    )

    assert nobody["error_description"].startswith("AADSTS50058: ")
    assert (undecided["error"], undecided["error_description"][:12]) == ("interaction_required", "AADSTS65001:")


@pytest.mark.parametrize(
    ("tenant", "person", "status"),
    [
        ("organizations", "rhea", 400),
        ("11111111-1111-4111-8111-111111111111", "rhea", 400),
        ("organizations", "omar", 302),
        ("common", "rhea", 302),
        ("consumers", "rhea", 302),
    ],
)
def test_microsoft_refuses_personal_accounts_where_only_organizations_sign_in(
    microsoft: Visitor, tenant: str, person: str, status: int
) -> None:
    page = microsoft.get(f"/{tenant}/oauth2/v2.0/authorize", microsoft.request())

    answer = microsoft.post(
        f"/{tenant}/consent", {"account": person, "decision": "approve"}, encode(microsoft.request())
    )

    assert f'action="/microsoft/{tenant}/consent?' in page.body.decode()
    assert answer.status == status
    assert ("AADSTS500200" in answer.body.decode()) is (status == 400)


@pytest.mark.parametrize("uri", ["ftp://a.example/", "app.example:/x", "/relative"])
def test_an_address_for_logout_tokens_must_be_a_web_address(fake: App, uri: str) -> None:
    client = Client(provider="oidc", client_id="x", redirect_uris=(CALLBACK,), backchannel_logout_uri=uri)

    with pytest.raises(ClientError, match="backchannel_logout_uri"):
        fake.world.clients.add(client)


@pytest.fixture
def listener() -> Iterator[tuple[str, Callable[[], str]]]:
    """Run an application that receives one logout token. Yields its address, and a function that waits for the body."""
    received: list[str] = []
    arrived = threading.Event()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.rfile.read(int(self.headers["content-length"])).decode())
            self.send_response(204)
            self.end_headers()
            arrived.set()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
            """Write no log."""

    def body() -> str:
        assert arrived.wait(PATIENCE)
        return received[0]

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/logout", body
    server.shutdown()
    thread.join()
    server.server_close()


async def test_the_lab_shows_sessions_and_logout_tokens(
    lab: httpx.AsyncClient, fake: App, oidc: Visitor, listener: tuple[str, Callable[[], str]]
) -> None:
    address, body = listener
    ours = fake.world.clients.get("oidc", "ours")
    assert ours is not None
    fake.world.clients.add(msgspec.structs.replace(ours, backchannel_logout_uri=address))
    browser = Browser(oidc)
    id_token = browser.login()["id_token"]
    (session,) = data(await lab.get("/lab/sessions"))

    browser.log_out(id_token_hint=id_token)

    assert (session["account"], session["clients"]) == ("rhea", ["ours"])
    assert body().startswith("logout_token=ey")
    (message,) = data(await lab.get("/lab/logouts"))
    assert (message["uri"], message["sid"]) == (address, session["sid"])
    assert data(await lab.get("/lab/sessions")) == []
    page = (await lab.get("/lab", headers={"accept": "text/html"})).text
    assert f"logout token to <code>{address}</code>" in page
    assert json.dumps(message).count("ey") == 0
