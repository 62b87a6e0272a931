"""What the administrative commands share: the open database, and text that is safe on a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import click
import structlog

from chatkey_server import logs
from chatkey_server.chat.hub import Link
from chatkey_server.chat.links import link_of
from chatkey_server.settings import load
from chatkey_server.storage import engine, migrate
from chatkey_server.storage.vault import Vault


@asynccontextmanager
async def administration() -> AsyncIterator[Vault]:
    """Open the database of the settings, up to date, and return the vault of its secrets."""
    log_errors()
    settings = load()
    vault = Vault.of(settings)
    async with engine.opened(settings.database):
        await migrate.ensure(settings)
        yield vault


def log_errors() -> None:
    """Log errors to standard error: structlog by itself writes everything to standard output."""
    if not structlog.is_configured():
        logs.configure("error")


def link_to_servers() -> Link | None:
    """Return the way to the servers of this deployment; None where no Redis connects them."""
    settings = load()
    return link_of(settings.redis_url, Vault.of(settings).hub_keys)


async def tell_servers(link: Link | None, news: tuple[str, bytes], otherwise: str) -> None:
    """Publish what was done, so that the servers know at once. If Redis is away, print what happens `otherwise`."""
    if link is None:
        return
    try:
        await link.announce(news)
    except Exception as error:  # noqa: BLE001 - whatever it is, what was asked for is done
        click.echo(f"Redis cannot be reached ({type(error).__name__}): {otherwise}", err=True)


def database_exists() -> bool:
    """Tell whether there may be anything to look up: not in a folder where no server of this machine ever ran."""
    settings = load()
    file = settings.database.removeprefix(engine.SQLITE)
    return bool(settings.database_url) or os.path.exists(file)  # noqa: PTH110 - Path raises for a name that is too long


def read_secret(label: str) -> str:
    """Ask for a secret without showing it; where nobody can be asked, read a line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt(label, hide_input=True, err=True))
    secret = sys.stdin.readline().rstrip("\r\n")
    if not secret:
        raise click.UsageError(f"No {label.lower()} on standard input: type it there, or run this on a terminal.")
    return secret


def printable(text: str) -> str:
    """Return a stored text without anything that could steer the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
