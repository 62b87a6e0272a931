"""Tests of what all providers share: a complete login, and the ways in which a login fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from chatkey_oauth.engine.pkce import s256
from chatkey_oauth.providers import NAMES, load
from chatkey_protocol.names import AVAILABLE_SOCIALS

if TYPE_CHECKING:
    from tests.oauth.visitor import Visitor

    from chatkey_oauth.clock import Clock
    from chatkey_oauth.engine.http import Answer

    Visit = Callable[[str], Visitor]
    Parameters = Callable[[Answer], dict[str, str]]
    Content = Callable[[Answer], Any]

CALLBACK = "https://chat.example/callback"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
EVERY = pytest.mark.parametrize("name", NAMES)
WITH_PROFILE = pytest.mark.parametrize("name", [name for name in NAMES if name != "apple"])
REFUSED = {
    "facebook": (400, "OAuthException"),
    "github": (200, "bad_verification_code"),
    "x": (400, "invalid_request"),
    "linkedin": (400, "invalid_request"),
    "tiktok": (200, "invalid_grant"),
}
"""The status and error for a used code, for providers that deviate from RFC 6749 5.2."""
USUAL = (400, "invalid_grant")

DENIED = {"apple": "user_cancelled_authorize", "linkedin": "user_cancelled_authorize"}
MISMATCHED = {
    "google": "redirect_uri_mismatch",
    "github": "redirect_uri_mismatch",
    "apple": "invalid_client",
    "tiktok": "invalid_request",
}

WITH_PKCE = pytest.mark.parametrize("name", [name for name in NAMES if name != "linkedin"])
"""The providers with PKCE. LinkedIn supports PKCE only if a switch is on."""


def refusal(answer: Answer, content: Content) -> tuple[int, str]:
    """Return the status and error code of a refused token request. Facebook's error is an object."""
    error = content(answer)["error"]
    return answer.status, error["type"] if isinstance(error, dict) else error


@pytest.mark.contract("4.4/names")
def test_every_provider_that_can_be_enabled_is_imitated() -> None:
    assert set(AVAILABLE_SOCIALS) <= set(NAMES)


@WITH_PROFILE
def test_a_login_ends_in_a_profile(visit: Visit, name: str) -> None:
    visitor = visit(name)

    token = visitor.login()
    profile = visitor.profile(token["access_token"])

    assert profile.status == 200
    assert b"Rhea Quill" in profile.body


@EVERY
def test_the_callback_is_given_the_state_byte_for_byte(visit: Visit, name: str) -> None:
    echoed = dict(visit(name).decide(state="a+b/ü=&\udcff%20").headers)["location"]

    assert "state=a%2Bb%2F%C3%BC%3D%26%FF%2520" in echoed


@pytest.mark.parametrize("name", [name for name in NAMES if "state" not in load(name).required_params])
def test_the_callback_has_no_state_where_none_came(visit: Visit, name: str) -> None:
    visitor = visit(name)

    empty = visitor.callback(state="")
    silent = visitor.callback(state=None)

    assert empty["state"] == ""
    assert "state" not in silent


@EVERY
def test_a_token_answer_is_not_cached(visit: Visit, name: str) -> None:
    visitor = visit(name)

    answer = visitor.redeem(visitor.callback()["code"])

    assert dict(answer.headers)["cache-control"] == "no-store"


@WITH_PROFILE
def test_the_same_person_has_the_same_subject_at_the_next_login_and_another_person_another(
    visit: Visit, name: str
) -> None:
    visitor = visit(name)

    first, again, other = (
        visitor.subject(visitor.login(person)["access_token"]) for person in ("rhea", "rhea", "twin")
    )

    assert first == again != other


@EVERY
def test_a_code_is_used_once(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)
    code = visitor.callback()["code"]
    assert "access_token" in content(visitor.redeem(code))

    second = visitor.redeem(code)

    assert refusal(second, content) == REFUSED.get(name, USUAL)


@EVERY
def test_a_code_expires(visit: Visit, content: Content, clock: Clock, name: str) -> None:
    visitor = visit(name)
    in_time, late = visitor.callback()["code"], visitor.callback()["code"]
    life = visitor.fake.provider(name).code_life
    clock.advance(life - 1)
    assert "access_token" in content(visitor.redeem(in_time))

    clock.advance(1)

    assert refusal(visitor.redeem(late), content) == REFUSED.get(name, USUAL)


@EVERY
def test_a_code_serves_only_the_client_it_was_made_for(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)
    code = visitor.callback()["code"]

    answer = visitor.redeem(code, client_id="theirs", client_secret="theirs-secret")

    assert refusal(answer, content) == REFUSED.get(name, USUAL)


@EVERY
def test_a_code_serves_only_with_its_redirect_uri(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)
    code = visitor.callback()["code"]

    answer = visitor.redeem(code, redirect_uri="https://chat.example/other")

    _, error = refusal(answer, content)
    assert error == MISMATCHED.get(name, REFUSED.get(name, USUAL)[1])
    assert "access_token" in content(visitor.redeem(code))


