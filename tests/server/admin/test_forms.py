"""Tests of the panel's forms: create a provider, replace a secret with an overlap, and erase a person."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.admin.conftest import JKT, member_token, uid_in

from chatkey_protocol.codes import Code
from chatkey_server.chat.hub import MISSED
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Profile, SocketIdentity

Fixture = Any


def lines(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["custom_form_success"]).split("\n")


async def test_a_provider_is_added_and_its_secret_shown_once(panel: Fixture) -> None:
    answer = await panel.ask(
        "POST", "api/forms/new-provider/", {"name": "Cedar & Salt", "domain": "cedar.test", "id": "cedar"}
    )

    shown = lines(answer)
    provider = await panel.services.providers.get("cedar")
    assert shown[1] == "cedar"
    assert shown[4].encode() == provider.secrets.current
    assert provider.origins == ("https://cedar.test",)
    assert answer.headers["cache-control"] == "no-store"


async def test_a_provider_can_be_added_with_an_empty_form(panel: Fixture) -> None:
    shown = lines(await panel.ask("POST", "api/forms/new-provider/", {"name": "", "domain": "", "id": ""}))

    assert (await panel.services.providers.get(shown[1])).secrets.current == shown[4].encode()


@pytest.mark.parametrize(
    ("typed", "words"),
    [({"id": "prov"}, "'prov' is taken"), ({"id": "a b"}, "id must be 1 to 64"), ({"domain": "*.a.test"}, "wildcards")],
)
async def test_an_impossible_provider_is_refused(panel: Fixture, typed: dict[str, str], words: str) -> None:
    refused = await panel.ask("POST", "api/forms/new-provider/", typed)

    assert refused.status_code == 422
    assert words in refused.json()["custom_form_error"]
    assert len(await panel.rows("providers")) == 1


@pytest.mark.contract("D-05/rotation")
async def test_after_a_rotation_the_old_secret_is_valid_until_the_stated_time(panel: Fixture, clock: Fixture) -> None:
    old = await member_token(panel)

    shown = lines(await panel.ask("POST", "api/forms/rotate-secret/", {"provider": "prov", "overlap": "1"}))
    row = (await panel.rows("providers"))[0]

    assert shown[1].encode() == (await panel.services.providers.get("prov")).secrets.current
    assert shown[-1] == "The old one is valid until 2027-01-15 09:00:30 UTC."
    assert row["old_secret_until"] == "2027-01-15 09:00:30 UTC"
    assert await uid_in(panel, old) == "ann"
    clock.advance(3600 - 1)
    assert await uid_in(panel, old) == "ann"
    clock.advance(1)
    with pytest.raises(Refused) as refused:
        await uid_in(panel, old)
    assert refused.value.code is Code.TOKEN_SIGNATURE


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"provider": "nobody"}, "There is no provider 'nobody'."),
        ({"provider": "prov", "overlap": 721}, "30 days"),
        ({"provider": "prov", "overlap": -1}, "30 days"),
    ],
)
async def test_an_impossible_rotation_is_refused(panel: Fixture, typed: dict[str, object], words: str) -> None:
    before = (await panel.services.providers.get("prov")).secrets.current

    refused = await panel.ask("POST", "api/forms/rotate-secret/", typed)

    assert refused.status_code == 422
    assert words in refused.json()["custom_form_error"]
    assert (await panel.services.providers.get("prov")).secrets.current == before


async def test_text_instead_of_a_number_is_refused(panel: Fixture) -> None:
    refused = await panel.ask("POST", "api/forms/rotate-secret/", {"provider": "prov", "overlap": "a day"})

    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["overlap"]


async def write(panel: Fixture, uid: str) -> None:
    identity = SocketIdentity("prov", uid, "custom", JKT, 2_000_000_000, Profile(name=uid.title()))
    await panel.services.chat.post(identity, "m1", "the parcel is late", name=None, source="")


async def test_a_person_is_erased_after_confirmation_and_the_page_says_what_remains(
    panel: Fixture, heard: list[dict[str, object]]
) -> None:
    news: list[bytes] = []
    panel.services.hub.add(MISSED, news.append)
    for uid in ("ann", "bob"):
        await write(panel, uid)
    typed = {"provider": "prov", "login": "custom", "uid": "ann"}

    shown = lines(await panel.ask("POST", "api/forms/erase-person/", typed))
    before, told_before = {row["uid"] for row in await panel.rows("members")}, [*news]
    erased = lines(await panel.ask("POST", "api/forms/erase-person/", {**typed, "erase": True}))

    assert shown[0] == "Would erase: 1 record, 1 conversation, 1 message, 0 calls."
    assert (before, told_before) == ({"ann", "bob"}, [])
    assert erased[0] == "Erased: 1 record, 1 conversation, 1 message, 0 calls."
    assert any("Backups of the database" in line for line in erased)
    assert ({row["uid"] for row in await panel.rows("members")}, news) == ({"bob"}, [b""])
    changes = [event for event in heard if event["event"] == "admin.changed"]
    assert [(change["admin"], change["what"], "ann" in str(change)) for change in changes] == [
        ("ada", "person.erased", False)
    ]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"provider": "nobody", "uid": "ann", "erase": True}, "There is no provider 'nobody'."),
        (
            {"provider": "prov", "login": "member", "uid": "ann", "erase": True},
            "Login must be one of visitor, custom, social",
        ),
    ],
)
async def test_an_impossible_erasure_is_refused(panel: Fixture, typed: dict[str, object], words: str) -> None:
    await write(panel, "ann")

    refused = await panel.ask("POST", "api/forms/erase-person/", typed)

    assert refused.status_code == 422
    assert words in refused.json()["custom_form_error"]
    assert len(await panel.rows("members")) == 1
