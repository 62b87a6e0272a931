"""Assembles the application from its shared services and routes, and opens and closes its resources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from litestar import Litestar

from chatkey_server import assets, health, panel
from chatkey_server.chat.call_keeper import CallKeeper
from chatkey_server.chat.catch_up import CatchUp
from chatkey_server.chat.events import PROVIDERS
from chatkey_server.chat.hub import MISSED, Hub
from chatkey_server.chat.lines import announce_joins
from chatkey_server.chat.links import link_of, tally_of
from chatkey_server.chat.service import Chat
from chatkey_server.clock import Clock
from chatkey_server.lab import Lab
from chatkey_server.limits.rates import Rates
from chatkey_server.panel import admin
from chatkey_server.peers.open_sockets import Sockets
from chatkey_server.public import oauth_callback, oauth_start, routes
from chatkey_server.public.answers import DefaultHeaders
from chatkey_server.public.documentation import openapi
from chatkey_server.public.errors import EXCEPTION_HANDLERS, upgrade_required
from chatkey_server.public.paths import OneSpelling
from chatkey_server.services import Services
from chatkey_server.socket import SocketEndpoint
from chatkey_server.storage import engine, migrate
from chatkey_server.storage.providers import Providers
from chatkey_server.storage.vault import Vault

if TYPE_CHECKING:
    from litestar.types import ControllerRouterHandler

    from chatkey_server.settings import Settings


def create_app(settings: Settings, *, clock: Clock | None = None) -> Litestar:
    """Build the server. The database is opened when the application starts."""
    services = build_services(settings, clock or Clock())
    lab = Lab(services) if settings.lab else None
    mounted: list[ControllerRouterHandler] = [
        routes.router(services),
        assets.router(settings),
        oauth_start.router(services),
        oauth_callback.router(services),
        upgrade_required,
        panel.router(services),
        admin.handler(services),
        health.router(services),
    ]
    lifespan = [
        _database(settings),
        lambda _: services.rates.counting.running(),
        lambda _: services.catch_up.running(),
        lambda _: services.keeper.running(),
    ]
    if lab:
        mounted.append(lab.router)
        lifespan.append(lab.lifespan)
    app = Litestar(
        mounted,
        plugins=[services.hub],
        lifespan=lifespan,
        exception_handlers=EXCEPTION_HANDLERS,
        openapi_config=openapi(),
        include_in_schema=False,
        request_max_body_size=settings.limits.body_bytes,
        logging_config=None,
        debug=False,
        pdb_on_exception=False,
    )
    app.state.services = services
    app.asgi_handler = OneSpelling(SocketEndpoint(services, app.asgi_handler))
    if lab:
        lab.stand_before(app)
    app.asgi_handler = DefaultHeaders(app.asgi_handler)
    return app


def build_services(settings: Settings, clock: Clock) -> Services:
    vault = Vault.of(settings)
    hub = Hub(link_of(settings.redis_url, vault.hub_keys))
    rates = Rates(settings.limits, clock, tally_of(settings.redis_url, vault.hub_keys), lambda: hub.processes)
    providers = Providers(now=clock, vault=vault, socket_uri=settings.socket_uri, offered=settings.offered_socials)
    hub.add(PROVIDERS, lambda changed: providers.forget(changed.decode() or None))
    hub.add(MISSED, lambda _: providers.forget())
    hub.add(MISSED, lambda _: rates.counting.renew())
    announce_joins(hub)
    chat = Chat(hub, settings.limits, rates, now=clock)
    return Services(
        settings=settings,
        clock=clock,
        vault=vault,
        providers=providers,
        hub=hub,
        catch_up=CatchUp(hub, now=clock),
        chat=chat,
        keeper=CallKeeper(chat, clock),
        sockets=Sockets(settings.limits),
        rates=rates,
    )


def _database(settings: Settings) -> Callable[[Litestar], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def database(_: Litestar) -> AsyncIterator[None]:
        async with engine.opened(settings.database):
            await migrate.ensure(settings)
            yield

    return database
