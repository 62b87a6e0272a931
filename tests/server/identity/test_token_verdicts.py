"""Runs the table of token verdicts against our functions. `tests/refusals` runs the same table against a service."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.identity.readers import IdentityReader, SocketReader

from chatkey_conform.making.token_verdicts import (
    ACCEPTED,
    ACCEPTED_BY_READERS,
    REFUSED,
    REFUSED_BY_READERS,
    Honest,
    Verdict,
)

READERS = (SocketReader, IdentityReader)


def each(*rows: Verdict | Honest) -> list[Any]:
    """Return a test case for each row and each function that reads this kind of token."""
    return [
        pytest.param(reader, row, id=f"{reader.kind}-{row.id}")
        for row in rows
        for reader in READERS
        if reader.kind in row.kinds
    ]


@pytest.mark.parametrize(("reader", "verdict"), each(*REFUSED, *REFUSED_BY_READERS))
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
def test_a_token_with_one_mistake_is_refused_with_its_code(
    reader: type[SocketReader | IdentityReader], verdict: Verdict
) -> None:
    place = reader()
    honest, wrong = place.shop.sign(place.claims()), verdict.make(place)

    place.accept(honest)
    told = place.refuse(wrong, verdict.code)

    assert told["member"] == verdict.member
    assert verdict.cause in told["cause"] if verdict.cause else told["cause"] is None
    assert verdict.says in told["message"]
    assert not any(part in f"{told['message']}{told['cause']}" for part in wrong.split(".") if len(part) > 12)


@pytest.mark.parametrize(("reader", "honest"), each(*ACCEPTED, *ACCEPTED_BY_READERS))
@pytest.mark.contract("D-20/passed-over")
def test_an_unusual_but_correct_token_is_accepted(reader: type[SocketReader | IdentityReader], honest: Honest) -> None:
    place = reader()

    place.accept(honest.make(place))
