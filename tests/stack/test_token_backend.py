"""The example getToken backend must respond as contract 2.4 and 4.7 require."""

import jwt
import pytest

from chatkey_stack.site.token_backend import InvalidRequestError, Person, TokenBackend

NOW = 1_790_000_000
SECRET = "a-secret-key-of-at-least-32-bytes-0123"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
ADA = Person("u-1", "Ada", "ada@example.test", "https://shop.example/ada.svg")


@pytest.fixture
def backend() -> TokenBackend:
    return TokenBackend("prov_1", SECRET, now=lambda: NOW + 0.7)


@pytest.mark.contract(
    "1/mode-custom", "2.4/claims", "2.4/one-hour", "2.4/cnf.jkt", "5.3/secret-backend", "8/custom-hour", "4.7/response"
)
def test_a_signed_in_person_gets_a_token_bound_to_the_key(backend: TokenBackend) -> None:
    answer = backend.answer({"jkt": JKT}, ADA)

    claims = jwt.decode(answer["token"] or "", SECRET, algorithms=["HS256"], options={"verify_exp": False})
    assert claims == {
        "pid": "prov_1",
        "uid": "u-1",
        "type": "user",
        "cnf": {"jkt": JKT},
        "iat": NOW,
        "exp": NOW + 3600,
        "name": "Ada",
        "email": "ada@example.test",
        "avatar": "https://shop.example/ada.svg",
    }


@pytest.mark.contract("4.7/response")
def test_without_a_signed_in_person_the_token_is_null(backend: TokenBackend) -> None:
    assert backend.answer({"jkt": JKT}, None) == {"token": None}


def test_claims_that_were_not_given_are_left_out(backend: TokenBackend) -> None:
    token = backend.token_for(Person("u-2"), JKT)

    claims = jwt.decode(token, SECRET, algorithms=["HS256"], options={"verify_exp": False})
    assert set(claims) == {"pid", "uid", "type", "cnf", "iat", "exp"}


@pytest.mark.contract("4.7/request")
@pytest.mark.parametrize(
    "body",
    [None, [], "x", {}, {"jkt": None}, {"jkt": 7}, {"jkt": ""}, {"jkt": JKT + "="}, {"jkt": JKT[:-1] + "t"}],
    ids=repr,
)
def test_a_body_without_a_well_formed_jkt_is_refused(backend: TokenBackend, body: object) -> None:
    with pytest.raises(InvalidRequestError, match="jkt must be the 43 base64url characters"):
        backend.answer(body, ADA)
