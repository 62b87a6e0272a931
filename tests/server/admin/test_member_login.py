"""Tests of an administrator's changes in the table Member Login. Each refusal must state the reason."""

from __future__ import annotations

from typing import Any

import pytest

from chatkey_server.storage import admin
from chatkey_server.storage.providers import SERVICE, Application, ProviderView, load
from chatkey_server.storage.tables import OAuthApplication, Provider

Fixture = Any


@pytest.fixture
def panel_database(database_url: str) -> str:
    """The URL of the database. Each test runs once with each kind of database."""
    return database_url


async def view(panel: Fixture) -> ProviderView:
    """Return the provider as the server reads it now."""
    services = panel.services
    found = await load("prov", services.vault, "", services.settings.offered_socials)
    assert found is not None
    return found


async def application(panel: Fixture, social: str) -> Application | None:
    login = (await view(panel)).socials.get(social)
    return login.application if login else None


def reason(answer: Any) -> str:
    assert answer.status_code == 422, answer.text
    return str(answer.json()["custom_form_error"])


async def row_id(panel: Fixture, table: str, social: str) -> int:
    return next(int(row["id"]) for row in await panel.rows(table) if row["social"] == social)


@pytest.mark.contract("1/mode-own-keys", "4.1/edge-cache")
async def test_a_change_is_in_the_configuration_at_once(panel: Fixture) -> None:
    before = (await panel.client.get("/v1/public/provider/prov")).json()["data"]["auth"]["oauth_providers"]
    answer = await panel.ask(
        "PATCH",
        f"api/tables/social_logins/{await row_id(panel, 'social_logins', 'github')}/",
        {"key_source": "own", "client_id": "github-id", "client_secret": "github-secret"},
    )
    after = (await panel.client.get("/v1/public/provider/prov")).json()["data"]["auth"]["oauth_providers"]

    assert answer.status_code == 200
    assert (before, after) == (["google"], ["google", "github"])
    assert await application(panel, "github") == Application("github-id", "github-secret")


async def test_a_whole_form_without_a_secret_keeps_the_one_that_is_stored(panel: Fixture) -> None:
    form = {
        "provider": "prov",
        "social": "google",
        "enabled": "false",
        "key_source": "own",
        "client_id": "google-id",
        "client_secret": "",
        "team_id": "",
        "key_id": "",
        "p8": "",
    }
    number = await row_id(panel, "social_logins", "google")
    off = await panel.ask("PATCH", f"api/tables/social_logins/{number}/", form)
    switched_off = (await view(panel)).socials
    on = await panel.ask("PUT", f"api/tables/social_logins/{number}/", {**form, "enabled": "true"})

    assert (off.status_code, on.status_code) == (200, 200)
    assert "google" not in switched_off
    assert await application(panel, "google") == Application("google-id", "the-client-secret-of-google")


async def test_a_new_client_id_needs_its_own_secret(panel: Fixture) -> None:
    number = await row_id(panel, "social_logins", "google")
    refused = await panel.ask("PATCH", f"api/tables/social_logins/{number}/", {"client_id": "another"})
    done = await panel.ask(
        "PATCH", f"api/tables/social_logins/{number}/", {"client_id": " another ", "client_secret": "fresh"}
    )

    assert reason(refused) == "client_secret is missing; the keys of google are incomplete without it."
    assert done.status_code == 200
    assert await application(panel, "google") == Application("another", "fresh")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"social": "gitlab", "key_source": "own"}, "has no gitlab keys; set client_id and client_secret first"),
        ({"social": "gitlab", "key_source": "own", "client_id": "id"}, "client_secret is missing"),
        ({"social": "gitlab", "key_source": "own", "client_secret": "secret"}, "client_id is missing"),
        ({"social": "gitlab", "client_id": "id", "client_secret": "s", "team_id": "T"}, "team_id is not part of"),
        ({"social": "google"}, "already exists"),
        ({"social": "myspace"}, "There is no social provider 'myspace'"),
        ({"social": "gitlab", "key_source": "theirs"}, "key_source"),
        ({"social": "gitlab", "enabled": "perhaps"}, "enabled"),
        ({"social": "gitlab", "provider": "nobody"}, "There is no provider 'nobody'"),
        ({}, "social"),
    ],
)
@pytest.mark.contract("D-19/one-set-of-rules")
async def test_an_impossible_social_login_is_refused_with_the_reason_and_not_stored(
    panel: Fixture, typed: dict[str, str], words: str
) -> None:
    before = await panel.rows("social_logins")

    refused = await panel.ask("POST", "api/tables/social_logins/", {"provider": "prov", **typed})

    assert words in reason(refused)
    assert await panel.rows("social_logins") == before
    assert await OAuthApplication.count() == 2


