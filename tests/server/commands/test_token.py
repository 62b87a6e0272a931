"""Tests of the command `chatkey token`."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from chatkey_server.commands import token as command
from chatkey_server.identity import tokens
from chatkey_server.identity.social_uid import SocialUid
from chatkey_server.identity.tokens import Profile, Secrets

Run = Callable[..., Result]

JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
MINT = ("token", "mint", "--provider", "p", "--uid", "u1", "--jkt", JKT)


@pytest.fixture
def secrets(run: Run) -> Secrets:
    return Secrets(json.loads(run("provider", "add", "--id", "p", "--json").stdout)["secret_key"].encode())


def _encoded(value: object) -> str:
    return urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_mint_prints_a_token_the_server_accepts(run: Run, secrets: Secrets) -> None:
    result = run(*MINT, "--name", "Ada", "--email", "ada@shop.example", "--avatar", "https://img.example/a.png")

    read = tokens.read_socket_token(result.stdout.strip(), secrets, pid="p", now=time.time())

    assert (read.pid, read.uid, read.login, read.jkt) == ("p", "u1", "custom", JKT)
    assert read.profile == Profile(name="Ada", email="ada@shop.example", avatar="https://img.example/a.png")
    assert 3590 < read.expires_at - time.time() <= 3600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--provider", "q", "--uid", "u", "--jkt", JKT), "There is no provider 'q'."),
        (("--provider", "p", "--uid", "u", "--jkt", "short"), "--jkt must be a SHA-256 thumbprint"),
        (("--provider", "p", "--uid", "", "--jkt", JKT), "uid"),
    ],
)
def test_a_token_the_server_would_refuse_is_not_minted(
    arguments: tuple[str, ...], message: str, run: Run, secrets: Secrets
) -> None:
    result = run("token", "mint", *arguments)

    assert result.exit_code == 1
    assert message in result.output
    assert "eyJ" not in result.output


def test_inspect_explains_the_claims_and_accepts_without_repeating_the_token(run: Run, secrets: Secrets) -> None:
    token = run(*MINT, "--name", "Ada").stdout.strip()

    result = run("token", "inspect", stdin=f"{token}\n")

    assert result.exit_code == 0
    assert '"Ada"' in result.output
    assert "member name, shown in the widget" in result.output
    assert "in 59 minutes" in result.output or "in 1 hour" in result.output
    assert result.output.endswith("Accepted: the signature and all claims are valid.\n")
    for part in token.split("."):
        assert part not in result.output


def test_inspect_reads_a_file_and_knows_identity_and_visitor_tokens(run: Run, secrets: Secrets, tmp_path: Path) -> None:
    now = time.time()
    profile = Profile(name="Ada")
    made = {
        "identity": tokens.mint_identity(
            secrets, pid="p", uid=SocialUid("google", "1"), profile=profile, jkt=JKT, now=now
        ),
        "visitor": tokens.mint_visitor(secrets, pid="p", uid=f"v_{JKT}", now=now),
    }

    for kind, token in made.items():
        (tmp_path / kind).write_text(token)
        assert run("token", "inspect", str(tmp_path / kind)).output.endswith("all claims are valid.\n")


def test_inspect_takes_the_token_itself(run: Run, secrets: Secrets) -> None:
    token = run(*MINT).stdout.strip()

    result = run("token", "inspect", token)

    assert result.exit_code == 0
    assert result.output.endswith("Accepted: the signature and all claims are valid.\n")
    assert token.rpartition(".")[2] not in result.output


@pytest.mark.parametrize("source", ["eyJhbGciOiJIUzI1NiJ9", "no/such/file", "eyJ" + "a" * 5000, "."])
def test_inspect_does_not_repeat_what_is_neither_a_token_nor_a_file(run_embedded: Run, source: str) -> None:
    result = run_embedded("token", "inspect", source)

    assert result.exit_code == 2
    assert "This is neither a token (three parts with dots between them) nor a readable text file." in result.output
    assert f"'{source}" not in result.output


def test_inspect_refuses_what_the_server_refuses_and_says_why(run: Run, secrets: Secrets) -> None:
    forged = tokens.mint_custom(
        Secrets(b"another secret, also 32 bytes long"), pid="p", uid="u", jkt=JKT, profile=Profile(), now=time.time()
    )

    result = run("token", "inspect", stdin=forged)

    assert result.exit_code == 1
    assert "Refused with token_signature" in result.output
    assert forged.rpartition(".")[2] not in result.output


def test_inspect_of_an_unknown_provider_explains_but_does_not_judge(run: Run) -> None:
    token = f"{_encoded({'alg': 'HS256'})}.{_encoded({'pid': 'q', 'exp': 1795000000000, 'x': chr(27)})}.c2ln"

    result = run("token", "inspect", stdin=token)

    assert result.exit_code == 0
    assert "must be in seconds since 1970, not milliseconds" in result.output
    assert "not used by the server" in result.output
    assert "\x1b" not in result.output
    assert result.output.endswith(
        "Not verified: the token's provider is not in this database, so the signature cannot be checked here.\n"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("a", "it has 1 part, but a token has three"),
        ("a.b", "it has 2 parts"),
        ("e30.!!.x", "its payload is not base64url of a JSON object"),
        ("e30.+/+/.x", "its payload is not base64url of a JSON object"),
        ("WzFd.e30.x", "its header is not base64url of a JSON object"),
        ("e30.é.x", "its payload is not base64url"),
    ],
)
def test_inspect_says_what_is_wrong_with_a_text_that_is_no_token(text: str, reason: str, run_embedded: Run) -> None:
    result = run_embedded("token", "inspect", stdin=text)

    assert result.exit_code == 1
    assert f"This is not a token: {reason}" in result.output


def test_inspect_makes_no_database_where_there_is_none(run_embedded: Run, tmp_path: Path) -> None:
    result = run_embedded("token", "inspect", stdin=f"{_encoded({'alg': 'HS256'})}.{_encoded({'pid': 'p'})}.c2ln")

    assert (result.exit_code, list(tmp_path.iterdir())) == (0, [])


def test_inspect_explains_even_without_a_database(run_embedded: Run, environ: pytest.MonkeyPatch) -> None:
    environ.setenv("CHATKEY_DATABASE_URL", "sqlite:////proc/no/where.sqlite")

    result = run_embedded("token", "inspect", stdin=f"{_encoded({'alg': 'HS256'})}.{_encoded({'pid': 'p'})}.c2ln")

    assert result.exit_code == 0
    assert "provider id" in result.output
    assert "Not verified: CHATKEY_DATA_DIR or CHATKEY_DATABASE_URL" in result.output


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (1_000_000, "in 0 seconds"),
        (1_000_001, "in 1 second"),
        (999_941, "59 seconds ago"),
        (1_000_060, "in 1 minute"),
        (1_007_200, "in 2 hours"),
        (827_200, "2 days ago"),
    ],
)
def test_times_are_told_in_words(seconds: int, words: str) -> None:
    assert command._in_words(seconds, now=1_000_000).endswith(words.replace("in 0 seconds", "0 seconds ago"))
