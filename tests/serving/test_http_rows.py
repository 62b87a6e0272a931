"""Runs the requests of `http_rows.py` against our connection, cut in several ways, and against nginx."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from tests.deploy.proxies import any_nginx
from tests.serving.asking import outcomes, statuses
from tests.serving.http_rows import GROUPS, WITHOUT_SOCKETS, Group, Outcome, Row, Seen
from tests.serving.pipe import CUTS, Line, echo

from chatkey_stack.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVERYWHERE: Final = [*GROUPS, WITHOUT_SOCKETS]
SERVERS: Final = """
client_header_timeout 1s;
client_body_timeout 1s;
server {{
    listen 127.0.0.1:{port};
    location / {{
        proxy_pass http://127.0.0.1:{behind};
        proxy_http_version 1.1;
    }}
}}
server {{
    listen 127.0.0.1:{behind};
    return 200;
}}
"""
"""A proxy refuses a malformed body. A server that returns a fixed answer does not read bodies."""

each_group = pytest.mark.parametrize("group", EVERYWHERE, ids=[group.name for group in EVERYWHERE])


class Judged(NamedTuple):
    outcome: Outcome
    has_ended: bool
    seen: tuple[Seen, ...] | None


def as_seen(scope: Any, header: bytes) -> Seen:
    query = b"?" + scope["query_string"] if scope["query_string"] else b""
    line = b"%b %b%b %b" % (scope["method"].encode(), scope["raw_path"], query, scope["body"])
    return Seen(line, header, tuple(value for name, value in scope["headers"] if name == header))


async def judged(row: Row, *said: bytes | None) -> Judged:
    line = Line(echo, has_sockets=False)
    received = await line.hear(*said)
    has_ended = line.pipe.has_ended
    await line.lose()
    if row.seen is None:
        return Judged(statuses(received), has_ended, None)
    header = row.seen[0].header if row.seen else b""
    seen = (as_seen(scope, header) for scope in line.scopes if scope["raw_path"] != b"/after")
    return Judged(statuses(received), has_ended, tuple(seen))


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
@each_group
async def test_a_row_is_answered_the_same_however_it_is_cut(group: Group, cut: Callable[[bytes], list[bytes]]) -> None:
    answered = {row.id: await judged(row, *cut(row.sent)) for row in group.rows}

    assert answered == {row.id: Judged(row.allowed[0], True, row.seen) for row in group.rows}


@each_group
async def test_a_client_that_half_closes_still_gets_all_answers(group: Group) -> None:
    answered = {row.id: (await judged(row, row.sent, None)).outcome for row in group.rows}

    assert answered == {row.id: row.allowed[0] for row in group.rows}


@pytest.fixture(scope="module")
def referee(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of an nginx that answers every request with 200."""
    port, behind = free_ports(2)
    with any_nginx(tmp_path_factory.mktemp("nginx"), port, SERVERS.format(port=port, behind=behind)):
        yield port


@pytest.mark.long
@each_group
async def test_nginx_gives_an_allowed_answer_unless_the_row_says_why_not(group: Group, referee: int) -> None:
    answered = await outcomes(referee, group)

    differing = {row.id: answered[row.id] for row in group.rows if answered[row.id] not in row.allowed}
    assert differing.keys() == {row.id for row in group.rows if row.differs}
