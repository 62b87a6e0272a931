"""The page in the popup of a social login.

The page sends the result to the opener, shows the result, and closes (D-09).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import jinja2

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import RateLimited, UnderWay
from chatkey_server.public.answers import NO_STORE, Answer, Header
from chatkey_server.public.popup_words import ENGLISH, Words

if TYPE_CHECKING:
    from chatkey_protocol.frames import OAuthMessage
    from chatkey_server.identity.errors import Refused
    from chatkey_server.public.opener import Opener

HEADERS: Final[tuple[Header, ...]] = (
    (b"content-type", b"text/html; charset=utf-8"),
    NO_STORE,
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""The page's headers. There is no Cross-Origin-Opener-Policy, which would cut the popup off from its opener."""

_TEMPLATE: Final = jinja2.Environment(
    loader=jinja2.PackageLoader("chatkey_server.public", "pages"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
).get_template("popup.html")


def signed_in(opener: Opener, token: str, name: str | None, words: Words = ENGLISH) -> Answer:
    """Return the page that sends the identity token to the opener."""
    greeting = words.welcome_by_name.format(name=name) if name else words.welcome
    return _page(200, _Told(words, words.signed_in, greeting, words.language), opener, opener.granted(token))


def refused(refusal: Refused, opener: Opener | None, words: Words = ENGLISH) -> Answer:
    """Return the page that says why the login failed.

    If the opener is known, the page has a link to it and sends it a message, unless another request may still succeed.
    The details are in English, because integrators may have to read the details.
    """
    heading = words.cancelled if refusal.code is Code.OAUTH_DENIED else words.failed
    message = opener.refused(refusal) if opener else None
    if isinstance(refusal, UnderWay):
        heading, message = words.under_way, None
    page = _page(refusal.meaning.status, _Told(words, heading, refusal.message, "en", refusal.code), opener, message)
    if isinstance(refusal, RateLimited):
        page.headers = (*page.headers, (b"retry-after", b"%d" % refusal.retry_after))
    return page


@dataclass(frozen=True, slots=True)
class _Told:
    """The texts that the page shows. `language` is the language of `text`."""

    words: Words
    heading: str
    text: str
    language: str
    code: str = ""


def _page(status: int, told: _Told, opener: Opener | None, message: OAuthMessage | None) -> Answer:
    nonce = secrets.token_urlsafe(18)
    origin = opener.origin if opener else ""
    delivery = {"origin": origin, "message": message} if message else None
    back = told.words.back.format(site=urlsplit(origin).netloc)
    html = _TEMPLATE.render(nonce=nonce, told=told, words=told.words, delivery=delivery, origin=origin, back=back)
    return Answer(html.encode(), (*HEADERS, (b"content-security-policy", _policy(nonce).encode())), status)


def _policy(nonce: str) -> str:
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
