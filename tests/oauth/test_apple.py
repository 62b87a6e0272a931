"""Tests of Apple's peculiarities."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

import jwt
import msgspec
import pytest
from joserfc import jwt as joserfc_jwt
from joserfc.jwk import KeySet
from tests.oauth.visitor import CALLBACK, Visitor, apple_secret, claims_of, content
from tests.page import Page

from chatkey_oauth.engine.http import encode
from chatkey_oauth.engine.signing import half_hash, make_key

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer

FULL = {"scope": "name email", "response_mode": "form_post"}
HYBRID = {"response_type": "code id_token", "response_mode": "form_post"}


def posted(answer: Answer) -> dict[str, str]:
    """Return the fields that the page posts to the callback."""
    assert answer.status == 200, answer
    form = Page(answer.body)
    assert form.action == CALLBACK
    return {name: value for name, (value,) in form.fields.items()}


def approved(apple: Visitor, person: str = "rhea", also: str = "", **changes: str | None) -> dict[str, str]:
    """Approve with name and e-mail, and return the fields that the page posts to the callback."""
    return posted(apple.decide(person, decision="approve", also=also, **(FULL | changes)))


def token_of(apple: Visitor, code: str) -> dict[str, Any]:
    answer = apple.redeem(code)
    assert answer.status == 200, answer
    token: dict[str, Any] = content(answer)
    return token


def switch(apple: Visitor, name: str, *, on: bool) -> None:
    apple.fake.world.switches.set(f"apple.{name}", on=on)


# Discovery


def test_discovery_names_endpoints_that_answer_and_no_userinfo(apple: Visitor) -> None:
    document = content(apple.get("/.well-known/openid-configuration"))

    base = "https://id.localhost/apple"
    assert document == {
        "issuer": base,
        "authorization_endpoint": f"{base}/auth/authorize",
        "token_endpoint": f"{base}/auth/token",
        "revocation_endpoint": f"{base}/auth/revoke",
        "jwks_uri": f"{base}/auth/keys",
        "response_types_supported": ["code"],
        "response_modes_supported": ["query", "fragment", "form_post"],
        "subject_types_supported": ["pairwise"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "scopes_supported": ["openid", "email", "name"],
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
        "claims_supported": document["claims_supported"],
    }
    assert {"nonce_supported", "is_private_email", "real_user_status"} <= set(document["claims_supported"])
    assert apple.get("/auth/authorize").status == 400
    assert apple.post("/auth/token", {}).status == apple.post("/auth/revoke", {}).status == 400


def test_several_keys_are_published_and_the_kid_says_which_signed(
    make_fake: Callable[..., App], visit: Callable[[str], Visitor]
) -> None:
    apple = visit("apple")
    apple.fake.world = apple.fake.world._replace(make_key=make_key)
    token = apple.login(nonce="n-1")["id_token"]
    keys = content(apple.get("/auth/keys"))

    verified = joserfc_jwt.decode(token, KeySet.import_key_set(keys), algorithms=["RS256"])

    first, second = keys["keys"]
    assert first["kid"] != second["kid"]
    assert all(len(key["kid"]) == 10 and key["kid"].isalnum() for key in (first, second))
    assert verified.header == {"alg": "RS256", "kid": first["kid"]}
    assert verified.claims["nonce"] == "n-1"


# Authorization endpoint


@pytest.mark.parametrize("scope", ["name", "email", "name email", "openid name", "name+email", "name%20email"])
@pytest.mark.parametrize("mode", [None, "query", "fragment"])
def test_name_and_email_travel_in_a_form_only(apple: Visitor, scope: str, mode: str | None) -> None:
    query = encode(apple.request(scope=None, response_mode=mode))

    refused = apple.send("GET", "/auth/authorize", f"{query}&scope={scope.replace(' ', '%20')}")
    accepted = apple.ask(scope="name email", response_mode="form_post")

    assert refused.status == 400
    assert b"response_mode must be form_post when name or email scope is requested." in refused.body
    assert accepted.status == 200


@pytest.mark.parametrize("scope", [None, "", "openid"])
@pytest.mark.parametrize("mode", [None, "query", "fragment", "form_post"])
def test_without_name_and_email_any_response_mode_is_accepted(
    apple: Visitor, scope: str | None, mode: str | None
) -> None:
    assert apple.ask(scope=scope, response_mode=mode).status == 200


def test_the_callback_is_a_form_that_posts_itself_across_sites(apple: Visitor) -> None:
    answer = apple.decide(state='a "b"&<c>', **FULL)

    fields, headers = posted(answer), dict(answer.headers)
    assert fields["state"] == 'a "b"&<c>'
    assert set(fields) == {"code", "state", "user"}
    assert b'<form method="post"' in answer.body
    assert "script-src 'sha256-" in headers["content-security-policy"]
    assert "form-action" not in headers["content-security-policy"]
    assert headers["referrer-policy"] == "strict-origin"


@pytest.mark.parametrize("mode", ["query", "fragment", "form_post"])
def test_a_cancelled_login_has_its_own_error_in_the_same_response_mode(apple: Visitor, mode: str) -> None:
    answer = apple.decide(decision="deny", scope="openid", response_mode=mode)

    parts = urlsplit(dict(answer.headers).get("location", ""))
    came = {
        "query": lambda: dict(parse_qsl(parts.query)),
        "fragment": lambda: dict(parse_qsl(parts.fragment)),
        "form_post": lambda: posted(answer),
    }[mode]()
    assert came == {"error": "user_cancelled_authorize", "state": "st-1"}


def test_plus_may_separate_scopes_unless_the_switch_is_on(apple: Visitor) -> None:
    def ask(scope: str) -> int:
        query = encode(apple.request(scope=None, response_mode="form_post"))
        return apple.send("GET", "/auth/authorize", f"{query}&scope={scope}").status

    lenient = ask("name+email")
    switch(apple, "strict-scope", on=True)

    assert (lenient, ask("name+email"), ask("name%20email")) == (200, 400, 200)


@pytest.mark.parametrize(
    ("uri", "strict"),
    [
        ("https://chat.example/callback", 200),
        ("http://chat.example/callback", 400),
        ("https://localhost/callback", 400),
        ("https://shop.localhost/callback", 400),
        ("https://192.0.2.7/callback", 400),
        ("https://[2001:db8::1]/callback", 400),
    ],
)
def test_redirect_uris_may_be_local_unless_the_switch_is_on(apple: Visitor, uri: str, strict: int) -> None:
    known = apple.fake.world.clients.get("apple", "ours")
    assert known is not None
    apple.fake.world.clients.add(msgspec.structs.replace(known, client_id="local", redirect_uris=(uri,)))

    lenient = apple.ask(client_id="local", redirect_uri=uri).status
    switch(apple, "strict-redirect", on=True)

    assert (lenient, apple.ask(client_id="local", redirect_uri=uri).status) == (200, strict)


# The person's data, sent only once


def test_name_and_email_are_sent_at_the_first_login_only(apple: Visitor) -> None:
    first, second = approved(apple), approved(apple)

    assert json.loads(first["user"]) == {
        "name": {"firstName": "Rhea", "lastName": "Quill"},
        "email": "rhea@example.com",
    }
    assert set(second) == {"code", "state"}


@pytest.mark.parametrize(
    ("person", "scope", "user"),
    [
        ("rhea", "name", {"name": {"firstName": "Rhea", "lastName": "Quill"}}),
        ("rhea", "email", {"email": "rhea@example.com"}),
        ("noemail", "name email", {"name": {"firstName": "Nia", "lastName": "Phone"}}),
        ("noname", "name email", {"email": "noname@example.com"}),
        ("script", "name", {"name": {"firstName": "<script>alert('name')</script>", "lastName": ""}}),
        ("rtl", "name", {"name": {"firstName": "ليلى", "lastName": "منصور"}}),
    ],
)
def test_the_user_contains_what_the_scopes_permit_and_the_person_has(
    apple: Visitor, person: str, scope: str, user: dict[str, Any]
) -> None:
    assert json.loads(approved(apple, person, scope=scope)["user"]) == user


@pytest.mark.parametrize(("person", "scope"), [("rhea", "openid"), ("nobody", "name email")])
def test_without_name_and_email_there_is_no_user(apple: Visitor, person: str, scope: str) -> None:
    assert "user" not in approved(apple, person, scope=scope)


def test_the_name_may_be_edited(apple: Visitor) -> None:
    page = apple.ask(**FULL).body

    both = json.loads(approved(apple, "rhea", encode({"given_name": "Ré <b>", "family_name": "Q"}))["user"])
    one = json.loads(approved(apple, "omar", "given_name=Om&family_name=")["user"])

    assert b'name="given_name"' in page
    assert both["name"] == {"firstName": "Ré <b>", "lastName": "Q"}
    assert one["name"] == {"firstName": "Om", "lastName": "Haddad"}


def test_the_page_offers_only_choices_that_have_an_effect(apple: Visitor) -> None:
    name, email, neither = (
        apple.ask(**(FULL | {"scope": scope})).body.decode() for scope in ("name", "email", "openid")
    )

    assert ("given_name" in name, "email_choice" in name) == (True, False)
    assert ("given_name" in email, "email_choice" in email) == (False, True)
    assert ("given_name" in neither, "email_choice" in neither) == (False, False)


def test_an_address_that_was_hidden_stays_hidden_behind_the_relay_of_the_team(apple: Visitor) -> None:
    first = approved(apple, "rhea", "email_choice=hide")
    relayed = json.loads(first["user"])["email"]
    claims = claims_of(token_of(apple, first["code"])["id_token"])

    later = claims_of(token_of(apple, approved(apple, "rhea", "email_choice=share")["code"])["id_token"])
    other = json.loads(approved(apple, "omar", "email_choice=hide")["user"])["email"]

    assert relayed.endswith("@privaterelay.appleid.com")
    assert claims["email"] == later["email"] == relayed != other
    assert claims["is_private_email"] is later["is_private_email"] is True


def test_stop_using_makes_the_next_approval_the_first(apple: Visitor) -> None:
    old = token_of(apple, approved(apple, "rhea", "email_choice=hide")["code"])

    again = approved(apple, "rhea", "stop_using=yes")
    refused = apple.refresh(old["refresh_token"])

    assert json.loads(again["user"])["email"] == "rhea@example.com"
    assert (refused.status, content(refused)) == (400, {"error": "invalid_grant"})
    assert "user" not in approved(apple)


# code id_token


@pytest.mark.parametrize("mode", ["form_post", "fragment"])
def test_the_hybrid_flow_brings_an_id_token_bound_to_the_code(apple: Visitor, mode: str) -> None:
    answer = apple.decide(
        decision="approve", response_type="code id_token", response_mode=mode, nonce="n-7", scope="openid"
    )

    location = dict(answer.headers).get("location", "")
    came = posted(answer) if mode == "form_post" else dict(parse_qsl(urlsplit(location).fragment))
    claims = claims_of(came["id_token"])
    assert claims["c_hash"] == half_hash(came["code"])
    assert (claims["nonce"], claims["aud"]) == ("n-7", "ours")
    assert "at_hash" not in claims
    assert claims["sub"] == claims_of(token_of(apple, came["code"])["id_token"])["sub"]
    keys = KeySet.import_key_set(content(apple.get("/auth/keys")))
    assert joserfc_jwt.decode(came["id_token"], keys, algorithms=["RS256"])


def test_a_code_flow_returns_no_id_token_in_the_callback(apple: Visitor) -> None:
    assert "id_token" not in approved(apple)
    assert "id_token" in approved(apple, **HYBRID)


# id_token


def test_the_id_token_says_who_it_is_and_never_the_name(apple: Visitor) -> None:
    token = token_of(apple, approved(apple, nonce="n-77")["code"])

    claims = claims_of(token["id_token"])
    assert claims == {
        "iss": "https://id.localhost/apple",
        "aud": "ours",
        "exp": apple.clock() + 86400,
        "iat": apple.clock(),
        "sub": claims["sub"],
        "nonce": "n-77",
        "nonce_supported": True,
        "at_hash": half_hash(token["access_token"]),
        "email": "rhea@example.com",
        "email_verified": True,
        "auth_time": apple.clock(),
    }
    assert jwt.get_unverified_header(token["id_token"]).keys() == {"alg", "kid"}


@pytest.mark.parametrize("spelled", [True, False])
@pytest.mark.parametrize(
    ("person", "verified", "private"), [("rhea", True, None), ("relay", True, True), ("unverified", False, None)]
)
def test_flags_are_words_or_booleans(
    apple: Visitor, *, spelled: bool, person: str, verified: bool, private: bool | None
) -> None:
    switch(apple, "text-booleans", on=spelled)

    claims = claims_of(token_of(apple, approved(apple, person)["code"])["id_token"])

    def written(flag: bool | None) -> Any:
        return str(flag).lower() if spelled and flag is not None else flag

    assert claims["email_verified"] == written(verified)
    assert claims.get("is_private_email") == written(private)


def test_an_address_once_allowed_is_in_every_later_id_token(apple: Visitor) -> None:
    approved(apple)

    later = claims_of(token_of(apple, approved(apple, scope="openid")["code"])["id_token"])

    assert later["email"] == "rhea@example.com"


def test_an_address_is_absent_without_scope_or_without_one(apple: Visitor) -> None:
    unasked = claims_of(apple.login("omar")["id_token"])
    missing = claims_of(token_of(apple, approved(apple, "noemail")["code"])["id_token"])

    for claims in (unasked, missing):
        assert not {"email", "email_verified", "is_private_email"} & set(claims)


def test_the_subject_is_one_for_all_clients_of_a_team(apple: Visitor) -> None:
    clients = apple.fake.world.clients
    known = clients.get("apple", "theirs")
    assert known is not None

    ours, same_team, other_person = (
        claims_of(approved(apple, person, client_id=who, **HYBRID)["id_token"])["sub"]
        for who, person in (("ours", "rhea"), ("theirs", "rhea"), ("ours", "twin"))
    )
    clients.add(msgspec.structs.replace(known, client_id="far", team_id="TEAM000002"))
    other_team = claims_of(approved(apple, client_id="far", **HYBRID)["id_token"])["sub"]

    front, middle, back = ours.split(".")
    assert (front, len(middle), back) == ("000517", 32, "0730")
    assert ours == same_team
    assert len({ours, other_person, other_team}) == 3


# Token endpoint


def test_the_secret_is_a_jwt_that_ends(apple: Visitor) -> None:
    code = apple.callback()["code"]
    secret = apple.prove({"client_id": "ours", "client_secret": "ours-secret"})["client_secret"]
    apple.clock.advance(3600)

    fresh = apple.callback()["code"]

    assert secret.count(".") == 2
    assert content(apple.redeem(fresh, client_secret=secret)) == {"error": "invalid_client"}
    assert apple.redeem(fresh).status == 200
    assert apple.redeem(code).status == 400


def test_a_refresh_has_exactly_these_members(apple: Visitor) -> None:
    renewed = content(apple.refresh(apple.login()["refresh_token"]))

    assert set(renewed) == {"access_token", "token_type", "expires_in", "id_token"}


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_revoking_has_no_content_and_makes_the_next_login_the_first(apple: Visitor, kind: str) -> None:
    token = token_of(apple, approved(apple)["code"])
    ours = apple.prove({"client_id": "ours", "client_secret": "ours-secret"})

    answer = apple.post("/auth/revoke", ours | {"token": token[kind], "token_type_hint": kind})

    assert (answer.status, answer.body) == (200, b"")
    assert apple.refresh(token["refresh_token"]).status == 400
    assert "user" in approved(apple)


def test_revoking_needs_the_own_clients_secret(apple: Visitor) -> None:
    token = token_of(apple, approved(apple)["code"])["refresh_token"]
    ours, theirs = (apple.prove({"client_id": who, "client_secret": f"{who}-secret"}) for who in ("ours", "theirs"))

    unproven = apple.post("/auth/revoke", {"client_id": "ours", "client_secret": "wrong", "token": token})
    foreign = apple.post("/auth/revoke", theirs | {"token": token})
    unknown = apple.post("/auth/revoke", ours | {"token": "unknown"})
    empty = apple.post("/auth/revoke", ours)

    assert (unproven.status, content(unproven)) == (400, {"error": "invalid_client"})
    assert (foreign.status, unknown.status) == (200, 200)
    assert (empty.status, content(empty)) == (400, {"error": "invalid_request"})
    assert apple.refresh(token).status == 200


def test_an_old_token_does_not_revoke_a_later_approval(apple: Visitor) -> None:
    old = token_of(apple, approved(apple)["code"])["refresh_token"]
    ours = apple.prove({"client_id": "ours", "client_secret": "ours-secret"})
    apple.post("/auth/revoke", ours | {"token": old})
    new = token_of(apple, approved(apple)["code"])["refresh_token"]

    apple.post("/auth/revoke", ours | {"token": old})

    assert apple.refresh(new).status == 200
    assert "user" not in approved(apple)


def test_a_code_of_a_person_who_is_gone_is_refused(apple: Visitor) -> None:
    code = apple.callback()["code"]
    apple.fake.world.people.remove("rhea")

    answer = apple.redeem(code)

    assert (answer.status, content(answer)) == (400, {"error": "invalid_grant"})


@pytest.mark.parametrize(
    ("claims", "why"),
    [({"iss": "OTHERTEAM0"}, "its iss is 'OTHERTEAM0', but the registered team_id is 'TEAM000001'"), ({}, "")],
)
def test_the_timeline_says_what_is_wrong_with_a_secret(apple: Visitor, claims: dict[str, Any], why: str) -> None:
    code = apple.callback()["code"]

    apple.redeem(code, client_secret=apple_secret("ours", **claims))

    verdict = apple.fake.flows.all()[0].steps[-1].verdicts["client"]
    said = f"client_secret_post: wrong secret, {why}" if why else "client_secret_post"
    assert (verdict.mark, verdict.words) == ("wrong" if why else "good", said)


def test_a_code_looks_like_apples(apple: Visitor) -> None:
    assert re.fullmatch(r"c\w{32}\.0\.\w{4}\.[\w-]{22}", apple.callback()["code"])
