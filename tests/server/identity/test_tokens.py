"""Tokens made by PyJWT are read by the server, and the other way round; the rest is refused, each with its code."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any, Protocol

import jwt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatkey_protocol.codes import Code
from chatkey_server.identity import keys, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.social_uid import SocialUid
from chatkey_server.identity.tokens import IdentityToken, Profile, Secrets

NOW = 1_795_000_020.0
SECRET = "a-secret-of-more-than-thirty-two-bytes!"
JKT = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"
UID = keys.visitor_uid(JKT)

MakeToken = Callable[..., str]


class Key(Protocol):
    @property
    def jkt(self) -> str: ...


def b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def sign(payload: bytes, *, header: bytes = b'{"alg":"HS256"}', secret: str = SECRET) -> str:
    """Make a compact JWS of these exact bytes."""
    signed = f"{b64(header)}.{b64(payload)}"
    return f"{signed}.{b64(hmac.digest(secret.encode(), signed.encode(), hashlib.sha256))}"


def refusal_of(token: str, secrets: Secrets, now: float = NOW) -> Refused:
    with pytest.raises(Refused) as refusal:
        tokens.read_socket_token(token, secrets, pid="prov_a", now=now)
    return refusal.value


# custom login


@pytest.mark.contract("2.4/claims", "2.4/hs256", "D-05/custom")
def test_an_integrators_token_is_accepted(make_token: MakeToken, secrets: Secrets, key: Key) -> None:
    token = make_token(name="Rhea", email="rhea@example.com", avatar="https://example.com/r.png")

    identity = tokens.read_socket_token(token, secrets, pid="prov_a", now=NOW)

    assert identity == tokens.SocketIdentity(
        pid="prov_a",
        uid="user-1",
        login="custom",
        jkt=key.jkt,
        expires_at=int(NOW) + 3600,
        profile=Profile(name="Rhea", email="rhea@example.com", avatar="https://example.com/r.png"),
    )


@pytest.mark.parametrize(
    ("change", "code", "member"),
    [
        ({"pid": "prov_b"}, Code.TOKEN_PROVIDER, "pid"),
        ({"pid": "PROV_A"}, Code.TOKEN_PROVIDER, "pid"),
        ({"pid": "prov_ab"}, Code.TOKEN_PROVIDER, "pid"),
        ({"pid": None}, Code.TOKEN_CLAIMS, "pid"),
        ({"pid": 7}, Code.TOKEN_CLAIMS, "pid"),
        ({"uid": None}, Code.TOKEN_CLAIMS, "uid"),
        ({"uid": 42}, Code.TOKEN_CLAIMS, "uid"),
        ({"uid": ""}, Code.TOKEN_CLAIMS, "uid"),
        ({"uid": "x" * 256}, Code.TOKEN_CLAIMS, "uid"),
        ({"uid": "a\0b"}, Code.TOKEN_CLAIMS, "uid"),
        ({"type": None}, Code.TOKEN_CLAIMS, "type"),
        ({"type": "User"}, Code.TOKEN_TYPE, "type"),
        ({"type": "agent"}, Code.TOKEN_TYPE, "type"),
        ({"type": "identity"}, Code.TOKEN_TYPE, "type"),
        ({"exp": None}, Code.TOKEN_CLAIMS, "exp"),
        ({"exp": str(int(NOW) + 3600)}, Code.TOKEN_CLAIMS, "exp"),
        ({"exp": NOW + 3600.5}, Code.TOKEN_CLAIMS, "exp"),
        ({"exp": True}, Code.TOKEN_CLAIMS, "exp"),
        ({"exp": 10**30}, Code.TOKEN_CLAIMS, "exp"),
        ({"exp": -1}, Code.TOKEN_CLAIMS, "exp"),
        ({"exp": int(NOW)}, Code.TOKEN_EXPIRED, "exp"),
        ({"exp": 3600}, Code.TOKEN_EXPIRED, "exp"),
        ({"exp": int(NOW) + 7201}, Code.TOKEN_CLAIMS, "exp"),
        ({"exp": int(NOW) + 10, "iat": int(NOW) + 20}, Code.TOKEN_CLAIMS, "exp"),
        ({"iat": None}, Code.TOKEN_CLAIMS, "iat"),
        ({"iat": int(NOW) + 61, "exp": int(NOW) + 3600}, Code.TOKEN_NOT_YET_VALID, "iat"),
        ({"nbf": int(NOW) + 600}, Code.TOKEN_NOT_YET_VALID, "nbf"),
        ({"cnf": None}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"cnf": {}}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"cnf": "text"}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"cnf": []}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"cnf": {"jkt": ""}}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"cnf": {"jkt": 5}}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"cnf": {"jkt": JKT + "="}}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"cnf": None, "jkt": JKT}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"cnf": None, "cnf.jkt": JKT}, Code.PROOF_BINDING_MISSING, "cnf.jkt"),
        ({"name": 5}, Code.TOKEN_CLAIMS, "name"),
        ({"name": "n" * 256}, Code.TOKEN_CLAIMS, "name"),
    ],
)
@pytest.mark.contract(
    "2.4/claims",
    "2.4/pid",
    "2.4/uid",
    "2.4/type",
    "2.4/cnf.jkt",
    "2.4/iat",
    "2.4/exp",
    "7/binding-missing",
    "D-05/custom",
)
def test_a_wrong_claim_is_refused_by_name(
    make_token: MakeToken, secrets: Secrets, change: dict[str, Any], code: Code, member: str
) -> None:
    refusal = refusal_of(make_token(**change), secrets)

    assert (refusal.code, refusal.member) == (code, member)
    assert member.rpartition(".")[0] in refusal.message


@pytest.mark.parametrize(
    "change",
    [
        {"exp": int(NOW) + 1},
        {"exp": int(NOW) + 7200},
        {"iat": int(NOW) + 2},
        {"iat": int(NOW) + 60},
        {"nbf": int(NOW)},
        {"aud": "anything"},
        {"iss": "shop", "sub": "5", "extra": 5},
        {"role": "admin", "__proto__": {"x": 1}},
        {"uid": "x" * 255},
        {"uid": "Ünï—😀"},
        {"cnf": {"jkt": JKT, "x5t#S256": "abc"}},
        {"name": "<img onerror=alert(1)>"},
        {"avatar": "javascript:alert(1)"},
    ],
)
def test_an_unusual_but_honest_token_is_accepted(
    make_token: MakeToken, secrets: Secrets, change: dict[str, Any]
) -> None:
    identity = tokens.read_socket_token(make_token(**change), secrets, pid="prov_a", now=NOW)

    assert identity.login == "custom"
    assert not (identity.profile.avatar or "").startswith("javascript")


@pytest.mark.contract("2.4/hs256", "D-05/strict-reading")
@pytest.mark.parametrize(
    ("header", "code"),
    [
        (b'{"alg":"none"}', Code.TOKEN_ALG),
        (b'{"alg":["HS256"]}', Code.TOKEN_ALG),
        (b'{"typ":"JWT"}', Code.TOKEN_ALG),
        (b'{"alg":"hs256"}', Code.TOKEN_ALG),
        (b'{"alg":"none","alg":"HS256"}', Code.TOKEN_MALFORMED),
        (b'{"alg":"HS256","crit":[]}', Code.TOKEN_HEADER),
        (b'{"alg":"HS256","b64":false}', Code.TOKEN_HEADER),
        (b'{"alg":"HS256","zip":"DEF"}', Code.TOKEN_HEADER),
        (b'{"alg":"HS256","typ":"wf-proof+jwt"}', Code.TOKEN_HEADER),
        (b'{"alg":"HS256","typ":"at+jwt"}', Code.TOKEN_HEADER),
        (b'{"alg":"HS256","typ":5}', Code.TOKEN_HEADER),
        (b'{"alg":"HS256","typ":["JWT"]}', Code.TOKEN_HEADER),
        (b'{"alg":"HS256","typ":{}}', Code.TOKEN_HEADER),
        (b'["HS256"]', Code.TOKEN_MALFORMED),
        (b"null", Code.TOKEN_MALFORMED),
    ],
)
def test_a_header_that_says_anything_else_is_refused(
    make_token: MakeToken, secrets: Secrets, header: bytes, code: Code
) -> None:
    payload = jwt.api_jws.PyJWS().decode_complete(make_token(), options={"verify_signature": False})["payload"]

    assert refusal_of(sign(payload, header=header), secrets).code is code


@pytest.mark.parametrize("typ", ["JWT", "jwt", "application/jwt", None])
def test_the_usual_headers_are_accepted(make_token: MakeToken, secrets: Secrets, typ: str | None) -> None:
    token = make_token(header={"typ": typ, "kid": "../../etc"})

    assert tokens.read_socket_token(token, secrets, pid="prov_a", now=NOW).uid == "user-1"


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_another_mac_is_refused(make_token: MakeToken, secrets: Secrets, algorithm: str) -> None:
    long = SECRET * 3

    refusal = refusal_of(make_token(secret=long, algorithm=algorithm), Secrets(current=long.encode()))

    assert refusal.code is Code.TOKEN_ALG


@pytest.mark.contract("2.4/hs256")
@pytest.mark.parametrize(
    ("secret", "hint"),
    [
        (SECRET + "\n", "newline"),
        (f'"{SECRET}"', "double quotes"),
        (SECRET.encode().hex(), "hex form"),
        (base64.urlsafe_b64encode(SECRET.encode()).decode(), "base64 form"),
        ("undefined", "undefined"),
        ("of another provider, which nobody can guess", None),
    ],
)
@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")  # short keys are the mistake under test
def test_a_signature_by_the_wrong_secret_is_refused_and_the_mistake_named(
    make_token: MakeToken, secrets: Secrets, secret: str, hint: str | None
) -> None:
    """F103: a newline, quotes, another encoding."""
    refusal = refusal_of(make_token(secret=secret), secrets)

    assert refusal.code is Code.TOKEN_SIGNATURE
    assert (hint is None) == (refusal.cause is None)
    assert hint is None or hint in (refusal.cause or "")


@pytest.mark.parametrize("kept", [0, 1, 16, 31])
def test_a_signature_that_is_cut_off_is_refused(make_token: MakeToken, secrets: Secrets, kept: int) -> None:
    signed, _, signature = make_token().rpartition(".")
    cut = b64(base64.urlsafe_b64decode(signature + "=")[:kept])

    assert refusal_of(f"{signed}.{cut}", secrets).code is Code.TOKEN_SIGNATURE


def test_a_base64_decoded_secret_is_named() -> None:
    secret = b64(b"thirty-two bytes of real randomness")
    token = jwt.encode({"pid": "prov_a", "type": "user"}, base64.urlsafe_b64decode(secret + "=="), algorithm="HS256")

    refusal = refusal_of(token, Secrets(current=secret.encode()))

    assert "base64" in (refusal.cause or "")


def test_milliseconds_are_named(make_token: MakeToken, secrets: Secrets) -> None:
    refusal = refusal_of(make_token(exp=int(NOW + 3600) * 1000), secrets)

    assert refusal.cause == "exp looks like milliseconds; write seconds"


@pytest.mark.parametrize(
    "payload", [b"[]", b"1", b"null", b'{"a":1}}', b"\xef\xbb\xbf{}", b"{" * 9, b'{"pid":"\\ud800"}']
)
def test_a_payload_that_is_not_one_json_object_is_refused(secrets: Secrets, payload: bytes) -> None:
    assert refusal_of(sign(payload), secrets).code in {Code.TOKEN_MALFORMED, Code.TOKEN_CLAIMS}


@pytest.mark.contract("D-05/strict-reading")
def test_a_repeated_claim_is_refused_though_its_signature_holds(secrets: Secrets) -> None:
    payload = json.dumps(
        {"pid": "prov_a", "uid": "a", "type": "user", "iat": int(NOW), "exp": int(NOW) + 60, "cnf": {"jkt": JKT}}
    )
    once, twice = payload.encode(), payload.replace('"uid"', '"uid": "b", "u\\u0069d"', 1).encode()

    assert tokens.read_socket_token(sign(once), secrets, pid="prov_a", now=NOW).uid == "a"
    assert refusal_of(sign(twice), secrets).code is Code.TOKEN_MALFORMED


def test_size_is_bounded(make_token: MakeToken, secrets: Secrets) -> None:
    refusal = refusal_of(make_token(filler="x" * 8192), secrets)

    assert refusal.code is Code.TOKEN_TOO_LARGE


@pytest.mark.contract("D-05/strict-reading")
@pytest.mark.parametrize("shape", ["{}=", " {}", "{}\n", "Bearer {}", "{}.x", "{}."])
def test_a_token_with_anything_around_it_is_refused(make_token: MakeToken, secrets: Secrets, shape: str) -> None:
    assert refusal_of(shape.format(make_token()), secrets).code is Code.TOKEN_MALFORMED


@pytest.mark.contract("D-20/cause")
@pytest.mark.parametrize(
    ("shape", "cause"),
    [
        ("Bearer {}", "the token still has the word Bearer before it"),
        ("{}\n", "the token has white space around it"),
        ('"{}"', "the token stands in quotes: it was written as JSON once more than it was read"),
        ('{{"payload":"{}"}}', "the token is in a JSON serialization; send the compact one"),
        ("{}%2Ex", "the token is percent-encoded once more than it was decoded"),
        ("{}=", "the token has base64 padding; JWTs leave the = out"),
        ("{}+", "the token is in base64; JWTs are in base64url, with - and _ for + and /"),
        ("{}.x.x", "the token has five segments: it is encrypted, and should only be signed"),
        ("{}.x", None),
    ],
)
def test_what_was_done_to_a_token_is_told(
    make_token: MakeToken, secrets: Secrets, shape: str, cause: str | None
) -> None:
    token = make_token()

    refusal = refusal_of(shape.format(token), secrets)

    assert (refusal.code, refusal.cause) == (Code.TOKEN_MALFORMED, cause)
    assert not any(segment in f"{refusal}{refusal.cause}" for segment in token.split("."))


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


# rotation


@pytest.mark.contract("D-05/rotation")
def test_the_previous_secret_counts_until_its_time_and_not_a_second_longer(make_token: MakeToken) -> None:
    """F112: whoever was given the old one has until then to take the new one."""
    rotated = Secrets(current=b"n" * 32, previous=SECRET.encode(), previous_until=int(NOW) + 10)
    token = make_token()

    assert tokens.read_socket_token(token, rotated, pid="prov_a", now=NOW + 9).uid == "user-1"
    assert refusal_of(token, rotated, NOW + 10).code is Code.TOKEN_SIGNATURE


def test_secrets_and_tokens_do_not_show_themselves(make_token: MakeToken, secrets: Secrets) -> None:
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


def test_a_visitor_token_signed_with_the_secret_itself_is_refused(make_token: MakeToken, secrets: Secrets) -> None:
    token = make_token(type="visitor", uid=UID, exp=int(NOW) + 60)

    assert refusal_of(token, secrets).code is Code.TOKEN_SIGNATURE


@pytest.mark.parametrize("uid", ["someone", "v_short", "google:1"])
def test_a_visitor_token_for_another_uid_is_refused(secrets: Secrets, uid: str) -> None:
    token = tokens.mint_visitor(secrets, pid="prov_a", uid=uid, now=NOW)

    refusal = refusal_of(token, secrets)

    assert (refusal.code, refusal.member) == (Code.TOKEN_CLAIMS, "uid")


def test_a_visitor_token_that_lives_longer_is_refused_though_its_signature_holds(secrets: Secrets) -> None:
    claims = {"pid": "prov_a", "uid": UID, "type": "visitor", "iat": int(NOW), "exp": int(NOW) + 121}
    minute = time.strftime("%H:%M", time.gmtime(NOW))
    key = hmac.digest(SECRET.encode(), minute.encode(), hashlib.sha256)
    header = b64(b'{"alg":"HS256"}')
    signed = f"{header}.{b64(json.dumps(claims).encode())}"

    refusal = refusal_of(f"{signed}.{b64(hmac.digest(key, signed.encode(), hashlib.sha256))}", secrets)

    assert (refusal.code, refusal.member) == (Code.TOKEN_CLAIMS, "exp")


def test_a_visitor_token_of_a_minute_to_come_is_refused(secrets: Secrets) -> None:
    token = tokens.mint_visitor(secrets, pid="prov_a", uid=UID, now=NOW + 60)

    assert refusal_of(token, secrets).code is Code.TOKEN_NOT_YET_VALID


# social login


def identity_token(secrets: Secrets, *, jkt: str | None = JKT, sub: str = "1:2", now: float = NOW) -> str:
    return tokens.mint_identity(
        secrets, pid="prov_a", uid=SocialUid("google", sub), profile=Profile(name="Rhea"), jkt=jkt, now=now
    )


@pytest.mark.contract("2.5/24h", "2.5/uid-form", "2.5/hs256", "8/identity-24h", "D-05/identity")
def test_an_identity_token_names_the_social_subject_for_24_hours(secrets: Secrets) -> None:
    token = identity_token(secrets)

    read = tokens.read_identity_token(token, secrets, pid="prov_a", now=NOW + 86_399)

    assert read == IdentityToken(
        "prov_a", SocialUid("google", "1:2"), int(NOW) + 86_400, JKT, Profile(name="Rhea", auth_provider="google")
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

    assert (read.login, read.uid, read.jkt, read.profile.auth_provider) == ("social", "google:1:2", JKT, "google")
    assert refusal_of(token, secrets, NOW + 120).code is Code.TOKEN_EXPIRED


@pytest.mark.contract("D-05/kinds-apart", "4.3/not-custom")
def test_no_kind_of_token_is_accepted_where_another_belongs(make_token: MakeToken, secrets: Secrets) -> None:
    visitor = tokens.mint_visitor(secrets, pid="prov_a", uid=UID, now=NOW)
    custom = make_token()

    assert refusal_of(identity_token(secrets), secrets).code is Code.TOKEN_TYPE
    for token, code in ((custom, Code.TOKEN_TYPE), (visitor, Code.TOKEN_SIGNATURE)):
        with pytest.raises(Refused) as refusal:
            tokens.read_identity_token(token, secrets, pid="prov_a", now=NOW)
        assert refusal.value.code is code


@pytest.mark.parametrize("uid", ["google", "google:", ":1", "foo:1", "1"])
def test_an_identity_token_for_no_social_subject_is_refused(make_token: MakeToken, secrets: Secrets, uid: str) -> None:
    with pytest.raises(Refused) as refusal:
        tokens.read_identity_token(make_token(type="identity", uid=uid), secrets, pid="prov_a", now=NOW)

    assert (refusal.value.code, refusal.value.member) == (Code.TOKEN_CLAIMS, "uid")


@pytest.mark.contract("D-11/custom-not-social")
def test_a_custom_uid_that_looks_social_stays_custom(make_token: MakeToken, secrets: Secrets) -> None:
    """F106: the login says whose uid it is."""
    identity = tokens.read_socket_token(make_token(uid="google:123"), secrets, pid="prov_a", now=NOW)

    assert identity.login == "custom"


def test_a_long_lived_token_does_not_pass_as_social(make_token: MakeToken, secrets: Secrets) -> None:
    refusal = refusal_of(make_token(uid="google:123", data={"auth_provider": "google"}), secrets)

    assert (refusal.code, refusal.member) == (Code.TOKEN_CLAIMS, "exp")


def test_the_provider_is_read_before_anything_is_verified(make_token: MakeToken) -> None:
    assert tokens.unverified(make_token()).pid == "prov_a"
    with pytest.raises(Refused) as refusal:
        tokens.unverified(make_token(pid=None))
    assert (refusal.value.code, refusal.value.member) == (Code.TOKEN_CLAIMS, "pid")


def test_the_commands_token_is_the_one_an_integrator_makes(make_token: MakeToken, secrets: Secrets, key: Key) -> None:
    token = tokens.mint_custom(secrets, pid="prov_a", uid="user-1", jkt=key.jkt, profile=Profile(), now=NOW)

    assert jwt.decode(token, SECRET, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False}) == (
        jwt.decode(make_token(), SECRET, algorithms=["HS256"], options={"verify_exp": False, "verify_iat": False})
    )
