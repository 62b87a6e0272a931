"""How the running service treats claims, beyond the table: the business, the person, and the clock."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.refusals.kit.doors import Door
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

    from chatkey_conform.making.honest import Maker


# which claims are read


@pytest.mark.parametrize(
    "member",
    [
        pytest.param(f'"x":{"[" * 100_000}{"]" * 100_000}', id="JWT-098"),
        pytest.param(",".join(f'"x{number}":1' for number in range(100_000)), id="JWT-099"),
    ],
)
def test_a_payload_beyond_all_bounds_is_refused_by_its_size(
    service: Service, shop: Shop, make: Maker, member: str
) -> None:
    payload = make.dumps(shop.claims())
    token = shop.sign(payload[:-1] + b"," + member.encode() + b"}")

    assert service.try_token(shop.sign(payload), shop.key).granted
    with service.socket() as peer:
        peer.say({"type": "connect", "token": token, "proof": "x"})
        ended = peer.end()

    assert (ended.frames, ended.close) == ([], 1009)


@pytest.mark.row("JWT-140")
def test_nobody_becomes_an_agent_by_a_claim(service: Service, shop: Shop) -> None:
    ended = service.try_token(shop.token(role="agent", admin=True, is_agent=True), shop.key)

    assert (ended.last["identity"], ended.last["uid"]) == ("member", "customer-7")


@pytest.mark.row("JWT-115")
def test_a_clock_that_is_ten_minutes_ahead_is_told_by_how_much(door: Door) -> None:
    """F054: the message states the difference, and whose clock is wrong."""
    now = door.shop.now

    told = door.refuse(door.shop.sign(door.claims(iat=now + 600, nbf=now + 600, exp=now + 1800)), "token_not_yet_valid")

    ahead = re.search(r"iat lies (\d+) s ahead of this server's clock; set the clock that made it", told["message"])
    assert ahead is not None
    assert 595 <= int(ahead[1]) <= 600


# which business


@pytest.mark.row("JWT-120")
def test_a_token_for_another_business_is_refused(service: Service, door: Door) -> None:
    """F045: the widget does not send such a token, and the server would refuse it."""
    other = service.shop()
    forged = door.shop.sign(door.claims(pid=other.id))

    door.accept(door.shop.sign(door.claims()))
    # The socket looks the secret up with the token's pid, the endpoint with its path.
    door.refuse(forged, "token_signature" if door.name == "socket" else "token_provider")


@pytest.mark.row("JWT-121")
@pytest.mark.parametrize(
    "bent",
    [str.upper, lambda pid: pid + " ", lambda pid: unicodedata.normalize("NFD", pid + "é")],
    ids=["case", "space", "nfd"],
)
def test_a_pid_is_compared_byte_by_byte(service: Service, door: Door, bent: Callable[[str], str]) -> None:
    door.accept(door.shop.sign(door.claims()))

    told = door.refuse(
        door.shop.sign(door.claims(pid=bent(door.shop.id))),
        "provider_unknown" if door.name == "socket" else "token_provider",
    )

    assert told["member"] == "pid" or door.name == "socket"


# which person


def says(service: Service, shop: Shop, uid: str, body: str | None = None) -> list[str]:
    """Connect as the member `uid`, send `body` if given, and return the earlier messages of the conversation."""
    with service.socket() as peer:
        token = shop.token(uid=uid)
        ready = peer.connect(token, peer.prove(shop.key, token))
        assert ready.last["uid"] == uid
        entries = peer.ask({"type": "history", "id": "h"})["messages"]
        if body is not None:
            assert peer.ask({"type": "message", "id": "m", "body": body})["type"] == "ack"
        return [entry["body"] for entry in entries]


@pytest.mark.row("JWT-125")
@pytest.mark.parametrize(
    ("one", "other"),
    [("caf\u00e9", "cafe\u0301"), ("Ada", "ada"), ("ada", "\u0430d\u0430"), ("ada", "ada ")],
    ids=["nfc-nfd", "case", "homoglyph", "space"],
)
def test_uids_that_look_alike_are_two_people(service: Service, one: str, other: str) -> None:
    """F105: uids are compared byte by byte and never normalised."""
    shop = service.shop()

    says(service, shop, one, "mine")

    assert says(service, shop, other, "theirs") == []
    assert says(service, shop, one) == ["mine"]
    assert sorted(member["uid"] for member in service.lab.members(shop.id)) == sorted([one, other])


@pytest.mark.row("JWT-127")
def test_a_member_called_like_a_visitor_does_not_see_the_visitors_conversation(service: Service) -> None:
    shop = service.shop()
    token = shop.visitor_token()
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).last["uid"] == shop.key.uid
        assert peer.ask({"type": "message", "id": "m", "body": "a secret"})["type"] == "ack"

    assert says(service, shop, shop.key.uid, "hello") == []
    assert says(service, shop, shop.key.uid) == ["hello"]
