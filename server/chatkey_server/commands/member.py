"""`chatkey member`: erases the data of one person."""

from __future__ import annotations

import asyncio
from typing import Final, cast, get_args

import click

from chatkey_server.chat import erasure
from chatkey_server.chat.erasure import Login, Person, Stored
from chatkey_server.commands.administration import administration, link_to_servers, printable, tell_servers
from chatkey_server.commands.errors import ServiceGroup

STAY_OPEN: Final = (
    "Open sockets of this person stay open. To close them, restart the servers, or erase the person in "
    "the admin panel instead."
)


@click.group(cls=ServiceGroup)
def member() -> None:
    """Erase a person's data."""


@member.command()
@click.argument("provider")
@click.argument("login", type=click.Choice(get_args(Login)))
@click.argument("uid")
@click.option(
    "--yes", is_flag=True, help="Erase the data. Without this option the command only shows what would be erased."
)
def erase(provider: str, login: str, uid: str, *, yes: bool) -> None:
    """Erase one person: record, conversation, messages and calls. Reports what remains, and why.

    PROVIDER, LOGIN and UID identify the person. The agent panel and the log show these values. Without --yes nothing is
    changed.
    """
    person = Person(provider, cast("Login", login), uid)
    found, remains = asyncio.run(_erase(person) if yes else _look(person))
    click.echo(_summary(person, found, "Erased" if yes else "Would erase"))
    click.echo("What remains, and why:" if yes else "What would remain, and why:")
    for line in remains:
        click.echo(f"- {line}")
    if not yes:
        click.echo("Nothing was changed. Repeat the command with --yes to erase.", err=True)


def _summary(person: Person, found: Stored, done: str) -> str:
    name = f"{person.login} {printable(person.uid)!r} of {printable(person.provider)!r}"
    if not any(found):
        return f"Nothing is stored of {name}. Check login and uid: both are case-sensitive."
    return f"{done} {name}: {found}."


async def _look(person: Person) -> tuple[Stored, list[str]]:
    async with administration():
        return await erasure.stored(person), _remains(is_told=link_to_servers() is not None)


async def _erase(person: Person) -> tuple[Stored, list[str]]:
    link = link_to_servers()
    async with administration():
        erased, remains = await erasure.erase(person), _remains(is_told=link is not None)
    await tell_servers(link, erasure.NEWS, otherwise=STAY_OPEN)
    return erased, remains


def _remains(*, is_told: bool) -> list[str]:
    """Return what remains. Without Redis this includes open sockets, because the servers are not notified."""
    return [*erasure.remains(), *([] if is_told else [f"Redis is not configured. {STAY_OPEN}"])]