async def test_a_social_provider_is_added_and_removed_with_its_keys(panel: Fixture) -> None:
    added = await panel.ask(
        "POST",
        "api/tables/social_logins/",
        {"provider": "prov", "social": "discord", "key_source": "own", "client_id": "id", "client_secret": "secret"},
    )
    kept = await application(panel, "discord")
    removed = await panel.ask("DELETE", f"api/tables/social_logins/{await row_id(panel, 'social_logins', 'discord')}/")

    assert (added.status_code, removed.status_code) == (201, 200)
    assert kept == Application("id", "secret")
    assert "discord" not in (await view(panel)).socials
    assert not await OAuthApplication.exists().where(OAuthApplication.social == "discord")


async def test_own_keys_are_forgotten_when_their_ids_are_taken_out(panel: Fixture) -> None:
    number = await row_id(panel, "social_logins", "google")
    needed = await panel.ask("PATCH", f"api/tables/social_logins/{number}/", {"client_id": ""})
    done = await panel.ask("PATCH", f"api/tables/social_logins/{number}/", {"client_id": "", "key_source": "service"})

    assert "has no google keys" in reason(needed)
    assert done.status_code == 200
    assert await application(panel, "google") == Application("service-id", "the-service-secret-of-google")
    assert not await OAuthApplication.exists().where(OAuthApplication.holder == "prov")


@pytest.mark.parametrize("member", ["provider", "social"])
async def test_provider_and_social_of_a_row_cannot_be_changed(panel: Fixture, member: str) -> None:
    number = await row_id(panel, "social_logins", "google")

    refused = await panel.ask("PATCH", f"api/tables/social_logins/{number}/", {member: "discord"})

    assert reason(refused) == f"{member} cannot be changed; remove this row and add another."


@pytest.mark.contract("2.1/apple-credentials")
class TestApple:
    async def test_the_keys_of_apple_are_team_id_key_id_and_p8(self, panel: Fixture, p8: str) -> None:
        keys = {"social": "apple", "client_id": "com.shop", "team_id": "TEAM", "key_id": "KEY", "p8": f"\n{p8}\n"}

        stored = await panel.ask("POST", "api/tables/service_keys/", keys)
        kept = await panel.ask(
            "PATCH", f"api/tables/service_keys/{await row_id(panel, 'service_keys', 'apple')}/", {**keys, "p8": ""}
        )

        assert (stored.status_code, kept.status_code) == (201, 200)
        row = await OAuthApplication.objects().get(OAuthApplication.social == "apple")
        assert row is not None
        assert (row.holder, row.client_id, row.team_id, row.key_id) == (SERVICE, "com.shop", "TEAM", "KEY")
        assert row.sealed_p8 is not None
        assert panel.services.vault.open(row.sealed_p8) == p8.strip()

    async def test_it_cannot_be_switched_on_before_it_is_offered(self, panel: Fixture) -> None:
        refused = await panel.ask("POST", "api/tables/social_logins/", {"provider": "prov", "social": "apple"})

        assert reason(refused).startswith("There is no social provider 'apple'. Available: google")


async def test_apple_can_be_switched_on_in_a_preview(
    make_client: Fixture, panel_database: str, p8: str, panel_of: Fixture
) -> None:
    async with make_client(database_url=panel_database, preview_providers=("apple",)) as client:
        panel = await panel_of(client)
        await admin.add_provider(panel.services.vault, now=panel.services.clock(), id="prov")
        keys = {"client_id": "com.shop", "team_id": "TEAM", "key_id": "KEY", "p8": p8}

        added = await panel.ask(
            "POST", "api/tables/social_logins/", {"provider": "prov", "social": "apple", "key_source": "own", **keys}
        )
        listed = (await client.get("/v1/public/provider/prov")).json()["data"]["auth"]["oauth_providers"]

    assert added.status_code == 201
    assert listed == ["apple"]


async def test_the_services_keys_are_changed_and_taken_away(panel: Fixture) -> None:
    number = await row_id(panel, "service_keys", "google")
    twice = await panel.ask(
        "POST", "api/tables/service_keys/", {"social": "google", "client_id": "id", "client_secret": "secret"}
    )
    changed = await panel.ask("PATCH", f"api/tables/service_keys/{number}/", {"client_secret": "new secret"})
    row = await OAuthApplication.objects().get(OAuthApplication.holder == SERVICE)
    emptied = await panel.ask("PATCH", f"api/tables/service_keys/{number}/", {"client_id": ""})
    removed = await panel.ask("DELETE", f"api/tables/service_keys/{number}/")

    assert "already exists" in reason(twice)
    assert (changed.status_code, removed.status_code) == (200, 200)
    assert row is not None
    assert panel.services.vault.open(row.sealed_client_secret or "") == "new secret"
    assert reason(emptied) == "client_id is missing; the keys of google are incomplete without it."
    assert await panel.rows("service_keys") == []


