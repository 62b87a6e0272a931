"""Tests of tokens where the suite does not reach: the end of an overlap, what is shown of a token, and avatars."""

from collections.abc import Callable

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity import tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Secrets

NOW = 1_795_000_020.0
SECRET = "a-secret-of-more-than-thirty-two-bytes!"

MakeToken = Callable[..., str]


def test_only_an_address_of_the_web_is_an_avatar(make_token: MakeToken, secrets: Secrets) -> None:
    token = make_token(avatar="javascript:alert(1)")

    assert tokens.read_socket_token(token, secrets, pid="prov_a", now=NOW).profile.avatar is None


@pytest.mark.contract("D-05/rotation")
def test_the_previous_secret_is_valid_exactly_until_its_end(make_token: MakeToken) -> None:
    """F112: the integrator must have switched to the new secret when the overlap ends."""
    rotated = Secrets(current=b"n" * 32, previous=SECRET.encode(), previous_until=int(NOW) + 10)
    token = make_token()

    assert tokens.read_socket_token(token, rotated, pid="prov_a", now=NOW + 9).uid == "user-1"
    with pytest.raises(Refused) as refused:
        tokens.read_socket_token(token, rotated, pid="prov_a", now=NOW + 10)
    assert refused.value.code is Code.TOKEN_SIGNATURE


def test_the_repr_of_secrets_and_tokens_hides_them(make_token: MakeToken, secrets: Secrets) -> None:
    token = make_token()

    assert SECRET not in repr(secrets)
    assert not any(segment in repr(tokens.unverified(token)) for segment in token.split("."))
