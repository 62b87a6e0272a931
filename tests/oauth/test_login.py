"""Tests of what all providers share: a complete login, and the ways in which a login fails."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
import pytest
from tests.oauth.visitor import CALLBACK, VERIFIER, Visitor, content, parameters

from chatkey_oauth.engine.pkce import s256
from chatkey_oauth.providers import NAMES, load
from chatkey_protocol.names import AVAILABLE_SOCIALS

if TYPE_CHECKING:
    from chatkey_oauth.engine.http import Answer

EVERY = pytest.mark.parametrize("name", NAMES)
WITH_PROFILE = pytest.mark.parametrize("name", [name for name in NAMES if name != "apple"])
DECLINED = {"error": "access_denied"}
DENIED = {
    "google": DECLINED | {"iss": "https://id.localhost/google"},
    "facebook": {
        **DECLINED,
        "error_code": "200",
        "error_description": "Permissions error",
        "error_reason": "user_denied",
    },
    "github": {
        **DECLINED,
        "error_description": "The user has denied your application access.",
        "error_uri": (
            "https://docs.github.com/apps/managing-oauth-apps/"
            "troubleshooting-authorization-request-errors/#access-denied"
        ),
        "iss": "https://id.localhost/github/login/oauth",
    },
    "gitlab": DECLINED | {"error_description": "The resource owner or authorization server denied the request."},
    "discord": {
        **DECLINED,
        "error_description": "The resource owner or authorization server denied the request",
        "iss": "https://id.localhost/discord",
    },
    "apple": {"error": "user_cancelled_authorize"},
    "tiktok": DECLINED | {"error_description": "The user denied the request."},
    "amazon": DECLINED | {"error_description": "Access not permitted."},
    "microsoft": DECLINED | {"error_description": "AADSTS65004: User declined to consent to access the app."},
    "linkedin": {
        "error": "user_cancelled_authorize",
        "error_description": "The user cancelled the authorization",
    },
    "oidc": DECLINED | {"iss": "https://id.localhost/oidc"},
}
"""The callback parameters other than `state`, for providers that do not send exactly those of RFC 6749 4.1.2.1."""
WITH_PKCE = pytest.mark.parametrize("name", [name for name in NAMES if name != "linkedin"])
"""The providers with PKCE. LinkedIn supports PKCE only if a switch is on."""


@pytest.mark.contract("4.4/names")
def test_every_provider_that_can_be_enabled_is_imitated() -> None:
    assert set(AVAILABLE_SOCIALS) <= set(NAMES)


@WITH_PROFILE
def test_a_login_ends_in_a_profile(visitor: Visitor) -> None:
    token = visitor.login()
    profile = visitor.profile(token["access_token"])

    assert profile.status == 200
    assert b"Rhea Quill" in profile.body


@EVERY
def test_the_callback_is_given_the_state_byte_for_byte(visitor: Visitor) -> None:
    echoed = dict(visitor.decide(state="a+b/ü=&\udcff%20").headers)["location"]

    assert "state=a%2Bb%2F%C3%BC%3D%26%FF%2520" in echoed


SENT_BACK = {
    "google": ["code", "scope", "authuser", "prompt", "state", "iss"],
    "x": ["state", "code"],
    "tiktok": ["code", "scopes", "state"],
    "amazon": ["code", "scope", "state"],
    "github": ["code", "state", "iss"],
    "discord": ["code", "state", "iss"],
    "oidc": ["code", "state", "iss"],
}


@EVERY
def test_the_callback_has_these_parameters_in_order(visitor: Visitor) -> None:
    assert list(visitor.callback()) == SENT_BACK.get(visitor.name, ["code", "state"])


PROMPTED = {"google": "interaction_required", "gitlab": "consent_required", "oidc": "consent_required"}


@pytest.mark.parametrize("name", PROMPTED)
def test_no_prompt_is_answered_without_a_page(visitor: Visitor) -> None:
    def ask(**headers: str) -> dict[str, str]:
        return parameters(visitor.get(visitor.site.authorize, visitor.request(prompt="none"), **headers))

    cookie = visitor.cookie()
    stranger, undecided = ask(), ask(cookie=cookie)
    visitor.callback()

    assert (stranger["error"], stranger["state"]) == ("login_required", "st-1")
    assert undecided["error"] == PROMPTED[visitor.name]
    assert list(ask(cookie=cookie)) == SENT_BACK.get(visitor.name, ["code", "state"])


DISCOVERY = {
    "google": "/.well-known/openid-configuration",
    "gitlab": "/.well-known/openid-configuration",
    "facebook": "/.well-known/openid-configuration/",
    "linkedin": "/oauth/.well-known/openid-configuration",
    "oidc": "/.well-known/openid-configuration",
}


@pytest.mark.parametrize("name", DISCOVERY)
def test_every_endpoint_that_discovery_names_is_there(visitor: Visitor) -> None:
    document = content(visitor.get(DISCOVERY[visitor.name]))

    base = f"https://id.localhost/{visitor.name}"
    places = {place for name, place in document.items() if name.endswith(("_endpoint", "_uri"))}
    served = {path.split(" ")[-1] for path in visitor.fake.provider(visitor.name).routes()}
    assert document["issuer"] == (f"{base}/oauth" if visitor.name == "linkedin" else base)
    assert {place.removeprefix(base).rstrip("/") for place in places} <= served
    assert {"authorization_endpoint", "jwks_uri"} <= document.keys()


@pytest.mark.parametrize("name", [name for name in NAMES if "state" not in load(name).required_params])
def test_the_callback_has_no_state_where_none_came(visitor: Visitor) -> None:
    empty = visitor.callback(state="")
    silent = visitor.callback(state=None)

    assert empty["state"] == ""
    assert "state" not in silent


@EVERY
def test_a_token_answer_is_not_cached(visitor: Visitor) -> None:
    answer = visitor.redeem(visitor.callback()["code"])

    assert dict(answer.headers)["cache-control"] == "no-store"


@WITH_PROFILE
def test_the_same_person_has_the_same_subject_at_the_next_login_and_another_person_another(visitor: Visitor) -> None:
    first, again, other = (visitor.subject(visitor.access_token(person)) for person in ("rhea", "rhea", "twin"))

    assert first == again != other


@EVERY
@pytest.mark.parametrize("code", ["", "nonsense", "4/0Aunknown", "AQunknown", "0" * 20])
def test_an_invented_code_is_refused(visitor: Visitor, code: str) -> None:
    answer = visitor.redeem(code)

    assert "access_token" not in content(answer)
    assert "error" in content(answer)


@WITH_PKCE
@pytest.mark.parametrize("verifier", [None, "", "x" * 43, VERIFIER[:-1]])
def test_a_challenge_demands_its_verifier(visitor: Visitor, verifier: str | None) -> None:
    code = visitor.callback(code_challenge=s256(VERIFIER), code_challenge_method="S256")["code"]

    refused = visitor.redeem(code, code_verifier=verifier)
    accepted = visitor.redeem(code, code_verifier=VERIFIER)

    assert "access_token" not in content(refused)
    assert "access_token" in content(accepted)


@WITH_PKCE
def test_a_verifier_without_a_challenge_is_ignored(visitor: Visitor) -> None:
    answer = visitor.redeem(visitor.callback()["code"], code_verifier=VERIFIER)

    assert "access_token" in content(answer)


@pytest.mark.parametrize("name", ["google", "gitlab"])
def test_a_plain_challenge_serves_where_it_is_allowed(visitor: Visitor) -> None:
    code = visitor.callback(code_challenge=VERIFIER, code_challenge_method="plain")["code"]

    assert "error" in content(visitor.redeem(code, code_verifier="x" * 43))
    assert "access_token" in content(visitor.redeem(code, code_verifier=VERIFIER))


@EVERY
@pytest.mark.parametrize("secret", ["", "theirs-secret", "OURS-SECRET", "ours-secret ", None])
def test_a_wrong_secret_is_refused(visitor: Visitor, secret: str | None) -> None:
    code = visitor.callback()["code"]

    refused = visitor.redeem(code, client_secret=secret)

    assert "access_token" not in content(refused)
    assert "access_token" in content(visitor.redeem(code))


ODD = "a+b/c=:%20~"
"""A secret as some password managers make them."""


@pytest.mark.parametrize("name", [name for name in NAMES if load(name).basic_auth])
@pytest.mark.parametrize("secret", [ODD, quote(ODD, safe="")], ids=["as Arctic sends it", "as Auth.js encodes it"])
def test_a_basic_header_is_read_in_both_spellings(visitor: Visitor, secret: str) -> None:
    ours = visitor.fake.world.clients.get(visitor.name, "ours")
    assert ours is not None
    visitor.fake.world.clients.add(msgspec.structs.replace(ours, client_secret=ODD))
    basic = f"Basic {b64encode(f'ours:{secret}'.encode()).decode()}"

    answer = visitor.redeem(visitor.callback()["code"], basic=basic, client_id=None, client_secret=None)

    assert "access_token" in content(answer)


@pytest.mark.parametrize("name", [name for name in NAMES if not load(name).basic_auth])
def test_a_basic_header_does_not_count_elsewhere(visitor: Visitor) -> None:
    code = visitor.callback()["code"]
    basic = "Basic b3VyczpvdXJzLXNlY3JldA=="

    alone = visitor.redeem(code, basic=basic, client_id=None, client_secret=None)
    beside = visitor.redeem(code, basic="Basic b3Vyczpubw==")

    assert "access_token" not in content(alone)
    assert "access_token" in content(beside)


@EVERY
@pytest.mark.parametrize("basic", ["Basic", "Basic ???", "Basic b3Vycw==", "Basic b3VyczpubwoK", "Basic /w=="])
def test_a_broken_basic_header_is_refused(visitor: Visitor, basic: str) -> None:
    answer = visitor.redeem(visitor.callback()["code"], basic=basic, client_id=None, client_secret=None)

    assert "error" in content(answer)


@EVERY
def test_a_charset_in_the_content_type_does_no_harm(visitor: Visitor) -> None:
    code = visitor.callback()["code"]

    answer = visitor.redeem(code, content_type="application/x-www-form-urlencoded;charset=UTF-8")

    assert "access_token" in content(answer)


@EVERY
def test_a_declined_login_is_sent_back_with_the_state_and_without_a_code(visitor: Visitor, name: str) -> None:
    params = parameters(visitor.decide(decision="deny"))

    assert params == DENIED.get(visitor.name, DECLINED) | {"state": "st-1"}


@EVERY
@pytest.mark.parametrize(
    "uri",
    [
        "https://evil.example/callback",
        "https://chat.example/callback?x=1",
        "https://chat.example/callbackx",
        "https://chat.example@evil.example/callback",
        "HTTPS://chat.example/callback",
        "https://chat.example/callback\r\nx: y",
        "http://[",
    ],
)
def test_a_foreign_redirect_uri_is_never_followed(visitor: Visitor, name: str, uri: str) -> None:
    for answer in (visitor.ask(redirect_uri=uri), visitor.decide(redirect_uri=uri)):
        if name == "github":
            assert parameters(answer)["error"] == "redirect_uri_mismatch"
        else:
            assert answer.status == 400
            assert "location" not in dict(answer.headers)


@EVERY
@pytest.mark.parametrize("client_id", [None, "", "nobody", "<script>"])
def test_an_unknown_client_gets_a_page_and_no_redirect(visitor: Visitor, client_id: str | None) -> None:
    answer = visitor.ask(client_id=client_id)

    assert answer.status in {400, 401, 404}
    assert "location" not in dict(answer.headers)
    assert b"<script>" not in answer.body


@EVERY
def test_the_decision_alone_makes_no_code_for_an_account_that_is_not_there(visitor: Visitor) -> None:
    answer = visitor.decide("somebody")

    assert answer.status == 400
    assert b"This account does not exist" in answer.body


@WITH_PROFILE
def test_a_token_of_a_person_who_is_gone_opens_nothing(visitor: Visitor) -> None:
    token = visitor.access_token("rhea")
    visitor.fake.world.people.remove("rhea")

    answer = visitor.profile(token)

    assert answer.status in {400, 401}


@WITH_PROFILE
@pytest.mark.parametrize("token", ["", "nonsense", "Bearer", "\udcff"])
def test_a_bad_access_token_opens_nothing(visitor: Visitor, token: str) -> None:
    answer = visitor.profile(token)

    assert answer.status in {400, 401}
    assert b"rhea" not in answer.body.lower()


@EVERY
def test_an_unknown_path_is_404_and_a_wrong_method_405(visitor: Visitor) -> None:
    unknown, wrong = visitor.get("/nothing/here"), visitor.send("PUT", visitor.site.token)

    assert unknown.status == 404
    assert wrong.status == 405
    assert "POST" in dict(wrong.headers)["allow"]


@EVERY
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"&&&",
        b"%",
        b"a=b&a=c",
        b"\xff\xfe=\x00",
        b"code=%ff&grant_type=authorization_code",
        b"[]",
        b"null",
        b'{"code": 5}',
        b"{",
        b"[" * 60_000,
    ],
)
@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "application/json", "text/plain", ""])
def test_any_bad_token_request_is_refused_in_the_providers_format(
    visitor: Visitor, body: bytes, content_type: str
) -> None:
    answer = visitor.post(visitor.site.token, body, content_type=content_type, accept="application/json")

    assert answer.status in {200, 400, 401}
    assert "error" in content(answer)


PAGES_REDEEM = ("google", "facebook", "gitlab", "discord", "microsoft", "oidc")
PAGES_READ = (*PAGES_REDEEM, "github")
ORIGIN = "https://spa.example"


@WITH_PROFILE
def test_a_browser_is_told_which_endpoints_pages_of_other_origins_may_call(visitor: Visitor, name: str) -> None:
    asking = {"origin": ORIGIN, "access_control_request_headers": "authorization,content-type"}

    def preflight(path: str, method: str) -> tuple[int, str | None]:
        answer = visitor.send("OPTIONS", path, headers=asking | {"access_control_request_method": method})
        headers = dict(answer.headers)
        assert headers.get("access-control-allow-headers", "authorization,content-type") == "authorization,content-type"
        return answer.status, headers.get("access-control-allow-origin")

    allowed, refused = (204, "*"), (405, None)
    assert preflight(visitor.site.token, "POST") == (allowed if name in PAGES_REDEEM else refused)
    assert preflight(visitor.site.profile, "GET") == (allowed if name in PAGES_READ else refused)
    assert preflight(visitor.site.authorize, "GET") == refused
    assert visitor.send("OPTIONS", visitor.site.profile).status == 405


@pytest.mark.parametrize("name", PAGES_READ)
def test_a_page_may_read_answers_and_refusals_with_their_headers(visitor: Visitor, name: str) -> None:
    token = visitor.access_token()

    def ask(token: str, **headers: str) -> dict[str, str]:
        asked = visitor.get(visitor.site.profile, None, authorization=f"Bearer {token}", **headers)
        return dict(asked.headers)

    good, bad = ask(token, origin=ORIGIN), ask("no-token", origin=ORIGIN)
    assert good["access-control-allow-origin"] == bad["access-control-allow-origin"] == "*"
    assert "x-ratelimit-limit" in good.get("access-control-expose-headers", "") or name not in {"github", "discord"}
    assert "access-control-allow-origin" not in ask(token)


@EVERY
def test_an_application_may_have_its_approvals_remembered(visitor: Visitor, name: str) -> None:
    ours = visitor.fake.world.clients.get(name, "ours")
    assert ours is not None
    visitor.fake.world.clients.add(msgspec.structs.replace(ours, remember_approval=True))

    def ask(**changes: str) -> Answer:
        return visitor.get(visitor.site.authorize, visitor.request(**changes), cookie=cookie)

    cookie = visitor.cookie()
    first = ask()
    visitor.callback()

    assert (first.status, ask().status, ask(prompt="consent").status) == (200, 302, 200)


@pytest.mark.parametrize("name", ["google", "github"])
def test_a_provider_may_remember_the_approvals_of_every_application(visitor: Visitor, name: str) -> None:
    visitor.callback()

    def ask() -> Answer:
        return visitor.get(visitor.site.authorize, visitor.request(), cookie=f"chatkey_fake_{name}=rhea")

    asked = ask()
    visitor.fake.world.switches.set(f"{name}.remember-approval", on=True)

    assert (asked.status, ask().status) == (200, 302)


JSON_TAKEN = ("google", "github", "gitlab", "x", "amazon")


@pytest.mark.parametrize("name", JSON_TAKEN)
def test_a_token_request_may_come_as_json(visitor: Visitor) -> None:
    form = visitor.prove(
        {
            "grant_type": "authorization_code",
            "code": visitor.callback()["code"],
            "redirect_uri": CALLBACK,
            "client_id": "ours",
            "client_secret": "ours-secret",
            "code_verifier": VERIFIER,
        }
    )
    headers = {"authorization": form.pop("authorization")} if "authorization" in form else {}

    answer = visitor.post(
        visitor.site.token,
        msgspec.json.encode(form),
        content_type="application/json;charset=utf-8",
        accept="application/json",
        **headers,
    )

    assert content(answer)["access_token"]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in JSON_TAKEN])
def test_where_a_token_request_has_to_be_a_form_json_is_refused(visitor: Visitor) -> None:
    answer = visitor.redeem(visitor.callback()["code"], content_type="application/json")

    assert "access_token" not in content(answer)
    assert content(answer)["error"]
