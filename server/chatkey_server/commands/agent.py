"""`chatkey agent`: the people who answer in the agent panel."""

from __future__ import annotations

import asyncio

import click

from chatkey_server.commands.session import administration, read_secret
from chatkey_server.storage.agents import add_agent


@click.group()
def agent() -> None:
    """Manage the people who answer in the agent panel."""


@agent.command()
@click.argument("name")
def add(name: str) -> None:
    """Add an agent; the password is asked for, or read from standard input."""
    password = read_secret("Password")
    asyncio.run(_add(name, password))
    click.echo(f"Agent {name} can sign in now.")


async def _add(name: str, password: str) -> None:
    async with administration():
        await add_agent(name, password)
