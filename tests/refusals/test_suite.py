"""Runs every case of the suite against our service. Each refusal must be logged with exact code, member and cause."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from tests.refusals.kit.shipped import Service
from tests.refusals.kit.witness import Witness

from chatkey_conform.case import Case
from chatkey_conform.making import proof_verdicts, token_verdicts
from chatkey_conform.subject.subject import Subject
from chatkey_conform.subject.world import World
from chatkey_conform.suite import cases
from chatkey_conform.suite.proofs import is_shown
from chatkey_conform.target import read_target

LOGGED: Final[dict[str, list[str]]] = tomllib.loads((Path(__file__).parent / "logged.toml").read_text("utf-8"))
"""The refusals that our service logs in a case, by the case's id with or without its variant in brackets."""

Verdict = token_verdicts.Verdict | proof_verdicts.Verdict

OF_TABLES: Final[dict[str, tuple[str, Verdict]]] = {
    **{f"tokens/socket-{row.id}": ("socket.refused", row) for row in token_verdicts.REFUSED if "socket" in row.kinds},
    **{
        f"tokens/identity-{row.id}": ("token.refused", row) for row in token_verdicts.REFUSED if "identity" in row.kinds
    },
    **{f"proofs/{row.id}": ("socket.refused", row) for row in filter(is_shown, proof_verdicts.REFUSED)},
}
"""The cases of the tables, each with the kind of its event and the row, which says what is logged."""

SLOW: Final = (
    "frames/a-frame-that-does-not-come-to-its-end-is-not-waited-for",
    "frames/the-service-pings-beneath-the-frames",
    "opening/a-silent-peer-is-closed-when-its-time-is-over",
    "staying/a-connection-that-was-renewed",
    "staying/a-token-is-asked-for-30-seconds-before-its-end",
    "staying/a-token-that-ends-is-closed-in-real-time",
)
"""The beginnings of the ids of cases that wait five seconds or more."""

UNDECLARED: Final = {"social:apple", "social:x", "social:tiktok", "social:amazon"}
"""Social logins that our service does not have."""

ELSEWHERE: Final = (
    "proofs/a-default-port-may-be-written-or-left-out",
    "rates/too-many-starts",
    "rates/too-many-token-requests",
)
"""Cases that need a service on a default port, or with rate limits."""


def is_applicable(case: Case) -> bool:
    name, _, value = case.id.rstrip("]").rpartition("[")
    return not case.id.startswith(ELSEWHERE) and not (
        name.startswith("start/a-start-leads-to") and f"social:{value}" in UNDECLARED
    )


def each() -> Iterator[Any]:
    """Yield every applicable case as a pytest parameter."""
    for case in filter(is_applicable, cases()):
        marks = [pytest.mark.contract(*case.sentences), *([pytest.mark.long] if case.id.startswith(SLOW) else [])]
        yield pytest.param(case, id=case.id, marks=marks)


@pytest.fixture(scope="session")
def world(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world_of(service, tmp_path_factory.mktemp("target")) as made:
        yield made


@contextmanager
def world_of(service: Service, folder: Path) -> Iterator[World]:
    target = folder / "target.toml"
    target.write_text(f"""
[target]
name = "ours"
version = "1"
base_url = "{service.base_url}"
[businesses]
grade = "lab"
url = "{service.base_url}/lab"
[limits]
token_rate = 0
oauth_rate = 0
""")
    with closing(World(read_target(target))) as made:
        yield made


@pytest.fixture(scope="session")
def witness(service: Service) -> Witness:
    return Witness(service.lab)


@pytest.mark.parametrize("case", list(each()))
def test_our_service_passes_and_logs_why_it_refuses(case: Case, world: World, witness: Witness) -> None:
    witness.seen()
    subject = Subject(world)

    try:
        subject.needs(*sorted(case.needs))
        case.run(subject)
        logged = witness.seen()
    finally:
        subject.close()

    if case.id in OF_TABLES:
        kind, row = OF_TABLES[case.id]
        assert is_of(kind, row, *logged)
    else:
        assert logged == LOGGED.get(case.id, LOGGED.get(without_variant(case.id), []))


def without_variant(case_id: str) -> str:
    """Return a case's id without the variant, which is in brackets."""
    return case_id.partition("[")[0]


def is_of(kind: str, row: Verdict, logged: str) -> bool:
    """Return whether a log line has the code, member and cause that the row `row` requires."""
    start, _, cause = logged.partition(": ")
    return start == " ".join(filter(None, (kind, row.code, row.member))) and (row.cause or "") in cause


def test_only_cases_of_the_suite_are_in_the_list_of_what_is_logged() -> None:
    known = {name for case in cases() for name in (case.id, without_variant(case.id))}

    assert sorted(LOGGED.keys() - known) == sorted(OF_TABLES.keys() - known) == []
