"""Tests of complete logins with the fake: the server's requests, the provider's pages, and the server's response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from chatkey_oauth.providers import declared_switches
from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_server.identity.tokens import IdentityToken
from chatkey_server.storage.tables import ChatCustomer

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient
    from tests.server.oauth.fake.person import Person

    from chatkey_oauth.app import App

SOCIALS = AVAILABLE_SOCIALS + ANNOUNCED_SOCIALS
HOLDERS = {"shop": "our", "boutique": "boutique"}
PAGE = Path(__file__).parents[4] / "docs" / "social-login.md"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"

IdentityIn = Callable[..., Awaitable[IdentityToken]]
NobodyCameIn = Callable[..., Awaitable[None]]


@pytest.mark.contract("1/mode-service-keys", "1/mode-own-keys", "4.5/steps")
@pytest.mark.parametrize("provider", HOLDERS)
@pytest.mark.parametrize("social", SOCIALS)
async def test_a_login_comes_to_its_end_with_the_keys_of_its_key_source(
    person: Person, identity_in: IdentityIn, provider: str, social: str
) -> None:
    consent = await person.ask(social, provider)
    page = await person.arrive(await person.decide(consent))

    asked = parse_qs(urlsplit(str(consent.url)).query)
    assert asked["client_key" if social == "tiktok" else "client_id"] == [f"{HOLDERS[provider]}-{social}-client"]
    identity = await identity_in(page, provider)
    (member,) = await ChatCustomer.objects()
    assert (member.provider, member.uid, member.auth_provider) == (provider, str(identity.uid), social)
    assert identity.uid.social == social
    assert (member.name, member.email) == ("Rhea Quill", None if social == "tiktok" else "rhea@example.com")


REFUSING = {
    "apple.strict-redirect": "Apple accepts no address with `http` or `localhost`",
    "github.suspended": "GitHub reports `application_suspended`",
}
"""The switches with which nobody can sign in, and what the page about social login says about each."""


@pytest.mark.parametrize(
    ("social", "key"),
    [(social, switch.name) for social in SOCIALS for switch in declared_switches()[social]],
)
async def test_the_service_signs_people_in_at_either_position_of_every_switch(
    person: Person, fake: App, identity_in: IdentityIn, social: str, key: str
) -> None:
    name = f"{social}.{key}"
    default = next(one.default for one in declared_switches()[social] if one.name == key)
    fake.world.switches.set(name, on=not default)

    if name in REFUSING:
        assert 'name="decision"' not in (await person.ask(social)).text
        assert REFUSING[name] in PAGE.read_text(encoding="utf-8")
    else:
        assert (await identity_in(await person.log_in(social))).uid.social == social


@pytest.mark.contract("2.7/same-record")
@pytest.mark.parametrize("social", SOCIALS)
async def test_the_same_person_comes_back_as_the_same_member(
    person: Person, identity_in: IdentityIn, social: str
) -> None:
    uids = set()
    for _ in range(2):
        person.forget()
        uids.add((await identity_in(await person.log_in(social))).uid)

    assert len(uids) == 1
    assert await ChatCustomer.count() == 1


@pytest.mark.contract("D-11/kept")
async def test_a_name_that_apple_sent_once_is_kept(person: Person, identity_in: IdentityIn) -> None:
    first = await person.decide(await person.ask("apple"))
    again = await person.decide(await person.ask("apple"))

    told = await identity_in(await person.arrive(first))
    later = await identity_in(await person.arrive(again))

    assert ('name="user"' in first.text, 'name="user"' in again.text) == (True, False)
    assert told.profile.name == later.profile.name == "Rhea Quill"


@pytest.mark.contract("D-11/keyed")
async def test_one_person_at_nine_providers_is_nine_members(person: Person) -> None:
    for social in SOCIALS:
        await person.log_in(social)

    members = await ChatCustomer.objects()
    assert sorted(member.auth_provider for member in members) == sorted(SOCIALS)


@pytest.mark.contract("4.3/exchange")
@pytest.mark.parametrize("social", ANNOUNCED_SOCIALS)
async def test_the_identity_token_of_a_preview_can_be_exchanged(
    client: ServerClient, person: Person, delivered: Callable[..., dict[str, dict[str, str]]], social: str
) -> None:
    auth = delivered(await person.log_in(social))["message"]["token"]

    answer = await client.get("/v1/public/provider/shop/member/token", params={"auth": auth, "jkt": JKT})

    assert answer.status_code == 200, answer.text


@pytest.mark.contract("D-09/error")
@pytest.mark.parametrize("social", SOCIALS)
async def test_a_denied_consent_comes_back_as_denied(person: Person, nobody_came_in: NobodyCameIn, social: str) -> None:
    page = await person.log_in(social, decision="deny")

    assert page.status_code == 400
    assert "Sign-in cancelled" in page.text
    await nobody_came_in(page, "oauth_denied", "n-1")