@pytest.mark.contract("2.1/domain", "D-08/serialised")
async def test_domains_are_registered_one_by_one(panel: Fixture) -> None:
    added = await panel.ask("POST", "api/tables/domains/", {"provider": "prov", "domain": "localhost:3000"})
    twice = await panel.ask("POST", "api/tables/domains/", {"provider": "prov", "domain": "localhost:3000"})
    wild = await panel.ask("POST", "api/tables/domains/", {"provider": "prov", "domain": "*.shop.test"})
    first = next(row for row in await panel.rows("domains") if row["domain"] == "shop.test")
    changed = await panel.ask(
        "PATCH", f"api/tables/domains/{first['id']}/", {"domain": "bücher.test", "origins": "https://evil.test"}
    )
    origins = (await view(panel)).origins
    for row in await panel.rows("domains"):
        assert (await panel.ask("DELETE", f"api/tables/domains/{row['id']}/")).status_code == 200

    assert (added.status_code, changed.status_code) == (201, 200)
    assert "'localhost:3000' is already registered" in reason(twice)
    assert "wildcards are not supported; register each host" in reason(wild)
    assert set(origins) == {"https://localhost:3000", "http://localhost:3000", "https://xn--bcher-kva.test"}
    assert (await view(panel)).origins == ()


@pytest.mark.contract("D-19/one-set-of-rules")
async def test_a_provider_is_changed_by_the_rules_of_the_command_line(panel: Fixture) -> None:
    changed = await panel.ask(
        "PATCH",
        "api/tables/providers/prov/",
        {"name": "Birch", "livechat_greeting": "", "enabled": "false", "changed": "never", "old_secret_until": "x"},
    )
    refused = await panel.ask("PATCH", "api/tables/providers/prov/", {"name": "Ash", "ui_colour": "red"})
    unknown = await panel.ask("PATCH", "api/tables/providers/nobody/", {"name": "Ash"})

    assert changed.status_code == 200
    assert reason(refused) == "ui_colour must be a colour such as #4f46e5."
    assert reason(unknown) == "There is no provider 'nobody'."
    row = await Provider.objects().get(Provider.id == "prov")
    assert row is not None
    assert (row.name, row.livechat_greeting, row.enabled, row.ui_colour) == ("Birch", "", False, "#4f46e5")


async def test_sealed_columns_and_ids_cannot_be_written_directly(panel: Fixture) -> None:
    before = await Provider.select(Provider.id, Provider.sealed_secret_key)

    answer = await panel.ask("PATCH", "api/tables/providers/prov/", {"sealed_secret_key": "mine", "id": "other"})

    assert answer.status_code == 200
    assert await Provider.select(Provider.id, Provider.sealed_secret_key) == before


@pytest.mark.parametrize(
    ("method", "path", "words"),
    [
        ("POST", "providers/", "To add a provider, use "),
        ("DELETE", "providers/prov/", "Providers cannot be removed here"),
    ],
)
async def test_a_provider_is_neither_added_nor_removed_in_its_table(
    panel: Fixture, method: str, path: str, words: str
) -> None:
    refused = await panel.ask(method, f"api/tables/{path}", {"name": "new"})

    assert refused.status_code == 405
    assert refused.json()["detail"].startswith(words)
    assert [row["id"] for row in await panel.rows("providers")] == ["prov"]


@pytest.mark.parametrize("number", ["999", "0", "x", "-1", "1e3", "99999999999999999999"])
async def test_a_deleted_row_is_reported(panel: Fixture, number: str) -> None:
    for method in ("PATCH", "DELETE"):
        refused = await panel.ask(method, f"api/tables/domains/{number}/", {"domain": "a.test"})

        assert reason(refused) == "This row no longer exists; go back to the list."


@pytest.mark.parametrize("body", [{"domain": ["a"]}, {"domain": {"a": 1}}])
async def test_a_value_of_the_wrong_shape_is_refused(panel: Fixture, body: object) -> None:
    refused = await panel.ask("POST", "api/tables/domains/", body)

    assert reason(refused).startswith("A value has the wrong type")


@pytest.mark.parametrize("body", [[], "text", 7, {"domain": "a\0b"}])
async def test_a_body_that_is_no_object_of_plain_text_is_refused(panel: Fixture, body: object) -> None:
    refused = await panel.ask("POST", "api/tables/domains/", body)

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "parameter_invalid")
