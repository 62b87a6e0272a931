"""Tests that malformed requests never cause an exception or a split header."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.call import Call, pairs
from chatkey_oauth.engine.http import encode
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer

FUZZ = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
EVERY = pytest.mark.parametrize("name", NAMES)
PARAMETERS = (
    *("client_id", "client_key", "client_secret", "redirect_uri", "response_type", "response_mode", "scope", "state"),
    "nonce",
    *("code", "code_verifier", "code_challenge", "code_challenge_method", "grant_type", "refresh_token", "token"),
    *("access_token", "fields", "prompt", "login_hint", "account", "decision", "offered", "share"),
)
GOOD = ("ours", "ours-secret", "https://chat.example/callback", "code", "openid", "S256", "approve", "rhea", "me")
BAD_SCOPE = {"facebook": "The requested scope is invalid", "linkedin": "unauthorized_scope_error"}
"""The answer to a bad scope, for providers that do not use the `invalid_scope` of RFC 6749 4.1.2.1."""
odd_text = st.one_of(st.sampled_from(GOOD), st.text(max_size=30), st.sampled_from(["a\r\nb: c", "\0", "\udcff", "{}"]))
parameters = st.dictionaries(st.sampled_from(PARAMETERS), odd_text, max_size=10)
authorizations = st.one_of(st.just(""), st.text("Basicertok bYXJ=: \r\n", max_size=30).map("Basic ".__add__), odd_text)
types = st.sampled_from(["application/x-www-form-urlencoded", "application/json", "", "\xff"])
bodies = st.one_of(parameters.map(lambda form: encode(form).encode("utf-8")), st.binary(max_size=60))


def whole(answer: Answer) -> None:
    """Assert that the status of an answer is below 500 and that no header contains a line break."""
    assert 200 <= answer.status < 500
    for name, value in answer.headers:
        assert name == name.lower()
        assert not set("\r\n\0") & set(value), (name, value)


@EVERY
@FUZZ
@given(data=st.data())
def test_nothing_that_is_sent_breaks_a_provider(fake: App, name: str, data: st.DataObject) -> None:
    paths = [path.split()[-1] for path in fake.provider(name).endpoints()]
    call = Call(
        data.draw(st.sampled_from(["GET", "POST", "DELETE", "HEAD"])),
        f"/{name}{data.draw(st.sampled_from(paths))}",
        encode_lossy(data.draw(parameters)),
        {
            "authorization": data.draw(authorizations),
            "content-type": data.draw(types),
            "accept": data.draw(st.sampled_from(["", "application/json", "application/xml"])),
            "user-agent": "tests",
            "cookie": data.draw(odd_text),
        },
        data.draw(bodies),
    )

    answer = fake.answer(call)

    whole(answer)


def encode_lossy(params: dict[str, str]) -> str:
    """Form-encode parameters. Characters that cannot be encoded are replaced."""
    return encode({name: value.encode("utf-8", "replace").decode() for name, value in params.items()})


@EVERY
@pytest.mark.parametrize("scope", ["openid\r\nset-cookie: a=b", "e\udcffmail", "\0"])
def test_a_scope_with_invalid_characters_is_refused(visitor: Visitor, name: str, scope: str) -> None:
    answer = visitor.decide(scope=scope)

    whole(answer)
    query = dict(pairs(urlsplit(dict(answer.headers).get("location", "")).query))
    said = query.get("error") or query.get("error_message") or answer.body.decode()
    assert BAD_SCOPE.get(name, "invalid_scope") in said
    assert "code" not in query


def test_a_picture_of_absurd_size_is_the_usual_one(facebook: Visitor) -> None:
    answer = facebook.profile(facebook.access_token(), fields=f"picture.width({'9' * 30})")

    assert b'"width":50' in answer.body
