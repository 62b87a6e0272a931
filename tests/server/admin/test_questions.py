"""Tests of invalid queries in the admin panel.

Piccolo raises exceptions for many of them. The panel must answer with a reason.
"""

from __future__ import annotations

from typing import Any

import pytest

Fixture = Any

LARGE = "9" * 23
ODD = [
    ("?__order=nope", "?__order=id"),
    (f"?__page={LARGE}", "?__page=2"),
    (f"?id={LARGE}", "?id=1"),
    ("?provider=prov&provider=prov", "?provider=prov"),
    (f"count/?id={LARGE}", "count/?id=1"),
    (f"ids/?limit={LARGE}", "ids/?limit=1"),
    (f"{LARGE}/", "ROW/"),
]
"""Senseless queries, each with a similar one that can be answered."""
ODD_ON = {
    "sqlite": [
        ("?__visible_fields=client_secret", "?__visible_fields=client_secret,id"),
        ("?__visible_fields=client_secret,p8", "?__visible_fields=p8,social"),
        ("?__readable=true&__visible_fields=p8", "?__readable=true&__visible_fields=p8,provider"),
        ("ROW/?__visible_fields=p8", "ROW/?__visible_fields=p8,id"),
    ],
    "postgres": [
        ("?__page_size=-5", "?__page_size=5"),
        ("?client_id=%00", "?client_id=a"),
        ("ids/?search=%00", "ids/?search=a"),
    ],
}


@pytest.fixture
def panel_database(database_url: str) -> str:
    """The URL of the database. Each test runs once with each kind of database."""
    return database_url


@pytest.mark.filterwarnings("ignore:.*SQLite doesn't support ILIKE")
async def test_a_question_without_an_answer_is_400_with_a_reason_and_no_traceback(
    panel: Fixture, database_kind: str, heard: list[dict[str, Any]]
) -> None:
    row = (await panel.rows("social_logins"))[0]["id"]

    for odd, plain in [*ODD, *ODD_ON[database_kind]]:
        refused, answered = [
            await panel.ask("GET", f"api/tables/social_logins/{question.replace('ROW', str(row))}")
            for question in (odd, plain)
        ]

        assert answered.status_code == 200, plain
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "parameter_invalid"), odd
        assert "columns" in refused.json()["error"]["message"]
    events = [event for event in heard if event["event"].startswith("admin.")]
    assert {event["event"] for event in events} == {"admin.unanswerable"}
    assert not any("exception" in event for event in events)


@pytest.mark.parametrize("name", ["a%0d%0aX-Evil: 1", "a%0aSet-Cookie: id=1", "a%00"])
async def test_parameters_cannot_inject_headers_into_the_answer(panel: Fixture, name: str) -> None:
    query = f"__range_header=true&__range_header_name={name}"

    answer = await panel.ask("GET", f"api/tables/providers/?{query}")

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "parameter_invalid"


async def test_an_ordinary_range_is_answered(panel: Fixture) -> None:
    answer = await panel.ask("GET", "api/tables/providers/?__range_header=true&__range_header_name=rows")

    assert (answer.status_code, answer.headers["content-range"]) == (200, "rows 0-0/1")
