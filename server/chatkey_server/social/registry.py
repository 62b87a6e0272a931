"""The social providers this server can log people in with, by name (contract 4.4)."""

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.settings import Settings
from chatkey_server.social.amazon import AMAZON
from chatkey_server.social.apple import APPLE
from chatkey_server.social.discord import DISCORD
from chatkey_server.social.facebook import FACEBOOK
from chatkey_server.social.github import GITHUB
from chatkey_server.social.gitlab import GITLAB
from chatkey_server.social.google import GOOGLE
from chatkey_server.social.provider import SocialProvider
from chatkey_server.social.tiktok import TIKTOK
from chatkey_server.social.x import X

PROVIDERS = {
    provider.name: provider for provider in (GOOGLE, FACEBOOK, GITHUB, GITLAB, DISCORD, APPLE, X, TIKTOK, AMAZON)
}


def get(name: str, settings: Settings) -> SocialProvider:
    """Return a social provider. Raises `Refused(social_unknown)` for a name that is unknown or only announced."""
    if name in settings.offered_socials:
        return PROVIDERS[name]
    if name in PROVIDERS:
        raise Refused(
            Code.SOCIAL_UNKNOWN, f"Logging in with {PROVIDERS[name].title} is not available yet.", member="social"
        )
    offered = ", ".join(settings.offered_socials)
    raise Refused(Code.SOCIAL_UNKNOWN, f"There is no such social login; there are {offered}.", member="social")
