"""Tests that memory use is bounded for any number of requests, and that no request is rejected to save memory."""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.oauth.visitor import Visitor

from chatkey_oauth.engine.grants import Ring
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from chatkey_oauth.app import App

SMALL = 8
ROUNDS = 3 * SMALL
MANY = 200
SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""Types of objects that an application refers to but does not own."""


def owned(root: object) -> Iterator[object]:
    """Yield every object that the given object keeps alive."""
    seen, waiting = {id(root)}, [root]
    while waiting:
        yield (one := waiting.pop())
        for referred in gc.get_referents(one):
            if id(referred) not in seen and not isinstance(referred, SHARED):
                seen.add(id(referred))
                waiting.append(referred)


def shrink(app: App) -> None:
    """Limit every ring buffer of an application to a few entries."""
    for ring in [one for one in owned(app) if isinstance(one, Ring)]:
        ring._size = SMALL
    assert app.log is not None
    app.log._entries = deque(maxlen=SMALL)


def kept(app: App) -> Counter[str]:
    """Return the number of the application's structs by type, and the total number of the application's objects."""
    kinds = Counter(type(one).__name__ for one in owned(app) if isinstance(one, msgspec.Struct))
    return kinds + Counter(objects=sum(1 for _ in owned(app)))


def use(visitor: Visitor) -> None:
    """Log in, and send every kind of failing request before and after the login."""
    token = visitor.login()
    visitor.profile(token["access_token"])
    visitor.profile("unknown")
    visitor.decide(decision="deny")
    visitor.ask(client_id="nobody")
    visitor.redeem("unknown")
    visitor.redeem(visitor.callback()["code"], client_secret="wrong")
    visitor.redeem(None, grant_type="refresh_token", refresh_token=token.get("refresh_token", "none"))
    visitor.get("/nothing/here", {"q": "x"})


def test_memory_does_not_grow_after_the_warm_up(fake: App, visit: Callable[[str], Visitor]) -> None:
    visitors = [visit(name) for name in NAMES]
    for visitor in visitors:
        use(visitor)
    shrink(fake)
    for _ in range(ROUNDS):
        for visitor in visitors:
            use(visitor)
    before = kept(fake)

    for _ in range(ROUNDS):
        for visitor in visitors:
            use(visitor)

    after = kept(fake)
    growth = {kind: after[kind] - before[kind] for kind in after if after[kind] > before[kind]}
    assert growth.pop("objects", 0) < ROUNDS
    assert not growth


@pytest.mark.parametrize("name", NAMES)
def test_no_number_of_requests_is_refused(visitor: Visitor) -> None:
    token = visitor.access_token()

    logins = [visitor.login() for _ in range(MANY)]
    profiles = [visitor.profile(token).status for _ in range(MANY)] if visitor.site.profile else []

    assert len(logins) == MANY
    assert set(profiles) <= {200}
