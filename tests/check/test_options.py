"""Tests of how options are parsed into a target, or refused before any request is sent."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from chatkey_check.options.table import Given
from chatkey_check.options.target import target
from chatkey_check.target import Login, OptionError, is_loopback

URL = "https://shop.localhost:8443/chat/token"
ENVIRON = {"CHAT_SECRET": "sk_kept to itself", "STAGING": "sk_other", "EMPTY": "", "PW": "hunter-2"}


def read(**given: Any) -> Any:
    return target(Given(**{"url": URL, **given}), ENVIRON)


def test_all_options_together_are_read() -> None:
    made = read(
        provider_id="prov_1",
        secret_env="CHAT_SECRET",
        other_secret_env=("STAGING",),
        login=("Cookie: sid=abc", "X-Tenant: 7"),
        login_b=("Cookie: sid=def",),
        page_origin="https://SHOP.localhost:8443/",
        connect_to=("shop.localhost=[::1]",),
    )

    assert (made.secret, made.other_secrets) == ("sk_kept to itself", {"STAGING": "sk_other"})
    assert made.login == Login((("Cookie", "sid=abc"), ("X-Tenant", "7")))
    assert made.page == "https://shop.localhost:8443"
    assert made.connect_to == {"shop.localhost": "::1"}
    assert (made.origin, made.host, made.port, made.local) == (
        "https://shop.localhost:8443",
        "shop.localhost",
        8443,
        True,
    )


def test_neither_repr_nor_shown_options_hold_anything_secret() -> None:
    made = read(
        secret_env="CHAT_SECRET",
        login=("Cookie: sid=s-abcdef",),
        header=("X-CSRFToken: t-123456",),
        login_b=("Authorization: Bearer b-123456",),
    )

    shown = f"{made!r} {made.shown}"

    assert all(text not in shown for text in ("kept to itself", "s-abcdef", "t-123456", "b-123456"))
    assert made.shown["--login"] == "Cookie: •••"


def test_a_report_names_the_options_used_with_values_first_and_headers_last(tmp_path: Path) -> None:
    session = tmp_path / "session.txt"
    session.write_text("X-Tenant: 7\n")

    made = read(
        provider_id="prov_1",
        login=("Cookie: sid=s-abcdef", f"@{session}"),
        login_url=URL,
        login_field=("user=ada", "shop=1"),
        login_field_env=("password=PW",),
        other_secret_env=("STAGING",),
        connect_to=("shop.localhost=127.0.0.1",),
        insecure_tls=True,
        timeout=3.0,
        strict=True,
    )

    assert list(made.shown.items()) == [
        ("--provider-id", "prov_1"),
        ("--insecure-tls", "yes"),
        ("--login-url", URL),
        ("--other-secret-env", "STAGING"),
        ("--connect-to", "shop.localhost=127.0.0.1"),
        ("--login-field", "user=…, shop=…"),
        ("--login-field-env", "password=PW"),
        ("--login", f"Cookie: •••, @{session}"),
    ]


def test_a_form_has_plain_fields_and_those_from_the_environment() -> None:
    made = read(login_url=URL, login_field=("user=ada=1",), login_field_env=("password=PW",))

    assert made.login == Login((), URL, (("user", "ada=1"), ("password", "hunter-2")), ("hunter-2",))
    assert made.shown["--login-field"] == "user=…"


def test_headers_and_secrets_can_stand_in_files(tmp_path: Path) -> None:
    session, secret = tmp_path / "session.txt", tmp_path / "secret.txt"
    session.write_text("Cookie: sid=abc\nX-Tenant: 7\n")
    secret.write_text(" sk_1 \n")

    made = read(login=(f"@{session}",), secret_file=secret)

    assert made.login == Login((("Cookie", "sid=abc"), ("X-Tenant", "7")))
    assert made.secret == " sk_1 "


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"url": "shop.localhost/chat/token"}, "URL must be an address such as"),
        ({"url": "ftp://shop.localhost/"}, "URL must be an address such as"),
        ({"url": "https://shop.localhost:99999/"}, "URL must be an address such as"),
        ({"url": "https://ada:pw@shop.localhost/"}, "URL must not contain a user name"),
        ({"url": f"{URL}#x"}, "URL must not contain a fragment"),
        ({"secret_env": "NOWHERE"}, "--secret-env NOWHERE: this environment variable is not set"),
        ({"secret_env": "EMPTY"}, "--secret-env EMPTY: this environment variable is empty"),
        ({"secret_env": "CHAT_SECRET", "secret_file": Path("x")}, "not both"),
        ({"secret_file": Path("/nowhere/x")}, "Cannot read --secret-file /nowhere/x"),
        ({"login": ("sid=abc",)}, "--login must look like"),
        ({"login": ("Cookie: a\nX: b",)}, "--login must look like"),
        ({"login": ("@/nowhere/x",)}, "Cannot read --login /nowhere/x"),
        ({"login_field": ("user=ada",)}, "--login-field needs --login-url"),
        ({"login_url": URL}, "--login-url needs fields"),
        ({"login_url": URL, "login_field": ("user",)}, "--login-field must look like NAME=VALUE"),
        ({"login_b": ("Cookie: sid=b",)}, "A second login needs a first one"),
        ({"page_origin": "https://shop.localhost:8443/shop"}, "--page-origin must be an origin"),
        ({"whoami": "https://elsewhere.example/me"}, "--whoami must be on the host of the endpoint"),
        ({"connect_to": ("shop.localhost",)}, "--connect-to must look like"),
        ({"timeout": math.nan}, "--timeout must be from 0.1 to 600 seconds, not nan"),
        ({"timeout": math.inf}, "--timeout must be from 0.1 to 600 seconds, not inf"),
        ({"timeout": 0.0}, "--timeout must be from 0.1 to 600 seconds, not 0"),
        ({"ca": Path("/nowhere/ca.pem")}, "--ca /nowhere/ca.pem is not a file"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_option_that_cannot_be_used_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refused:
        read(**given)

    assert message in str(refused.value)


def test_the_same_login_twice_is_refused_and_two_of_them_are_not() -> None:
    twice = Given(url="http://x/", login=("Cookie: sid=a",), login_b=("Cookie: sid=a",))
    both = Given(url="http://x/", login=("Cookie: sid=a",), login_b=("Cookie: sid=b",))

    with pytest.raises(OptionError, match="--login-b is the same session as --login"):
        target(twice, {})

    assert target(both, {}).login_b is not None


@pytest.mark.parametrize("url", ["https://ada:hidden@shop.localhost:port/", "https://shop.localhost/#hidden"])
def test_an_address_that_may_hold_a_secret_is_not_repeated(url: str) -> None:
    with pytest.raises(OptionError) as refused:
        read(url=url)

    assert "hidden" not in str(refused.value)


def test_a_secret_given_where_its_variable_belongs_is_not_repeated() -> None:
    with pytest.raises(OptionError) as refused:
        read(secret_env="sk_5vJ0nQe-8yRwX2_dLkT7uB4mHsA9pZcG")

    assert "not the secret itself" in str(refused.value)
    assert "sk_5v" not in str(refused.value)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("shop.localhost", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost.example", False),
        ("notlocalhost", False),
        ("192.168.1.5", False),
        ("shop.example", False),
    ],
)
def test_only_this_machine_is_local(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_a_site_is_local_only_if_every_address_of_it_is() -> None:
    near = read(login=("Cookie: sid=a",), whoami="https://shop.localhost:8443/me")
    far = read(page_origin="https://shop.example", page_url="https://shop.example/")
    mapped = read(page_origin="https://shop.example", connect_to=("shop.example=127.0.0.1",))

    assert (near.local, far.local, mapped.local) == (True, False, True)


STATE: dict[str, Any] = {
    "cookies": [
        {"name": "sid", "value": "s-1", "domain": "shop.localhost", "path": "/"},
        {"name": "all", "value": "a", "domain": ".localhost", "path": "/chat"},
        {"name": "admin", "value": "x", "domain": "shop.localhost", "path": "/admin"},
        {"name": "abroad", "value": "x", "domain": "id.localhost", "path": "/"},
        {"name": "parent", "value": "x", "domain": "localhost", "path": "/"},
    ],
    "origins": [],
}


def test_a_saved_storage_state_is_a_login_with_the_cookies_that_the_endpoint_gets(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text(json.dumps(STATE))

    assert read(login_state=file).login == Login((("Cookie", "sid=s-1; all=a"),))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no JSON", "is not a storage state of Playwright"),
        ("[]", "is not a storage state of Playwright"),
        ('{"cookies": [{"name": "sid"}]}', "is not a storage state of Playwright"),
        (json.dumps({"cookies": STATE["cookies"][2:]}), "has no cookie for"),
    ],
)
def test_a_storage_state_without_a_usable_cookie_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "state.json"
    file.write_text(text)

    with pytest.raises(OptionError, match=says) as refused:
        read(login_state=file)

    assert str(file) in str(refused.value)
