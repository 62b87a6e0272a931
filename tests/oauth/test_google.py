"""Tests of Google's peculiarities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import jwt
import pytest
from cryptography.x509 import load_pem_x509_certificate
from tests.oauth.visitor import Visitor, claims_of, content

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer

EMAIL = "https://www.googleapis.com/auth/userinfo.email"
PROFILE = "https://www.googleapis.com/auth/userinfo.profile"


def test_browsers_and_servers_are_given_their_own_addresses_and_one_issuer(make_fake: Callable[..., App]) -> None:
    fake = make_fake(server_url="http://fake:9911")

    from_server = fake.addresses("google")

    assert from_server.server == "http://fake:9911/google"
    assert from_server.browser == from_server.issuer == "https://id.localhost/google"


def test_the_callback_carries_the_expanded_scope_the_issuer_and_what_clients_must_tolerate(google: Visitor) -> None:
    params = google.callback("omar")

    assert params["scope"].split() == sorted(["openid", "email", "profile", EMAIL, PROFILE])
    assert params["iss"] == "https://id.localhost/google"
    assert (params["authuser"], params["hd"], params["prompt"]) == ("0", "corp.example", "consent")


def test_a_refresh_token_comes_with_the_first_offline_consent_and_with_a_forced_one(google: Visitor) -> None:
    online = "refresh_token" in google.login("omar")
    first = "refresh_token" in google.login(access_type="offline")
    second = "refresh_token" in google.login(access_type="offline")
    forced = "refresh_token" in google.login(access_type="offline", prompt="select_account consent")
    legacy = "refresh_token" in google.login(access_type="offline", approval_prompt="force")

    assert (online, first, second, forced, legacy) == (False, True, False, True, True)


def test_a_refresh_token_does_not_rotate_and_ends_with_its_approval(google: Visitor) -> None:
    refresh = google.login(access_type="offline")["refresh_token"]

    def redeem() -> Answer:
        return google.refresh(refresh)

    assert "refresh_token" not in content(redeem())
    assert "id_token" in content(redeem())

    assert google.post("/revoke", {"token": refresh}).status == 200

    refused = redeem()
    assert (refused.status, content(refused)) == (
        400,
        {"error": "invalid_grant", "error_description": "Token has been expired or revoked."},
    )


def test_revoking_is_done_once_by_any_of_the_tokens(google: Visitor) -> None:
    token = google.access_token()

    first = google.get("/o/oauth2/revoke", {"token": token})
    second = google.post("/revoke", {"token": token})

    assert first.status == 200
    assert google.profile(token).status == 401
    assert (second.status, content(second)) == (
        400,
        {"error": "invalid_token", "error_description": "Token expired or revoked"},
    )


def test_userinfo_has_two_spellings(google: Visitor) -> None:
    token = google.access_token("omar")

    new = content(google.profile(token, "/oauth2/v3/userinfo"))
    old = content(google.profile(token, "/oauth2/v2/userinfo"))

    assert len(new["sub"]) == 21
    assert new["sub"].isdigit()
    assert new == {
        "sub": new["sub"],
        "hd": "corp.example",
        "email": "omar@corp.example",
        "email_verified": True,
        "name": "Omar Haddad",
        "picture": "https://id.localhost/google/avatars/omar.svg",
        "given_name": "Omar",
        "family_name": "Haddad",
    }
    assert (old["id"], old["verified_email"]) == (new["sub"], True)


def test_userinfo_answers_the_scopes_that_were_granted(google: Visitor) -> None:
    assert set(content(google.profile(google.access_token(scope="openid")))) == {"sub"}


def test_openid_comes_with_the_address_though_nobody_asked_for_it(google: Visitor) -> None:
    mail, name = google.login(scope="email"), google.login(scope="profile")

    assert mail["scope"].split() == ["https://www.googleapis.com/auth/userinfo.email", "openid"]
    assert "id_token" in mail
    assert name["scope"] == "https://www.googleapis.com/auth/userinfo.profile"
    assert "id_token" not in name


def test_earlier_grants_are_included_with_include_granted_scopes(google: Visitor) -> None:
    google.login(scope="openid email")

    alone = google.login(scope="openid")
    together = google.login(scope="openid", include_granted_scopes="true")
    stranger = google.login("omar", scope="openid", include_granted_scopes="true")

    assert alone["scope"] == "openid"
    assert together["scope"] == "openid https://www.googleapis.com/auth/userinfo.email"
    assert stranger["scope"] == "openid"


def test_the_people_api_has_the_fields_asked_for(google: Visitor) -> None:
    token = google.access_token("unverified")

    person = content(google.profile(token, "/v1/people/me", personFields="names,photos,emailAddresses,birthdays"))

    subject = google.subject(token)
    assert person.pop("etag")
    assert person == {
        "resourceName": f"people/{subject}",
        "names": [
            {
                "metadata": {"primary": True, "source": {"type": "PROFILE", "id": subject}},
                "displayName": "Uli Unsure",
                "familyName": "Unsure",
                "givenName": "Uli",
            }
        ],
        "photos": [
            {
                "metadata": {"primary": True, "source": {"type": "PROFILE", "id": subject}},
                "url": "https://id.localhost/google/avatars/unverified.svg",
            }
        ],
        "emailAddresses": [
            {
                "metadata": {"primary": True, "source": {"type": "ACCOUNT", "id": subject}},
                "value": "uli@example.org",
            }
        ],
    }


def test_the_people_api_tells_httpx_oauth_the_address_without_openid(google: Visitor) -> None:
    person = content(
        google.profile(google.access_token(scope=f"{PROFILE} {EMAIL}"), "/v1/people/me", personFields="emailAddresses")
    )

    assert [address["value"] for address in person["emailAddresses"]] == ["rhea@example.com"]


def test_the_people_api_leaves_out_missing_fields(google: Visitor) -> None:
    person = content(
        google.profile(google.access_token("nobody"), "/v1/people/me", personFields="names,photos,emailAddresses")
    )

    assert set(person) == {"resourceName", "etag"}


def test_the_people_api_needs_the_person_fields(google: Visitor) -> None:
    answer = google.profile(google.access_token(), "/v1/people/me")

    error = content(answer)["error"]
    assert (answer.status, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert error["message"].startswith("personFields mask is required.")


def test_the_people_api_has_different_errors_for_a_missing_and_a_bad_token(google: Visitor) -> None:
    none, bad = google.get("/v1/people/me"), google.profile("nonsense", "/v1/people/me")

    assert content(none)["error"]["message"].startswith("Request is missing required authentication credential.")
    assert content(bad)["error"]["message"].startswith("Request had invalid authentication credentials.")


def test_the_people_api_refuses_a_bad_token_as_the_older_userinfo_does(google: Visitor) -> None:
    people, older = (google.profile("nonsense", path) for path in ("/v1/people/me", "/userinfo/v2/me"))

    assert (people.status, content(people)["error"]["status"]) == (401, "UNAUTHENTICATED")
    assert (people.status, people.body) == (older.status, older.body)


@pytest.mark.parametrize(("path", "member"), [("/v1/userinfo", "error_description"), ("/oauth2/v2/userinfo", "error")])
def test_userinfo_refuses_an_expired_token(google: Visitor, path: str, member: str) -> None:
    token = google.access_token()
    google.clock.advance(3598)
    assert google.profile(token, path).status == 200

    google.clock.advance(1)

    answer = google.profile(token, path)
    assert answer.status == 401
    assert content(answer)[member] == (
        "Invalid Credentials"
        if path == "/v1/userinfo"
        else {
            "code": 401,
            "message": (
                "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
                "valid authentication credential. "
                "See https://developers.google.com/identity/sign-in/web/devconsole-project."
            ),
            "status": "UNAUTHENTICATED",
        }
    )


def test_unknown_scopes_are_named_and_those_of_any_api_accepted(google: Visitor) -> None:
    page = google.ask(scope="openid nonsense https://www.googleapis.com/auth/drive")

    named = "{valid=[openid, https://www.googleapis.com/auth/drive], invalid=[nonsense]}"
    assert f"Some requested scopes were invalid. {named}".encode() in page.body
    assert google.ask(scope="openid https://www.googleapis.com/auth/drive").status == 200


@pytest.mark.parametrize("asked", ["email", EMAIL])
def test_a_refresh_may_ask_for_fewer_scopes_in_either_spelling(google: Visitor, asked: str) -> None:
    refresh = {"grant_type": "refresh_token", "refresh_token": google.login(access_type="offline")["refresh_token"]}

    fewer = content(google.redeem("", scope=asked, **refresh))
    all_again = content(google.redeem("", **refresh))

    assert fewer["scope"] == EMAIL
    assert set(content(google.profile(fewer["access_token"]))) == {"sub", "email", "email_verified"}
    assert "name" in content(google.profile(all_again["access_token"]))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("openid https://www.googleapis.com/auth/drive", "Bad Request"),
        ("openid n, x", "Some requested scopes were invalid. {invalid=[n, x]}"),
    ],
)
def test_a_refresh_may_not_ask_for_more(google: Visitor, asked: str, said: str) -> None:
    refresh = {"grant_type": "refresh_token", "refresh_token": google.login(access_type="offline")["refresh_token"]}

    answer = google.redeem("", scope=asked, **refresh)

    assert (answer.status, content(answer)) == (400, {"error": "invalid_scope", "error_description": said})
    assert google.redeem("", **refresh).status == 200


def test_a_narrowed_refreshed_token_ends_with_the_approval(google: Visitor) -> None:
    token = google.login(access_type="offline")
    narrow = google.refresh(token["refresh_token"], scope="openid")
    access = content(narrow)["access_token"]

    google.post("/revoke", {"token": access})

    assert [google.profile(one).status for one in (access, token["access_token"])] == [401, 401]


def test_the_keys_are_published_as_certificates_too(google: Visitor) -> None:
    keys = content(google.get("/oauth2/v3/certs"))["keys"]
    certificates = content(google.get("/oauth2/v1/certs"))

    assert len(keys) == 2
    for jwk in keys:
        assert certificates[jwk["kid"]].startswith("-----BEGIN CERTIFICATE-----")
        assert set(jwk) == {"kty", "use", "alg", "kid", "n", "e"}


def test_an_id_token_verifies_by_the_published_certificate(google: Visitor) -> None:
    token = google.login()["id_token"]
    certificates = content(google.get("/oauth2/v1/certs"))
    certificate = certificates[jwt.get_unverified_header(token)["kid"]].encode()

    key = load_pem_x509_certificate(certificate).public_key()
    claims = jwt.decode(token, key, ["RS256"], audience="ours", options={"verify_exp": False, "verify_iat": False})  # type: ignore[arg-type]

    assert claims["name"] == "Rhea Quill"


def test_revoking_takes_every_token_of_the_person_and_the_next_login_is_the_first_again(google: Visitor) -> None:
    first = google.login(access_type="offline")
    second = google.login(access_type="offline")

    google.post("/revoke", {"token": second["access_token"]})

    assert "refresh_token" not in second
    assert google.profile(first["access_token"]).status == 401
    assert "refresh_token" in google.login(access_type="offline")


def test_a_web_application_gets_no_device_code(google: Visitor) -> None:
    document = content(google.get("/.well-known/openid-configuration"))

    answer = google.post(document["device_authorization_endpoint"].removeprefix("https://id.localhost/google"), {})

    assert (answer.status, content(answer)["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("path", ["/token", "/o/oauth2/token", "/oauth2/v4/token", "/oauth2/v3/token"])
def test_the_token_endpoint_has_several_spellings(google: Visitor, path: str) -> None:
    assert content(google.post(path, {}))["error_description"] == "Could not determine client ID from request."


def test_a_userinfo_token_may_come_in_the_address(google: Visitor) -> None:
    token = google.access_token()

    in_query = google.get("/oauth2/v3/userinfo", {"access_token": token})
    in_form = google.post("/v1/userinfo", {"access_token": token})

    assert content(in_query) == content(in_form) == content(google.profile(token))


def test_token_info_says_what_an_access_token_is_worth_in_texts(google: Visitor) -> None:
    token = google.access_token(access_type="offline")
    google.clock.advance(9)

    info = content(google.get("/tokeninfo", {"access_token": token}))

    assert info == {
        "azp": "ours",
        "aud": "ours",
        "sub": google.subject(token),
        "email": "rhea@example.com",
        "email_verified": "true",
        "scope": (
            "openid https://www.googleapis.com/auth/userinfo.email https://www.googleapis.com/auth/userinfo.profile"
        ),
        "exp": str(int(google.clock()) + 3590),
        "expires_in": "3590",
        "access_type": "offline",
    }


@pytest.mark.parametrize("path", ["/oauth2/v1/tokeninfo", "/oauth2/v2/tokeninfo"])
def test_older_token_info_has_other_names_and_no_texts(google: Visitor, path: str) -> None:
    token = google.login(access_type="offline")

    info, unknown = content(google.get(path, {"access_token": token["access_token"]})), google.get(path)

    assert info == {
        "issued_to": "ours",
        "audience": "ours",
        "user_id": google.subject(token["access_token"]),
        "scope": token["scope"],
        "expires_in": 3599,
        "email": "rhea@example.com",
        "verified_email": True,
        "access_type": "offline",
    }
    assert content(google.get(path, {"id_token": token["id_token"]}))["audience"] == "ours"
    assert (unknown.status, content(unknown)["error"]) == (400, "invalid_token")


def test_token_info_reads_an_id_token(google: Visitor) -> None:
    id_token = google.login(nonce="n-1")["id_token"]
    claims = claims_of(id_token)

    info = content(google.post("/oauth2/v3/tokeninfo", {"id_token": id_token}))

    assert info["kid"] == jwt.get_unverified_header(id_token)["kid"]
    assert (info["aud"], info["email_verified"], info["alg"]) == ("ours", "true", "RS256")
    assert {name: info[name] for name in claims} == {
        name: str(value).lower() if value is True else str(value) for name, value in claims.items()
    }


@pytest.mark.parametrize("parameter", ["access_token", "id_token"])
@pytest.mark.parametrize("text", ["", "nonsense", "a.b.c", "e30.e30.e30", "\u00e9.x.y"])
def test_token_info_knows_no_token_of_others(google: Visitor, parameter: str, text: str) -> None:
    answer = google.get("/tokeninfo", {parameter: text})

    refused = {"error": "invalid_token", "error_description": "Invalid Value"}
    assert (answer.status, content(answer)) == (400, refused)


def test_token_info_knows_no_token_that_ended(google: Visitor) -> None:
    token = google.login()
    google.clock.advance(3600)

    answers = [google.get("/tokeninfo", {name: token[name]}).status for name in ("access_token", "id_token")]

    assert answers == [400, 400]
