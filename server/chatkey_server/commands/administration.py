"""Helpers of the administrative commands: opening the database, reading passwords, and printing safely."""

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
    """Open the configured database, check that its schema is up to date, and return the vault that decrypts secrets."""
    log_errors()
    settings = load()
    vault = Vault.of(settings)
    async with engine.opened(settings.database):
        await migrate.ensure(settings)
        yield vault


def log_errors() -> None:
    """Log only errors, to standard error. Without this, structlog writes everything to standard output."""
    if not structlog.is_configured():
        logs.configure("error")


def link_to_servers() -> Link | None:
    """Return the link to the servers of this deployment, or None if no Redis is configured."""
    settings = load()
    return link_of(settings.redis_url, Vault.of(settings).hub_keys)


async def tell_servers(link: Link | None, news: tuple[str, bytes], otherwise: str) -> None:
    """Publish a change, so that the servers notice the change at once. Without Redis, print the warning `otherwise`."""
    if link is None:
        return
    try:
        await link.announce(news)
    except Exception as error:  # noqa: BLE001 - whatever it is, what was asked for is done
        click.echo(f"Redis cannot be reached ({type(error).__name__}): {otherwise}", err=True)


def database_exists() -> bool:
    """Return False if no database URL is set and there is no SQLite file. Otherwise there may be a database."""
    settings = load()
    file = settings.database.removeprefix(engine.SQLITE)
    return bool(settings.database_url) or os.path.exists(file)  # noqa: PTH110 - Path raises for a name that is too long


def read_secret(label: str) -> str:
    """Prompt for a secret without echoing it. Without a terminal, read one line from standard input."""
    if sys.stdin.isatty():
        return str(click.prompt(label, hide_input=True, err=True))
    secret = sys.stdin.readline().rstrip("\r\n")
    if not secret:
        raise click.UsageError(
            f"There is no {label.lower()} on standard input. Pass it there, or run this command in a terminal."
        )
    return secret


def printable(text: str) -> str:
    """Replace the characters of a stored text that could control the terminal."""
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
