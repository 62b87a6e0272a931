"""Tests of the authorization request and the providers' addresses."""

from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from chatkey_protocol.codes import Code
from chatkey_protocol.names import ANNOUNCED_SOCIALS, SOCIALS
from chatkey_server.identity.errors import Refused
from chatkey_server.settings import Settings, SocialAddress
from chatkey_server.social import consent
from chatkey_server.social.provider import SocialProvider
from chatkey_server.social.providers import find, load

REDIRECT = "https://chat.example/v1/public/oauth/google/callback"
REAL = SocialAddress()
FOLDED = SocialAddress(browser_url="https://idp.localhost:9443/google/", server_url="http://idp:9911/google")

CONSENT_PAGES = {
    "google": "https://accounts.google.com/o/oauth2/v2/auth",
    "facebook": "https://www.facebook.com/v24.0/dialog/oauth",
    "github": "https://github.com/login/oauth/authorize",
    "gitlab": "https://gitlab.com/oauth/authorize",
    "discord": "https://discord.com/oauth2/authorize",
    "apple": "https://appleid.apple.com/auth/authorize",
    "x": "https://x.com/i/oauth2/authorize",
    "tiktok": "https://www.tiktok.com/v2/auth/authorize/",
    "amazon": "https://www.amazon.com/ap/oa",
}
SCOPES = {
    "google": "openid email profile",
    "facebook": "email,public_profile",
    "github": "read:user user:email",
    "gitlab": "openid profile email",
    "discord": "identify email",
    "apple": "name email",
    "x": "users.read tweet.read users.email",
    "tiktok": "user.info.basic",
    "amazon": "profile",
}


def located(social: str, address: SocialAddress) -> SocialProvider:
    return find(social, Settings(socials={social: address}, preview_providers=ANNOUNCED_SOCIALS))


def consent_url(social: str, address: SocialAddress = REAL, *, choose_account: bool = False) -> str:
    return consent.url(
        located(social, address),
        client_id="client-1",
        redirect_uri=REDIRECT,
        state="the.state",
        verifier="v" * 64,
        oidc_nonce="n-1",
        choose_account=choose_account,
    )


@pytest.mark.contract("4.4/redirect", "D-07/pkce")
@pytest.mark.parametrize("social", CONSENT_PAGES)
def test_the_authorization_request_holds_what_each_provider_wants_and_no_secret(social: str) -> None:
    page, _, query = consent_url(social).partition("?")

    sent = parse_qs(query, strict_parsing=True)

    assert page == CONSENT_PAGES[social]
    assert sent.pop("nonce", None) == (["n-1"] if social in {"google", "gitlab", "apple"} else None)
    assert sent.pop("response_mode", None) == (["form_post"] if social == "apple" else None)
    challenged = {"code_challenge": [consent.challenge("v" * 64)], "code_challenge_method": ["S256"]}
    assert sent == {
        "response_type": ["code"],
        "client_key" if social == "tiktok" else "client_id": ["client-1"],
        "redirect_uri": [REDIRECT],
        "scope": [SCOPES[social]],
        "state": ["the.state"],
        **({} if social in {"apple", "tiktok"} else challenged),
    }


@pytest.mark.contract("4.4/redirect", "D-07/pkce")
@pytest.mark.parametrize("social", SOCIALS)
def test_the_authorization_request_follows_the_providers_declaration(social: str) -> None:
    declared = load(social)

    page, _, query = consent_url(social).partition("?")

    sent = parse_qs(query, strict_parsing=True)
    assert page == declared.authorize_url
    assert (sent["scope"], sent[declared.client_id_parameter]) == ([declared.scope], ["client-1"])
    assert ("nonce" in sent, "code_challenge" in sent) == (declared.keys_url is not None, declared.pkce)


