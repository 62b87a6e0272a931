"""Tests of how the widget reads a token, and of the errors that it reports."""

from __future__ import annotations

import base64
import json

import pytest
from tests.widget.driver import KEY, OTHER_JKT, PID, jwt

from chatkey_protocol.names import MAX_TOKEN_BYTES
from chatkey_widget import effects, events, tokens
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.principal import Custom, Social

CLAIMS = {"pid": PID, "uid": "ada", "type": "user", "cnf": {"jkt": KEY.jkt}, "iat": 1000, "exp": 4600}


def raw(payload: bytes) -> str:
    return f"e30.{base64.urlsafe_b64encode(payload).rstrip(b'=').decode()}.c2ln"


@pytest.mark.contract("2.4/claims", "2.4/display")
def test_a_good_token_is_read() -> None:
    token = jwt(**CLAIMS, name="Ada", email="ada@shop.test", avatar="https://shop.test/ada.png", plan="gold")

    claims = tokens.read(token)

    assert (claims.pid, claims.uid, claims.type, claims.jkt) == (PID, "ada", "user", KEY.jkt)
    assert (claims.issued_at, claims.expires_at) == (1000, 4600)
    assert (claims.name, claims.email, claims.avatar) == ("Ada", "ada@shop.test", "https://shop.test/ada.png")
    assert claims.payload["plan"] == "gold"


@pytest.mark.contract("2.6/member-token", "2.4/display")
def test_a_social_token_has_its_avatar_and_provider_in_data() -> None:
    claims = tokens.read(jwt(**CLAIMS, data={"avatar": "https://x.test/a.png", "auth_provider": "github"}))

    assert (claims.avatar, claims.auth_provider) == ("https://x.test/a.png", "github")


@pytest.mark.contract("2.4/display")
def test_names_are_read_in_any_script() -> None:
    """Names are UTF-8 in base64url. The token in this test contains both characters that base64 does not have."""
    token = raw(json.dumps(CLAIMS | {"name": "Zoë ≥ 愛 ???>>>???"}, ensure_ascii=False).encode())
    assert {"-", "_"} <= set(token)

    assert tokens.read(token).name == "Zoë ≥ 愛 ???>>>???"


@pytest.mark.parametrize(
    ("token", "code", "told"),
    [
        pytest.param("", Fault.TOKEN_EMPTY, "empty", id="F033-empty"),
        pytest.param("  ", Fault.TOKEN_EMPTY, "empty", id="F033-blank"),
        pytest.param("null", Fault.TOKEN_MALFORMED, "'null'; return null itself", id="F033-null"),
        pytest.param("undefined", Fault.TOKEN_MALFORMED, "'undefined'", id="F033-undefined"),
        pytest.param("[object Object]", Fault.TOKEN_MALFORMED, "return its member token", id="F033-object"),
        pytest.param('{"token":"a.b.c"}', Fault.TOKEN_MALFORMED, "encoded twice", id="F034-json"),
        pytest.param(f'"{jwt(**CLAIMS)}"', Fault.TOKEN_MALFORMED, "encoded twice", id="F034-quoted"),
        pytest.param(f"{jwt(**CLAIMS)}\n", Fault.TOKEN_MALFORMED, "white space", id="newline"),
        pytest.param(f"Bearer {jwt(**CLAIMS)}", Fault.TOKEN_MALFORMED, "Bearer", id="bearer"),
        pytest.param(f"{jwt(**CLAIMS)}=", Fault.TOKEN_MALFORMED, "padding", id="padding"),
        pytest.param("a.b", Fault.TOKEN_MALFORMED, "2 parts", id="two-parts"),
        pytest.param(f"{jwt(**CLAIMS)}.d", Fault.TOKEN_MALFORMED, "4 parts", id="four-parts"),
        pytest.param("..", Fault.TOKEN_MALFORMED, "3 parts", id="empty-parts"),
        pytest.param("a.b.ç", Fault.TOKEN_MALFORMED, "3 parts", id="not-ascii"),
        pytest.param("a.b.c", Fault.TOKEN_MALFORMED, "base64url of a JSON", id="not-json"),
        pytest.param(raw(b"[1]"), Fault.TOKEN_MALFORMED, "not an object", id="array"),
        pytest.param(raw(b"\xff\xfe"), Fault.TOKEN_MALFORMED, "base64url of a JSON", id="not-utf8"),
        pytest.param(raw(b'{"exp":NaN}'), Fault.TOKEN_MALFORMED, "base64url of a JSON", id="nan"),
        pytest.param(raw(b"[" * 5000), Fault.TOKEN_MALFORMED, "base64url of a JSON", id="deep"),
        pytest.param(jwt(**CLAIMS, big="x" * 200_000), Fault.TOKEN_TOO_LARGE, "8192", id="F049"),
        pytest.param(jwt(**(CLAIMS | {"exp": 4_600_000_000_000})), Fault.TOKEN_CLAIMS, "milliseconds", id="F057-exp"),
        pytest.param(jwt(**(CLAIMS | {"iat": 1_000_000_000_000})), Fault.TOKEN_CLAIMS, "milliseconds", id="F057-iat"),
        pytest.param(jwt(**(CLAIMS | {"exp": "4600"})), Fault.TOKEN_CLAIMS, "exp must be whole seconds", id="F058-str"),
        pytest.param(jwt(**(CLAIMS | {"exp": 4600.5})), Fault.TOKEN_CLAIMS, "it is 4600.5", id="F058-float"),
        pytest.param(jwt(**(CLAIMS | {"exp": True})), Fault.TOKEN_CLAIMS, "it is true", id="F058-bool"),
        pytest.param(jwt(**(CLAIMS | {"exp": -1})), Fault.TOKEN_CLAIMS, "it is -1", id="negative"),
        pytest.param(jwt(pid=PID, uid="a", type="user"), Fault.TOKEN_CLAIMS, "exp must be", id="F058-missing"),
        pytest.param(
            jwt(**(CLAIMS | {"uid": 7})), Fault.TOKEN_CLAIMS, "uid must be a non-empty string", id="F105-number"
        ),
        pytest.param(jwt(**(CLAIMS | {"uid": ""})), Fault.TOKEN_CLAIMS, "it is empty", id="F105-empty"),
        pytest.param(jwt(**(CLAIMS | {"type": None})), Fault.TOKEN_CLAIMS, "type must be", id="F107-null"),
    ],
)
def test_a_token_that_cannot_be_read_is_named(token: str, code: Fault, told: str) -> None:
    """The error must name the malformed part or claim, and must not quote the token."""
    with pytest.raises(WidgetError) as caught:
        tokens.read(token)

    assert caught.value.code == code
    assert told in caught.value.message
    assert caught.value.remediation
    assert "eyJ" not in caught.value.message


