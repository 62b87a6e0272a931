"""Tests of an administrator's changes. A refusal must state the reason."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from chatkey_protocol.codes import Code
from chatkey_server.clock import Clock
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import admin, engine
from chatkey_server.storage.overview import ProviderOverview, SocialOverview, overview
from chatkey_server.storage.providers import Application, ProviderView, load
from chatkey_server.storage.tables import (
    ChatCustomer,
    Conversation,
    OAuthApplication,
    OAuthFlow,
    Provider,
    RegisteredDomain,
    SocialLogin,
)
from chatkey_server.storage.vault import Vault

SECRET = "s" * 32
KEYS = Application(client_id="own-id", client_secret="own-secret")


async def _view(vault: Vault, provider_id: str) -> ProviderView:
    view = await load(provider_id, vault, "wss://chat.example/v1/socket")
    assert view is not None
    return view


def _refusal(refused: pytest.ExceptionInfo[Refused]) -> tuple[Code, str | None]:
    return refused.value.code, refused.value.member


async def test_a_provider_is_made_with_what_was_given(database: engine.Database, vault: Vault, clock: Clock) -> None:
    made = await admin.add_provider(
        vault, id="prov_demo", name="Demo", secret_key=SECRET, domains=["shop.example", "localhost:8801"], now=clock()
    )

    assert (made.id, made.secret_key) == ("prov_demo", SECRET)
    view = await _view(vault, "prov_demo")
    assert view.secrets.accepted(clock()) == (SECRET.encode(),)
    assert view.origins == ("https://localhost:8801", "http://localhost:8801", "https://shop.example")
    assert (view.enabled, view.restrict_socket_origins, view.socials) == (True, False, {})


@pytest.mark.contract("2.1/id")
async def test_a_provider_gets_an_id_and_a_secret_of_our_own(
    database: engine.Database, vault: Vault, clock: Clock
) -> None:
    one = await admin.add_provider(vault, now=clock())
    two = await admin.add_provider(vault, now=clock())

    assert one.id != two.id
    assert one.secret_key != two.secret_key
    assert len(one.secret_key) == 64
    assert one.secret_key not in repr(one)


@pytest.mark.contract("D-15/sealed")
async def test_no_secret_is_stored_in_the_clear(database: engine.Database, vault: Vault, clock: Clock) -> None:
    await admin.add_provider(vault, id="p", secret_key=SECRET, now=clock())
    await admin.rotate_secret(vault, "p", secret_key="t" * 32, overlap_seconds=60, now=clock())
    await admin.set_application(vault, "p", "google", KEYS, now=clock())

    stored = str([*await Provider.select(), *await OAuthApplication.select()])

    for secret in (SECRET, "t" * 32, "own-secret"):
        assert secret not in stored
    assert "own-id" in stored


IMPOSSIBLE = [
    *(
        ("add", given, member)
        for given, member in (
            *(({"id": name}, "id") for name in ("service", "-p", "", "a b", "p" * 65, "p\n")),
            *(({"name": name}, "name") for name in ("", "n" * 256, "a\0b", "\ud800")),
            *(
                ({"secret_key": secret}, "secret_key")
                for secret in ("", "s" * 31, " " + SECRET, SECRET + "\n", f"-----BEGIN PRIVATE KEY-----\n{SECRET}")
            ),
            *(({"domains": [domain]}, "domain") for domain in ("*.shop.example", "shop.example/path")),
            ({"domains": [f"shop{number}.example" for number in range(101)]}, "domains"),
        )
    ),
    *(
        ("update", {member: value}, member)
        for member, value in (
            ("name", 7),
            ("enabled", 1),
            ("restrict_socket_origins", "yes"),
            ("livechat_title", ""),
            ("service_greeting", "g" * 2001),
            ("ui_colour", "red"),
            ("ui_colour", "#fff"),
            ("ui_position", "top"),
            ("ui_locale", "english please"),
        )
    ),
    *(("social", {"social": name}, "social") for name in ("apple", "x", "tiktok", "amazon", "myspace", "")),
    *(
        ("application", {"social": social, "application": application}, member)
        for social, application, member in (
            ("google", Application("", "secret"), "client_id"),
            ("google", Application("id"), "client_secret"),
            ("google", Application("id", ""), "client_secret"),
            ("google", Application("i" * 256, "secret"), "client_id"),
            ("google", Application("id", "a\0b"), "client_secret"),
            ("apple", Application("id", "secret"), "team_id"),
            ("apple", Application("id", team_id="t", key_id="k"), "p8"),
            ("apple", Application("id", team_id="t", key_id="k", p8="not a key"), "p8"),
        )
    ),
    *(
        ("rotate", given, member)
        for given, member in (
            ({"overlap_seconds": -1}, "overlap_seconds"),
            ({"overlap_seconds": 30 * 24 * 3600 + 1}, "overlap_seconds"),
            ({"overlap_seconds": 60, "secret_key": "short"}, "secret_key"),
            ({"overlap_seconds": 60, "secret_key": SECRET}, "secret_key"),
        )
    ),
]
"""The changes, each with its arguments and the member that is refused."""


async def _everything() -> list[object]:
    return [await table.select() for table in (Provider, RegisteredDomain, SocialLogin, OAuthApplication)]


@pytest.mark.parametrize(("change", "given", "member"), IMPOSSIBLE)
async def test_an_impossible_change_is_refused_and_changes_nothing(
    *, change: str, given: dict[str, Any], member: str, sqlite_url: str, vault: Vault, clock: Clock
) -> None:
    made: dict[str, Callable[..., Awaitable[object]]] = {
        "add": partial(admin.add_provider, vault),
        "update": partial(admin.update_provider, "p"),
        "social": partial(admin.set_social, "p"),
        "application": partial(admin.set_application, vault, "p"),
        "rotate": partial(admin.rotate_secret, vault, "p"),
    }
    async with engine.opened(sqlite_url):
        await admin.add_provider(vault, id="p", secret_key=SECRET, now=clock())
        before = await _everything()

        with pytest.raises(Refused) as refused:
            await made[change](now=clock.advance(1), **given)

        assert _refusal(refused) == (Code.SOCIAL_UNKNOWN if change == "social" else Code.PARAMETER_INVALID, member)
        assert await _everything() == before


async def test_a_taken_id_is_refused(database: engine.Database, vault: Vault, clock: Clock) -> None:
    await admin.add_provider(vault, id="p", secret_key=SECRET, now=clock())

    with pytest.raises(Refused, match="'p' is taken") as refused:
        await admin.add_provider(vault, id="p", now=clock())

    assert _refusal(refused) == (Code.PARAMETER_INVALID, "id")
    assert (await _view(vault, "p")).secrets.current == SECRET.encode()


async def test_changes_are_visible_in_the_configuration(database: engine.Database, vault: Vault, clock: Clock) -> None:
    await admin.add_provider(vault, id="p", now=clock())

    await admin.update_provider(
        "p", now=clock.advance(1), livechat_title="Ask", livechat_greeting="", ui_colour="#00FF00", enabled=False
    )

    view = await _view(vault, "p")
    assert b'"livechat":{"enabled":true,"title":"Ask","greeting":""}' in view.configuration
    assert b'"colour":"#00FF00"' in view.configuration
    assert not view.enabled


async def test_a_provider_that_does_not_exist_cannot_be_changed(
    database: engine.Database, vault: Vault, clock: Clock
) -> None:
    now = clock()
    for change in (
        admin.update_provider("p", now=now, name="n"),
        admin.remove_provider("p", now=now),
        admin.set_domains("p", ["shop.example"], now=now),
        admin.set_social("p", "google", now=now),
        admin.set_application(vault, "p", "google", KEYS, now=now),
        admin.rotate_secret(vault, "p", overlap_seconds=0, now=now),
    ):
        with pytest.raises(Refused) as refused:
            await change

        assert _refusal(refused) == (Code.PROVIDER_UNKNOWN, "id")


async def test_domains_are_replaced(database: engine.Database, vault: Vault, clock: Clock) -> None:
    await admin.add_provider(vault, id="p", domains=["old.example"], now=clock())

    await admin.set_domains("p", ["new.example", "new.example:8443"], now=clock())

    assert (await _view(vault, "p")).origins == ("https://new.example", "https://new.example:8443")


@pytest.mark.contract("1/mode-service-keys", "1/mode-own-keys", "2.1/socials")
async def test_a_domain_that_stays_keeps_its_row(database: engine.Database, vault: Vault, clock: Clock) -> None:
    await admin.add_provider(vault, now=clock(), id="p", domains=["a.test", "b.test"])
    rows = {row["domain"]: row["id"] for row in await RegisteredDomain.select()}

    await admin.set_domains("p", ["b.test", "c.test"], now=clock())
    await admin.replace_domain("p", "b.test", "d.test", now=clock())
    await admin.replace_domain("p", "c.test", None, now=clock())

    assert [(row["id"], row["domain"], row["origins"]) for row in await RegisteredDomain.select()] == [
        (rows["b.test"], "d.test", "https://d.test")
    ]


async def test_the_key_source_decides_which_application_is_used(
    database: engine.Database, vault: Vault, clock: Clock
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    await admin.set_application(vault, "service", "google", Application("service-id", "x"), now=clock())
    await admin.set_application(vault, "p", "google", KEYS, now=clock())

    await admin.set_social("p", "google", key_source="service", now=clock())
    with_service_keys = (await _view(vault, "p")).socials["google"]
    await admin.set_social("p", "google", key_source="own", now=clock())
    with_own_keys = (await _view(vault, "p")).socials["google"]

    assert (with_service_keys.key_source, with_service_keys.application) == ("service", Application("service-id", "x"))
    assert (with_own_keys.key_source, with_own_keys.application) == ("own", KEYS)


async def test_own_keys_are_refused_until_they_are_there(database: engine.Database, vault: Vault, clock: Clock) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    await admin.set_application(vault, "service", "google", Application("service-id", "x"), now=clock())

    with pytest.raises(Refused, match="no google keys; set client_id and client_secret first") as refused:
        await admin.set_social("p", "google", key_source="own", now=clock())

    assert _refusal(refused) == (Code.PARAMETER_INVALID, "key_source")


@pytest.mark.contract("2.1/apple-credentials")
async def test_apple_takes_team_id_key_id_and_a_p8_key(database: engine.Database, vault: Vault, clock: Clock) -> None:
    p8 = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    application = Application("id", team_id="t", key_id="k", p8=p8.decode())

    await admin.set_application(vault, "service", "apple", application, now=clock())

    row = (await OAuthApplication.select())[0]
    assert (row["team_id"], row["key_id"], row["sealed_client_secret"]) == ("t", "k", None)
    assert vault.open(row["sealed_p8"]) == p8.decode()


@pytest.mark.contract("D-05/rotation")
async def test_after_a_rotation_both_secrets_count_until_the_overlap_ends(
    database: engine.Database, vault: Vault, clock: Clock
) -> None:
    await admin.add_provider(vault, id="p", secret_key=SECRET, now=clock())

    fresh = await admin.rotate_secret(vault, "p", overlap_seconds=3600, now=clock())

    secrets = (await _view(vault, "p")).secrets
    assert secrets.accepted(clock() + 3599) == (fresh.encode(), SECRET.encode())
    assert secrets.accepted(clock() + 3600) == (fresh.encode(),)


async def test_a_rotation_without_overlap_ends_the_old_secret_at_once(
    database: engine.Database, vault: Vault, clock: Clock
) -> None:
    await admin.add_provider(vault, id="p", secret_key=SECRET, now=clock())

    fresh = await admin.rotate_secret(vault, "p", overlap_seconds=0, now=clock())

    secrets = (await _view(vault, "p")).secrets
    assert (secrets.accepted(clock()), secrets.previous) == ((fresh.encode(),), None)


async def test_a_removed_provider_leaves_nothing_behind_and_others_alone(
    database: engine.Database, vault: Vault, clock: Clock
) -> None:
    now = int(clock())
    for name in ("p", "q"):
        await admin.add_provider(vault, id=name, domains=["shop.example"], now=now)
        await admin.set_application(vault, name, "google", KEYS, now=now)
        await admin.set_social(name, "google", key_source="own", now=now)
        customer = ChatCustomer(provider=name, login="custom", uid="u", created_at=now, updated_at=now)
        await customer.save()
        await Conversation(provider=name, login="custom", uid="u", customer=customer.id, last_at=now).save()
        await OAuthFlow.insert(
            OAuthFlow(id=name, provider=name, social="google", verifier="v", oidc_nonce="n", created_at=now)
        )

    await admin.remove_provider("p", now=now)

    assert [row.id for row in await overview()] == ["q"]
    for table in (OAuthApplication, ChatCustomer, Conversation, OAuthFlow):
        assert await table.count() == 1


async def test_the_overview_contains_everything_but_secrets(
    database: engine.Database, vault: Vault, clock: Clock
) -> None:
    await admin.add_provider(vault, id="p", name="Pia", secret_key=SECRET, domains=["localhost:1"], now=clock())
    await admin.set_application(vault, "p", "github", KEYS, now=clock())
    await admin.set_social("p", "github", key_source="own", now=clock())
    await admin.set_social("p", "google", enabled=False, now=clock())
    await admin.rotate_secret(vault, "p", overlap_seconds=60, now=clock())

    (row,) = await overview()

    assert row == ProviderOverview(
        id="p",
        name="Pia",
        enabled=True,
        restrict_socket_origins=False,
        domains=("localhost:1",),
        origins=("https://localhost:1", "http://localhost:1"),
        socials=(SocialOverview("github", True, "own", "own-id"), SocialOverview("google", False, "service", None)),
        previous_until=int(clock()) + 60,
        created_at=int(clock()),
        updated_at=int(clock()),
    )
    assert "secret" not in repr(row)
