"""`chatkey provider`: manages the businesses that embed the widget."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, cast

import click
import msgspec
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from chatkey_protocol.names import SOCIALS
from chatkey_server.chat.events import PROVIDERS
from chatkey_server.clock import moment
from chatkey_server.commands.administration import (
    administration,
    link_to_servers,
    printable,
    read_secret,
    tell_servers,
)
from chatkey_server.commands.errors import ServiceGroup
from chatkey_server.settings import load
from chatkey_server.storage import admin
from chatkey_server.storage.engine import transaction
from chatkey_server.storage.overview import ProviderOverview, SocialOverview, overview
from chatkey_server.storage.providers import CACHE_SECONDS, SERVICE, Application, KeySource, unknown

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")
secret_from = click.option(
    "--secret-env", metavar="NAME", help="Read the secret from this environment variable instead of generating one."
)


@click.group(cls=ServiceGroup)
def provider() -> None:
    """Add, show and change providers, the businesses that embed the widget."""


@provider.command()
@click.option("--id", "provider_id", help="The provider's id; generated if omitted.")
@click.option("--name", help="A display name.")
@click.option(
    "--domain",
    "domains",
    multiple=True,
    help="A host where the widget is embedded, with an optional port. Repeatable.",
)
@click.option(
    "--ui-locale",
    default="",
    help="The language of the widget, such as en or pt-BR. Default: the language of the visitor's browser.",
)
@secret_from
@as_json
def add(
    provider_id: str | None,
    name: str | None,
    domains: tuple[str, ...],
    ui_locale: str,
    secret_env: str | None,
    *,
    as_json: bool,
) -> None:
    """Add a provider and show its secret. The secret is not shown again."""
    made = asyncio.run(_add(provider_id, name, domains, ui_locale, _secret(secret_env)))
    _show_secret(made.id, made.secret_key, as_json=as_json)


@provider.command("list")
@as_json
def list_(as_json: bool) -> None:
    """List the providers."""
    rows = asyncio.run(_overview())
    if as_json:
        click.echo(msgspec.json.encode(rows))
        return
    if not rows:
        click.echo("No providers yet; add one with `chatkey provider add`.")
        return
    table = Table(Column("id", overflow="fold"), "name", "on", Column("domains", overflow="fold"), "social login")
    for row in rows:
        socials = [social.social for social in row.socials if social.enabled]
        _add_row(table, row.id, row.name, _yes(row.enabled), " ".join(row.domains), " ".join(socials))
    Console().print(table)


@provider.command()
@click.argument("provider_id")
@as_json
def show(provider_id: str, as_json: bool) -> None:
    """Show a provider without its secrets."""
    row = asyncio.run(_one(provider_id))
    if as_json:
        click.echo(msgspec.json.encode(row))
    else:
        Console().print(_details(row))


@provider.command("rotate-secret")
@click.argument("provider_id")
@click.option(
    "--overlap",
    type=click.IntRange(0, admin.MOST_OVERLAP_SECONDS),
    default=24 * 3600,
    show_default=True,
    help="The number of seconds for which tokens with a signature of the old secret stay valid.",
)
@secret_from
@as_json
def rotate_secret(provider_id: str, overlap: int, secret_env: str | None, as_json: bool) -> None:
    """Give a provider a new secret and show it. The secret is not shown again."""
    secret_key = asyncio.run(_rotate(provider_id, overlap, _secret(secret_env)))
    _show_secret(provider_id, secret_key, as_json=as_json)


@provider.command("ui-locale")
@click.argument("provider_id")
@click.argument("locale", default="")
def ui_locale_(provider_id: str, locale: str) -> None:
    """Set the language of the widget, such as en or pt-BR. Without LOCALE the widget uses each visitor's language."""
    asyncio.run(_speak(provider_id, locale))
    language = f"the language {printable(locale)}" if locale else "each visitor's own language"
    click.echo(f"The widget of {printable(provider_id)} uses {language}.")


@provider.command()
@click.argument("provider_id")
@click.argument("name", metavar="SOCIAL", type=click.Choice(tuple(SOCIALS)))
@click.option("--on/--off", "enabled", default=True, help="Switch the social provider on (the default) or off.")
@click.option(
    "--keys",
    type=click.Choice(["service", "own"]),
    help="Whose OAuth application is used: the service's or the provider's own.",
)
@click.option("--client-id", help="Store this client id of the application; the command prompts for its secret.")
@click.option("--client-secret-env", metavar="NAME", help="Read the client secret from this environment variable.")
@click.option("--team-id", help="Apple's team id. Apple applications have a key instead of a secret.")
@click.option("--key-id", help="The id of Apple's key.")
@click.option("--p8", "p8_file", type=click.File(), help="The file that contains Apple's key, AuthKey_….p8.")
def social(
    provider_id: str,
    name: str,
    *,
    enabled: bool,
    keys: str | None,
    client_id: str | None,
    client_secret_env: str | None,
    team_id: str | None,
    key_id: str | None,
    p8_file: IO[str] | None,
) -> None:
    """Switch a social provider on or off, and set its keys.

    If PROVIDER_ID is `service`, the keys of the service's own application are stored.
    """
    if client_secret_env and not client_id:
        raise click.UsageError("--client-secret-env requires --client-id.")
    application = None
    if client_id and name == "apple":
        application = Application(client_id, None, team_id, key_id, p8_file.read() if p8_file else None)
    elif client_id:
        application = Application(client_id, _secret(client_secret_env) or read_secret("Client secret"))
    if provider_id == SERVICE and application is None:
        raise click.UsageError(f"Storing the service's application for {name} requires --client-id.")
    source = cast("KeySource", keys or ("own" if application else "service"))
    has_keys = asyncio.run(_social(provider_id, name, enabled, source, application))
    click.echo(
        f"The service's application for {name} is stored."
        if provider_id == SERVICE
        else f"{name} is {'on' if enabled else 'off'} for {printable(provider_id)}, with {source} keys."
    )
    if enabled and not has_keys:
        click.echo(
            f"The widget does not offer {name} yet, because the service has no keys for {name}. Add keys with `chatkey "
            f"provider social {SERVICE} {name} --client-id …`, or add the provider's own keys with --client-id.",
            err=True,
        )


