"""The social providers this server can log people in with, by name (contract 4.4)."""

from chatkey_protocol.codes import Code
from chatkey_protocol.names import ANNOUNCED_SOCIALS
from chatkey_server.identity.errors import Refused
from chatkey_server.social.discord import DISCORD
from chatkey_server.social.facebook import FACEBOOK
from chatkey_server.social.github import GITHUB
from chatkey_server.social.gitlab import GITLAB
from chatkey_server.social.google import GOOGLE
from chatkey_server.social.provider import SocialProvider

PROVIDERS = {provider.name: provider for provider in (GOOGLE, FACEBOOK, GITHUB, GITLAB, DISCORD)}


def get(name: str) -> SocialProvider:
    """Return a social provider. Raises `Refused(social_unknown)` for a name that is unknown or only announced."""
    if provider := PROVIDERS.get(name):
        return provider
    if name in ANNOUNCED_SOCIALS:
        raise Refused(Code.SOCIAL_UNKNOWN, f"Logging in with {name} is not available yet.", member="social")
    raise Refused(
        Code.SOCIAL_UNKNOWN, f"There is no such social login; there are {', '.join(PROVIDERS)}.", member="social"
    )
