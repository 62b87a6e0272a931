"""One module per social provider, each with a `PROVIDER`. A module is imported at the first login (contract 4.4)."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, cast

from chatkey_protocol.codes import Code
from chatkey_protocol.names import SOCIALS
from chatkey_server.identity.errors import Refused
from chatkey_server.social.provider import REAL

if TYPE_CHECKING:
    from chatkey_server.settings import Settings
    from chatkey_server.social.provider import SocialProvider


def load(name: str) -> SocialProvider:
    """Return a social provider from `SOCIALS` with its real addresses."""
    return cast("SocialProvider", import_module(f"{__name__}.{name}").PROVIDER)


def find(name: str, settings: Settings) -> SocialProvider:
    """Return a social provider that this server offers, at the addresses from the settings.

    Raises `Refused(social_unknown)` for a name that is unknown or only announced.
    """
    if name in settings.offered_socials:
        return replace(load(name), address=settings.socials.get(name, REAL))
    if name in SOCIALS:
        raise Refused(Code.SOCIAL_UNKNOWN, f"Login with {SOCIALS[name].title} is not available yet.", member="social")
    offered = ", ".join(settings.offered_socials)
    raise Refused(Code.SOCIAL_UNKNOWN, f"There is no such social provider. Available: {offered}.", member="social")
