"""Code that the start and the callback of a social login share: the application, and the callback's address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatkey_protocol.codes import Code
from chatkey_protocol.names import OAUTH_CALLBACK_PATH
from chatkey_server.identity.errors import Refused

if TYPE_CHECKING:
    from chatkey_server.settings import Settings
    from chatkey_server.social.provider import SocialProvider
    from chatkey_server.storage.providers import Application, ProviderView


def application_of(provider: ProviderView, social: SocialProvider) -> Application:
    """Return the OAuth application of the service or of the business (contract 1, modes 3 and 4).

    Raises `Refused(social_disabled)` if the provider has not enabled this social login or the keys are missing, and
    `Refused(provider_off)` if the provider is switched off.
    """
    if not provider.enabled:
        raise Refused(Code.PROVIDER_OFF, "This chat is switched off.", member="id")
    login = provider.socials.get(social.name)
    if login is None or login.application is None:
        raise Refused(Code.SOCIAL_DISABLED, f"This chat does not offer sign-in with {social.title}.", member="social")
    return login.application


def redirect_uri(settings: Settings, social: SocialProvider) -> str:
    """Return the redirect URI that is registered at the social provider (contract 4.5).

    The Host header has no influence.
    """
    return settings.base_url + OAUTH_CALLBACK_PATH.format(social=social.name)
