"""Tests of the data that the admin panel shows: everything an administrator needs, and no plain or encrypted secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatkey_server.storage import admin, members
from chatkey_server.storage.providers import Application
from chatkey_server.storage.tables import Administrator, OAuthApplication, Provider

Fixture = Any

SECRETS = {"the-client-secret-of-google", "the-service-secret-of-google", "correct horse battery"}
TABLES = ("domains", "members", "providers", "service_keys", "social_logins")


@pytest.fixture
def panel_database(database_url: str) -> str:
    """The URL of the database. Each test runs once with each kind of database."""
    return database_url


async def secrets_stored(panel: Fixture, p8: str) -> set[str]:
    """Store one secret of each kind. Returns all secrets, both as typed and as stored."""
    services = panel.services
    now = services.clock()
    apple = Application("apple-id", team_id="TEAM", key_id="KEY", p8=p8)
    await admin.set_application(services.vault, "prov", "apple", apple, now=now)
    fresh = await admin.rotate_secret(services.vault, "prov", now=now, overlap_seconds=3600)
    rows = [
        *await Provider.select(Provider.sealed_secret_key, Provider.sealed_previous_secret_key),
        *await OAuthApplication.select(OAuthApplication.sealed_client_secret, OAuthApplication.sealed_p8),
        *await Administrator.select(Administrator.password_hash),
    ]
    sealed = {value for row in rows for value in row.values() if value}
    return {fresh, p8, p8.splitlines()[1], *SECRETS, *sealed}


def questions(table: str) -> list[str]:
    everything = "client_secret,p8,sealed_secret_key,sealed_client_secret,password_hash"
    return [
        f"api/tables/{table}/",
        f"api/tables/{table}/?__readable=true&__page_size=1000",
        f"api/tables/{table}/?__visible_fields=id,{everything}",
        *(f"api/tables/{table}/?__visible_fields=id,{column}" for column in everything.split(",")),
        f"api/tables/{table}/?__order=client_secret",
        f"api/tables/{table}/?client_secret=the",
        f"api/tables/{table}/?client_secret=the&client_secret__match=starts",
        f"api/tables/{table}/?p8__operator=not_null",
        *(f"api/tables/{table}/{part}/" for part in ("schema", "ids", "ids/?search=the", "count", "new", "1", "prov")),
        f"api/tables/{table}/references/",
    ]


@pytest.mark.contract("D-19/write-only", "2.1/secret-stays")
async def test_no_answer_holds_a_secret(panel: Fixture, p8: str) -> None:
    secrets = await secrets_stored(panel, p8)
    asked = [question for table in TABLES for question in questions(table)]

    answers = {question: await panel.ask("GET", question) for question in [*asked, "api/openapi.json", "api/forms/"]}

    assert all(answers[f"api/tables/{table}/"].status_code == 200 for table in TABLES)
    found = {(question, secret) for question, answer in answers.items() for secret in secrets if secret in answer.text}
    assert found == set()


@pytest.mark.contract("D-19/write-only")
async def test_a_secret_cannot_be_guessed_by_filter_or_order(panel: Fixture) -> None:
    right, wrong = [
        await panel.ask("GET", f"api/tables/social_logins/?client_secret={guess}") for guess in ("the-client", "zzz")
    ]
    counted = await panel.ask("GET", "api/tables/social_logins/count/?client_secret=the")
    orders = [
        [row["id"] for row in (await panel.ask("GET", f"api/tables/social_logins/?__order={order}")).json()["rows"]]
        for order in ("client_secret", "-client_secret")
    ]

    assert (right.status_code, right.text) == (wrong.status_code, wrong.text)
    assert right.status_code == counted.status_code == 400
    assert orders[0] == orders[1]


async def test_the_tables_behind_the_views_are_not_accessible(panel: Fixture) -> None:
    for table in (
        "provider",
        "oauth_application",
        "social_login",
        "agent",
        "administrator",
        "admin_session",
        "message",
    ):
        assert (await panel.ask("GET", f"api/tables/{table}/")).status_code == 404


async def test_member_login_is_a_section_of_its_own(panel: Fixture) -> None:
    tables = (await panel.ask("GET", "api/tables/grouped/")).json()
    forms = (await panel.ask("GET", "api/forms/grouped/")).json()

    assert tables == {
        "grouped": {"Member Login": ["domains", "providers", "service_keys", "social_logins"]},
        "ungrouped": ["members"],
    }
    assert [form["name"] for form in forms["grouped"]["Member Login"]] == ["New Provider", "Rotate Secret"]
    assert [form["name"] for form in forms["ungrouped"]] == ["Erase Person"]


@pytest.mark.contract("2.1/socials")
async def test_the_lists_show_what_is_stored(panel: Fixture) -> None:
    rows = {table: await panel.rows(table) for table in ("providers", "domains", "social_logins", "service_keys")}

    assert [(row["id"], row["name"], row["old_secret_until"]) for row in rows["providers"]] == [
        ("prov", "Birch & Bone", "")
    ]
    assert rows["providers"][0]["changed"] == "2027-01-15 08:00:30 UTC"
    assert [(row["provider"], row["domain"], row["origins"]) for row in rows["domains"]] == [
        ("prov", "shop.test", "https://shop.test")
    ]
    assert [
        (row["social"], row["enabled"], row["key_source"], row["client_id"], row["client_secret"])
        for row in rows["social_logins"]
    ] == [("google", True, "own", "google-id", None), ("github", True, "service", "", None)]
    assert [(row["social"], row["client_id"], row["client_secret"]) for row in rows["service_keys"]] == [
        ("google", "service-id", None)
    ]


async def test_the_key_sources_have_the_contracts_names(panel: Fixture) -> None:
    schema = (await panel.ask("GET", "api/tables/social_logins/schema/")).json()

    choices = schema["properties"]["key_source"]["extra"]["choices"]
    assert {choice["display_name"]: choice["value"] for choice in choices.values()} == {
        "Service Owned Keys": "service",
        "Own Application Keys": "own",
    }


@pytest.mark.filterwarnings("ignore:.*SQLite doesn't support ILIKE")  # LIKE ignores case there
async def test_a_list_can_be_searched_and_sorted(panel: Fixture) -> None:
    found = await panel.ask("GET", "api/tables/social_logins/?provider=prov&social=github&__readable=true")
    picked = await panel.ask("GET", "api/tables/providers/ids/?search=birch")

    assert [(row["social"], row["provider_readable"]) for row in found.json()["rows"]] == [("github", "Birch & Bone")]
    assert picked.json() == {"prov": "Birch & Bone"}


async def test_members_are_shown_and_not_changed(panel: Fixture) -> None:
    await members.upsert(
        provider="prov",
        login="social",
        uid="google:1",
        auth_provider="google",
        name="<script>alert(1)</script>",
        email=None,
        avatar=None,
        now=panel.services.clock(),
    )
    row = (await panel.rows("members"))[0]

    refused = [
        await panel.ask("POST", "api/tables/members/", {"name": "Eve"}),
        await panel.ask("PATCH", f"api/tables/members/{row['id']}/", {"name": "Eve"}),
        await panel.ask("PUT", f"api/tables/members/{row['id']}/", {"name": "Eve"}),
        await panel.ask("DELETE", f"api/tables/members/{row['id']}/"),
    ]

    assert (row["name"], row["email"], row["auth_provider"]) == ("<script>alert(1)</script>", "", "google")
    assert [answer.status_code for answer in refused] == [405] * 4
    assert all("This table is read-only" in answer.json()["detail"] for answer in refused)
    assert await panel.rows("members") == [row]


async def test_changes_are_logged_with_the_administrator_and_without_secrets(
    panel: Fixture, heard: list[dict[str, object]]
) -> None:
    number = (await panel.rows("social_logins"))[0]["id"]
    typed = {"client_id": "another-id", "client_secret": "a-typed-secret"}
    await panel.ask("PATCH", f"api/tables/social_logins/{number}/", typed)
    rotated = (await panel.ask("POST", "api/forms/rotate-secret/", {"provider": "prov"})).json()["custom_form_success"]

    changes = [(event["admin"], event["what"]) for event in heard if event["event"] == "admin.changed"]
    assert changes == [("ada", "social_logins"), ("ada", "secret.rotated")]
    everything = json.dumps(heard, default=str)
    assert "a-typed-secret" not in everything
    assert rotated.split("\n")[1] not in everything
