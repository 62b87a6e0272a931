"""The imitated providers, one module each. A module is imported when its provider is first needed."""

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
"""All imitated providers: those of the chat service, two others, and generic OpenID Connect.

Each has a module with a class `Imitated`.
"""


def load(name: str) -> type[Provider]:
    """Return the class that imitates a provider of `NAMES`."""
    return cast("type[Provider]", import_module(f"{__name__}.{name}").Imitated)


@cache
def real_hosts() -> dict[str, str]:
    """Return the name of the provider for each real host. Imports all provider modules."""
    return {host: name for name in NAMES for host in load(name).hosts}


def declared_switches() -> dict[str, tuple[Switch, ...]]:
    return {name: load(name).switches for name in NAMES}


def check_client(client: Client) -> None:
    """Check whether the client's provider, one of `NAMES`, would register the client. If not, raise `ClientError`."""
    load(client.provider).check_client(client)
