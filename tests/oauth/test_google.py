"""Tests of Google's peculiarities."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.x509 import load_pem_x509_certificate

if TYPE_CHECKING:
    from tests.oauth.visitor import Visitor

    from chatkey_oauth.app import App
    from chatkey_oauth.clock import Clock
    from chatkey_oauth.engine.http import Answer

    Content = Callable[[Answer], Any]

EMAIL = "https://www.googleapis.com/auth/userinfo.email"
PROFILE = "https://www.googleapis.com/auth/userinfo.profile"


def test_discovery_names_endpoints_that_answer(google: Visitor, content: Content) -> None:
    document = content(google.get("/.well-known/openid-configuration"))

    base = "https://id.localhost/google"
    assert document["issuer"] == base
    for endpoint, status in [("authorization_endpoint", 400), ("userinfo_endpoint", 401), ("jwks_uri", 200)]:
        assert google.get(document[endpoint].removeprefix(base)).status == status, endpoint
    for endpoint in ("token_endpoint", "revocation_endpoint"):
        assert google.post(document[endpoint].removeprefix(base), {}).status in {400, 401}, endpoint


def test_browsers_and_servers_are_given_their_own_addresses_and_one_issuer(
    make_fake: Callable[..., App], content: Content
) -> None:
    fake = make_fake(server_url="http://fake:9911")

    from_server = fake.addresses("google")

    assert from_server.server == "http://fake:9911/google"
    assert from_server.browser == from_server.issuer == "https://id.localhost/google"


def test_the_issuer_can_be_the_real_one(make_fake: Callable[..., App]) -> None:
    fake = make_fake(issuers={"google": "https://accounts.google.com"})

    assert fake.addresses("google").issuer == "https://accounts.google.com"


def test_the_callback_carries_the_expanded_scope_the_issuer_and_what_clients_must_tolerate(google: Visitor) -> None:
    params = google.callback("omar")

    assert params["scope"].split() == sorted(["openid", "email", "profile", EMAIL, PROFILE])
    assert params["iss"] == "https://id.localhost/google"
    assert (params["authuser"], params["hd"], params["prompt"]) == ("0", "corp.example", "consent")


def test_the_callback_of_a_refusal_carries_the_issuer_too(
    google: Visitor, parameters: Callable[[Answer], dict[str, str]]
) -> None:
    params = parameters(google.decide(decision="deny"))

    assert params == {"error": "access_denied", "state": "st-1", "iss": "https://id.localhost/google"}


def test_an_undecoded_code_is_malformed_because_of_its_slash(google: Visitor, content: Content) -> None:
    code = google.callback()["code"]

    answer = google.redeem(code.replace("/", "%2F"))

    assert code.startswith("4/0A")
    assert (answer.status, content(answer)) == (
        400,
        {"error": "invalid_grant", "error_description": "Malformed auth code."},
    )


def test_the_token_answer_looks_like_googles(google: Visitor) -> None:
    token = google.login()

    assert token["access_token"].startswith("ya29.")
    assert token["expires_in"] == 3599
    assert token["token_type"] == "Bearer"
    assert token["scope"] == f"openid {EMAIL} {PROFILE}"
    assert set(token) == {"access_token", "expires_in", "scope", "token_type", "id_token"}


def test_a_refresh_token_comes_with_the_first_offline_consent_and_with_a_forced_one(google: Visitor) -> None:
    online = "refresh_token" in google.login("omar")
    first = "refresh_token" in google.login(access_type="offline")
    second = "refresh_token" in google.login(access_type="offline")
    forced = "refresh_token" in google.login(access_type="offline", prompt="select_account consent")
    legacy = "refresh_token" in google.login(access_type="offline", approval_prompt="force")

    assert (online, first, second, forced, legacy) == (False, True, False, True, True)


def test_a_refresh_token_does_not_rotate_and_ends_with_its_approval(google: Visitor, content: Content) -> None:
    refresh = google.login(access_type="offline")["refresh_token"]

    def redeem() -> Answer:
        return google.redeem("", grant_type="refresh_token", refresh_token=refresh)

    assert "refresh_token" not in content(redeem())
    assert "id_token" in content(redeem())

    assert google.post("/revoke", {"token": refresh}).status == 200

    refused = redeem()
    assert (refused.status, content(refused)) == (
        400,
        {"error": "invalid_grant", "error_description": "Token has been expired or revoked."},
    )


def test_revoking_is_done_once_by_any_of_the_tokens(google: Visitor, content: Content) -> None:
    token = google.login()["access_token"]

    first = google.get("/o/oauth2/revoke", {"token": token})
    second = google.post("/revoke", {"token": token})

    assert first.status == 200
    assert google.profile(token).status == 401
    assert (second.status, content(second)) == (
        400,
        {"error": "invalid_token", "error_description": "Token expired or revoked"},
    )


def test_userinfo_has_two_spellings(google: Visitor, content: Content) -> None:
    token = google.login("omar")["access_token"]

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


def test_userinfo_answers_the_scopes_that_were_granted(google: Visitor, content: Content) -> None:
    token = google.login(scope="openid")["access_token"]

    assert set(content(google.profile(token))) == {"sub"}


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


def test_the_people_api_has_the_fields_asked_for(google: Visitor, content: Content) -> None:
    token = google.login("unverified")["access_token"]

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


def test_the_people_api_leaves_out_missing_fields(google: Visitor, content: Content) -> None:
    token = google.login("nobody")["access_token"]

    person = content(google.profile(token, "/v1/people/me", personFields="names,photos,emailAddresses"))

    assert set(person) == {"resourceName", "etag"}


def test_the_people_api_needs_the_person_fields(google: Visitor, content: Content) -> None:
    token = google.login()["access_token"]

    answer = google.profile(token, "/v1/people/me")

    error = content(answer)["error"]
    assert (answer.status, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")
    assert error["message"].startswith("personFields mask is required.")


def test_the_people_api_has_different_errors_for_a_missing_and_a_bad_token(google: Visitor, content: Content) -> None:
    none, bad = google.get("/v1/people/me"), google.profile("nonsense", "/v1/people/me")

    assert content(none)["error"]["message"].startswith("Request is missing required authentication credential.")
    assert content(bad)["error"]["message"].startswith("Request had invalid authentication credentials.")


def test_the_people_api_refuses_a_bad_token_as_the_older_userinfo_does(google: Visitor, content: Content) -> None:
    people, older = (google.profile("nonsense", path) for path in ("/v1/people/me", "/userinfo/v2/me"))

    assert (people.status, content(people)["error"]["status"]) == (401, "UNAUTHENTICATED")
    assert (people.status, people.body) == (older.status, older.body)


@pytest.mark.parametrize(("path", "member"), [("/v1/userinfo", "error_description"), ("/oauth2/v2/userinfo", "error")])
def test_userinfo_refuses_an_expired_token(
    google: Visitor, content: Content, clock: Clock, path: str, member: str
) -> None:
    token = google.login()["access_token"]
    clock.advance(3598)
    assert google.profile(token, path).status == 200

    clock.advance(1)

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


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": None}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": None}, "invalid_request"),
        ({"scope": ""}, "invalid_request"),
        ({"scope": "openid nonsense"}, "invalid_scope"),
        ({"code_challenge": "x", "code_challenge_method": "S512"}, "invalid_request"),
        ({"redirect_uri": None}, "invalid_request"),
        ({"redirect_uri": "https://evil.example/"}, "redirect_uri_mismatch"),
    ],
)
def test_a_faulty_request_stays_on_googles_page(google: Visitor, changes: dict[str, str | None], error: str) -> None:
    answer = google.ask(**changes)

    assert answer.status == 400
    assert f"Error 400: {error}".encode() in answer.body


def test_unknown_scopes_are_named_and_those_of_any_api_accepted(google: Visitor) -> None:
    page = google.ask(scope="openid nonsense https://www.googleapis.com/auth/drive")

    named = "{valid=[openid, https://www.googleapis.com/auth/drive], invalid=[nonsense]}"
    assert f"Some requested scopes were invalid. {named}".encode() in page.body
    assert google.ask(scope="openid https://www.googleapis.com/auth/drive").status == 200


@pytest.mark.parametrize("asked", ["email", EMAIL])
def test_a_refresh_may_ask_for_fewer_scopes_in_either_spelling(google: Visitor, content: Content, asked: str) -> None:
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
def test_a_refresh_may_not_ask_for_more(google: Visitor, content: Content, asked: str, said: str) -> None:
    refresh = {"grant_type": "refresh_token", "refresh_token": google.login(access_type="offline")["refresh_token"]}

    answer = google.redeem("", scope=asked, **refresh)

    assert (answer.status, content(answer)) == (400, {"error": "invalid_scope", "error_description": said})
    assert google.redeem("", **refresh).status == 200


def test_a_narrowed_refreshed_token_ends_with_the_approval(google: Visitor, content: Content) -> None:
    token = google.login(access_type="offline")
    narrow = google.redeem("", grant_type="refresh_token", refresh_token=token["refresh_token"], scope="openid")
    access = content(narrow)["access_token"]

    google.post("/revoke", {"token": access})

    assert [google.profile(one).status for one in (access, token["access_token"])] == [401, 401]


def test_the_keys_are_published_as_certificates_too(google: Visitor, content: Content) -> None:
    keys = content(google.get("/oauth2/v3/certs"))["keys"]
    certificates = content(google.get("/oauth2/v1/certs"))

    assert len(keys) == 2
    for jwk in keys:
        assert certificates[jwk["kid"]].startswith("-----BEGIN CERTIFICATE-----")
        assert set(jwk) == {"kty", "use", "alg", "kid", "n", "e"}


def test_an_id_token_verifies_by_the_published_certificate(google: Visitor, content: Content) -> None:
    token = google.login()["id_token"]
    certificates = content(google.get("/oauth2/v1/certs"))
    certificate = certificates[jwt.get_unverified_header(token)["kid"]].encode()

    key = load_pem_x509_certificate(certificate).public_key()
    claims = jwt.decode(token, key, ["RS256"], audience="ours", options={"verify_exp": False, "verify_iat": False})  # type: ignore[arg-type]

    assert claims["name"] == "Rhea Quill"


def test_a_callback_may_come_without_the_issuer(google: Visitor) -> None:
    google.fake.world.switches.set("google.iss", on=False)

    assert "iss" not in google.callback()


def test_an_id_token_may_name_the_issuer_without_its_scheme(google: Visitor, content: Content) -> None:
    google.fake.world.switches.set("google.bare-iss", on=True)

    claims = jwt.decode(google.login()["id_token"], options={"verify_signature": False})

    assert claims["iss"] == "id.localhost/google"
    assert content(google.get("/.well-known/openid-configuration"))["issuer"] == "https://id.localhost/google"


@pytest.mark.parametrize("advertised", [True, False])
def test_discovery_tells_of_the_issuer_in_the_callback_or_does_not(
    google: Visitor, content: Content, *, advertised: bool
) -> None:
    google.fake.world.switches.set("google.advertise-iss", on=advertised)

    document = content(google.get("/.well-known/openid-configuration"))

    assert document["authorization_response_iss_parameter_supported"] is advertised


def test_no_prompt_is_answered_without_a_page(google: Visitor, parameters: Callable[[Answer], dict[str, str]]) -> None:
    def ask(**headers: str) -> Answer:
        return google.get(google.site.authorize, google.request(prompt="none"), **headers)

    cookie = "chatkey_fake_google=rhea"
    stranger, undecided = parameters(ask()), parameters(ask(cookie=cookie))
    google.callback()
    known = parameters(ask(cookie=cookie))

    assert (stranger["error"], stranger["state"]) == ("login_required", "st-1")
    assert undecided["error"] == "interaction_required"
    assert "code" in known
    assert known["prompt"] == "none"


def test_no_prompt_may_be_answered_with_a_page(google: Visitor) -> None:
    google.fake.world.switches.set("google.silent-prompt", on=False)

    assert google.ask(prompt="none").status == 200


@pytest.mark.parametrize("path", ["/v1/userinfo", "/oauth2/v2/userinfo"])
def test_a_refusal_has_its_header_unless_switched_off(google: Visitor, path: str) -> None:
    with_header = dict(google.profile("nonsense", path).headers)
    google.fake.world.switches.set("google.www-authenticate", on=False)
    without = dict(google.profile("nonsense", path).headers)

    assert with_header["www-authenticate"] == 'Bearer realm="https://id.localhost/google/", error="invalid_token"'
    assert "www-authenticate" not in without


def test_revoking_takes_every_token_of_the_person_and_the_next_login_is_the_first_again(google: Visitor) -> None:
    first = google.login(access_type="offline")
    second = google.login(access_type="offline")

    google.post("/revoke", {"token": second["access_token"]})

    assert "refresh_token" not in second
    assert google.profile(first["access_token"]).status == 401
    assert "refresh_token" in google.login(access_type="offline")


def test_a_web_application_gets_no_device_code(google: Visitor, content: Content) -> None:
    document = content(google.get("/.well-known/openid-configuration"))

    answer = google.post(document["device_authorization_endpoint"].removeprefix("https://id.localhost/google"), {})

    assert (answer.status, content(answer)["error"]) == (401, "invalid_client")


@pytest.mark.parametrize("path", ["/token", "/o/oauth2/token", "/oauth2/v4/token", "/oauth2/v3/token"])
def test_the_token_endpoint_has_several_spellings(google: Visitor, content: Content, path: str) -> None:
    assert content(google.post(path, {}))["error_description"] == "Could not determine client ID from request."


@pytest.mark.parametrize(
    ("changes", "status", "error", "description"),
    [
        ({"code": "4/0Aunknown"}, 400, "invalid_grant", "Bad Request"),
        ({"redirect_uri": "https://chat.example/x"}, 400, "redirect_uri_mismatch", "Bad Request"),
        ({"code_verifier": "w" * 43}, 400, "invalid_grant", "Invalid code verifier."),
        ({"grant_type": "password"}, 400, "unsupported_grant_type", "Invalid grant_type: password"),
        ({"grant_type": None}, 400, "unsupported_grant_type", "Invalid grant_type: "),
        ({"client_secret": "wrong"}, 401, "invalid_client", None),
    ],
)
def test_a_refused_token_request_has_googles_words(  # noqa: PLR0917 - pytest names them
    google: Visitor,
    content: Content,
    changes: dict[str, str | None],
    status: int,
    error: str,
    description: str | None,
) -> None:
    code = google.callback(code_challenge="x" * 43, code_challenge_method="S256")["code"]

    asked: dict[str, Any] = {"code": code} | changes

    answer = google.redeem(**asked)

    assert (answer.status, content(answer)["error"]) == (status, error)
    assert description in {None, content(answer)["error_description"]}


def test_a_userinfo_token_may_come_in_the_address(google: Visitor, content: Content) -> None:
    token = google.login()["access_token"]

    in_query = google.get("/oauth2/v3/userinfo", {"access_token": token})
    in_form = google.post("/v1/userinfo", {"access_token": token})

    assert content(in_query) == content(in_form) == content(google.profile(token))


def test_token_info_says_what_an_access_token_is_worth_in_texts(
    google: Visitor, content: Content, clock: Clock
) -> None:
    token = google.login(access_type="offline")["access_token"]
    clock.advance(9)

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
        "exp": str(int(clock()) + 3590),
        "expires_in": "3590",
        "access_type": "offline",
    }


@pytest.mark.parametrize("path", ["/oauth2/v1/tokeninfo", "/oauth2/v2/tokeninfo"])
def test_older_token_info_has_other_names_and_no_texts(google: Visitor, content: Content, path: str) -> None:
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


def test_token_info_reads_an_id_token(google: Visitor, content: Content) -> None:
    id_token = google.login(nonce="n-1")["id_token"]
    claims = jwt.decode(id_token, options={"verify_signature": False})

    info = content(google.post("/oauth2/v3/tokeninfo", {"id_token": id_token}))

    assert info["kid"] == jwt.get_unverified_header(id_token)["kid"]
    assert (info["aud"], info["email_verified"], info["alg"]) == ("ours", "true", "RS256")
    assert {name: info[name] for name in claims} == {
        name: str(value).lower() if value is True else str(value) for name, value in claims.items()
    }


@pytest.mark.parametrize("parameter", ["access_token", "id_token"])
@pytest.mark.parametrize("text", ["", "nonsense", "a.b.c", "e30.e30.e30", "\u00e9.x.y"])
def test_token_info_knows_no_token_of_others(google: Visitor, content: Content, parameter: str, text: str) -> None:
    answer = google.get("/tokeninfo", {parameter: text})

    refused = {"error": "invalid_token", "error_description": "Invalid Value"}
    assert (answer.status, content(answer)) == (400, refused)


def test_token_info_knows_no_token_that_ended(google: Visitor, clock: Clock) -> None:
    token = google.login()
    clock.advance(3600)

    answers = [google.get("/tokeninfo", {name: token[name]}).status for name in ("access_token", "id_token")]

    assert answers == [400, 400]


@pytest.mark.parametrize(
    ("changes", "status", "error", "description"),
    [
        ({"client_id": None}, 400, "invalid_request", "Could not determine client ID from request."),
        ({"client_id": "nobody"}, 401, "invalid_client", "The OAuth client was not found."),
        ({"client_secret": None}, 400, "invalid_request", "client_secret is missing."),
        ({"client_secret": ""}, 400, "invalid_request", "client_secret is missing."),
        ({"client_secret": "wrong"}, 401, "invalid_client", "The provided client secret is invalid."),
        ({"code_verifier": None}, 400, "invalid_grant", "Missing code verifier."),
        ({"code_verifier": "wrong"}, 400, "invalid_grant", "Invalid code verifier."),
    ],
)
def test_a_refusal_is_in_googles_newest_words(  # noqa: PLR0917 - pytest names them
    google: Visitor, content: Content, changes: dict[str, str | None], status: int, error: str, description: str
) -> None:
    code = google.callback(code_challenge="challenge", code_challenge_method="S256")["code"]

    answer = google.redeem(code, **changes)  # type: ignore[arg-type]

    assert (answer.status, content(answer)) == (status, {"error": error, "error_description": description})
