"""`chatkey agent`: manages the accounts of the agent panel, and which businesses each agent answers for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import click

from chatkey_server.chat.events import AGENT_SESSIONS
from chatkey_server.commands.administration import administration, link_to_servers, read_secret, tell_servers
from chatkey_server.commands.errors import ServiceGroup
from chatkey_server.storage import accounts, agents
from chatkey_server.storage.agents import AgentEntry
from chatkey_server.storage.tables import Agent

ALL: Final = "all businesses"

only = click.option("--provider", "providers", metavar="ID", multiple=True, help="Only for this business. Repeatable.")


@click.group(cls=ServiceGroup)
def agent() -> None:
    """Manage the people who answer in the agent panel."""


@agent.command()
@click.argument("name")
@only
def add(name: str, providers: tuple[str, ...]) -> None:
    """Add an agent for all businesses, or only for the given ones.

    The password is prompted for, or read from standard input.
    """
    password = read_secret("Password")
    asyncio.run(_administer(partial(agents.add_agent, name, password, providers or None)))
    click.echo(f"Agent {name} can sign in now, and answers for {_businesses(providers or None)}.")


@agent.command("list")
def list_() -> None:
    """List the agents and the businesses that each one answers for."""
    entries = asyncio.run(_listed())
    if not entries:
        click.echo("No agents yet; add one with `chatkey agent add`.")
    width = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        click.echo(f"{entry.name:{width}}  {_businesses(entry.providers)}")


@agent.command()
@click.argument("name")
@only
@click.option(
    "--all", "is_all", is_flag=True, help="Answer for all businesses, including businesses that are added later."
)
def businesses(name: str, providers: tuple[str, ...], is_all: bool) -> None:
    """Set the businesses that an agent answers for: the given ones, or all. Open pages of the agent reload at once."""
    if is_all == bool(providers):
        raise click.UsageError("Name the businesses with --provider ID (repeatable), or give --all.")
    asyncio.run(_administer(partial(agents.set_providers, name, providers or None)))
    click.echo(f"Agent {name} answers for {_businesses(providers or None)} now.")


@agent.command()
@click.argument("name")
def passwd(name: str) -> None:
    """Set a new password for an agent, and sign them out everywhere."""
    asyncio.run(_administer(partial(accounts.set_password, Agent, name, read_secret("Password"))))
    click.echo(f"Agent {name} has a new password, and is signed out everywhere.")


@agent.command()
@click.argument("name")
def remove(name: str) -> None:
    """Remove an agent, and sign them out everywhere. Their messages are kept."""
    asyncio.run(_administer(partial(accounts.remove, Agent, name)))
    click.echo(f"{name} is no longer an agent.")


def _businesses(providers: Sequence[str] | None) -> str:
    if providers is None:
        return ALL
    return ", ".join(dict.fromkeys(providers)) or "no business"


async def _listed() -> list[AgentEntry]:
    async with administration():
        return await agents.listed()


async def _administer(change: Callable[[], Awaitable[None]]) -> None:
    link = link_to_servers()
    async with administration():
        await change()
    otherwise = "open pages notice the change within a second, not at once."
    await tell_servers(link, (AGENT_SESSIONS, b""), otherwise=otherwise)
