"""A fake with one application of ours and one of somebody else's at every provider, driven without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec
import pytest

from chatkey_oauth.app import App, create_app
from chatkey_oauth.clock import Clock
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.http import Answer, Call, encode
from chatkey_oauth.engine.signing import make_key
from chatkey_oauth.providers import NAMES
from chatkey_oauth.settings import Settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

NOW = 1_795_000_000
NONE: Mapping[str, str] = MappingProxyType({})
CALLBACK = "https://chat.example/callback"


class Site(NamedTuple):
    """One provider's main endpoints, the scope a login asks for, and a subject that is Rhea's."""

    authorize: str
    token: str
    profile: str
    scope: str


SITES = {
    "google": Site("/o/oauth2/v2/auth", "/token", "/v1/userinfo", "openid email profile"),
    "facebook": Site("/v24.0/dialog/oauth", "/v24.0/oauth/access_token", "/v24.0/me", "email,public_profile"),
    "github": Site("/login/oauth/authorize", "/login/oauth/access_token", "/user", "read:user user:email"),
    "gitlab": Site("/oauth/authorize", "/oauth/token", "/api/v4/user", "openid email profile read_user"),
    "discord": Site("/oauth2/authorize", "/api/oauth2/token", "/api/users/@me", "identify email openid"),
}


@pytest.fixture(scope="session")
def signing_key() -> RSAPrivateKey:
    """One key for the whole run: making it takes longer than any test."""
    return make_key()


@pytest.fixture
def clock() -> Clock:
    """A clock that stands until it is moved."""
    return Clock(lambda: float(NOW))


@pytest.fixture
def make_fake(clock: Clock, signing_key: RSAPrivateKey) -> Callable[..., App]:
    """Make a fake with the two applications; keyword arguments are further settings."""

    def make(**settings: Any) -> App:
        clients = tuple(
            Client(provider=name, client_id=who, client_secret=f"{who}-secret", name=who, redirect_uris=(CALLBACK,))
            for name in NAMES
            for who in ("ours", "theirs")
        )
        app = create_app(Settings(browser_url="https://id.example", clients=clients, **settings), clock)
        app.world = app.world._replace(make_key=lambda: signing_key)
        return app

    return make


@pytest.fixture
def fake(make_fake: Callable[..., App]) -> App:
    """A fake with its lab on."""
    return make_fake(lab=True)


@pytest.fixture
def sites() -> Mapping[str, Site]:
    """The endpoints of every provider."""
    return SITES


class Visitor:
    """A browser and a backend in one, talking to one provider of a fake."""

    def __init__(self, fake: App, name: str) -> None:
        self.fake = fake
        self.name = name
        self.site = SITES[name]

    def get(self, path: str, params: Mapping[str, str] | None = None, **headers: str) -> Answer:
        """Send a GET."""
        return self.send("GET", path, encode(params or {}), headers=headers)

    def post(self, path: str, form: Mapping[str, str] | bytes, query: str = "", **headers: str) -> Answer:
        """Send a form, or a body as it stands."""
        body = form if isinstance(form, bytes) else encode(form).encode()
        headers = {"content_type": "application/x-www-form-urlencoded"} | headers
        return self.send("POST", path, query, body, headers)

    def send(
        self,
        method: str,
        path: str,
        query: str = "",
        body: bytes = b"",
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> Answer:
        """Send anything; underscores in header names stand for hyphens."""
        named = {"user-agent": "tests"} | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.fake.answer(Call(method, f"/{self.name}{path}", query, named, body))

    def request(self, **changes: str | None) -> dict[str, str]:
        """An authorization request; None leaves a parameter out."""
        params: dict[str, str | None] = {
            "client_id": "ours",
            "redirect_uri": CALLBACK,
            "response_type": "code",
            "scope": self.site.scope,
            "state": "st-1",
        }
        return {name: value for name, value in (params | changes).items() if value is not None}

    def ask(self, **changes: str | None) -> Answer:
        """Open the authorization endpoint."""
        return self.get(self.site.authorize, self.request(**changes))

    def decide(
        self, person: str = "rhea", *, decision: str = "approve", also: str = "", **changes: str | None
    ) -> Answer:
        """Send the consent form; `also` are further form fields."""
        form = encode({"account": person, "decision": decision})
        return self.post("/consent", f"{form}&{also}".encode(), encode(self.request(**changes)))

    def callback(self, person: str = "rhea", **changes: str | None) -> dict[str, str]:
        """Approve, and return what the callback is given."""
        return parameters(self.decide(person, decision="approve", also="", **changes))

    def redeem(self, code: str, *, basic: str = "", accept: str = "application/json", **changes: str | None) -> Answer:
        """Send the token request; None leaves a parameter out."""
        params: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": CALLBACK,
            "client_id": "ours",
            "client_secret": "ours-secret",
        }
        form = {name: value for name, value in (params | changes).items() if value is not None}
        return self.post(self.site.token, form, accept=accept, **({"authorization": basic} if basic else {}))

    def login(self, person: str = "rhea", **changes: str | None) -> dict[str, Any]:
        """Log in, and return the token response."""
        answer = self.redeem(self.callback(person, **changes)["code"])
        assert answer.status == 200, answer
        token: dict[str, Any] = content(answer)
        return token

    def profile(self, token: str, path: str = "", **params: str) -> Answer:
        """Ask for the profile."""
        return self.get(path or self.site.profile, params, authorization=f"Bearer {token}")


def parameters(answer: Answer) -> dict[str, str]:
    """The parameters with which an answer sends the browser to the callback."""
    assert answer.status == 302, answer
    location = dict(answer.headers)["location"]
    assert location.startswith(CALLBACK), location
    return dict(parse_qsl(urlsplit(location).query, keep_blank_values=True))


def content(answer: Answer) -> Any:
    """The JSON of an answer."""
    return msgspec.json.decode(answer.body)


@pytest.fixture
def visit(fake: App) -> Callable[[str], Visitor]:
    """Visit a provider by its name."""
    return lambda name: Visitor(fake, name)


@pytest.fixture(name="parameters")
def _parameters() -> Callable[[Answer], dict[str, str]]:
    """Read the callback's parameters off a redirect."""
    return parameters


@pytest.fixture(name="content")
def _content() -> Callable[[Answer], Any]:
    """Read the JSON of an answer."""
    return content


@pytest.fixture
def google(fake: App) -> Visitor:
    """A visit to Google."""
    return Visitor(fake, "google")


@pytest.fixture
def facebook(fake: App) -> Visitor:
    """A visit to Facebook."""
    return Visitor(fake, "facebook")


@pytest.fixture
def github(fake: App) -> Visitor:
    """A visit to GitHub."""
    return Visitor(fake, "github")


@pytest.fixture
def gitlab(fake: App) -> Visitor:
    """A visit to GitLab."""
    return Visitor(fake, "gitlab")


@pytest.fixture
def discord(fake: App) -> Visitor:
    """A visit to Discord."""
    return Visitor(fake, "discord")
