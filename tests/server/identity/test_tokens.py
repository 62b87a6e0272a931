"""Tests that the server and PyJWT read each other's tokens, and that each kind of token has a lifetime.

The table `chatkey_conform.making.token_verdicts` lists the refused tokens and the codes.
"""

import hashlib
import hmac
from collections.abc import Callable

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chatkey_peer.key import BrowserKey, b64
from chatkey_protocol.codes import Code
from chatkey_server.identity import keys, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.social_uid import SocialUid
from chatkey_server.identity.tokens import IdentityToken, Profile, Secrets

NOW = 1_795_000_020.0
SECRET = "a-secret-of-more-than-thirty-two-bytes!"
JKT = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
UID = keys.visitor_uid(JKT)
RHEA = Profile(name="Rhea", email="rhea@example.com", avatar="https://example.com/r.png")

MakeToken = Callable[..., str]


def sign(payload: bytes, *, header: bytes = b'{"alg":"HS256"}', secret: str = SECRET) -> str:
    """Make a compact JWS from exactly these bytes."""
    signed = f"{b64(header)}.{b64(payload)}"
    return f"{signed}.{b64(hmac.digest(secret.encode(), signed.encode(), hashlib.sha256))}"


def refusal_of(token: str, secrets: Secrets, now: float = NOW) -> Refused:
    with pytest.raises(Refused) as refusal:
        tokens.read_socket_token(token, secrets, pid="prov_a", now=now)
    return refusal.value


# custom login


@pytest.mark.contract("2.4/claims", "2.4/hs256", "D-05/custom")
def test_an_integrators_token_is_accepted(make_token: MakeToken, secrets: Secrets, key: BrowserKey) -> None:
    token = make_token(name="Rhea", email="rhea@example.com", avatar="https://example.com/r.png")

    identity = tokens.read_socket_token(token, secrets, pid="prov_a", now=NOW)

    assert identity == tokens.SocketIdentity(
        pid="prov_a",
        uid="user-1",
        login="custom",
        jkt=key.jkt,
        expires_at=int(NOW) + 3600,
        profile=RHEA,
    )


def test_only_an_address_of_the_web_is_an_avatar(make_token: MakeToken, secrets: Secrets) -> None:
    token = make_token(avatar="javascript:alert(1)")

    assert tokens.read_socket_token(token, secrets, pid="prov_a", now=NOW).profile.avatar is None


def test_the_most_a_token_may_have_can_be_set(make_token: MakeToken) -> None:
    token = make_token()

    assert tokens.unverified(token, most=len(token)).pid == "prov_a"
    with pytest.raises(Refused) as refused:
        tokens.unverified(token, most=len(token) - 1)

    assert refused.value.code is Code.TOKEN_TOO_LARGE


@given(st.text(max_size=200) | st.from_regex(r"[\w-]{1,40}\.[\w-]{1,80}\.[\w-]{0,43}", fullmatch=True))
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    with pytest.raises(Refused):
        tokens.read_socket_token(text, Secrets(current=SECRET.encode()), pid="prov_a", now=NOW)


@given(st.binary(max_size=200))
def test_no_signed_payload_raises_anything_but_a_refusal(payload: bytes) -> None:
    with pytest.raises(Refused):
        tokens.read_socket_token(sign(payload), Secrets(current=SECRET.encode()), pid="prov_a", now=NOW)


@pytest.mark.parametrize("claim", ["pid", "type", "iat"])
def test_what_is_needed_to_choose_the_key_is_asked_for_before_the_signature(
    make_token: MakeToken, secrets: Secrets, claim: str
) -> None:
    token = make_token(**{"type": "visitor", claim: None}, secret="another-secret-of-more-than-thirty-two-bytes")

    refusal = refusal_of(token, secrets)

    assert (refusal.code, refusal.member) == (Code.TOKEN_CLAIMS, claim)


# rotation


@pytest.mark.contract("D-05/rotation")
def test_the_previous_secret_is_valid_exactly_until_its_end(make_token: MakeToken) -> None:
    """F112: the integrator must have switched to the new secret when the overlap ends."""
    rotated = Secrets(current=b"n" * 32, previous=SECRET.encode(), previous_until=int(NOW) + 10)
    token = make_token()

    assert tokens.read_socket_token(token, rotated, pid="prov_a", now=NOW + 9).uid == "user-1"
    assert refusal_of(token, rotated, NOW + 10).code is Code.TOKEN_SIGNATURE


def test_the_repr_of_secrets_and_tokens_hides_them(make_token: MakeToken, secrets: Secrets) -> None:
    token = make_token()

    assert SECRET not in repr(secrets)
    assert not any(segment in repr(tokens.unverified(token)) for segment in token.split("."))