@pytest.mark.parametrize(
    ("social", "more"),
    [
        ("google", {"prompt": "select_account"}),
        ("github", {"prompt": "select_account"}),
        ("gitlab", {"prompt": "login"}),
        ("discord", {"prompt": "consent"}),
        ("facebook", {"auth_type": "reauthenticate"}),
        ("tiktok", {"disable_auto_auth": "1"}),
        *((social, {}) for social in ("apple", "x", "amazon")),
    ],
)
def test_a_provider_that_can_ask_for_the_account_does_so_on_request(social: str, more: dict[str, str]) -> None:
    usual, asking = (
        dict(parse_qsl(urlsplit(consent_url(social, choose_account=choose)).query)) for choose in (False, True)
    )

    assert asking == usual | more
    assert not more.items() & usual.items()


def test_spaces_in_the_query_are_percent_encoded() -> None:
    assert "scope=openid%20email%20profile" in consent_url("google")


def test_the_challenge_is_that_of_rfc_7636_appendix_b() -> None:
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"

    assert consent.challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_a_relocated_provider_keeps_its_paths_under_the_browsers_address() -> None:
    url = urlsplit(consent_url("google", FOLDED))

    assert f"{url.scheme}://{url.netloc}{url.path}" == "https://idp.localhost:9443/google/o/oauth2/v2/auth"


@pytest.mark.contract("D-16/two-addresses")
def test_the_server_has_an_address_of_its_own_for_the_back_channel() -> None:
    url = located("google", FOLDED).for_server("https://oauth2.googleapis.com/token")

    assert url == "http://idp:9911/google/token"


@pytest.mark.parametrize(
    "address", [SocialAddress(browser_url="http://localhost:1/x"), SocialAddress(server_url="http://localhost:1/x")]
)
def test_one_address_is_used_for_browsers_and_the_server(address: SocialAddress) -> None:
    gitlab = located("gitlab", address)

    assert gitlab.for_browser("https://gitlab.com/oauth/authorize") == "http://localhost:1/x/oauth/authorize"
    assert gitlab.for_server("https://gitlab.com/oauth/token") == "http://localhost:1/x/oauth/token"


@pytest.mark.parametrize(
    ("social", "address", "issuers"),
    [
        ("google", REAL, ("https://accounts.google.com", "accounts.google.com")),
        ("google", FOLDED, ("https://idp.localhost:9443/google", "idp.localhost:9443/google")),
        ("github", FOLDED, ("https://idp.localhost:9443/google/login/oauth",)),
        ("google", SocialAddress(issuer="https://issuer.example"), ("https://issuer.example", "issuer.example")),
        ("apple", REAL, ("https://appleid.apple.com",)),
        ("apple", FOLDED, ("https://idp.localhost:9443/google",)),
        ("discord", SocialAddress(issuer="https://issuer.example"), ()),
        ("facebook", REAL, ()),
    ],
)
def test_the_issuer_moves_with_the_provider_unless_it_is_set(
    social: str, address: SocialAddress, issuers: tuple[str, ...]
) -> None:
    assert located(social, address).accepted_issuers == issuers


@pytest.mark.contract("4.4/names")
@pytest.mark.parametrize("name", SOCIALS)
def test_every_social_provider_has_a_module_that_bears_its_name(name: str) -> None:
    assert load(name).name == name
    assert load(name).title == SOCIALS[name].title


@pytest.mark.contract("D-03/preview")
@pytest.mark.parametrize("name", ANNOUNCED_SOCIALS)
def test_an_announced_provider_is_there_when_its_preview_is_asked_for(name: str) -> None:
    assert find(name, Settings(preview_providers=(name,))).name == name


@pytest.mark.contract("4.4/names")
@pytest.mark.parametrize("name", ANNOUNCED_SOCIALS)
def test_an_announced_provider_is_not_available_yet(name: str) -> None:
    with pytest.raises(Refused, match="not available yet") as refusal:
        find(name, Settings())

    assert (refusal.value.code, refusal.value.member) == (Code.SOCIAL_UNKNOWN, "social")


@pytest.mark.parametrize("name", ["", "GOOGLE", "google ", "myspace"])
def test_an_unknown_provider_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refusal:
        find(name, Settings())

    assert (refusal.value.code, refusal.value.member) == (Code.SOCIAL_UNKNOWN, "social")
    assert "google, facebook, github, gitlab, discord" in refusal.value.message
