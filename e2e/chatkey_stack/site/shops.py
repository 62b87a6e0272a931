"""The shops of the site: the configuration of each shop, and who is signed in at the shop."""

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from chatkey_stack.site.token_backend import Person, TokenBackend

SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
HEADER_NAME = re.compile(r"[A-Za-z0-9-]+")
HEADER_VALUE = re.compile(r"[\t -~]*")
RESERVED = ("lab", "static", "people")
KEPT_SESSIONS = 1000


@dataclass(frozen=True, slots=True)
class Page:
    """A page that a test has added, with its headers. Raises `ValueError` for a header that HTTP does not allow."""

    html: str
    headers: Mapping[str, str]

    def __post_init__(self) -> None:
        for name, value in self.headers.items():
            if not HEADER_NAME.fullmatch(name):
                raise ValueError(f"the name of the header {name!r} cannot be used. Use letters, digits and hyphens")
            if not HEADER_VALUE.fullmatch(value):
                raise ValueError(f"the value of the header {name!r} cannot be used: {value!r}. Use one line of ASCII")


@dataclass(slots=True)
class Shop:
    """One integrator: a provider, the provider's secret, and whether the page offers `getToken`.

    `spy` is the origin of a page that frames the shop and may observe the widget; only the demo sets it. `tail` is
    added to the ids of the shop's people, so that shops with the same provider have different people.
    """

    slug: str
    title: str
    provider_id: str
    backend: TokenBackend
    get_token: bool
    spy: str | None = None
    tail: str = ""
    token_calls: int = 0
    pages: dict[str, Page] = field(default_factory=dict[str, "Page"], repr=False)
    """Pages that a test has added, by name."""
    _sessions: dict[str, Person] = field(default_factory=dict[str, Person], repr=False)

    @property
    def cookie(self) -> str:
        """The name of the session cookie. Each shop has a different name, because cookies ignore ports."""
        return f"sid_{self.slug}"

    def sign_in(self, person: Person) -> str:
        """Start a session and return the id. Remove the oldest session if there are too many."""
        while len(self._sessions) >= KEPT_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        session = secrets.token_urlsafe(24)
        self._sessions[session] = replace(person, id=person.id + self.tail)
        return session

    def who(self, session: str | None) -> Person | None:
        """Return the person who is signed in with this session, if any."""
        return self._sessions.get(session) if session else None

    def sign_out(self, session: str | None) -> None:
        if session:
            self._sessions.pop(session, None)


class Shops:
    """All shops by slug, and the clock for the tokens of the shops."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._shops: dict[str, Shop] = {}
        self.offset = 0.0

    def now(self) -> float:
        """Return the time in seconds since the epoch, moved by `offset`."""
        return self._now() + self.offset

    def add(
        self,
        *,
        slug: str,
        title: str,
        provider_id: str,
        secret_key: str,
        get_token: bool,
        spy: str | None = None,
        tail: str = "",
    ) -> Shop:
        """Open a shop, or reopen it with nobody signed in. Raises `ValueError` for a slug that no path can contain."""
        if not SLUG.fullmatch(slug) or slug in RESERVED:
            raise ValueError(
                f"slug {slug!r} cannot be used. Use letters a-z, digits and hyphens, but not lab, static or people"
            )
        backend = TokenBackend(provider_id, secret_key, now=self.now)
        self._shops[slug] = Shop(slug, title, provider_id, backend, get_token, spy, tail)
        return self._shops[slug]

    def get(self, slug: str) -> Shop | None:
        return self._shops.get(slug)

    def remove(self, slug: str) -> None:
        self._shops.pop(slug, None)

    def all(self) -> list[Shop]:
        """Return the shops in the order in which they were opened."""
        return list(self._shops.values())
