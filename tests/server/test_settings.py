"""Tests of the settings from the environment. A refusal must name the setting."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import trustme

from chatkey_protocol.names import ANNOUNCED_SOCIALS
from chatkey_server.settings import SETTINGS, Limits, Settings, SettingsError, SocialAddress, load

KEY = "k" * 32


def test_a_file_without_certificates_to_trust_is_refused_at_the_start(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("not a certificate")

    with pytest.raises(SettingsError) as refused:
        load({"CHATKEY_CA_FILE": str(wrong)})

    assert str(refused.value).startswith("CHATKEY_CA_FILE contains no certificates")


def test_without_any_variable_the_defaults_hold() -> None:
    settings = load({})

    assert settings == Settings()
    assert settings.base_url == "http://localhost:8800"
    assert settings.socket_uri == "ws://localhost:8800/v1/socket"
    assert settings.assets == "http://localhost:8800/assets"
    assert settings.database == "sqlite:///.chatkey/chatkey.sqlite"


@pytest.mark.contract("D-01/settings", "5.6/wss")
def test_every_variable_reaches_its_field(tmp_path: Path) -> None:
    pem = tmp_path / "some.pem"
    trustme.CA().cert_pem.write_to_path(pem)

    settings = load(
        {
            "CHATKEY_BASE_URL": "https://chat.example:8443",
            "CHATKEY_ASSETS_URL": "https://cdn.example/chat",
            "CHATKEY_HOST": "0.0.0.0",
            "CHATKEY_PORT": "9000",
            "CHATKEY_TLS_CERT": str(pem),
            "CHATKEY_TLS_KEY": str(pem),
            "CHATKEY_DATA_DIR": str(tmp_path),
            "CHATKEY_DATABASE_URL": "postgresql://u:p@db/chat",
            "CHATKEY_REDIS_URL": "redis://cache:6379/0",
            "CHATKEY_MASTER_KEY": f"{KEY}, {KEY}2",
            "CHATKEY_CA_FILE": str(pem),
            "CHATKEY_PANEL_FRAME_ANCESTORS": "'self' https://demo.example:8443",
            "CHATKEY_LAB": "no",
            "CHATKEY_PREVIEW_PROVIDERS": "tiktok, apple",
            "CHATKEY_LOG_LEVEL": "DEBUG",
            "CHATKEY_TRUSTED_PROXIES": "10.0.0.7, 10.1.0.0/16, fd00::/8",
            "CHATKEY_LIMIT_TOKEN_RATE": "0",
            "CHATKEY_LIMIT_QUERY_BYTES": "4096",
            "CHATKEY_LIMIT_PING": "5",
            "CHATKEY_GOOGLE_BROWSER_URL": "https://accounts.example/google",
            "CHATKEY_GOOGLE_SERVER_URL": "http://fake:9911/google",
            "CHATKEY_APPLE_ISSUER": "https://appleid.apple.com",
        }
    )

    assert settings == Settings(
        base_url="https://chat.example:8443",
        assets_url="https://cdn.example/chat",
        host="0.0.0.0",
        port=9000,
        tls_cert=str(pem),
        tls_key=str(pem),
        trusted_proxies="10.0.0.7,10.1.0.0/16,fd00::/8",
        data_dir=tmp_path,
        database_url="postgresql://u:p@db/chat",
        redis_url="redis://cache:6379/0",
        master_key=(KEY, f"{KEY}2"),
        ca_file=str(pem),
        panel_frame_ancestors="'self' https://demo.example:8443",
        lab=False,
        preview_providers=("tiktok", "apple"),
        log_level="debug",
        limits=Limits(token_rate=0, query_bytes=4096, ping=5),
        socials={
            "google": SocialAddress(
                browser_url="https://accounts.example/google", server_url="http://fake:9911/google"
            ),
            "apple": SocialAddress(issuer="https://appleid.apple.com"),
        },
    )
    assert settings.socket_uri == "wss://chat.example:8443/v1/socket"
    assert settings.assets == "https://cdn.example/chat"
    assert settings.database == "postgresql://u:p@db/chat"


def test_the_base_address_follows_the_port_and_tls_unless_it_is_given(tmp_path: Path) -> None:
    pem = tmp_path / "some.pem"
    pem.touch()
    tls = {"CHATKEY_TLS_CERT": str(pem), "CHATKEY_TLS_KEY": str(pem)}

    assert load({"CHATKEY_PORT": "9000"}).base_url == "http://localhost:9000"
    assert load({"CHATKEY_PORT": "9000", **tls}).base_url == "https://localhost:9000"
    assert load({"CHATKEY_PORT": "9000", "CHATKEY_BASE_URL": "https://a.example"}).base_url == "https://a.example"


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load({"CHATKEY_PORT": "", "CHATKEY_BASE_URL": ""}) == Settings()


@pytest.mark.parametrize(
    "base_url",
    [
        "https://chat.example",
        "https://chat.example:8443",
        "http://localhost:1",
        "http://shop.localhost",
        "http://127.0.0.1:8800",
        "http://[::1]:8800",
        "https://[2001:db8::1]",
    ],
)
def test_a_base_address_that_browsers_trust_is_taken(base_url: str) -> None:
    assert load({"CHATKEY_BASE_URL": base_url}).base_url == base_url


@pytest.mark.contract("D-16/plain-http")
@pytest.mark.parametrize("base_url", ["http://chat.example", "http://10.0.0.1:8800", "http://localhost.example"])
def test_a_plain_http_base_address_that_is_not_loopback_is_refused(base_url: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load({"CHATKEY_BASE_URL": base_url})

    assert str(refused.value) == (
        "CHATKEY_BASE_URL is plain http, which browsers trust only on localhost; set it to an address such "
        "as https://chat.example"
    )


@pytest.mark.contract("D-01/settings")
@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("CHATKEY_BASE_URL", "chat.example", "is not an http or https address; set it to an address such as"),
        ("CHATKEY_BASE_URL", "ftp://chat.example", "is not an http or https address"),
        ("CHATKEY_BASE_URL", "https://chat.example/", "has more than scheme, host and port"),
        ("CHATKEY_BASE_URL", "https://chat.example/a", "has more than scheme, host and port"),
        ("CHATKEY_BASE_URL", "https://chat.example?a=b", "has more than scheme, host and port"),
        ("CHATKEY_BASE_URL", "https://chat.example:443", "or the default port"),
        ("CHATKEY_BASE_URL", "https://CHAT.example", "or capital letters"),
        ("CHATKEY_BASE_URL", "https://chat.example:99999", "is not an address with a valid host and port"),
        ("CHATKEY_BASE_URL", "https://", "has no valid host name"),
        ("CHATKEY_BASE_URL", "https://chat_example", "has no valid host name"),
        ("CHATKEY_BASE_URL", "https://[::1", "is not an address"),
        ("CHATKEY_ASSETS_URL", "https://cdn.example/chat/", "has more than an address"),
        ("CHATKEY_ASSETS_URL", "http://cdn.example/chat", "is plain http"),
        ("CHATKEY_HOST", "local host", "is not an address to listen on"),
        ("CHATKEY_PORT", "0", "is not a whole number from 1 to 65535"),
        ("CHATKEY_PORT", "65536", "is not a whole number from 1 to 65535"),
        ("CHATKEY_PORT", "8800.0", "is not a whole number from 1 to 65535"),
        ("CHATKEY_PORT", "٨٨٠٠", "is not a whole number from 1 to 65535"),
        ("CHATKEY_TLS_CERT", "/no/such.pem", "is not a file that exists"),
        ("CHATKEY_CA_FILE", "/", "is not a file that exists"),
        ("CHATKEY_PANEL_FRAME_ANCESTORS", "https://a.example; script-src *", "is not a list of origins"),
        ("CHATKEY_LAB", "maybe", "is neither on nor off; set it to 1 or 0"),
        ("CHATKEY_LOG_LEVEL", "loud", "is not a log level; set it to debug, info, warning or error"),
        ("CHATKEY_LIMIT_TOKEN_RATE", "-1", "is not a whole number from 0"),
        ("CHATKEY_LIMIT_NAME_CHARS", "256", "is not a whole number from 1 to 255"),
        ("CHATKEY_GITHUB_SERVER_URL", "github.example", "is not an http or https address"),
        ("CHATKEY_GITHUB_BROWSER_URL", "http://github.example", "is plain http"),
    ],
)
def test_a_bad_value_is_refused_with_the_variable_and_what_to_write(name: str, value: str, reason: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load({name: value})

    assert str(refused.value).startswith(f"{name} ")
    assert reason in str(refused.value)


ENCODE = "In user and password, write %2F for /, %23 for #, %3F for ? and %40 for @; write the port in digits"


@pytest.mark.parametrize(
    ("name", "value", "secret", "reason"),
    [
        ("CHATKEY_DATABASE_URL", "mysql://u:hidden@db/x", "hidden", "set it to postgresql://"),
        ("CHATKEY_DATABASE_URL", "sqlite:///", "sqlite:///'", "set it to postgresql://"),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hidden/abc@127.0.0.1:1/chat", "hidden", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:1234/abc@127.0.0.1:1/chat", "1234", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hidden#abc@127.0.0.1:1/chat", "hidden", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hidden?abc@127.0.0.1:1/chat", "hidden", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:1234?a=hidden@127.0.0.1:1/chat", "hidden", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hidden@abc@127.0.0.1:1/chat", "hidden", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hidden@[bad/chat", "hidden", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hidden@127.0.0.1:port/chat", "hidden", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hidden@127.0.0.1:99999/chat", "hidden", ENCODE),
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hidden@127.0.0.1:1/chat?hidden", "hidden", ENCODE),
        (
            "CHATKEY_DATABASE_URL",
            "postgresql://chat:hidden@127.0.0.1:1/chat?sslmode=nonsense",
            "nonsense",
            "has an sslmode that does not exist; use one of disable, ",
        ),
        ("CHATKEY_REDIS_URL", "http://:hidden@cache", "hidden", "set it to redis://"),
        ("CHATKEY_REDIS_URL", "redis://:hidden/abc@cache", "hidden", ENCODE),
        ("CHATKEY_REDIS_URL", "rediss://:hidden#abc@cache", "hidden", ENCODE),
        ("CHATKEY_REDIS_URL", "redis://:hidden@cache:port/0", "hidden", ENCODE),
        ("CHATKEY_REDIS_URL", "redis://cache/hidden", "hidden", "does not end with the number of a database"),
        ("CHATKEY_REDIS_URL", "redis+sentinel://:hidden@one,two", "hidden", "does not end with the name of Sentinel's"),
        ("CHATKEY_MASTER_KEY", "hidden", "hidden", "has 6 characters in key 1, but at least 32 are required"),
        ("CHATKEY_MASTER_KEY", f"{KEY},hidden", "hidden", "has 6 characters in key 2"),
        ("CHATKEY_MASTER_KEY", f"{KEY},", KEY, "has 0 characters in key 2"),
        ("CHATKEY_MASTER_KEY", f"{KEY}\udcff", KEY, "is not valid UTF-8"),
        (
            "CHATKEY_BASE_URL",
            "https://u:hidden@chat.example",
            "hidden",
            "set it to an address such as https://chat.example",
        ),
        ("CHATKEY_BASE_URL", "https://chat.example:hidden", "hidden", "is not an address with a valid host and port"),
        ("CHATKEY_BASE_URL", "http://hidden.example", "hidden", "is plain http"),
        (
            "CHATKEY_TRUSTED_PROXIES",
            "10.0.0.7, hidden",
            "hidden",
            "has something other than an address or network at position 2",
        ),
        ("CHATKEY_TLS_KEY", f"hidden{'x' * 300}", "hidden", "is not a file that exists"),
    ],
)
def test_a_bad_value_that_may_hold_a_secret_is_not_repeated(name: str, value: str, secret: str, reason: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load({name: value})

    assert str(refused.value).startswith(f"{name} ")
    assert reason in str(refused.value)
    assert secret not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CHATKEY_DATABASE_URL", "postgresql://chat:hunter2%2Fabc%23%3F%40%3A@127.0.0.1:5432/chat"),
        ("CHATKEY_DATABASE_URL", "postgresql://postgres:@/chat?host=/run/postgresql"),
        ("CHATKEY_DATABASE_URL", "postgresql://a:b@one:5432,two:5433/chat?target_session_attrs=read-write"),
        ("CHATKEY_DATABASE_URL", "postgres://a:b@[::1]:5432/chat?sslmode=verify-full&sslrootcert=/etc/ca.pem"),
        ("CHATKEY_REDIS_URL", "redis://:p%2Fw%40@cache:6379/3"),
        ("CHATKEY_REDIS_URL", "rediss://[::1]:6379?socket_timeout=3"),
        ("CHATKEY_REDIS_URL", "unix:///run/redis.sock?db=1"),
        ("CHATKEY_REDIS_URL", "redis+sentinel://u:p@one:26379,[::1]:26380,three/chat/2"),
    ],
)
def test_the_address_of_a_store_may_be_written_in_each_of_its_forms(name: str, value: str) -> None:
    settings = load({name: value, "CHATKEY_MASTER_KEY": KEY})

    assert value in {settings.database_url, settings.redis_url}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CHATKEY_BASEURL", "did you mean CHATKEY_BASE_URL?"),
        ("CHATKEY_LIMIT_TOKENRATE", "did you mean CHATKEY_LIMIT_TOKEN_RATE?"),
        ("CHATKEY_XYZZY_PLUGH_42", "look up the name in the list of settings"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_name_that_may_be_meant(name: str, hint: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load({name: "1"})

    assert str(refused.value).startswith(f"{name} is not a setting: ")
    assert hint in str(refused.value)


def test_variables_of_other_components_and_programs_are_ignored() -> None:
    others = {
        "CHATKEY_BROWSER": "x",
        "CHATKEY_PATIENCE": "x",
        "CHATKEY_E2E_HEADED": "1",
        "CHATKEY_DEMO_PORT": "1",
        "PATH": "/bin",
        "CHATTY": "1",
    }

    assert load(others) == Settings()


@pytest.mark.contract("D-14/lab")
@pytest.mark.parametrize(
    ("reachable", "hidden", "reason"),
    [
        (
            {"CHATKEY_HOST": "0.0.0.0"},
            {"CHATKEY_HOST": "::1"},
            r"CHATKEY_HOST is not a loopback .* CHATKEY_HOST=127\.0",
        ),
        (
            {"CHATKEY_BASE_URL": "https://chat.example"},
            {"CHATKEY_BASE_URL": "https://chat.localhost"},
            "CHATKEY_BASE_URL is not a loopback address; set CHATKEY_LAB_TOKEN",
        ),
        (
            {"CHATKEY_TRUSTED_PROXIES": "127.0.0.1"},
            {"CHATKEY_TRUSTED_PROXIES": "127.0.0.1", "CHATKEY_LAB_TOKEN": "0123456789abcdef"},
            "CHATKEY_TRUSTED_PROXIES; set CHATKEY_LAB_TOKEN",
        ),
    ],
    ids=["host", "base-url", "proxy"],
)
def test_the_lab_is_refused_where_others_can_reach_it(
    reachable: dict[str, str], hidden: dict[str, str], reason: str
) -> None:
    with pytest.raises(SettingsError, match=reason):
        load({"CHATKEY_LAB": "1", **reachable})

    settings = load({"CHATKEY_LAB": "1", **hidden})
    assert settings.lab
    assert settings.lab_opens_panel is ("CHATKEY_LAB_TOKEN" not in hidden)


@pytest.mark.contract("D-14/lab-token")
def test_with_a_token_the_lab_may_be_anywhere_and_opens_no_panel() -> None:
    anywhere = {"CHATKEY_LAB": "1", "CHATKEY_HOST": "0.0.0.0", "CHATKEY_BASE_URL": "https://chat.example"}

    settings = load({**anywhere, "CHATKEY_LAB_TOKEN": "0123456789abcdef"})

    assert (settings.lab, settings.lab_opens_panel) == (True, False)
    with pytest.raises(SettingsError, match="CHATKEY_LAB_TOKEN must be at least 16 visible"):
        load({**anywhere, "CHATKEY_LAB_TOKEN": "guess-me"})


@pytest.mark.parametrize(
    ("given", "missing"), [("CHATKEY_TLS_CERT", "CHATKEY_TLS_KEY"), ("CHATKEY_TLS_KEY", "CHATKEY_TLS_CERT")]
)
def test_a_certificate_or_key_without_the_other_is_refused(given: str, missing: str, tmp_path: Path) -> None:
    (tmp_path / "some.pem").touch()

    with pytest.raises(SettingsError, match=f"{missing} is not set, but its counterpart is"):
        load({given: str(tmp_path / "some.pem")})


@pytest.mark.contract("D-15/embedded-key")
@pytest.mark.parametrize(
    "shared", [{"CHATKEY_DATABASE_URL": "postgresql://u:p@db/chat"}, {"CHATKEY_REDIS_URL": "redis://cache"}]
)
def test_several_processes_must_be_given_a_master_key(shared: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"CHATKEY_MASTER_KEY is not set, but .* the same for all processes"):
        load(shared)

    assert load({**shared, "CHATKEY_MASTER_KEY": KEY}).master_key == (KEY,)


def test_the_repr_of_settings_hides_secrets() -> None:
    settings = load({"CHATKEY_MASTER_KEY": KEY, "CHATKEY_DATABASE_URL": "postgresql://u:hidden@db/chat"})

    assert repr(settings) == "Settings(base_url='http://localhost:8800', …)"


def test_every_field_has_its_setting_and_every_setting_its_sentence_and_default() -> None:
    fields = {field.name for field in msgspec.structs.fields(Settings)} - {"limits", "socials"}
    limits = {f"limit_{field.name}" for field in dataclasses.fields(Limits)}
    names = {setting.name.removeprefix("CHATKEY_").lower() for setting in SETTINGS}

    assert fields | limits <= names
    assert {
        name for name in names - fields - limits if not name.endswith(("_browser_url", "_server_url", "_issuer"))
    } == set()
    assert len({setting.name for setting in SETTINGS}) == len(SETTINGS)
    for setting in SETTINGS:
        assert setting.help.endswith(".")
        if setting.default:
            assert load({setting.name: setting.default}) == Settings()


def test_reading_settings_imports_no_framework() -> None:
    program = "import sys, chatkey_server.settings; print({'litestar', 'piccolo', 'rich'} & set(sys.modules))"

    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert printed == "set()\n"


@pytest.mark.contract("D-03/preview")
def test_previews_are_offered_after_the_others_in_the_order_of_the_login_page() -> None:
    settings = load({"CHATKEY_PREVIEW_PROVIDERS": "amazon,apple"})

    assert settings.offered_socials == ("google", "facebook", "github", "gitlab", "discord", "apple", "amazon")
    assert load({}).offered_socials == ("google", "facebook", "github", "gitlab", "discord")


@pytest.mark.parametrize("names", ["twitter", "apple,", "apple;x", "google", "apple,X"])
def test_an_unknown_preview_is_refused_with_the_list(names: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load({"CHATKEY_PREVIEW_PROVIDERS": names})

    assert str(refused.value) == (
        "CHATKEY_PREVIEW_PROVIDERS names a provider that is not announced; "
        f"use names from {', '.join(ANNOUNCED_SOCIALS)} with commas between them"
    )
