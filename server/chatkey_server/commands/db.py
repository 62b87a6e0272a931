"""`chatkey db`: migrates the database and renews its encryption."""

from __future__ import annotations

import asyncio

import click

from chatkey_server.commands.administration import log_errors
from chatkey_server.commands.errors import ServiceGroup
from chatkey_server.settings import load
from chatkey_server.storage import engine, migrate
from chatkey_server.storage.reseal import reseal
from chatkey_server.storage.vault import Vault


@click.group(cls=ServiceGroup)
def db() -> None:
    """Migrate the database, and renew its encryption."""
    log_errors()


@db.command("migrate")
def migrate_() -> None:
    """Bring the tables up to date with this version. Servers of the previous version keep running meanwhile."""
    done = asyncio.run(_migrate())
    click.echo(f"The database is up to date{'' if done else ' already'}.")


@db.command()
def status() -> None:
    """List the migrations that the database lacks. Ends with status 1 if there are any."""
    missing = asyncio.run(_pending())
    for name in missing:
        click.echo(f"missing {name}")
    if missing:
        raise click.ClickException("The database lacks migrations; run `chatkey db migrate`.")
    click.echo("The database is up to date.")


@db.command("reseal")
def reseal_() -> None:
    """Encrypt every secret again. Afterwards only the current master key is needed."""
    count = asyncio.run(_reseal())
    click.echo(f"Sealed {count} secrets under the current master key.")


async def _migrate() -> list[str]:
    async with engine.opened(load().database):
        return await migrate.migrate(click.echo)


async def _pending() -> list[str]:
    async with engine.opened(load().database):
        return await migrate.pending()


async def _reseal() -> int:
    settings = load()
    async with engine.opened(settings.database):
        await migrate.ensure(settings)
        return await reseal(Vault.of(settings))