def test_an_object_of_the_largest_size_is_still_read() -> None:
    """The limit is 8 KB exactly."""
    short = jwt(**CLAIMS, big="")
    room = (MAX_TOKEN_BYTES - len(short)) * 3 // 4
    token = jwt(**CLAIMS, big="x" * (room - 2))

    assert MAX_TOKEN_BYTES - 4 <= len(token) <= MAX_TOKEN_BYTES
    assert tokens.read(token).uid == "ada"


@pytest.mark.contract("2.4/cnf.jkt", "2.4/pid", "D-06/dropped-before-connect")
@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        pytest.param({"pid": "prov_2"}, Fault.TOKEN_CLAIMS, "pid is 'prov_2'", id="F045"),
        pytest.param({"cnf": {"jkt": OTHER_JKT}}, Fault.TOKEN_KEY_MISMATCH, OTHER_JKT, id="F044"),
        pytest.param({"cnf": {}}, Fault.TOKEN_CLAIMS, "cnf.jkt is missing", id="F104-empty"),
        pytest.param({"cnf": None}, Fault.TOKEN_CLAIMS, "cnf.jkt is missing", id="F104-null"),
        pytest.param({"cnf": {"jkt": ""}}, Fault.TOKEN_CLAIMS, "cnf.jkt is missing", id="F104-empty-text"),
        pytest.param({"cnf": {}, "cnf.jkt": KEY.jkt}, Fault.TOKEN_CLAIMS, "cnf must be an object", id="F104-flat"),
    ],
)
def test_a_token_of_another_provider_or_key_is_named(changes: dict[str, object], code: Fault, told: str) -> None:
    """The widget must check provider and key before it sends the token anywhere."""
    claims = tokens.read(jwt(**(CLAIMS | changes)))

    with pytest.raises(WidgetError) as caught:
        tokens.check_binding(claims, pid=PID, jkt=KEY.jkt)

    assert caught.value.code == code
    assert told in caught.value.message


def test_a_token_of_this_provider_and_key_passes() -> None:
    tokens.check_binding(tokens.read(jwt(**CLAIMS)), pid=PID, jkt=KEY.jkt)


@pytest.mark.parametrize(
    ("now", "margin", "good"), [(4599, 0, True), (4600, 0, False), (4589, 10, True), (4590, 10, False)]
)
def test_time_is_judged_to_the_second(now: float, margin: float, *, good: bool) -> None:
    """A token must expire exactly at `exp`. With a margin, the token must expire earlier by this margin."""
    claims = tokens.read(jwt(**CLAIMS))

    if good:
        tokens.check_time(claims, now=now, margin=margin)
    else:
        with pytest.raises(WidgetError) as caught:
            tokens.check_time(claims, now=now, margin=margin)
        assert caught.value.code == Fault.TOKEN_EXPIRED


def test_the_repr_of_a_token_hides_it() -> None:
    """The `repr` of a principal, an event or an effect must not contain the token."""
    token = jwt(**CLAIMS)
    claims = tokens.read(token)

    printed = repr(
        [
            Custom(token, claims),
            Social(token, claims),
            events.TokenLoaded(1, token, "wss://x"),
            events.GetTokenReturned(1, token),
            events.PopupMessage("https://x", from_popup=True, data={"token": token}),
            effects.StoreToken(token),
            effects.ExchangeIdentityToken(1, token, "j"),
            effects.SignProof(1, token),
            effects.Send(1, {"token": token}),
        ]
    )

    assert token not in printed
