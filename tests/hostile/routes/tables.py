"""Reads the routes of an application from its route table. An unknown kind of route is an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args, get_type_hints

import msgspec
import pytest
from litestar.routes import ASGIRoute, HTTPRoute, WebSocketRoute
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from litestar import Litestar

    from chatkey_oauth.fake import Fake
    from chatkey_oauth.lab.api import Control

PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
EVERY_METHOD: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


class Door(NamedTuple):
    """A route: its path with `{name}` for each parameter, its methods, and the names that a request may contain."""

    path: str
    methods: frozenset[str]
    members: tuple[str, ...] = ()
    """Member names of the JSON body or form."""
    query: tuple[str, ...] = ()

    @property
    def parameters(self) -> list[str]:
        return PARAMETER.findall(self.path)

    def at(self, values: dict[str, str]) -> str:
        """Return the path with `values` in place of the parameters."""
        return PARAMETER.sub(lambda found: values[found[1]], self.path)

    def __str__(self) -> str:
        return f"{'/'.join(sorted(self.methods))} {self.path}"


def litestar_doors(app: Litestar, *, mounted: Iterable[str] = ()) -> Iterator[Door]:
    """Yield the HTTP routes of a Litestar application. `mounted` must list the paths of WebSocket and ASGI routes."""
    known = set(mounted)
    for route in app.routes:
        if isinstance(route, HTTPRoute):
            yield Door(route.path, frozenset(route.methods), _members(route), _query(route))
        elif isinstance(route, (ASGIRoute, WebSocketRoute)):
            assert route.path in known, f"{route.path} is no plain route: walk it by itself and name it in `mounted`"
            known.remove(route.path)
        else:
            pytest.fail(f"an unknown kind of route: {route!r}")
    assert not known, f"there are no such mounts: {known}"


def socket_paths(app: Litestar) -> set[str]:
    """Return the WebSocket paths of a Litestar application's own router."""
    return {route.path for route in app.routes if isinstance(route, WebSocketRoute)}


def _members(route: HTTPRoute) -> tuple[str, ...]:
    hints = [handler.parsed_data_field for handler in route.route_handlers if handler.parsed_data_field]
    return tuple(name for hint in hints for name in _fields(hint.annotation))


def _fields(annotation: Any) -> Iterator[str]:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        yield from annotation.__struct_fields__
    elif hasattr(annotation, "__required_keys__"):
        yield from get_type_hints(annotation)
    for inner in get_args(annotation):
        yield from _fields(inner)


def _query(route: HTTPRoute) -> tuple[str, ...]:
    found = {
        name
        for handler in route.route_handlers
        for name in handler.parsed_fn_signature.parameters
        if name not in {"request", "data", "scope", *route.path_parameters}
    }
    return tuple(sorted(found))


def starlette_doors(app: Any, *, prefix: str = "") -> Iterator[Door]:
    """Yield the routes of a Starlette or FastAPI application, including those of mounted applications."""
    routes = _routes_within(app)
    if routes is None:  # no route table: walk the application's root and a path below it
        yield Door(f"{prefix}/", frozenset(EVERY_METHOD))
        yield Door(f"{prefix}/{{below}}", frozenset(EVERY_METHOD))
        return
    for route in routes:
        if isinstance(route, Mount):
            yield from starlette_doors(route.app, prefix=f"{prefix}{route.path}")
        elif isinstance(route, Route) or hasattr(route, "dependant"):
            yield Door(f"{prefix}{route.path}", frozenset(route.methods or EVERY_METHOD), query=_asked(route))
        else:
            pytest.fail(f"an unknown kind of route: {route!r}")


def _routes_within(app: Any) -> list[Any] | None:
    """Return the route table of the application behind any middleware, or None if there is no route table."""
    while not hasattr(app, "routes"):
        app = getattr(app, "app", None)
        if app is None or isinstance(app, StaticFiles):
            return None
    return list(app.routes)


def _asked(route: Any) -> tuple[str, ...]:
    dependant = getattr(route, "dependant", None)
    return tuple(parameter.alias for parameter in dependant.query_params) if dependant else ()


def lab_doors(control: Control) -> Iterator[Door]:
    """Yield the paths of the fake's lab."""
    for path in sorted({one.path for one in control.endpoints}):
        here = [one for one in control.endpoints if one.path == path]
        members, query = (
            [name for one in here for name in _fields(one.kinds.get(part))] for part in ("data", "wanted")
        )
        yield Door(path, frozenset(one.method for one in here), tuple(members), tuple(query))


def fake_doors(fake: Fake, name: str) -> Iterator[Door]:
    """Yield the endpoints of one provider of the fake. The paths begin with the provider's path."""
    for key in fake.provider(name).endpoints():
        *methods, path = key.split(" ")
        yield Door(f"/{name}{path}", frozenset(methods))
