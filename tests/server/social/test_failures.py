"""Tests of failures of the back channel. All cause the same refusal, which names the stage and quotes no data."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
import respx
import trustme

from chatkey_protocol.codes import Code
from chatkey_protocol.names import SOCIALS
from chatkey_server.identity.errors import Refused
from chatkey_server.settings import Settings, SocialAddress
from chatkey_server.social.grant import Grant
from chatkey_server.social.on_demand import OnDemand
from chatkey_server.social.person import Person
from chatkey_server.social.providers import find, load
from chatkey_server.social.transport import MAX_ANSWER_BYTES
from chatkey_server.storage.providers import Application

MakeWorld = Callable[[str], respx.MockRouter]
LogIn = Callable[[str], Awaitable[Person]]

SIGNING = [social for social in SOCIALS if load(social).keys_url]
"""The providers with an id_token. Apple has nothing else."""
STAGES = [
    *((social, "token") for social in SOCIALS),
    *((social, "profile") for social in SOCIALS if social != "apple"),
    *((social, "keys") for social in SIGNING),
    ("github", "emails"),
]
NOT_A_TOKEN = "the response is not a JSON object with an access token"
JSON = {"Content-Type": "application/json"}

Failure = tuple[httpx.Response | Exception, str]
FAILURES: list[Failure] = [
    (httpx.ReadTimeout("slow"), "timed out"),
    (httpx.ConnectTimeout("slow"), "timed out"),
    (httpx.ConnectError("refused"), "no connection: refused"),
    (httpx.ReadError("reset"), "ReadError"),
    (httpx.RemoteProtocolError("cut off"), "RemoteProtocolError"),
    (httpx.Response(500, text="<h1>Oops</h1>"), "answered with status 500"),
    (httpx.Response(503, json={"error": "busy"}), "answered with status 503"),
    (httpx.Response(429, text="slow down"), "answered with status 429"),
    (httpx.Response(302, headers={"Location": "https://evil.example"}), "answered with status 302"),
    (httpx.Response(200, content=b'{"access_token": "a', headers=JSON), "not strict JSON"),
    (httpx.Response(200, content=b"[" * 100_000, headers=JSON), "not strict JSON"),
    (httpx.Response(200, content=b"", headers=JSON), "not strict JSON"),
    (httpx.Response(200, json=7), "not a JSON"),
    (httpx.Response(200, content=b"null", headers=JSON), "not a JSON"),
    (httpx.Response(200, html="<h1>Hello</h1>"), "the content type of the response is not JSON"),
    (httpx.Response(200, content=b"{}"), "the content type of the response is not JSON"),
    (httpx.Response(204), "the content type of the response is not JSON"),
    (httpx.Response(200, json={"x": "y" * MAX_ANSWER_BYTES}), "response too large"),
]
FAILURE_IDS = [cause.replace(" ", "-") for _, cause in FAILURES]


async def refusal_of(login: Awaitable[Person]) -> Refused:
    with pytest.raises(Refused) as raised:
        await login
    assert raised.value.code is Code.OAUTH_FAILED
    assert raised.value.__cause__ is None
    return raised.value


@pytest.mark.parametrize("failure", FAILURES, ids=FAILURE_IDS)
@pytest.mark.parametrize(("social", "route"), STAGES)
async def test_a_failure_at_any_stage_of_any_provider_is_one_refusal_without_secrets(
    *,
    social: str,
    route: str,
    failure: Failure,
    make_world: MakeWorld,
    log_in: LogIn,
    application: Application,
    grant: Grant,
) -> None:
    what, cause = failure
    make_world(social)[route].mock(side_effect=[what])

    refusal = await refusal_of(log_in(social))

    stage = "profile" if route == "emails" else route
    expected = NOT_A_TOKEN if route == "token" and cause.startswith("not ") else cause
    assert (refusal.cause or "").startswith(f"{stage}: ")
    assert expected in (refusal.cause or "")
    assert refusal.message.startswith(load(social).title)
    assert "Please try again" in refusal.message
    told = f"{refusal!r} {refusal.message} {refusal.cause} {grant!r} {application!r}"
    for secret in ("application-secret", "ya29.a0", grant.code, grant.verifier, grant.oidc_nonce, "eyJ"):
        assert secret not in told


@pytest.mark.parametrize(
    ("status", "headers", "advice"),
    [
        (429, {}, "Please try again later."),
        (429, {"Retry-After": "7"}, "Please try again in 7 seconds."),
        (429, {"Retry-After": "300"}, "Please try again in 5 minutes."),
        (429, {"Retry-After": "86400"}, "Please try again later."),
        (429, {"Retry-After": "Fri, 20 Nov 2026 09:00:00 GMT"}, "Please try again later."),
        (429, {"x-rate-limit-remaining": "0", "x-rate-limit-reset": "1795000100"}, "Please try again later."),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1795000100"}, "Please try again later."),
        (403, {"Retry-After": "60"}, "Please try again in 60 seconds."),
    ],
)
async def test_the_time_to_wait_of_a_rate_limited_provider_is_in_the_message(
    status: int, headers: dict[str, str], advice: str, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world("x")["profile"].respond(status, headers=headers, json={"title": "Too Many Requests"})

    refusal = await refusal_of(log_in("x"))

    assert refusal.message == f"X has received too many sign-ins. {advice}"
    assert refusal.cause == f"profile: answered with status {status}"


@pytest.mark.parametrize("profile", [b'{"id": "1", "id": "2"}', b'{"id": NaN}', b'{"id": "\xff"}'])
async def test_an_ambiguous_profile_fails(profile: bytes, make_world: MakeWorld, log_in: LogIn) -> None:
    make_world("discord")["profile"].respond(200, content=profile, headers=JSON)

    assert (await refusal_of(log_in("discord"))).cause == "profile: the response is not strict JSON"


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; charset=UTF-8", "application/jwk-set+json"]
)
async def test_several_content_types_of_json_are_accepted(
    content_type: str, make_world: MakeWorld, log_in: LogIn
) -> None:
    world = make_world("google")
    keys = world["keys"].return_value
    assert keys is not None
    world["keys"].return_value = httpx.Response(200, content=keys.content, headers={"Content-Type": content_type})

    assert (await log_in("google")).name == "Rhea Quill"


@pytest.mark.parametrize("social", SOCIALS)
@pytest.mark.parametrize("status", [200, 400, 401])
async def test_an_error_in_the_token_response_fails_whatever_its_status(
    social: str, status: int, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world(social)["token"].respond(status, json={"error": "invalid_grant", "error_description": "code 4/0Acode"})

    refusal = await refusal_of(log_in(social))

    assert refusal.cause == "token: error invalid_grant"
    assert "(invalid_grant)" in refusal.message


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        ("invalid_grant", "Please try again."),
        ("invalid_client", "The chat's operator must correct its keys."),
        ("unauthorized_client", "The chat's operator must correct its keys."),
        ("incorrect_client_credentials", "The chat's operator must correct its keys."),
    ],
)
async def test_a_mistake_in_the_configuration_is_reported_without_advice_to_retry(
    error: str, advice: str, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world("github")["token"].respond(200, json={"error": error})

    refusal = await refusal_of(log_in("github"))

    assert refusal.message == f"GitHub did not accept this login ({error}). {advice}"


@pytest.mark.parametrize(
    ("error", "word"),
    [
        ({"message": "This code has been used.", "type": "OAuthException", "code": 100}, "OAuthException.100"),
        ({"type": "<b>"}, "unknown error"),
        ("free text with spaces", "unknown error"),
        ("x" * 65, "unknown error"),
        (None, "oauth_error"),  # Authlib's own error name
        (["invalid_grant"], "unknown error"),
    ],
)
async def test_only_the_code_of_an_error_is_logged(
    error: object, word: str, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world("facebook")["token"].respond(400, json={"error": error})

    assert (await refusal_of(log_in("facebook"))).cause == f"token: error {word}"


@pytest.mark.parametrize("social", SOCIALS)
@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ({}, "the access token is missing"),
        ({"token_type": "Bearer"}, "the access token is missing"),
        ({"token_type": "Bearer", "access_token": ""}, "the access token is missing"),
        ({"token_type": "Bearer", "access_token": 7}, "the access token is missing"),
        ({"token_type": "Bearer", "access_token": "a\r\nX-Y: z"}, "the access token contains characters"),
        ({"token_type": "mac", "access_token": "a"}, "the access token is not a bearer token"),
        ({"access_token": "a"}, "the access token is not a bearer token"),
        ({"token_type": "Bearer", "access_token": "a", "expires_in": {"x": 1}}, NOT_A_TOKEN),
        ({"token_type": "Bearer", "access_token": "a", "expires_in": "soon"}, NOT_A_TOKEN),
    ],
)
async def test_a_token_response_without_a_usable_bearer_token_fails(
    social: str, answer: dict[str, object], cause: str, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world(social)["token"].respond(200, json=answer)

    assert (await refusal_of(log_in(social))).cause.startswith(f"token: {cause}")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("social", "profile"),
    [
        ("google", lambda sub: {"sub": sub}),
        ("facebook", lambda sub: {"id": sub}),
        ("github", lambda sub: {"id": sub, "login": "rhea"}),
        ("gitlab", lambda sub: {"sub": sub}),
        ("discord", lambda sub: {"id": sub}),
        ("x", lambda sub: {"data": {"id": sub}}),
        ("tiktok", lambda sub: {"data": {"user": {"open_id": sub}}, "error": {"code": "ok"}}),
        ("amazon", lambda sub: {"user_id": sub}),
    ],
)
@pytest.mark.parametrize("sub", [None, "", "x" * 300, {"id": 1}, ["1"], True, 1.5])
async def test_a_profile_without_a_usable_subject_fails(
    social: str, profile: Callable[[object], object], sub: object, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world(social)["profile"].respond(200, json=profile(sub))

    assert (await refusal_of(log_in(social))).cause.startswith("profile: the subject id ")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("social", "profile", "cause"),
    [
        ("x", {}, "the response contains no user"),
        ("x", {"data": [], "errors": [{"title": "Forbidden"}]}, "the response contains no user"),
        ("tiktok", {"data": {}, "error": {"code": "ok"}}, "the response contains no user"),
        ("tiktok", {"error": {"code": "ok"}}, "the response contains no user"),
        (
            "tiktok",
            {"data": {"user": {"open_id": "1"}}, "error": {"code": "scope_not_authorized"}},
            "the error code of the response is scope_not_authorized",
        ),
        ("tiktok", {"data": {"user": {"open_id": "1"}}}, "the error code of the response is unknown error"),
        (
            "tiktok",
            {"data": {"user": {"open_id": "1"}}, "error": "ok"},
            "the error code of the response is unknown error",
        ),
    ],
)
async def test_a_profile_whose_envelope_does_not_hold_a_user_fails(
    social: str, profile: object, cause: str, make_world: MakeWorld, log_in: LogIn
) -> None:
    make_world(social)["profile"].respond(200, json=profile)

    assert (await refusal_of(log_in(social))).cause == f"profile: {cause}"


@pytest.mark.parametrize("social", SIGNING)
@pytest.mark.parametrize("token", [None, 7, ""])
async def test_a_missing_id_token_fails(social: str, token: object, make_world: MakeWorld, log_in: LogIn) -> None:
    make_world(social)["token"].respond(200, json={"access_token": "a", "token_type": "Bearer", "id_token": token})

    assert (await refusal_of(log_in(social))).cause in {  # it is no text, or a text that is no token
        "token: the id_token is missing",
        "id_token: the id_token's signature is invalid (decode_error)",
    }


@pytest.mark.parametrize("social", SIGNING)
async def test_an_id_token_of_another_login_fails(
    social: str, make_world: MakeWorld, make_id_token: Callable[..., str], log_in: LogIn
) -> None:
    world = make_world(social)
    token = make_id_token(load(social).issuers[0], "1", nonce="of-another-login")
    world["token"].respond(200, json={"access_token": "a", "token_type": "Bearer", "id_token": token})

    refusal = await refusal_of(log_in(social))

    assert refusal.cause == "id_token: the id_token's nonce is not the one of this login"
    assert {call.request.url.path for call in world.calls} == {
        call.request.url.path for route in ("token", "keys") for call in world[route].calls
    }


class _Discord(BaseHTTPRequestHandler):
    """The few parts of Discord that a login needs."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b'{"access_token": "a", "token_type": "Bearer"}')

    def do_GET(self) -> None:
        self._answer(b'{"id": "7"}')

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        ...

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def discord_url(authority: trustme.CA) -> Iterator[str]:
    """The URL of a provider with TLS. The certificate is from `authority`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with HTTPServer(("127.0.0.1", 0), _Discord) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"https://127.0.0.1:{server.server_port}/discord"
        server.shutdown()
        thread.join()


async def test_the_authority_in_the_settings_is_trusted(
    discord_url: str, authority: trustme.CA, application: Application, grant: Grant
) -> None:
    with authority.cert_pem.tempfile() as ca_file:
        settings = Settings(ca_file=ca_file, socials={"discord": SocialAddress(server_url=discord_url)})
        back_channel = await OnDemand(settings, lambda: 0.0).get()

    person = await back_channel.person(find("discord", settings), application, grant)

    assert person.sub == "7"


async def test_a_certificate_of_another_authority_is_refused(
    discord_url: str, application: Application, grant: Grant
) -> None:
    settings = Settings(socials={"discord": SocialAddress(server_url=discord_url)})

    back_channel = await OnDemand(settings, lambda: 0.0).get()

    refusal = await refusal_of(back_channel.person(find("discord", settings), application, grant))

    assert "CERTIFICATE_VERIFY_FAILED" in (refusal.cause or "")
    assert refusal.message == "Discord could not be reached. Please try again."
