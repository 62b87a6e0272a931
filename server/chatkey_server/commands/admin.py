"""`chatkey admin`: manages the accounts of the admin panel."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

import click

from chatkey_server.commands.administration import administration, read_secret
from chatkey_server.commands.errors import ServiceGroup
from chatkey_server.storage import accounts
from chatkey_server.storage.tables import Administrator


@click.group(cls=ServiceGroup)
def admin() -> None:
    """Manage the people who may sign in to the admin panel."""


@admin.command()
@click.argument("name")
def add(name: str) -> None:
    """Add an administrator. Prompts for the password, or reads it from standard input."""
    asyncio.run(_administer(partial(accounts.add, Administrator, name, read_secret("Password"))))
    click.echo(f"Administrator {name} can sign in at /admin/ now.")


@admin.command()
@click.argument("name")
def passwd(name: str) -> None:
    """Set a new password for an administrator, and sign them out everywhere."""
    asyncio.run(_administer(partial(accounts.set_password, Administrator, name, read_secret("Password"))))
    click.echo(f"Administrator {name} has a new password, and is signed out everywhere.")


@admin.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove an administrator, and sign them out everywhere."""
    asyncio.run(_administer(partial(accounts.remove, Administrator, name)))
    click.echo(f"{name} is no longer an administrator.")


async def _administer(change: Callable[[], Awaitable[None]]) -> None:
    async with administration():
        await change()
