"""Tests of the server's view of a provider, and of the maximum age of this view."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
import pytest
from rich.console import Console

from chatkey_protocol.codes import Code
from chatkey_server.clock import Clock
from chatkey_server.identity import rotation
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import admin, engine, providers
from chatkey_server.storage.providers import Application, Providers, ProviderView
from chatkey_server.storage.vault import Vault

T = TypeVar("T")

SOCKET_URI = "wss://chat.example/v1/socket"


@pytest.fixture
def cache(clock: Clock, vault: Vault) -> Providers:
    """A cache of providers whose clock stands still."""
    return Providers(now=clock, vault=vault, socket_uri=SOCKET_URI)


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids that were looked up in the database, in order."""
    asked: list[str] = []
    load = providers.load

    async def counting(provider_id: str, vault: Vault, socket_uri: str, offered: Sequence[str]) -> ProviderView | None:
        asked.append(provider_id)
        return await load(provider_id, vault, socket_uri, offered)

    monkeypatch.setattr(providers, "load", counting)
    return asked


@pytest.mark.contract("2.2/members", "D-02/blocks")
async def test_the_configuration_has_the_blocks_of_the_contract(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers
) -> None:
    await admin.add_provider(vault, id="p", now=clock())

    view = await cache.get("p")

    assert msgspec.json.decode(view.configuration) == {
        "data": {
            "socket_uri": SOCKET_URI,
            "livechat": {"enabled": True, "title": "Chat with us", "greeting": "Hello! How can we help?"},
            "service": {"enabled": True, "title": "Call us", "greeting": "We answer calls during office hours."},
            "ui": {"colour": "#4f46e5", "position": "right", "locale": ""},
            "auth": {"oauth_providers": []},
        }
    }


