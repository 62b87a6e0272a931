"""Where a social provider is found: at its real hosts, or folded together under the addresses in the settings."""

from urllib.parse import urlsplit

from chatkey_server.settings import SocialAddress
from chatkey_server.social.provider import SocialProvider


def for_browser(url: str, address: SocialAddress) -> str:
    """Return the address at which a browser finds `url` of the real provider."""
    return _fold(url, address.browser_url or address.server_url)


def for_server(url: str, address: SocialAddress) -> str:
    """Return the address at which this server finds `url` of the real provider."""
    return _fold(url, address.server_url or address.browser_url)


def issuers(social: SocialProvider, address: SocialAddress) -> tuple[str, ...]:
    """Return the spellings of the provider's issuer there; empty when it has none."""
    if not social.issuers:
        return ()
    if address.issuer:
        return (address.issuer,)
    if address == SocialAddress():
        return social.issuers
    return (for_browser(social.issuers[0], address),)


def _fold(url: str, base: str | None) -> str:
    return base.rstrip("/") + urlsplit(url).path if base else url
