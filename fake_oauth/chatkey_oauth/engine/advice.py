"""Advice for developers about a refused request: the received value, the registered values, and the remedy.

The error page shows the advice below the provider's message. The timeline also contains the advice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from chatkey_oauth.engine.text import clean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.refusals import Refusal

    R = TypeVar("R", bound=Refusal)

LONGEST: Final = 200
"""The maximum length of a quoted value, in characters."""

MOST: Final = 5
"""The maximum number of listed values."""


def advised(refusal: R, words: str) -> R:
    refusal.advice = words
    return refusal


def unknown_client(provider: str, parameter: str, client_id: str | None, clients: Iterable[Client]) -> str:
    """Return advice about an unregistered client. `parameter` is the name of the client id parameter."""
    known = [client.client_id for client in clients if client.provider == provider]
    return (
        f"{came(parameter, client_id)} Registered at {provider}: {listed(known)}. Use one of these, or "
        "register your own in the file given with --clients or by POST /lab/clients. A fake that is started "
        "with --any-client accepts every id."
    )


def foreign_redirect_uri(client: Client, uri: str | None) -> str:
    """Return advice about a redirect URI that is missing, malformed or not registered."""
    loopback = ", and every address of this machine" if client.any_loopback else ""
    return (
        f"{came('redirect_uri', uri)} Registered "
        f"for {quoted(client.client_id)}: {listed(client.redirect_uris)}{loopback}. Send one of these exactly "
        "as written, or register your own: in redirect_uris in the file given with --clients, or by POST "
        "/lab/clients."
    )


def unknown_scope(label: str, scopes: Collection[str], asked: str | None) -> str:
    """Return advice about a missing or unknown scope."""
    return f"{came('scope', asked)} {label} supports: {listed(scopes, most=12)}. Request one of these."


def forgotten_scope(needed: Iterable[str], granted: Collection[str]) -> str:
    """Return advice about a token without the scope that this endpoint needs."""
    return (
        f"This endpoint requires the scope {' or '.join(map(quoted, needed))}; the token "
        f"has {listed(granted)}. Add it to scope in the authorization request, and log in again."
    )


def came(parameter: str, value: str | None) -> str:
    """Say which value was received for a parameter, or that the parameter was missing."""
    return f"The request has no {parameter}." if value is None else f"The request has {parameter} {quoted(value)}."


def listed(values: Collection[str], most: int = MOST) -> str:
    """Return the values as a list in words. At most `most` values are listed."""
    shown = ", ".join(quoted(value) for value in list(values)[:most])
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return f"{shown}{more}" if shown else "none"


def quoted(value: str) -> str:
    """Return a value in quotes, with at most `LONGEST` characters."""
    return repr(clean(value if len(value) <= LONGEST else f"{value[:LONGEST]}…"))