@pytest.mark.contract("2.2/oauth-providers")
async def test_the_configuration_lists_exactly_the_socials_one_can_log_in_with(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    for social in ("discord", "google", "github"):
        await admin.set_application(vault, "service", social, Application("id", "secret"), now=clock())
    for social, enabled in {"discord": True, "gitlab": True, "github": False, "google": True}.items():
        await admin.set_social("p", social, enabled=enabled, now=clock())

    view = await cache.get("p")

    assert msgspec.json.decode(view.configuration)["data"]["auth"] == {"oauth_providers": ["google", "discord"]}
    assert list(view.socials) == ["google", "gitlab", "discord"]
    assert view.socials["gitlab"].application is None


async def test_the_etag_changes_with_the_configuration_and_only_then(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    first = (await cache.get("p")).etag

    cache.forget("p")
    again = (await cache.get("p")).etag
    await admin.update_provider("p", ui_position="left", now=clock())
    cache.forget()
    changed = (await cache.get("p")).etag

    assert first == again != changed
    assert first.startswith('"')
    assert first.endswith('"')


@pytest.mark.contract("D-02/settings-cache")
async def test_a_change_is_visible_after_60_seconds_without_earlier_queries(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers, queries: list[str]
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    before = await cache.get("p")
    await admin.update_provider("p", enabled=False, now=clock())

    clock.advance(59)
    assert cache.cached("p") is before
    assert await cache.get("p") is before
    clock.advance(1)
    assert cache.cached("p") is None
    assert not (await cache.get("p")).enabled
    assert queries == ["p", "p"]


async def test_a_clock_that_was_set_back_does_not_keep_a_view_for_longer(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers
) -> None:
    clock.advance(1000)
    await admin.add_provider(vault, id="p", now=clock())
    await cache.get("p")

    clock.advance(-500)

    assert cache.cached("p") is None


async def test_an_unknown_provider_is_refused_and_cached_as_unknown(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers, queries: list[str]
) -> None:
    for _ in range(3):
        with pytest.raises(Refused) as refused:
            await cache.get("p")
        assert (refused.value.code, refused.value.member) == (Code.PROVIDER_UNKNOWN, "id")
    assert queries == ["p"]

    await admin.add_provider(vault, id="p", now=clock())
    clock.advance(60)
    assert (await cache.get("p")).id == "p"


@pytest.mark.parametrize("provider_id", ["", "..", "a/b", "a\0", "é", "service ", "p" * 65, "p\n"])
async def test_an_impossible_id_is_refused_without_a_query(
    provider_id: str, cache: Providers, queries: list[str]
) -> None:
    with pytest.raises(Refused) as refused:
        await cache.get(provider_id)

    assert refused.value.code == Code.PROVIDER_UNKNOWN
    assert queries == []


async def test_simultaneous_requests_share_one_query(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers, queries: list[str]
) -> None:
    await admin.add_provider(vault, id="p", now=clock())

    views = await asyncio.gather(*(cache.get("p") for _ in range(50)))

    assert len({id(view) for view in views}) == 1
    assert queries == ["p"]


async def test_a_cancelled_request_does_not_cancel_the_shared_query(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers, queries: list[str]
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    impatient, patient = (asyncio.create_task(cache.get("p")) for _ in range(2))
    await asyncio.sleep(0)

    impatient.cancel()

    assert (await patient).id == "p"
    assert queries == ["p"]


async def test_a_result_invalidated_during_its_query_is_not_cached(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers, queries: list[str]
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    asking = asyncio.create_task(cache.get("p"))
    await asyncio.sleep(0)

    cache.forget("p")
    await asking

    assert cache.cached("p") is None


async def test_asking_inside_a_transaction_does_not_use_its_connection(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers
) -> None:
    await admin.add_provider(vault, id="p", now=clock())

    async with engine.transaction():
        await admin.update_provider("p", enabled=False, now=clock())
        view = await cache.get("p")

    assert view.enabled


async def test_a_failed_query_is_reported_to_all_and_repeated_for_the_next(
    sqlite_url: str, vault: Vault, clock: Clock, cache: Providers
) -> None:
    async with engine.opened(sqlite_url) as database:
        assert isinstance(database, engine.SQLite)
        await admin.add_provider(vault, id="p", now=clock())
        aside = database.file.rename(database.file.with_suffix(".aside"))

        answers = await asyncio.gather(*(cache.get("p") for _ in range(3)), return_exceptions=True)
        aside.rename(database.file)

        assert [isinstance(answer, Refused) and answer.code for answer in answers] == [Code.UNAVAILABLE] * 3
        assert (await cache.get("p")).id == "p"


async def test_the_cache_does_not_grow_without_end(
    *,
    sqlite_url: str,
    vault: Vault,
    clock: Clock,
    cache: Providers,
    monkeypatch: pytest.MonkeyPatch,
    queries: list[str],
) -> None:
    monkeypatch.setattr(providers, "CACHE_SIZE", 2)
    async with engine.opened(sqlite_url):
        await admin.add_provider(vault, id="p", now=clock())
        await cache.get("p")

        for name in ("a", "b", "c"):
            with pytest.raises(Refused):
                await cache.get(name)

        assert cache.cached("p") is not None  # unknown ids never evict existing ones
        with pytest.raises(Refused):
            await cache.get("c")
        with pytest.raises(Refused):
            await cache.get("a")
        assert queries == ["p", "a", "b", "c", "a"]


async def test_the_repr_of_a_view_hides_secrets(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers
) -> None:
    secret = "very-secret-" * 4
    await admin.add_provider(vault, id="p", secret_key=secret, now=clock())
    await admin.set_application(vault, "p", "google", Application("id", "client-secret"), now=clock())
    await admin.set_social("p", "google", key_source="own", now=clock())
    view = await cache.get("p")
    console = Console(width=200, record=True, quiet=True)

    console.print(view, view.socials, view.secrets)

    for shown in (repr(view), str(view), repr(view.socials), console.export_text()):
        assert secret not in shown
        assert "client-secret" not in shown


async def judged(cache: Providers, rule: Callable[[ProviderView], T]) -> T:
    """Apply a rule to the provider as the endpoints do, and return the rule's result."""
    return await rotation.judged(await cache.get("p"), rule, cache.find)


def judged_by(secret: bytes) -> Callable[[ProviderView], str]:
    """Return a rule that accepts a token only while `secret` is the provider's current secret."""

    def judge(view: ProviderView) -> str:
        if view.secrets.current != secret:
            raise Refused(Code.TOKEN_SIGNATURE, "It does not verify.", member="signature")
        return "taken"

    return judge


@pytest.mark.contract("D-05/rotation-at-once")
async def test_before_a_signature_is_refused_the_newest_secrets_are_read(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers, queries: list[str]
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    await cache.get("p")
    secret = (await admin.rotate_secret(vault, "p", overlap_seconds=3600, now=clock())).encode()
    clock.advance(1)

    assert await judged(cache, judged_by(secret)) == "taken"
    assert await judged(cache, judged_by(secret)) == "taken"

    assert queries == ["p", "p"]


async def test_bad_signatures_cost_one_query_a_second(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers, queries: list[str]
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    for _ in range(3):
        for _ in range(5):
            with pytest.raises(Refused) as refusal:
                await judged(cache, judged_by(b"forged"))
            assert refusal.value.code is Code.TOKEN_SIGNATURE
        clock.advance(1)

    assert queries == ["p"] * 3


async def test_other_refusals_cause_no_new_query(
    database: engine.Database, vault: Vault, clock: Clock, cache: Providers, queries: list[str]
) -> None:
    await admin.add_provider(vault, id="p", now=clock())
    await cache.get("p")
    clock.advance(10)

    def judge(_: ProviderView) -> None:
        raise Refused(Code.TOKEN_EXPIRED, "It has expired.")

    with pytest.raises(Refused) as refusal:
        await judged(cache, judge)

    assert refusal.value.code is Code.TOKEN_EXPIRED
    assert queries == ["p"]
