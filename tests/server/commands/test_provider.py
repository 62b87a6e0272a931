"""Tests of the command `chatkey provider`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from joserfc.jwk import ECKey

from chatkey_server.commands.administration import administration
from chatkey_server.storage.tables import Provider

Run = Callable[..., Result]

SECRET = "the-secret-of-the-integrator-0123"


@pytest.mark.contract("2.1/id")
def test_add_shows_the_secret_once_and_show_never_does(run: Run) -> None:
    added = run("provider", "add", "--id", "p", "--name", "Pia", "--domain", "shop.example")
    secret = added.stdout.splitlines()[1].split()[-1]
    shown, listed = run("provider", "show", "p"), run("provider", "list")
    everything = run("provider", "show", "p", "--json"), run("provider", "list", "--json")

    assert added.exit_code == shown.exit_code == listed.exit_code == 0
    assert added.stdout.startswith("provider id  p\nsecret_key   ")
    assert "not shown again" in added.stderr
    assert len(secret) == 64
    for value in ("Pia", "shop.example"):
        assert value in shown.output
        assert value in listed.output
    for result in (shown, listed, *everything):
        assert secret not in result.output


@pytest.mark.contract("D-12/language")
def test_a_business_speaks_each_visitors_language_unless_it_says_otherwise(run: Run) -> None:
    run("provider", "add", "--id", "fresh")
    run("provider", "add", "--id", "german", "--ui-locale", "de-AT")

    chosen = run("provider", "ui-locale", "fresh", "ar")
    taken_back = run("provider", "ui-locale", "german")

    assert chosen.stdout == "The widget of fresh uses the language ar.\n"
    assert taken_back.stdout == "The widget of german uses each visitor's own language.\n"
    assert asyncio.run(_locales()) == {"fresh": "ar", "german": ""}


@pytest.mark.parametrize("arguments", [("add", "--ui-locale", "english please"), ("ui-locale", "nobody", "de")])
def test_an_unknown_language_or_provider_is_refused_in_one_line(run: Run, arguments: tuple[str, ...]) -> None:
    refused = run("provider", *arguments)

    assert refused.exit_code != 0
    assert len(refused.stderr.splitlines()) == 1


async def _locales() -> dict[str, str]:
    async with administration():
        rows = await Provider.select(Provider.id, Provider.ui_locale)
    return {row["id"]: row["ui_locale"] for row in rows}


def test_a_social_login_without_keys_is_switched_on_with_a_word_about_what_is_missing(
    run: Run, environ: pytest.MonkeyPatch
) -> None:
    environ.setenv("CLIENT_SECRET", "c" * 20)
    run("provider", "add", "--id", "p")

    early = run("provider", "social", "p", "google")
    run("provider", "social", "service", "google", "--client-id", "ours", "--client-secret-env", "CLIENT_SECRET")
    late = run("provider", "social", "p", "google")

    assert early.stdout == late.stdout == "google is on for p, with service keys.\n"
    assert "chatkey provider social service google --client-id" in early.stderr
    assert late.stderr == ""


def test_list_shows_an_id_whole_however_narrow_the_terminal_is(run: Run, environ: pytest.MonkeyPatch) -> None:
    environ.setenv("COLUMNS", "60")
    made = run("provider", "add", "--domain", "shop.example").stdout.split()[2]

    listed = run("provider", "list").stdout

    shown = "".join(line.split("│")[1].strip() for line in listed.splitlines() if line.startswith("│"))
    assert shown == made


def test_add_prints_json_for_scripts_with_a_secret_from_the_environment(run: Run, environ: pytest.MonkeyPatch) -> None:
    environ.setenv("SHOP_SECRET", SECRET)

    result = run("provider", "add", "--id", "p", "--secret-env", "SHOP_SECRET", "--json")

    assert json.loads(result.stdout) == {"id": "p", "secret_key": SECRET}


def test_an_unset_secret_variable_is_refused(run_embedded: Run) -> None:
    result = run_embedded("provider", "add", "--secret-env", "NOT_SET_ANYWHERE")

    assert result.exit_code == 2
    assert "The environment variable NOT_SET_ANYWHERE is not set or is empty." in result.output


def test_a_taken_id_is_refused_in_one_line(run: Run) -> None:
    run("provider", "add", "--id", "p")

    result = run("provider", "add", "--id", "p")

    assert (result.exit_code, result.output) == (1, "Error: id 'p' is taken; choose another.\n")


def test_an_empty_list_says_what_to_do(run: Run) -> None:
    assert run("provider", "list").output == "No providers yet; add one with `chatkey provider add`.\n"


@pytest.mark.parametrize("command", ["show", "rotate-secret"])
def test_a_provider_that_does_not_exist_is_named(command: str, run: Run) -> None:
    result = run("provider", command, "q")

    assert (result.exit_code, result.output) == (1, "Error: There is no provider 'q'.\n")


def test_rotating_shows_the_new_secret_and_until_when_the_old_one_counts(run: Run) -> None:
    before = json.loads(run("provider", "add", "--id", "p", "--json").stdout)["secret_key"]

    after = json.loads(run("provider", "rotate-secret", "p", "--overlap", "3600", "--json").stdout)["secret_key"]
    shown = run("provider", "show", "p").output

    assert after != before
    assert "previous secret" in shown
    assert "valid until" in shown


@pytest.mark.contract("1/mode-service-keys", "1/mode-own-keys", "2.1/socials")
def test_a_social_is_switched_on_with_own_or_service_keys(run: Run, environ: pytest.MonkeyPatch) -> None:
    environ.setenv("GITHUB_SECRET", "own-secret")
    run("provider", "add", "--id", "p")

    service = run("provider", "social", "service", "google", "--client-id", "service-id", stdin="service-secret\n")
    google = run("provider", "social", "p", "google")
    github = run("provider", "social", "p", "github", "--client-id", "own-id", "--client-secret-env", "GITHUB_SECRET")
    gitlab = run("provider", "social", "p", "gitlab", "--off")
    shown = run("provider", "show", "p").output

    assert service.output == "The service's application for google is stored.\n"
    assert google.output == "google is on for p, with service keys.\n"
    assert github.output == "github is on for p, with own keys.\n"
    assert gitlab.output == "gitlab is off for p, with service keys.\n"
    assert "google on, service keys, client id service-id" in shown
    assert "github on, own keys, client id own-id" in shown
    assert "gitlab off, service keys, no keys yet" in shown
    assert "secret" not in shown.replace("previous secret", "")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["p", "google", "--keys", "own"], 1, "no google keys; set client_id and client_secret first"),
        (["p", "myspace"], 2, "'myspace' is not one of 'google'"),
        (["p", "apple"], 1, "There is no social provider 'apple'. Available: google,"),
        (["p", "apple", "--client-id", "com.example.web"], 1, "team_id is missing"),
        (["service", "google"], 2, "Storing the service's application for google requires --client-id."),
        (["p", "google", "--client-secret-env", "X"], 2, "--client-secret-env requires --client-id"),
        (["q", "google"], 1, "There is no provider 'q'."),
    ],
)
def test_an_impossible_social_login_is_refused(arguments: list[str], status: int, message: str, run: Run) -> None:
    run("provider", "add", "--id", "p")

    result = run("provider", "social", *arguments)

    assert result.exit_code == status
    assert message in result.output


@pytest.mark.contract("2.1/apple-credentials", "D-03/preview")
def test_a_preview_of_apple_takes_its_key_from_a_file(run: Run, environ: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environ.setenv("CHATKEY_PREVIEW_PROVIDERS", "apple")
    p8 = tmp_path / "AuthKey_KEY1234567.p8"
    p8.write_bytes(ECKey.generate_key("P-256").as_pem(private=True))
    run("provider", "add", "--id", "p")

    stored = run(
        *("provider", "social", "p", "apple", "--client-id", "com.example.web"),
        *("--team-id", "TEAM123456", "--key-id", "KEY1234567", "--p8", str(p8)),
    )

    assert stored.output == "apple is on for p, with own keys.\n"


def test_a_stored_name_cannot_send_control_sequences_to_the_terminal(run: Run) -> None:
    run("provider", "add", "--id", "p", "--name", "\x1b[31mred [bold]x[/bold]")

    shown = run("provider", "list").output

    assert "\x1b" not in shown
    assert "[31mred [bold]x[/bold]" in shown
