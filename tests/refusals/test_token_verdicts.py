"""Checks the table of verdicts on tokens, at the functions that read them and over the network."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.refusals.kit.doors import AuthDoor, SocketDoor
from tests.refusals.kit.places import IdentityReader, SocketReader

from chatkey_conform.making.token_verdicts import (
    ACCEPTED,
    ACCEPTED_BY_READERS,
    REFUSED,
    REFUSED_BY_READERS,
    Honest,
    Verdict,
)

READERS = (SocketReader, IdentityReader)
DOORS = (SocketDoor, AuthDoor)


def each(rows: Iterable[Verdict | Honest], places: Iterable[Any]) -> list[Any]:
    """Return a case for each row and each place to which the row applies."""
    return [
        pytest.param(place, row, id=f"{place.kind}-{row.id}")
        for row in rows
        for place in places
        if place.kind in row.kinds
    ]


def check(verdict: Verdict, place: SocketReader | IdentityReader | SocketDoor | AuthDoor) -> None:
    """Send an honest token to a place, then the same token with the row's fault."""
    honest, wrong = place.shop.sign(place.claims()), verdict.make(place)

    place.accept(honest)
    told = place.refuse(wrong, verdict.code)

    assert told["member"] == verdict.member
    assert verdict.cause in told["cause"] if verdict.cause else told["cause"] is None
    assert verdict.says in told["message"]
    assert not any(part in f"{told['message']}{told['cause']}" for part in wrong.split(".") if len(part) > 12)


@pytest.mark.parametrize(("reader", "verdict"), each((*REFUSED, *REFUSED_BY_READERS), READERS))
@pytest.mark.contract(
    "2.4/claims",
    "2.4/hs256",
    "2.4/pid",
    "2.4/uid",
    "2.4/type",
    "2.4/cnf.jkt",
    "2.4/iat",
    "2.4/exp",
    "4.3/not-custom",
    "7/binding-missing",
    "D-05/custom",
    "D-05/kinds-apart",
    "D-05/strict-reading",
    "D-20/cause",
)
def test_a_token_that_is_wrong_in_one_thing_is_refused_for_that(
    reader: type[SocketReader | IdentityReader], verdict: Verdict
) -> None:
    check(verdict, reader())


@pytest.mark.parametrize(("door", "verdict"), each(REFUSED, DOORS), indirect=["door"])
@pytest.mark.contract("D-20/cause")
def test_over_the_wire_it_is_refused_for_the_same(door: SocketDoor | AuthDoor, verdict: Verdict) -> None:
    check(verdict, door)


@pytest.mark.parametrize(("reader", "honest"), each((*ACCEPTED, *ACCEPTED_BY_READERS), READERS))
@pytest.mark.contract("D-20/passed-over")
def test_an_unusual_but_honest_token_is_accepted(reader: type[SocketReader | IdentityReader], honest: Honest) -> None:
    place = reader()

    place.accept(honest.make(place))


@pytest.mark.parametrize(("door", "honest"), each(ACCEPTED, DOORS), indirect=["door"])
@pytest.mark.contract("D-20/passed-over")
def test_over_the_wire_it_is_accepted_as_well(door: SocketDoor | AuthDoor, honest: Honest) -> None:
    door.accept(honest.make(door))
