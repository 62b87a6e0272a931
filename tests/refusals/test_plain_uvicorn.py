"""Runs the suite against the service's application under plain uvicorn, without `chatkey serve`.

Tokens, proofs, frames and origins are checked by the application, so that another server must not weaken these checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from tests.refusals.kit import plain
from tests.refusals.kit.shipped import OUR_FAULTS, serving
from tests.refusals.test_suite import each, world_of

from chatkey_conform.judging.verdict import Broken
from chatkey_conform.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatkey_conform.case import Case
    from chatkey_conform.subject.world import World

NEEDS_OUR_SERVER: Final = frozenset(
    {
        "frames/a-frame-that-does-not-come-to-its-end-is-not-waited-for",
        "rates/too-many-pings-beneath-the-frames-end-the-connection",
    }
)
"""The cases that plain uvicorn does not pass. docs/sizing.md lists them."""


@pytest.fixture(scope="module")
def plain_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("plain")
    # For a text that is not UTF-8, uvicorn logs a traceback.
    with serving(folder, {}, (str(plain.__file__),), OUR_FAULTS) as service, world_of(service, folder) as made:
        yield made


@pytest.mark.long
@pytest.mark.parametrize("case", list(each()))
def test_the_application_refuses_under_plain_uvicorn_as_under_ours(case: Case, plain_world: World) -> None:
    subject = Subject(plain_world)
    try:
        subject.needs(*sorted(case.needs))
        if case.id in NEEDS_OUR_SERVER:
            with pytest.raises(Broken):
                case.run(subject)
        else:
            case.run(subject)
    finally:
        subject.close()