@EVERY
@pytest.mark.parametrize("code", ["", "nonsense", "4/0Aunknown", "AQunknown", "0" * 20])
def test_an_invented_code_is_refused(visit: Visit, content: Content, name: str, code: str) -> None:
    answer = visit(name).redeem(code)

    assert "access_token" not in content(answer)
    assert "error" in content(answer)


@WITH_PKCE
@pytest.mark.parametrize("verifier", [None, "", "x" * 43, VERIFIER[:-1]])
def test_a_challenge_demands_its_verifier(visit: Visit, content: Content, name: str, verifier: str | None) -> None:
    visitor = visit(name)
    code = visitor.callback(code_challenge=s256(VERIFIER), code_challenge_method="S256")["code"]

    refused = visitor.redeem(code, code_verifier=verifier)
    accepted = visitor.redeem(code, code_verifier=VERIFIER)

    assert "access_token" not in content(refused)
    assert "access_token" in content(accepted)


@WITH_PKCE
def test_a_verifier_without_a_challenge_is_ignored(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)

    answer = visitor.redeem(visitor.callback()["code"], code_verifier=VERIFIER)

    assert "access_token" in content(answer)


@pytest.mark.parametrize("name", ["google", "gitlab"])
def test_a_plain_challenge_serves_where_it_is_allowed(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)
    code = visitor.callback(code_challenge=VERIFIER, code_challenge_method="plain")["code"]

    assert "error" in content(visitor.redeem(code, code_verifier="x" * 43))
    assert "access_token" in content(visitor.redeem(code, code_verifier=VERIFIER))


@pytest.mark.parametrize("name", ["github", "discord"])
def test_a_plain_challenge_is_refused_elsewhere(visit: Visit, parameters: Parameters, name: str) -> None:
    answer = visit(name).ask(code_challenge=VERIFIER, code_challenge_method="plain")

    assert parameters(answer)["error"] == "invalid_request"
    assert "S256" in parameters(answer)["error_description"]


@EVERY
@pytest.mark.parametrize("secret", ["", "theirs-secret", "OURS-SECRET", "ours-secret ", None])
def test_a_wrong_secret_is_refused(visit: Visit, content: Content, name: str, secret: str | None) -> None:
    visitor = visit(name)
    code = visitor.callback()["code"]

    refused = visitor.redeem(code, client_secret=secret)

    assert "access_token" not in content(refused)
    assert "access_token" in content(visitor.redeem(code))


@pytest.mark.parametrize("name", [name for name in NAMES if load(name).basic_auth])
@pytest.mark.parametrize(
    "basic",
    ["b3VyczpvdXJzLXNlY3JldA==", "b3VyczpvdXJzJTJEc2VjcmV0"],
    ids=["as it stands", "form-encoded"],
)
def test_a_basic_header_is_read_in_both_spellings(visit: Visit, content: Content, name: str, basic: str) -> None:
    visitor = visit(name)
    code = visitor.callback()["code"]

    answer = visitor.redeem(code, basic=f"Basic {basic}", client_id=None, client_secret=None)

    assert "access_token" in content(answer)


@pytest.mark.parametrize("name", [name for name in NAMES if not load(name).basic_auth])
def test_a_basic_header_does_not_count_elsewhere(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)
    code = visitor.callback()["code"]
    basic = "Basic b3VyczpvdXJzLXNlY3JldA=="

    alone = visitor.redeem(code, basic=basic, client_id=None, client_secret=None)
    beside = visitor.redeem(code, basic="Basic b3Vyczpubw==")

    assert "access_token" not in content(alone)
    assert "access_token" in content(beside)


@EVERY
@pytest.mark.parametrize("basic", ["Basic", "Basic ???", "Basic b3Vycw==", "Basic b3VyczpubwoK", "Basic /w=="])
def test_a_broken_basic_header_is_refused(visit: Visit, content: Content, name: str, basic: str) -> None:
    visitor = visit(name)

    answer = visitor.redeem(visitor.callback()["code"], basic=basic, client_id=None, client_secret=None)

    assert "error" in content(answer)


@EVERY
def test_a_charset_in_the_content_type_does_no_harm(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)
    code = visitor.callback()["code"]

    answer = visitor.redeem(code, content_type="application/x-www-form-urlencoded;charset=UTF-8")

    assert "access_token" in content(answer)


@EVERY
def test_a_declined_login_is_sent_back_with_the_state_and_without_a_code(
    visit: Visit, parameters: Parameters, name: str
) -> None:
    params = parameters(visit(name).decide(decision="deny"))

    assert params["error"] == DENIED.get(name, "access_denied")
    assert params["state"] == "st-1"
    assert "code" not in params


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
def test_a_foreign_redirect_uri_is_never_followed(visit: Visit, parameters: Parameters, name: str, uri: str) -> None:
    for answer in (visit(name).ask(redirect_uri=uri), visit(name).decide(redirect_uri=uri)):
        if name == "github":
            assert parameters(answer)["error"] == "redirect_uri_mismatch"
        else:
            assert answer.status == 400
            assert "location" not in dict(answer.headers)


