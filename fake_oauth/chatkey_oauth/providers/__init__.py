"""One module per real provider imitated; each is imported when it is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from chatkey_protocol.names import SOCIALS

if TYPE_CHECKING:
    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.engine.provider import Provider
    from chatkey_oauth.engine.switches import Switch

NAMES: Final = (*SOCIALS, "microsoft", "linkedin", "oidc")
"""Those the chat service offers, further ones, and nobody in particular; each has a module with a class `Imitated`."""


def load(name: str) -> type[Provider]:
    """The class that imitates a provider of `NAMES`."""
    return cast("type[Provider]", import_module(f"{__name__}.{name}").Imitated)


@cache
def real_hosts() -> dict[str, str]:
    """The provider of each real host. Imports them all."""
    return {host: name for name in NAMES for host in load(name).hosts}


def declared_switches() -> dict[str, tuple[Switch, ...]]:
    """The switches of every provider."""
    return {name: load(name).switches for name in NAMES}


def check_client(client: Client) -> None:
    """Refuse a client that its provider, one of `NAMES`, would not register. Raises `ClientError`."""
    load(client.provider).check_client(client)
