"""Tests of Microsoft's peculiarities."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING

import pytest
from tests.oauth.visitor import Visitor, claims_of, content

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.providers.microsoft import CONSUMERS

if TYPE_CHECKING:
    from chatkey_oauth.app import App

BASE = "https://id.localhost/microsoft"
TENANT = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"


@pytest.mark.parametrize(
    ("asked", "issuer"),
    [("common", "{tenantid}"), ("organizations", "{tenantid}"), ("consumers", CONSUMERS), (TENANT, TENANT)],
)
def test_the_issuer_is_the_tenants_or_leaves_a_place_for_it(microsoft: Visitor, asked: str, issuer: str) -> None:
    document = content(microsoft.get(f"/{asked}/v2.0/.well-known/openid-configuration"))

    assert document["issuer"] == f"{BASE}/{issuer}/v2.0"
    assert document["token_endpoint"] == f"{BASE}/{asked}/oauth2/v2.0/token"
    assert content(microsoft.get(document["jwks_uri"].removeprefix(BASE)))["keys"]


@pytest.mark.parametrize(
    ("asked", "tenant"), [(f"https://login.microsoftonline.com/{TENANT}/o", TENANT), ("", "common")]
)
def test_the_cloud_tells_its_names_and_where_a_tenant_is_described(microsoft: Visitor, asked: str, tenant: str) -> None:
    told = content(microsoft.get("/common/discovery/instance", {"authorization_endpoint": asked, "api-version": "1.1"}))

    assert told["tenant_discovery_endpoint"] == f"{BASE}/{tenant}/v2.0/.well-known/openid-configuration"
    assert told["metadata"][0]["preferred_cache"] == "login.windows.net"
    assert "login.microsoftonline.com" in told["metadata"][0]["aliases"]


def test_personal_and_work_accounts_are_of_different_tenants(microsoft: Visitor) -> None:
    personal, work = (claims_of(microsoft.login(who)["id_token"]) for who in ("rhea", "omar"))

    assert personal["tid"] == CONSUMERS != work["tid"]
    assert [claims["iss"] for claims in (personal, work)] == [f"{BASE}/{who['tid']}/v2.0" for who in (personal, work)]


def test_no_answer_says_that_the_address_is_verified(microsoft: Visitor) -> None:
    token = microsoft.login("unverified")

    claims = claims_of(token["id_token"])
    profile = content(microsoft.profile(token["access_token"]))
    assert claims["email"] == profile["email"] == "uli@example.org"
    assert "email_verified" not in claims | profile


def test_the_subject_differs_by_application_and_the_object_id_does_not(microsoft: Visitor) -> None:
    ours = claims_of(microsoft.login()["id_token"])
    code = microsoft.callback(client_id="theirs")["code"]
    answer = microsoft.redeem(code, client_id="theirs", client_secret="theirs-secret")

    theirs = claims_of(content(answer)["id_token"])

    assert ours["oid"] == theirs["oid"]
    assert ours["sub"] != theirs["sub"]


@pytest.mark.parametrize(
    "path", ["/common//v2.0/.well-known/openid-configuration", "//common/v2.0//.well-known/openid-configuration/"]
)
def test_superfluous_slashes_as_sent_by_msal_are_ignored(microsoft: Visitor, path: str) -> None:
    assert content(microsoft.get(path))["token_endpoint"] == f"{BASE}/common/oauth2/v2.0/token"


@pytest.mark.parametrize(
    "scope", ["user.read", "https://graph.microsoft.com/User.Read", "https://graph.microsoft.com/.default"]
)
def test_the_scope_of_the_user_has_several_spellings_and_the_address_a_slash(microsoft: Visitor, scope: str) -> None:
    assert microsoft.profile(microsoft.access_token(scope=f"openid {scope}"), "/v1.0/me/").status == 200


def test_offline_access_is_not_among_the_granted_scopes(microsoft: Visitor) -> None:
    token = microsoft.login(scope="offline_access User.Read openid")
    again = microsoft.refresh(token["refresh_token"])

    assert token["scope"] == content(again)["scope"] == "User.Read openid"


@pytest.mark.parametrize("asked", ["user.read openid profile", "https://graph.microsoft.com/.default"])
def test_a_refresh_returns_every_granted_scope_whichever_was_requested(microsoft: Visitor, asked: str) -> None:
    token = microsoft.login(scope="User.Read Mail.Read offline_access")["refresh_token"]

    answer = microsoft.refresh(token, scope=asked)

    assert content(answer)["scope"] == "User.Read Mail.Read"


@pytest.mark.parametrize(("person", "number", "detail"), [("rhea", 70000, None), ("omar", 65001, "consent_required")])
def test_a_refresh_for_a_scope_that_was_not_granted_needs_consent(
    microsoft: Visitor, person: str, number: int, detail: str | None
) -> None:
    token = microsoft.login(person, scope="User.Read offline_access")["refresh_token"]

    answer = microsoft.refresh(token, scope="Mail.Read")

    body = content(answer)
    assert (answer.status, body["error"], body["error_codes"]) == (400, "invalid_grant", [number])
    assert body.get("suberror") == detail
    assert ("ID 'ours' named" in body["error_description"]) is (detail is not None)


def test_client_info_is_returned_on_request_for_people_only(microsoft: Visitor) -> None:
    asked, unasked = (
        content(microsoft.redeem(microsoft.callback("omar")["code"], client_info=info)) for info in ("1", None)
    )
    machine = content(microsoft.post(OF_A_TENANT, MACHINE | {"client_info": "1"}))

    claims = claims_of(asked["id_token"])
    told = json.loads(urlsafe_b64decode(asked["client_info"] + "=="))
    assert told == {"uid": claims["oid"], "utid": claims["tid"]}
    assert not [answer for answer in (unasked, machine) if "client_info" in answer]


def test_graph_returns_the_user_if_user_read_was_granted(microsoft: Visitor) -> None:
    token = microsoft.login(scope="openid profile User.Read")

    user = content(microsoft.profile(token["access_token"], "/v1.0/me"))

    assert (user["displayName"], user["userPrincipalName"]) == ("Rhea Quill", "rhea@example.com")
    assert user["id"] == claims_of(token["id_token"])["oid"]


def test_a_refusal_of_graph_is_an_object(microsoft: Visitor) -> None:
    refused = microsoft.profile(microsoft.access_token(), "/v1.0/me")

    assert (refused.status, content(refused)["error"]["code"]) == (403, "Authorization_RequestDenied")
    assert content(microsoft.get("/v1.0/me"))["error"]["message"] == "Access token is empty."


# Tokens of applications themselves

OF_A_TENANT = f"/{TENANT}/oauth2/v2.0/token"
MACHINE = {
    "grant_type": "client_credentials",
    "client_id": "ours",
    "client_secret": "ours-secret",
    "scope": "https://graph.microsoft.com/.default",
}


@pytest.mark.parametrize("basic", ["", "Basic b3VyczpvdXJzLXNlY3JldA=="])
def test_an_application_gets_a_token_of_its_own_without_scope_and_refresh_token(microsoft: Visitor, basic: str) -> None:
    form = {name: value for name, value in MACHINE.items() if not basic or not name.startswith("client_")}

    answer = microsoft.post(OF_A_TENANT, form, **({"authorization": basic} if basic else {}))

    token = content(answer)
    assert (answer.status, token.pop("access_token")[:3]) == (200, "EwB")
    assert token == {"token_type": "Bearer", "expires_in": 3599, "ext_expires_in": 3599}


def test_graph_refuses_a_token_without_a_person(microsoft: Visitor) -> None:
    token = content(microsoft.post(OF_A_TENANT, MACHINE))["access_token"]

    refused = microsoft.profile(token, "/v1.0/me")

    assert (refused.status, content(refused)["error"]["code"]) == (400, "BadRequest")
    assert content(refused)["error"]["message"] == "/me request is only valid with delegated authentication flow."


@pytest.mark.parametrize(
    ("changes", "refusal", "said"),
    [
        ({"scope": "User.Read"}, (400, "invalid_scope", 1002012), "value for scope User.Read is not valid."),
        ({"scope": "openid api://a/.default"}, (400, "invalid_scope", 1002012), "/.default suffixed to the resource"),
        ({"scope": "api://a/.default api://b/.default"}, (400, "invalid_scope", 70011), "b/.default is not valid."),
        ({"scope": ""}, (400, "invalid_request", 900144), "parameter: 'scope'."),
        ({"scope": "a\udcff"}, (400, "invalid_scope", 1002012), "scope a\N{REPLACEMENT CHARACTER} is"),
        ({"client_secret": "wrong"}, (401, "invalid_client", 7000215), "Invalid client secret provided."),
        ({"client_secret": ""}, (401, "invalid_client", 7000216), "for the 'client_credentials' grant type."),
        ({"client_id": "spa", "client_secret": ""}, (401, "invalid_client", 7000216), "'client_secret' or 'request'"),
        ({"client_id": "nobody"}, (400, "unauthorized_client", 700016), f"in the directory '{TENANT}'."),
    ],
)
def test_an_application_is_refused_a_token_with_a_number(
    microsoft: Visitor, changes: dict[str, str], refusal: tuple[int, str, int], said: str
) -> None:
    public = Client(provider="microsoft", client_id="spa", redirect_uris=("https://a.example/",))
    microsoft.fake.world.clients.add(public)

    answer = microsoft.post(OF_A_TENANT, MACHINE | changes)

    body = content(answer)
    assert (answer.status, body["error"], *body["error_codes"]) == refusal
    assert said in body["error_description"]


@pytest.mark.parametrize("name", ["oidc", "microsoft"])
def test_the_path_with_the_name_of_another_provider_belongs_to_the_host(fake: App, name: str) -> None:
    site = Visitor(fake, "microsoft" if name == "microsoft" else "oidc")
    token = site.access_token()
    host = "graph.microsoft.com" if name == "microsoft" else "127.0.0.1:9911"

    visitor = Visitor(fake, "oidc")
    answer = visitor.get("/userinfo", host=host, authorization=f"Bearer {token}")

    assert content(answer)["sub"]
