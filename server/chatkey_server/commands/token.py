"""`chatkey token`: creates custom-login tokens for testing, and explains any token."""

from __future__ import annotations

import asyncio
import json
import os
import time
from base64 import b64decode
from typing import Final, NoReturn

import click
import msgspec
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from chatkey_protocol.codes import Code
from chatkey_server.clock import moment
from chatkey_server.commands.administration import administration, database_exists, printable
from chatkey_server.commands.errors import ServiceGroup
from chatkey_server.identity import keys, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Profile, Secrets
from chatkey_server.settings import SettingsError
from chatkey_server.storage.providers import load, unknown

MEANINGS: Final = {
    "alg": "signature algorithm; only HS256 is accepted",
    "typ": "token type",
    "pid": "provider id",
    "uid": "whom the token identifies",
    "type": "visitor and user tokens open a socket; an identity token is exchanged for one that does",
    "cnf": "the key that must sign the proof (jkt is its RFC 7638 thumbprint)",
    "name": "member name, shown in the widget",
    "email": "member e-mail, displayed",
    "avatar": "member avatar, displayed",
    "data": "the social provider and the avatar",
    "iat": "issued",
    "nbf": "not before",
    "exp": "expires",
}
"""The meaning of the header and payload members (contract 2.4 to 2.6)."""
TIMES: Final = ("iat", "nbf", "exp")
UNITS: Final = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


@click.group(cls=ServiceGroup)
def token() -> None:
    """Create a member token for testing, or explain any token."""


@token.command()
@click.option("--provider", "provider_id", required=True, help="The provider whose secret signs the token.")
@click.option("--uid", required=True, help="The user's id in your own system.")
@click.option("--jkt", required=True, help="The thumbprint of the widget's key, as getToken receives it.")
@click.option("--name", help="The member's name.")
@click.option("--email", help="The member's e-mail address.")
@click.option("--avatar", help="The URL of the member's picture.")
@click.option(
    "--lifetime",
    type=click.IntRange(min=1),
    default=3600,
    show_default=True,
    help="How many seconds the token is valid.",
)
def mint(
    *, provider_id: str, uid: str, jkt: str, name: str | None, email: str | None, avatar: str | None, lifetime: int
) -> None:
    """Print a member token like the ones that an integrator's backend creates."""
    if not keys.is_jkt(jkt):
        raise Refused(Code.PARAMETER_INVALID, "--jkt must be a SHA-256 thumbprint: 43 characters of base64url.")
    secrets = asyncio.run(_secrets(provider_id))
    if secrets is None:
        raise unknown(provider_id)
    now = time.time()
    profile = Profile(name=name, email=email, avatar=avatar)
    made = tokens.mint_custom(secrets, pid=provider_id, uid=uid, jkt=jkt, profile=profile, now=now, lifetime=lifetime)
    tokens.read_socket_token(made, secrets, pid=provider_id, now=now)  # what the server would refuse is not handed out
    click.echo(made)


@token.command()
@click.argument("source", metavar="[TOKEN|FILE]", default="-")
def inspect(source: str) -> None:
    """Explain a token. Give the token itself or a file that contains it; otherwise it is read from standard input.

    The token is never printed, but a token on the command line stays in the shell's history. Ends with status 1 if
    the server would refuse the token.
    """
    text = _text(source).strip()
    header, payload = _decode(text)
    now = time.time()
    Console().print(_explained(header, payload, now))
    pid = payload.get("pid")
    try:
        secrets = asyncio.run(_secrets(pid)) if isinstance(pid, str) else None
    except SettingsError as error:
        click.echo(f"Not verified: {error}")
        return
    if secrets is None:
        click.echo(
            "Not verified: the token's provider is not in this database, so the signature cannot be checked here."
        )
        return
    _verify(text, payload, secrets, now)
    click.echo("Accepted: the signature and all claims are valid.")


def _text(source: str) -> str:
    if source != "-" and source.count(".") == 2 and not os.path.exists(source):  # noqa: PTH110 - Path raises for long ones
        return source
    try:
        with click.open_file(source, encoding="utf-8") as file:
            return str(file.read())
    except (OSError, UnicodeDecodeError):
        raise click.UsageError(
            "This is neither a token (three parts with dots between them) nor a readable text file."
        ) from None


async def _secrets(provider_id: str) -> Secrets | None:
    if not database_exists():
        return None
    async with administration() as vault:
        view = await load(provider_id, vault, "")
    return view.secrets if view else None


def _decode(text: str) -> tuple[dict[str, object], dict[str, object]]:
    """Return the header and payload of a compact JWS, without verifying the signature."""
    if not text:
        _unreadable("it is empty")
    parts = text.split(".")
    if len(parts) != 3:
        count = "1 part" if len(parts) == 1 else f"{len(parts)} parts"
        _unreadable(f"it has {count}, but a token has three with dots between them")
    header, payload = (_object(part, name) for part, name in zip(parts, ("header", "payload"), strict=False))
    return header, payload


def _object(part: str, name: str) -> dict[str, object]:
    padded = part.translate(str.maketrans("-_", "+/")) + "=" * (-len(part) % 4)
    try:
        return msgspec.json.decode(b64decode(padded), type=dict[str, object])
    except ValueError as error:
        _unreadable(f"its {name} is not base64url of a JSON object ({type(error).__name__})")


def _unreadable(reason: str) -> NoReturn:
    raise Refused(Code.TOKEN_MALFORMED, f"This is not a token: {reason}.")


def _verify(text: str, payload: dict[str, object], secrets: Secrets, now: float) -> None:
    read = tokens.read_identity_token if payload.get("type") == "identity" else tokens.read_socket_token
    try:
        read(text, secrets, pid=str(payload["pid"]), now=now)
    except Refused as refused:
        raise Refused(
            refused.code, f"Refused with {refused.code}: {refused.message}", member=refused.member, cause=refused.cause
        ) from refused


def _explained(header: dict[str, object], payload: dict[str, object], now: float) -> Table:
    table = Table("in", "member", Column("value", overflow="fold"), "meaning")
    for place, members in (("header", header), ("payload", payload)):
        for name, value in members.items():
            meaning = MEANINGS.get(name, "not used by the server")
            if name in TIMES and isinstance(value, int) and not isinstance(value, bool):
                meaning = f"{meaning} {_in_words(value, now)}"
            shown = json.dumps(value, ensure_ascii=False)
            table.add_row(*(Text(printable(cell)) for cell in (place, name, shown, meaning)))
    return table


def _in_words(seconds: int, now: float) -> str:
    """Format a time and its distance from now. A value that is too large for seconds is reported as milliseconds."""
    if not 0 <= seconds < 100_000_000_000:
        return "out of range; it must be in seconds since 1970, not milliseconds"
    distance = round(abs(seconds - now))
    size, unit = next(((size, unit) for size, unit in UNITS if distance >= size), UNITS[-1])
    amount = f"{distance // size} {unit}{'' if distance // size == 1 else 's'}"
    return f"{moment(seconds)}, {f'in {amount}' if seconds > now else f'{amount} ago'}"