@EVERY
@pytest.mark.parametrize("client_id", [None, "", "nobody", "<script>"])
def test_an_unknown_client_gets_a_page_and_no_redirect(visit: Visit, name: str, client_id: str | None) -> None:
    answer = visit(name).ask(client_id=client_id)

    assert answer.status in {400, 401, 404}
    assert "location" not in dict(answer.headers)
    assert b"<script>" not in answer.body


@EVERY
def test_the_decision_alone_makes_no_code_for_an_account_that_is_not_there(visit: Visit, name: str) -> None:
    answer = visit(name).decide("somebody")

    assert answer.status == 400
    assert b"This account does not exist" in answer.body


@WITH_PROFILE
def test_a_token_of_a_person_who_is_gone_opens_nothing(visit: Visit, name: str) -> None:
    visitor = visit(name)
    token = visitor.login("rhea")["access_token"]
    visitor.fake.world.people.remove("rhea")

    answer = visitor.profile(token)

    assert answer.status in {400, 401}


@WITH_PROFILE
@pytest.mark.parametrize("token", ["", "nonsense", "Bearer", "\udcff"])
def test_a_bad_access_token_opens_nothing(visit: Visit, name: str, token: str) -> None:
    answer = visit(name).profile(token)

    assert answer.status in {400, 401}
    assert b"rhea" not in answer.body.lower()


@EVERY
def test_an_unknown_path_is_404_and_a_wrong_method_405(visit: Visit, name: str) -> None:
    visitor = visit(name)

    unknown, wrong = visitor.get("/nothing/here"), visitor.send("PUT", visitor.site.token)

    assert unknown.status == 404
    assert wrong.status == 405
    assert "POST" in dict(wrong.headers)["allow"]


@EVERY
@pytest.mark.parametrize(
    "body", [b"", b"&&&", b"%", b"a=b&a=c", b"\xff\xfe=\x00", b"code=%ff&grant_type=authorization_code", b"[]", b"null"]
)
@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "application/json", "text/plain", ""])
def test_any_bad_token_request_is_refused_in_the_providers_format(
    visit: Visit, content: Content, name: str, body: bytes, content_type: str
) -> None:
    visitor = visit(name)

    answer = visitor.post(visitor.site.token, body, content_type=content_type, accept="application/json")

    assert answer.status in {200, 400, 401}
    assert "error" in content(answer)


PAGES_REDEEM = ("google", "facebook", "gitlab", "discord", "microsoft", "oidc")
PAGES_READ = (*PAGES_REDEEM, "github")
ORIGIN = "https://spa.example"


@WITH_PROFILE
def test_a_browser_is_told_which_endpoints_pages_of_other_origins_may_call(visit: Visit, name: str) -> None:
    visitor = visit(name)
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
def test_a_page_may_read_answers_and_refusals_with_their_headers(visit: Visit, name: str) -> None:
    visitor = visit(name)
    token = visitor.login()["access_token"]

    def ask(token: str, **headers: str) -> dict[str, str]:
        asked = visitor.get(visitor.site.profile, None, authorization=f"Bearer {token}", **headers)
        return dict(asked.headers)

    good, bad = ask(token, origin=ORIGIN), ask("no-token", origin=ORIGIN)
    assert good["access-control-allow-origin"] == bad["access-control-allow-origin"] == "*"
    assert "x-ratelimit-limit" in good.get("access-control-expose-headers", "") or name not in {"github", "discord"}
    assert "access-control-allow-origin" not in ask(token)


@EVERY
def test_an_application_may_have_its_approvals_remembered(visit: Visit, name: str) -> None:
    visitor = visit(name)
    ours = visitor.fake.world.clients.get(name, "ours")
    assert ours is not None
    visitor.fake.world.clients.add(msgspec.structs.replace(ours, remember_approval=True))

    def ask(**changes: str) -> Answer:
        cookie = f"chatkey_fake_{name}=rhea"
        return visitor.get(visitor.site.authorize, visitor.request(**changes), cookie=cookie)

    first = ask()
    visitor.callback()

    assert (first.status, ask().status, ask(prompt="consent").status) == (200, 302, 200)


@pytest.mark.parametrize("name", ["google", "github"])
def test_a_provider_may_remember_the_approvals_of_every_application(visit: Visit, name: str) -> None:
    visitor = visit(name)
    visitor.callback()

    def ask() -> Answer:
        return visitor.get(visitor.site.authorize, visitor.request(), cookie=f"chatkey_fake_{name}=rhea")

    asked = ask()
    visitor.fake.world.switches.set(f"{name}.remember-approval", on=True)

    assert (asked.status, ask().status) == (200, 302)


JSON_TAKEN = ("google", "github", "gitlab", "x", "amazon")


@pytest.mark.parametrize("name", JSON_TAKEN)
def test_a_token_request_may_come_as_json(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)
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
def test_where_a_token_request_has_to_be_a_form_json_is_refused(visit: Visit, content: Content, name: str) -> None:
    visitor = visit(name)

    answer = visitor.redeem(visitor.callback()["code"], content_type="application/json")

    assert "access_token" not in content(answer)
    assert content(answer)["error"]
