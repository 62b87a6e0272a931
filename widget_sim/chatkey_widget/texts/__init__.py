"""The texts of the widget for people, in all languages."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from chatkey_protocol.codes import Code
from chatkey_protocol.names import SOCIALS
from chatkey_widget.texts.arabic import ARABIC
from chatkey_widget.texts.english import ENGLISH
from chatkey_widget.texts.german import GERMAN
from chatkey_widget.texts.words import Notice, Reason, Texts

__all__ = ["LANGUAGES", "Notice", "Texts", "choose", "initials", "reason", "social_name", "speaking"]

LANGUAGES: Final[Mapping[str, Texts]] = {"en": ENGLISH, "de": GERMAN, "ar": ARABIC}
STANDARD: Final = "en"

_TAG: Final = re.compile(r"([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_]([a-z]{2}|[0-9]{3}))?(?![a-z0-9])", re.IGNORECASE)
"""Matches language, script and region of a tag (BCP 47).

The rest of a tag is ignored, because it has no effect here and `Intl` might reject it.
"""


def choose(wishes: Iterable[str]) -> str:
    """Return the first tag in `wishes` whose language the widget has, such as `de-AT`. If there is none, return
    English.

    If that tag has no region, a later tag of the same language with a region is preferred: `en` and `en-GB` give
    `en-GB`.
    """
    tags = filter(None, map(_TAG.match, wishes))
    spoken = [tag for tag in tags if tag[1].lower() in LANGUAGES]
    alike = [tag for tag in spoken if tag[1].lower() == spoken[0][1].lower()]
    best = next((tag for tag in alike if tag[3]), alike[0] if alike else None)
    return "-".join(filter(None, best.groups())) if best else STANDARD


def speaking(locale: str) -> Texts:
    """Return the texts for a tag that `choose` returned."""
    return LANGUAGES[locale.partition("-")[0].lower()]


def social_name(social: str) -> str:
    """Return the name of a social provider as the provider spells it."""
    return SOCIALS[social].title if social in SOCIALS else social.capitalize()


_REASONS: Final[Mapping[str, Reason]] = {
    Code.TOO_LARGE: "too_long",
    Code.FRAME_TOO_LARGE: "too_long",
    Code.FRAME_INVALID: "unreadable",
    Code.PARAMETER_INVALID: "unreadable",
}


def reason(texts: Texts, code: str) -> str:
    """Return why a message was refused, for the person who wrote it."""
    return texts.reasons[_REASONS[code]] if code in _REASONS else code


def initials(name: str) -> str:
    """Return up to two letters that stand for a name."""
    words = [word for word in name.split() if word[0].isalnum()]
    return "".join(word[0] for word in (words[:1] + words[-1:] if len(words) > 1 else words)).upper()