# visitors


@pytest.mark.contract("2.6/visitor-time", "D-05/visitor")
@pytest.mark.parametrize("second", [0, 1, 59])
def test_a_visitor_token_is_good_to_the_end_of_the_next_minute(secrets: Secrets, second: int) -> None:
    minute = int(NOW) // 60 * 60
    token = tokens.mint_visitor(secrets, pid="prov_a", uid=UID, now=minute + second)

    identity = tokens.read_socket_token(token, secrets, pid="prov_a", now=minute + 119.9)

    assert (identity.login, identity.uid, identity.jkt) == ("visitor", UID, JKT)
    assert identity.expires_at == minute + 120
    assert refusal_of(token, secrets, minute + 120).code is Code.TOKEN_EXPIRED
    assert refusal_of(token, secrets, minute + 86_400).code is Code.TOKEN_EXPIRED


def test_a_visitor_token_is_signed_with_the_minute_and_not_with_the_secret(secrets: Secrets) -> None:
    token = tokens.mint_visitor(secrets, pid="prov_a", uid=UID, now=0)
    minute_key = hmac.digest(SECRET.encode(), b"00:00", hashlib.sha256)

    assert jwt.decode(token, minute_key, algorithms=["HS256"], options={"verify_exp": False})["uid"] == UID
    with pytest.raises(jwt.InvalidSignatureError):
        jwt.decode(token, SECRET, algorithms=["HS256"])


# social login


def identity_token(secrets: Secrets, *, jkt: str | None = JKT, sub: str = "1:2", now: float = NOW) -> str:
    return tokens.mint_identity(secrets, pid="prov_a", uid=SocialUid("google", sub), profile=RHEA, jkt=jkt, now=now)


@pytest.mark.contract("2.5/24h", "2.5/uid-form", "2.5/hs256", "8/identity-24h", "D-05/identity")
def test_an_identity_token_names_the_social_subject_for_24_hours(secrets: Secrets) -> None:
    token = identity_token(secrets)

    read = tokens.read_identity_token(token, secrets, pid="prov_a", now=NOW + 86_399)

    assert read == IdentityToken(
        "prov_a", SocialUid("google", "1:2"), int(NOW) + 86_400, JKT, replace(RHEA, auth_provider="google")
    )
    assert jwt.decode(token, SECRET, algorithms=["HS256"], options={"verify_exp": False})["uid"] == "google:1:2"
    with pytest.raises(Refused) as refusal:
        tokens.read_identity_token(token, secrets, pid="prov_a", now=NOW + 86_400)
    assert refusal.value.code is Code.TOKEN_EXPIRED


@pytest.mark.contract("2.6/member-token", "4.3/binding", "D-05/social")
def test_a_social_members_socket_token_is_bound_and_short(secrets: Secrets) -> None:
    identity = tokens.read_identity_token(identity_token(secrets, jkt=None), secrets, pid="prov_a", now=NOW)
    token = tokens.mint_member(secrets, identity=identity, jkt=JKT, now=NOW)

    read = tokens.read_socket_token(token, secrets, pid="prov_a", now=NOW + 119)

    assert (read.login, read.uid, read.jkt) == ("social", "google:1:2", JKT)
    assert read.profile == replace(RHEA, auth_provider="google")
    assert refusal_of(token, secrets, NOW + 120).code is Code.TOKEN_EXPIRED


@pytest.mark.contract("D-11/custom-not-social")
def test_a_custom_uid_that_looks_social_stays_custom(make_token: MakeToken, secrets: Secrets) -> None:
    """F106: the kind of login decides who the member is, whatever the uid looks like."""
    identity = tokens.read_socket_token(make_token(uid="google:123"), secrets, pid="prov_a", now=NOW)

    assert identity.login == "custom"


def test_the_provider_is_read_before_anything_is_verified(make_token: MakeToken) -> None:
    assert tokens.unverified(make_token()).pid == "prov_a"
    with pytest.raises(Refused) as refusal:
        tokens.unverified(make_token(pid=None))
    assert (refusal.value.code, refusal.value.member) == (Code.TOKEN_CLAIMS, "pid")


def test_the_commands_token_is_the_one_an_integrator_makes(
    make_token: MakeToken, secrets: Secrets, key: BrowserKey
) -> None:
    token = tokens.mint_custom(secrets, pid="prov_a", uid="user-1", jkt=key.jkt, profile=Profile(), now=NOW)

    assert jwt.decode(token, SECRET, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False}) == (
        jwt.decode(make_token(), SECRET, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False})
    )
