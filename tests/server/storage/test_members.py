"""Tests of member records on both kinds of database. Each identity must have one record, whoever writes it first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.storage import engine, members
from chatkey_server.storage.tables import ChatCustomer

NOW = 1_795_000_000


async def _upsert(**changes: Any) -> ChatCustomer:
    ada: dict[str, Any] = {
        "provider": "p",
        "login": "social",
        "uid": "google:1",
        "auth_provider": "google",
        "name": "Ada",
        "email": "ada@shop.example",
        "avatar": "https://img.example/a.png",
        "now": NOW,
    }
    ada.update(changes)
    return await members.upsert(**ada)


@pytest.mark.contract("2.7/social-record")
async def test_the_first_login_makes_the_record(database: engine.Database) -> None:
    record = await _upsert()

    assert (record.provider, record.login, record.uid) == ("p", "social", "google:1")
    assert (record.auth_provider, record.name, record.email) == ("google", "Ada", "ada@shop.example")
    assert (record.avatar, record.created_at, record.updated_at) == ("https://img.example/a.png", NOW, NOW)


@pytest.mark.contract("2.7/same-record")
async def test_a_later_login_updates_the_same_record(database: engine.Database) -> None:
    first = await _upsert()

    second = await _upsert(name="Ada L.", email=None, now=NOW + 60)

    assert second.id == first.id
    assert (second.name, second.email, second.created_at, second.updated_at) == (
        "Ada L.",
        "ada@shop.example",
        NOW,
        NOW + 60,
    )
    assert await ChatCustomer.count() == 1


@pytest.mark.contract("D-11/keyed")
@pytest.mark.parametrize(
    "other", [{"provider": "q"}, {"login": "custom", "auth_provider": None}, {"uid": "google:2"}, {"uid": "Google:1"}]
)
async def test_another_provider_login_or_uid_is_another_member_though_the_email_is_the_same(
    other: dict[str, Any], database: engine.Database
) -> None:
    first = await _upsert()

    second = await _upsert(**other)

    assert second.id != first.id


async def test_many_first_logins_at_once_make_one_record(database: engine.Database) -> None:
    records = await asyncio.gather(*(_upsert() for _ in range(20)))

    assert len({record.id for record in records}) == 1
    assert await ChatCustomer.count() == 1


async def test_name_email_and_avatar_are_cut_to_fit(database: engine.Database) -> None:
    record = await _upsert(name="A\0" + "é" * 300, email="\ud800@x", avatar="a" * 3000)

    assert record.name == "A" + "é" * 254
    assert record.email == "?@x"
    assert record.avatar == "a" * 2048


@pytest.mark.parametrize("uid", ["", "u" * 256, "u\0", "\udfff"])
async def test_a_uid_that_cannot_be_stored_whole_is_refused(uid: str, database: engine.Database) -> None:
    with pytest.raises(Refused) as refused:
        await _upsert(uid=uid)

    assert (refused.value.code, refused.value.member) == (Code.PARAMETER_INVALID, "uid")
    assert await ChatCustomer.count() == 0


async def test_the_longest_uid_is_stored_whole(database: engine.Database) -> None:
    record = await _upsert(uid="ü" * 255)

    assert record.uid == "ü" * 255