async def _add(
    provider_id: str | None, name: str | None, domains: tuple[str, ...], ui_locale: str, secret_key: str | None
) -> admin.NewProvider:
    async with _changed(provider_id), administration() as vault:
        return await admin.add_provider(
            vault,
            id=provider_id,
            name=name,
            domains=domains,
            ui_locale=ui_locale,
            secret_key=secret_key,
            now=time.time(),
        )


async def _speak(provider_id: str, locale: str) -> None:
    async with _changed(provider_id), administration():
        await admin.update_provider(provider_id, now=time.time(), ui_locale=locale)


@asynccontextmanager
async def _changed(provider_id: str | None) -> AsyncIterator[None]:
    """Make the servers reload a provider after the context has changed it.

    None means a new provider: nothing is reloaded.
    """
    link = link_to_servers()
    yield
    if provider_id is not None:
        otherwise = f"servers use the change within {CACHE_SECONDS} s, not at once."
        await tell_servers(link, (PROVIDERS, provider_id.encode()), otherwise=otherwise)


async def _overview() -> list[ProviderOverview]:
    async with administration():
        return await overview()


async def _one(provider_id: str) -> ProviderOverview:
    for row in await _overview():
        if row.id == provider_id:
            return row
    raise unknown(provider_id)


async def _rotate(provider_id: str, overlap: int, secret_key: str | None) -> str:
    async with _changed(provider_id), administration() as vault:
        return await admin.rotate_secret(
            vault, provider_id, overlap_seconds=overlap, secret_key=secret_key, now=time.time()
        )


async def _social(
    provider_id: str, name: str, enabled: bool, source: KeySource, application: Application | None
) -> bool:
    """Change a social login, and return whether the login has keys."""
    now = time.time()
    async with _changed("" if provider_id == SERVICE else provider_id), administration() as vault:
        async with transaction():
            if application is not None:
                await admin.set_application(vault, provider_id, name, application, now=now)
            if provider_id != SERVICE:
                await admin.set_social(
                    provider_id, name, enabled=enabled, key_source=source, now=now, offered=load().offered_socials
                )
        if application is not None:
            return True
        return any(
            login.social == name and login.client_id
            for row in await overview()
            if row.id == provider_id
            for login in row.socials
        )


def _secret(variable: str | None) -> str | None:
    if variable is None:
        return None
    if not os.environ.get(variable):
        # a text that does not look like a variable's name may be the secret itself
        shown = variable if re.fullmatch("[A-Z_]{1,40}", variable) else "of the secret"
        raise click.UsageError(f"The environment variable {shown} is not set or is empty.")
    return os.environ[variable]


def _show_secret(provider_id: str, secret_key: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"id": provider_id, "secret_key": secret_key}))
        return
    click.echo(f"provider id  {provider_id}")
    click.echo(f"secret_key   {secret_key}")
    click.echo("Keep the secret on your own server, never in a page. It is not shown again.", err=True)


def _details(row: ProviderOverview) -> Table:
    table = Table(show_header=False)
    _add_row(table, "id", row.id)
    _add_row(table, "name", row.name)
    _add_row(table, "on", _yes(row.enabled))
    _add_row(table, "domains", "\n".join(row.domains) or "none: social login cannot start")
    _add_row(table, "sockets from these only", _yes(row.restrict_socket_origins))
    _add_row(table, "social login", "\n".join(map(_social_line, row.socials)) or "none")
    if row.previous_until > time.time():
        _add_row(table, "previous secret", f"valid until {moment(row.previous_until)}")
    _add_row(table, "made", moment(row.created_at))
    _add_row(table, "changed", moment(row.updated_at))
    return table


def _social_line(social: SocialOverview) -> str:
    keys = f"client id {social.client_id}" if social.client_id else "no keys yet, so the widget does not offer it"
    return f"{social.social} {'on' if social.enabled else 'off'}, {social.key_source} keys, {keys}"


def _add_row(table: Table, *cells: str) -> None:
    """Add a row of plain text, because a name may contain rich markup."""
    table.add_row(*(Text("\n".join(map(printable, cell.split("\n")))) for cell in cells))


def _yes(value: bool) -> str:
    return "yes" if value else "no"
