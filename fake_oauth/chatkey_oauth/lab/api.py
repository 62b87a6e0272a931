"""The control API under `/lab`: JSON, every answer in `data`, every refusal with a code (D-02, D-14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec
from litestar import Litestar, Request, Response, delete, get, post, put
from litestar.exceptions import HTTPException
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from chatkey_oauth.engine.clients import Client, ClientError
from chatkey_oauth.engine.people import Person
from chatkey_oauth.lab.log import Entry
from chatkey_oauth.providers import NAMES, load

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from chatkey_oauth.app import App

T = TypeVar("T")


class Data(msgspec.Struct, Generic[T]):
    """Every successful answer."""

    data: T


class Time(msgspec.Struct):
    """The fake's time, in seconds since the epoch."""

    now: float


class Advance(msgspec.Struct, forbid_unknown_fields=True):
    """How far to move the clock forward, in seconds, ten years at most."""

    advance: Annotated[float, msgspec.Meta(ge=0, le=315_360_000)]


class Place(msgspec.Struct):
    """Where a provider is, for browsers and for servers, and the issuer it signs as."""

    browser_url: str
    server_url: str
    issuer: str


class Overview(msgspec.Struct):
    """What there is."""

    now: float
    providers: dict[str, Place]
    clients: int
    people: int
    requests: int


class Requests(msgspec.Struct):
    """Entries of the request log, and the number of the newest there is: the next `after`."""

    requests: list[Entry]
    last: int


class LabRefused(Exception):
    """A control request that cannot be done."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def control_app(app: App) -> Litestar:
    """Build the control API of one fake."""
    return Litestar(
        route_handlers=[*world_handlers(app), *client_handlers(app), *people_handlers(app), requests_handler(app)],
        path="/lab",
        openapi_config=OpenAPIConfig(
            title="chatkey fake OAuth: lab", version="1", path="/schema", render_plugins=[JsonRenderPlugin()]
        ),
        exception_handlers={LabRefused: refused, HTTPException: http_refused},
        signature_types=[Client, Person, Entry],
    )


def world_handlers(app: App) -> list[HTTPRouteHandler]:
    """Overview, clock, reset."""

    @get("/", summary="What there is, and where")
    async def overview() -> Data[Overview]:
        places = {name: Place(*app.addresses(name)) for name in NAMES}
        clients, people = len(app.world.clients.all()), len(app.world.people.all())
        return Data(Overview(app.clock(), places, clients, people, app.log.last if app.log else 0))

    @get("/clock", summary="The fake's time")
    async def clock() -> Data[Time]:
        return Data(Time(app.clock()))

    @post("/clock", status_code=200, summary="Move the fake's time")
    async def advance(data: JSONBody[Advance]) -> Data[Time]:
        return Data(Time(app.clock.advance(data.advance)))

    @post("/reset", status_code=200, summary="Return to the state after the start")
    async def reset() -> Data[Time]:
        app.reset()
        return Data(Time(app.clock()))

    return [overview, clock, advance, reset]


def client_handlers(app: App) -> list[HTTPRouteHandler]:
    """The registered applications."""

    @get("/clients", summary="The registered clients, without their secrets")
    async def clients() -> Data[list[Client]]:
        return Data([without_secret(client) for client in app.world.clients.all()])

    @post("/clients", status_code=201, summary="Register a client, or replace the one of the same id")
    async def register(data: JSONBody[Client]) -> Data[Client]:
        if data.provider not in NAMES:
            known = ", ".join(NAMES)
            raise LabRefused(404, "provider_unknown", f"provider: {data.provider!r} is not one of {known}.")
        try:
            app.world.clients.add(data)
        except ClientError as error:
            raise LabRefused(400, "client_invalid", str(error)) from error
        return Data(without_secret(data))

    @delete("/clients/{provider:str}/{client_id:str}", status_code=200, summary="Forget a client")
    async def forget(provider: FromPath[str], client_id: FromPath[str]) -> Data[None]:
        if not app.world.clients.remove(provider, client_id):
            raise LabRefused(404, "client_unknown", f"client_id: {provider} has no client {client_id!r}.")
        return Data(None)

    return [clients, register, forget]


def people_handlers(app: App) -> list[HTTPRouteHandler]:
    """The people who can sign in."""

    @get("/people", summary="Everyone who can sign in")
    async def people() -> Data[list[Person]]:
        return Data(app.world.people.all())

    @put("/people/{person_id:str}", summary="Add a person, or replace the one of the same id")
    async def put_person(person_id: FromPath[str], data: JSONBody[Person]) -> Data[Person]:
        if data.id != person_id:
            raise LabRefused(400, "person_invalid", f"id: the body says {data.id!r}, the address {person_id!r}.")
        if wrong := [name for name, subject in data.subjects.items() if not subject_fits(name, subject)]:
            raise LabRefused(400, "person_invalid", f"subjects.{wrong[0]}: no such provider, or its ids are numbers.")
        app.world.people.put(data)
        return Data(data)

    @delete("/people/{person_id:str}", status_code=200, summary="Forget a person; their tokens stop working")
    async def forget(person_id: FromPath[str]) -> Data[None]:
        if not app.world.people.remove(person_id):
            raise LabRefused(404, "person_unknown", f"id: there is no person {person_id!r}.")
        return Data(None)

    return [people, put_person, forget]


def requests_handler(app: App) -> HTTPRouteHandler:
    """What was received."""

    @get("/requests", summary="What the providers were asked; waits for a match when told how long")
    async def requests(
        after: FromQuery[int] = 0,
        provider: FromQuery[str] = "",
        path: FromQuery[str] = "",
        client_id: FromQuery[str] = "",
        wait: Annotated[float, QueryParameter(ge=0, le=30)] = 0,
    ) -> Data[Requests]:
        log = app.log
        if log is None:
            raise LabRefused(404, "lab_off", "There is no request log while the lab is off.")
        found = await log.wait(
            lambda: log.find(after=after, provider=provider, path=path, client_id=client_id), seconds=wait
        )
        return Data(Requests(found, log.last))

    return requests


def subject_fits(name: str, subject: str) -> bool:
    """Tell whether a provider of this name could call somebody so."""
    if name not in NAMES:
        return False
    return not load(name).numeric_subjects or (subject.isascii() and subject.isdigit() and len(subject) < 20)


def without_secret(client: Client) -> Client:
    """A client as it may be shown."""
    return msgspec.structs.replace(client, client_secret="")


def failure(status: int, code: str, message: str) -> Response[dict[str, Any]]:
    """Every refusal."""
    return Response({"data": None, "error": {"code": code, "message": message}}, status_code=status)


def refused(_: Request[Any, Any, Any], error: LabRefused) -> Response[dict[str, Any]]:
    """A refusal of our own."""
    return failure(error.status, error.code, str(error))


def http_refused(request: Request[Any, Any, Any], error: HTTPException) -> Response[dict[str, Any]]:
    """A refusal of the framework: unknown path, wrong method, a body that does not fit."""
    extra = error.extra if isinstance(error.extra, list) else []
    wrong = "; ".join(f"{item.get('key', 'body')}: {item['message']}" for item in extra if isinstance(item, dict))
    if error.status_code == 404:
        return failure(
            404, "not_found", f"There is nothing at {request.url.path}; /lab/schema/openapi.json says what is."
        )
    code = "method_not_allowed" if error.status_code == 405 else "request_invalid"
    return failure(error.status_code, code, wrong or error.detail)
