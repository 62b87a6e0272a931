"""Tests of the options file: the tables, the error messages, and the file that `--init` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from chatkey_check.cli import check
from chatkey_check.command import init
from chatkey_check.options.file import NAME, merged
from chatkey_check.options.shapes import shape
from chatkey_check.options.table import GROUPS, OPTIONS, Given
from chatkey_check.shape import EXAMPLE, Shape
from chatkey_check.target import OptionError

URL = "http://localhost:8000/chat/token"
WHOLE = f"""
[target]
url = "{URL}"
provider-id = "prov_1"
secret-file = "secret.txt"
timeout = 3

[login]
login = ["@session.txt"]
login-field = ["user=ada"]

[shape]
body = '{{"thumbprint": "{{jkt}}"}}'
query = "v=2"
token-at = "data.token"

[end]
socket = false

[exceptions]
skip = ["net.clock"]

[reports]
format = "json"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An options file with an option in every table."""
    path = tmp_path / NAME
    path.write_text(WHOLE)
    return path


def test_every_table_is_read_and_paths_are_beside_the_file(file: Path) -> None:
    given = merged({}, here=file.parent)

    assert (given.url, given.provider_id, given.timeout, given.format, given.socket) == (
        URL,
        "prov_1",
        3.0,
        "json",
        False,
    )
    assert (given.secret_file, given.login) == (file.parent / "secret.txt", (f"@{file.parent / 'session.txt'}",))
    assert shape(given) == Shape(body='{"thumbprint": "{jkt}"}', query=(("v", "2"),), token_at=("data", "token"))


def test_options_of_the_command_line_override_the_file(file: Path) -> None:
    given = merged({"url": "http://localhost/other", "format": "html", "config": file})

    assert (given.url, given.format, given.provider_id) == ("http://localhost/other", "html", "prov_1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[target", "is not valid TOML"),
        ("[traget]\n", "there is no table [traget]"),
        ("[target]\nprovider_id = 'x'", "there is no option provider_id. Did you mean provider-id?"),
        ("[target]\nbrowser = true", "browser belongs to [end], not to [target]"),
        ("[target]\ntimeout = 'soon'", "timeout must be a number of seconds"),
        ("[end]\nbrowser = 1", "browser must be true or false"),
        ("[reports]\nformat = 'pdf'", "format must be one of"),
        ("[target]\nprovider-id = 7", "provider-id must be a string"),
        ("[login]\nlogin = 'Cookie: sid=s-123456'", "a session is secret"),
        ("[login]\nlogin-field = 'password=hunter-2'", "Write login-field-env"),
        ("[run]\nyes = true", "there is no table [run]"),
    ],
)
def test_an_unusable_entry_is_named_without_its_secrets(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / NAME).write_text(text)

    with pytest.raises(OptionError) as refused:
        merged({"url": URL}, here=tmp_path)

    assert message in str(refused.value)
    assert not {"s-123456", "hunter-2"} & set(str(refused.value).replace("=", " ").split())


def test_without_a_file_the_address_has_to_be_written(tmp_path: Path) -> None:
    assert merged({"url": URL}, here=tmp_path) == Given(url=URL)
    with pytest.raises(OptionError, match="URL"):
        merged({}, here=tmp_path)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, EXAMPLE),
        ({"method": "put"}, Shape("PUT")),
        ({"query": ("jkt={jkt}",)}, Shape(body="", query=(("jkt", "{jkt}"),))),
        ({"method": "GET", "query": ("k={jkt}",)}, Shape("GET", "", (("k", "{jkt}"),))),
        ({"body": "jkt={jkt}"}, Shape(body="jkt={jkt}")),
        ({"token_at": "raw"}, Shape(token_at=())),
    ],
)
def test_the_shape_of_the_calls_is_read(given: dict[str, Any], made: Shape) -> None:
    assert shape(Given(url=URL, **given)) == made


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "GET"}, "The call does not send the fingerprint"),
        ({"method": "GET", "body": "jkt={jkt}"}, "has no body"),
        ({"method": "P OST"}, "--method must be"),
        ({"body": '{"jkt": {jkt}}'}, "looks like JSON, but is not valid JSON"),
        ({"body": "{jkt}x"}, "looks like JSON, but is not valid JSON"),
        ({"body": "jkt"}, "--body must be JSON, or a form"),
        ({"body": '{"jkt": "x"}'}, "The call does not send the fingerprint"),
        ({"token_at": "data..token"}, "--token-at must be raw, or names"),
    ],
)
def test_an_impossible_shape_of_the_calls_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refused:
        shape(Given(url=URL, **given))

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("answers", "login"),
    [
        (f"{URL}\nprov_1\n\n\n\n", {"login": ("@{here}/session.txt",)}),
        (
            f"{URL}\nprov_1\nSECRET\n{URL}/login\nuser=bo pw=$PW\n",
            {"login_url": f"{URL}/login", "login_field": ("user=bo",), "login_field_env": ("pw=PW",)},
        ),
    ],
)
def test_the_file_made_from_five_answers_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: str, login: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(check, ["--init"], input=answers)

    assert done.exit_code == 0, done.output
    given = merged({}, here=tmp_path)
    assert (given.url, given.provider_id) == (URL, "prov_1")
    found = {name: getattr(given, name) for name in login}
    assert repr(found).replace(str(tmp_path), "{here}") == repr(login)
    with pytest.raises(OptionError, match="already exists"):
        init.ask(tmp_path)


def test_the_help_has_every_option_in_its_group() -> None:
    text = click.unstyle(CliRunner().invoke(check, ["--help"]).output)

    at = [text.index(f"{(group.__doc__ or '').rstrip('.')}:") for group in GROUPS]
    assert at == sorted(at)
    assert all(f"--{option.name}" in text for option in OPTIONS)
