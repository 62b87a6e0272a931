"""The texts of the popup page in all languages of the widget. The browser's preference selects the language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

MOST_LANGUAGES: Final = 20
"""The most languages of an Accept-Language header that are considered. Browsers send only a few."""

_LANGUAGE: Final = re.compile(r"\s*([a-zA-Z]{2,3})(?:-[a-zA-Z0-9-]{1,40})?\s*(?:;\s*q=([01](?:\.[0-9]{1,3})?)\s*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The texts in one language. `{name}` stands for the person's name."""

    language: str
    direction: Literal["ltr", "rtl"] = "ltr"
    signed_in: str
    welcome: str
    welcome_by_name: str
    cancelled: str
    failed: str
    under_way: str
    close_window: str
    lost_heading: str
    lost: str
    back: str
    no_script: str


ENGLISH: Final = Words(
    language="en",
    signed_in="You are signed in",
    welcome="Welcome.",
    welcome_by_name="Welcome, {name}.",
    cancelled="Sign-in cancelled",
    failed="Sign-in failed",
    under_way="Sign-in under way",
    close_window="You can close this window and go back to the chat.",
    lost_heading="The chat cannot be reached",
    lost=(
        "This window has lost the connection to the page that opened it, so the chat does not know that you "
        "are signed in. The browser inside an app always does this: go back, open the page in your own browser, and "
        "sign in there. In any other browser, go back and sign in again."
    ),
    back="Back to {site}",
    no_script=(
        "Without JavaScript the chat cannot learn that you are signed in. Enable JavaScript, close this "
        "window and sign in again."
    ),
)
GERMAN: Final = Words(
    language="de",
    signed_in="Sie sind angemeldet",
    welcome="Willkommen.",
    welcome_by_name="Willkommen, {name}.",
    cancelled="Anmeldung abgebrochen",
    failed="Die Anmeldung hat nicht geklappt",
    under_way="Die Anmeldung läuft",
    close_window="Sie können dieses Fenster schließen und zum Chat zurückkehren.",
    lost_heading="Der Chat ist nicht erreichbar",
    lost=(
        "Dieses Fenster hat die Verbindung zu der Seite verloren, die es geöffnet hat; der Chat weiß deshalb "
        "nichts von Ihrer Anmeldung. Im Browser einer App ist das immer so: Gehen Sie zurück, öffnen Sie die Seite "
        "in Ihrem eigenen Browser und melden Sie sich dort an. In jedem anderen Browser gehen Sie zurück und melden "
        "sich noch einmal an."
    ),
    back="Zurück zu {site}",
    no_script=(
        "Ohne JavaScript erfährt der Chat nichts von Ihrer Anmeldung. Schalten Sie es ein, schließen Sie "
        "dieses Fenster und melden Sie sich noch einmal an."
    ),
)
ARABIC: Final = Words(
    language="ar",
    direction="rtl",
    signed_in="تم تسجيل دخولك",
    welcome="أهلًا بك.",
    welcome_by_name="أهلًا بك، {name}.",
    cancelled="أُلغي تسجيل الدخول",
    failed="لم ينجح تسجيل الدخول",
    under_way="تسجيل الدخول جارٍ",
    close_window="يمكنك إغلاق هذه النافذة والعودة إلى المحادثة.",
    lost_heading="لا يمكن الوصول إلى المحادثة",
    lost=(
        "فقدت هذه النافذة الصفحة التي فتحتها، فلا تعلم المحادثة أنك سجّلت الدخول. "
        "يحدث هذا دائمًا في المتصفح المدمج داخل التطبيقات: ارجع وافتح الصفحة في متصفحك وسجّل الدخول هناك. "
        "وفي أي متصفح آخر ارجع وسجّل الدخول مرة أخرى."
    ),
    back="العودة إلى {site}",
    no_script="لا يمكن إبلاغ المحادثة بدون JavaScript. شغّله ثم أغلق هذه النافذة وسجّل الدخول مرة أخرى.",
)
LANGUAGES: Final[Mapping[str, Words]] = {words.language: words for words in (ENGLISH, GERMAN, ARABIC)}


def preferred(accept_language: str) -> Words:
    """Return the available language that the browser prefers, or English (RFC 9110 12.5.4)."""
    liked = sorted(_read(accept_language), key=lambda each: -each[1])
    return next((LANGUAGES[name] for name, weight in liked if name in LANGUAGES and weight > 0), ENGLISH)


def _read(accept_language: str) -> Iterator[tuple[str, float]]:
    for part in accept_language.split(",", MOST_LANGUAGES)[:MOST_LANGUAGES]:
        if found := _LANGUAGE.fullmatch(part):
            yield found[1].lower(), float(found[2] or 1)
