"""Tests of client authentication: registered applications, Basic headers, and Apple's signed secrets."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, SECP384R1, derive_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import ECAlgorithm

from chatkey_oauth.engine.clients import Client, ClientError
from chatkey_oauth.engine.credentials import basic_pairs, body_pairs
from chatkey_oauth.providers import check_client
from chatkey_oauth.providers.apple_secret import LONGEST, SKEW, BadSecret, verify

NOW = 1_795_000_000
CALLBACK = ("https://chat.example/callback",)
AUDIENCES = ("https://appleid.apple.com", "https://id.localhost/apple")
KEY = derive_private_key(17, SECP256R1())
OTHER_KEY = derive_private_key(18, SECP256R1())
PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
PRIVATE_PEM = KEY.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
P384_PEM = (
    derive_private_key(17, SECP384R1())
    .public_key()
    .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    .decode()
)
JWK: dict[str, Any] = ECAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
CLAIMS: dict[str, Any] = {
    "iss": "TEAM000001",
    "sub": "com.example.web",
    "aud": "https://appleid.apple.com",
    "iat": NOW,
    "exp": NOW + 600,
}


def application(**members: Any) -> Client:
    keys: dict[str, Any] = {"team_id": "TEAM000001", "key_id": "KEY0000001", "public_key": PEM}
    return Client(provider="apple", client_id="com.example.web", redirect_uris=CALLBACK, **(keys | members))


def signed(key: Any = KEY, alg: str = "ES256", headers: dict[str, Any] | None = None, **changes: Any) -> str:
    """Return a client secret. Claims with the value None are omitted."""
    claims = {name: value for name, value in (CLAIMS | changes).items() if value is not None}
    return jwt.encode(claims, key, alg, {"kid": "KEY0000001"} if headers is None else headers)


def judge(secret: str, client: Client | None = None) -> None:
    verify(secret, client or application(), audiences=AUDIENCES, now=NOW)


def base64url(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.mark.parametrize("key", [PEM, JWK], ids=["PEM", "JWK"])
@pytest.mark.parametrize("aud", [*AUDIENCES, ["https://appleid.apple.com"], ["https://id.localhost/apple"]])
def test_a_secret_that_the_registered_key_signed_is_good(key: Any, aud: Any) -> None:
    judge(signed(aud=aud), application(public_key=key))


@pytest.mark.parametrize(
    "changes",
    [{"exp": NOW + 1}, {"exp": NOW + LONGEST}, {"iat": NOW + SKEW}, {"iat": NOW - 9e6, "exp": NOW + 0.5}],
)
def test_a_secret_is_good_up_to_its_limits(changes: dict[str, Any]) -> None:
    judge(signed(**changes))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"iss": "TEAM000002"}, "its iss is 'TEAM000002', but the registered team_id is 'TEAM000001'"),
        ({"sub": "com.example.other"}, "its sub is 'com.example.other', not the client_id"),
        ({"aud": "https://account.apple.com"}, "its aud is 'https://account.apple.com', not 'https://appleid"),
        ({"aud": "https://appleid.apple.com/"}, "its aud is"),
        ({"aud": []}, r"its aud is \[\]"),
        ({"aud": ["https://appleid.apple.com", "https://id.localhost/apple"]}, "its aud is"),
        ({"iat": NOW + SKEW + 1}, "its iat is 61 seconds in the future"),
        ({"exp": NOW + LONGEST + 1}, "its exp is more than 15777000 seconds after its iat"),
        ({"iat": NOW - 600, "exp": NOW}, "its exp passed 0 seconds ago"),
        ({"iss": None}, "its claims: Object missing required field `iss`"),
        ({"sub": None}, "missing required field `sub`"),
        ({"aud": None}, "missing required field `aud`"),
        ({"iat": None}, "missing required field `iat`"),
        ({"exp": None}, "missing required field `exp`"),
        ({"exp": str(NOW)}, r"its claims: Expected `float`, got `str` - at `\$.exp`"),
        ({"key": OTHER_KEY}, "its signature was not made with the registered key"),
        ({"key": "x" * 32, "alg": "HS256"}, "its alg is 'HS256', not 'ES256'"),
        ({"key": None, "alg": "none"}, "its alg is 'none', not 'ES256'"),
        ({"headers": {"kid": "KEY0000002"}}, "its kid is 'KEY0000002', but the registered key_id is 'KEY0000001'"),
        ({"headers": {}}, "its header: Object missing required field `kid`"),
    ],
)
def test_a_faulty_secret_is_refused_with_its_fault(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(BadSecret, match=says):
        judge(signed(**changes))


@pytest.mark.parametrize(
    ("secret", "says"),
    [
        ("", "it has 1 parts instead of the three of a JWT"),
        ("a.b.c.d.e", "it has 5 parts"),
        (f"{signed()}=", "its signature is not base64url without padding"),
        (signed().replace(".", ".ü", 1), "its signature was not made|its claims is not base64url"),
        ("!.e30.AAAA", "its header is not base64url without padding"),
        ("A.e30.AAAA", "its header is truncated"),
        (f"{signed().rpartition('.')[0]}.", "its signature is not base64url without padding"),
        ("W10.e30.AAAA", "its header: Expected `object`, got `array`"),
        ("e30.e30.", "its header: Object missing required field `alg`"),
        ("\udcff.\udcff.\udcff", "is not base64url"),
    ],
    ids=lambda value: f"{len(value)}-characters" if value.count(".") > 1 else None,  # signatures differ in every run
)
def test_a_secret_that_is_no_jwt_is_refused_with_the_reason(secret: str, says: str) -> None:
    with pytest.raises(BadSecret, match=says):
        judge(secret)


def test_a_signature_in_der_is_refused_although_it_is_genuine() -> None:
    signed_part = signed().rpartition(".")[0]
    der = KEY.sign(signed_part.encode(), ECDSA(SHA256()))

    with pytest.raises(BadSecret, match=r"has 7\d bytes instead of the 64 of r and s; it must not be DER"):
        judge(f"{signed_part}.{base64url(der)}")


@pytest.mark.parametrize("signature", [bytes(64), b"\xff" * 64])
def test_a_signature_of_impossible_numbers_is_refused(signature: bytes) -> None:
    signed_part = signed().rpartition(".")[0]

    with pytest.raises(BadSecret, match="was not made with the registered key"):
        judge(f"{signed_part}.{base64url(signature)}")


def test_no_refusal_quotes_the_secret() -> None:
    secret = signed(OTHER_KEY)

    with pytest.raises(BadSecret) as refused:
        judge(secret)

    assert not any(part in str(refused.value) for part in secret.split("."))


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"client_secret": "s"}, "client_secret: client 'com.example.web' of apple has none"),
        ({"team_id": ""}, "team_id: client 'com.example.web' of apple needs team_id, key_id and public_key"),
        ({"key_id": ""}, "key_id: client"),
        ({"public_key": ""}, "public_key: client"),
        ({"public_key": "nonsense"}, "public_key of client .* it is not a PEM public key"),
        ({"public_key": PRIVATE_PEM}, "this is a private key, which must stay with its owner"),
        ({"public_key": P384_PEM}, "it is not a key on the curve P-256"),
        ({"public_key": JWK | {"d": "AA"}}, "this is a private key, .* remove the member d"),
        ({"public_key": JWK | {"crv": "P-384"}}, "its kty and crv are not EC and P-256"),
        ({"public_key": {"kty": "EC", "crv": "P-256"}}, "its x is not base64url"),
        ({"public_key": JWK | {"y": JWK["x"]}}, "its x and y are not a point on the curve P-256"),
        ({"public_key": JWK | {"y": "A" * 400}}, "its x and y are not a point on the curve P-256"),
    ],
)
def test_an_apple_application_that_could_never_log_in_is_refused(members: dict[str, Any], says: str) -> None:
    with pytest.raises(ClientError, match=says) as refused:
        check_client(application(**members))

    assert "AAAA" not in str(refused.value)
    assert "MIGH" not in str(refused.value)


@pytest.mark.parametrize("key", [PEM, JWK], ids=["PEM", "JWK"])
def test_an_apple_application_with_its_key_is_registered(key: Any) -> None:
    check_client(application(public_key=key))


@pytest.mark.parametrize("member", ["team_id", "key_id", "public_key"])
def test_team_id_key_id_and_public_key_are_for_apple_only(member: str) -> None:
    stray: dict[str, Any] = {member: "x"}
    client = Client(provider="google", client_id="ours", redirect_uris=CALLBACK, **stray)

    with pytest.raises(
        ClientError, match="team_id, key_id and public_key are only for apple; 'ours' is a client of google"
    ):
        check_client(client)


def test_a_client_with_a_key_is_not_a_public_one() -> None:
    assert not application().is_public
    assert not Client(provider="x", client_id="a", client_secret="s", redirect_uris=CALLBACK).is_public
    assert Client(provider="x", client_id="a", redirect_uris=CALLBACK).is_public


@pytest.mark.parametrize(
    ("header", "pairs"),
    [
        ("Basic YTpi", [("a", "b")]),
        ("Basic YSUyRmI6YyUyNWQ=", [("a%2Fb", "c%25d"), ("a/b", "c%d")]),
        ("basic YTpiOmM=", [("a", "b:c")]),
        ("Basic YTo=", [("a", "")]),
        ("Basic YQ==", []),
        ("Basic ü", []),
        ("Basic ", []),
    ],
)
def test_a_basic_header_means_what_it_says_raw_or_form_encoded(header: str, pairs: list[tuple[str, str]]) -> None:
    assert basic_pairs(header) == pairs


def test_parameters_name_a_client_with_or_without_its_secret() -> None:
    params = {"client_id": "a", "client_secret": "b"}

    assert body_pairs(params) == [("a", "b")]
    assert body_pairs(params, secrets=False) == [("a", "")]
    assert body_pairs({"client_id": "a"}) == [("a", "")]
    assert body_pairs({"client_secret": "b"}) == []
