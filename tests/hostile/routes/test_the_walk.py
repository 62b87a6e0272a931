"""Tests of `walk.py` itself: it must find failures, and must report a route that it does not support."""

from __future__ import annotations

import logging
from typing import Any, Final

import pytest
from litestar import Litestar, asgi, get, post
from litestar.params import FromPath
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from tests.hostile.routes.tables import Door, litestar_doors, starlette_doors
from tests.hostile.routes.walk import Walk

PATH: Final = {"name": "x"}


async def reads_json(request: Request) -> Response:
    return JSONResponse(await request.json())


async def logs_an_error(_: Request) -> Response:
    logging.getLogger("some.library").error("oops")
    return Response()


async def answers(_: Request) -> Response:
    return Response()


def below(*routes: Route) -> Starlette:
    """Return an application that mounts another application behind a middleware.

    `routes` are those of the mounted application.
    """
    inner: Any = Starlette(routes=list(routes))

    class Middleware:
        app = inner

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await inner(scope, receive, send)

    return Starlette(routes=[Mount("/below", Middleware())])


@pytest.mark.parametrize(
    ("route", "wrong"),
    [
        (Route("/{name}", reads_json, methods=["POST"]), "raised JSONDecodeError"),
        (Route("/{name}", logs_an_error), "left in the log: oops"),
    ],
)
async def test_a_failing_route_is_found_wherever_it_is_mounted(route: Route, wrong: str) -> None:
    app: Any = below(route)

    found = await Walk(app, PATH).past(starlette_doors(app))

    assert any(wrong in line for line in found)


async def test_a_correct_application_passes_and_all_its_routes_are_reached() -> None:
    app: Any = below(Route("/{name}", answers), Route("/", answers))
    walk = Walk(app, PATH)

    assert await walk.past(starlette_doors(app)) == []
    assert walk.unreached() == set()
    assert {door.path for door in walk.seen} == {"/below/{name}", "/below/"}


async def test_a_parameter_without_a_sample_value_is_an_error() -> None:
    @post("/{other:str}", sync_to_thread=False)
    def handler(other: FromPath[str]) -> None: ...

    app: Any = Litestar([handler])

    with pytest.raises(AssertionError, match="is new: say what an honest caller writes for its other"):
        await Walk(app, PATH).past(litestar_doors(app, mounted=()))


async def test_a_route_that_no_request_reaches_is_named() -> None:
    @get("/", status_code=404, sync_to_thread=False)
    def handler() -> None: ...

    walk = Walk(Litestar([handler]), PATH)

    await walk.past([Door("/", frozenset({"GET"}))])

    assert walk.unreached() == {"/"}


def test_a_mounted_application_that_is_not_walked_by_itself_is_an_error() -> None:
    @asgi("/mounted", is_mount=True, copy_scope=True)
    async def mounted(scope: Any, receive: Any, send: Any) -> None: ...

    with pytest.raises(AssertionError, match="/mounted is no plain route"):
        list(litestar_doors(Litestar([mounted])))
