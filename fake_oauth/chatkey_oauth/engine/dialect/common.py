"""What every part of a dialect needs: who the provider is, what it remembers, and what its formats are made of."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from chatkey_oauth.engine.grants import Grants
from chatkey_oauth.engine.http import Answer, json_answer
from chatkey_oauth.engine.signing import KeyRing, hexadecimal
from chatkey_oauth.engine.text import digits
from chatkey_protocol.names import SOCIALS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chatkey_oauth.engine.flows import Leg
    from chatkey_oauth.engine.people import Person
    from chatkey_oauth.engine.switches import Switch
    from chatkey_oauth.engine.world import Addresses, World

ALPHANUMERIC = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


class Common:
    """One provider of a running fake. Its state is what it issued (`grants`) and what it signs with (`keys`)."""

    name: ClassVar[str]
    hosts: ClassVar[tuple[str, ...]]
    """The real hosts that are folded into one here; the first is the one it signs as."""

    accent: ClassVar[tuple[str, str]]
    """The colour of buttons, on a light and on a dark page."""

    ready_made: ClassVar[Mapping[str, Any]]
    """Members of the application that is there without a clients file: its keys, in the provider's format."""
    scopes: ClassVar[Mapping[str, str]]
    """Every scope with words for what it shares; the consent page shows them."""
    scope_separator: ClassVar[str] = " "
    first_keys: ClassVar[int] = 1
    """How many signing keys are published from the start."""
    open_to_pages: ClassVar[frozenset[Leg]] = frozenset()
    """The legs whose endpoints answer pages of other origins."""
    switches: ClassVar[tuple[Switch, ...]] = ()
    """What is known from one source or none, and so can be had either way."""

    def __init__(self, world: World, addresses: Addresses) -> None:
        self.world = world
        self.addresses = addresses
        self.keys = KeyRing(world.make_key, self.first_keys, self.kid)
        self.grants = Grants()
        self._defaults = {switch.name: switch.default for switch in self.switches}

    def reset(self) -> None:
        """Forget what happened; the signing keys stay, so that what others cached of them holds."""
        self.grants.clear()

    def on(self, name: str) -> bool:
        """Whether a switch of `switches` is on."""
        return self.world.switches.is_on(f"{self.name}.{name}", self._defaults[name])

    def canonical(self, path: str) -> str:
        """Fold the spellings of a path into one; the provider's aliases that follow a rule."""
        return path

    def kid(self, digest: bytes) -> str:
        """The id of the signing key that has this digest."""
        return hexadecimal(digest)

    def rate_limited(self, retry_after: int) -> Answer:
        """The refusal of one request too many, at any endpoint; `retry_after` is in seconds (RFC 6585 4)."""
        wait = f"Too many requests. Retry in {retry_after} seconds."
        body = {"error": "rate_limit_exceeded", "error_description": wait}
        return json_answer(body, 429, (("retry-after", str(retry_after)),))

    @property
    def label(self) -> str:
        """How the provider writes itself."""
        return SOCIALS[self.name].title

    @property
    def now(self) -> int:
        """The time in whole seconds."""
        return int(self.world.clock())

    @property
    def browser_path(self) -> str:
        """The path under which browsers see this provider."""
        return urlsplit(self.addresses.browser).path

    def alphanumeric(self, length: int, alphabet: str = ALPHANUMERIC) -> str:
        """Random letters and digits."""
        return letters(self.world.random(length), alphabet)

    def hexadecimal(self, length: int) -> str:
        """Random lower-case hexadecimal digits."""
        return self.world.random(length // 2).hex()

    def number(self, person: Person, length: int, *more: str) -> str:
        """A number of that many digits that is always the same for a person at this provider."""
        return digits(" ".join((self.name, person.id, *more)), length)


def letters(raw: bytes, alphabet: str = ALPHANUMERIC) -> str:
    """Each byte as a letter of an alphabet."""
    return raw.translate(bytes_to(alphabet)).decode()


@cache
def bytes_to(alphabet: str) -> bytes:
    """A table from bytes to letters; the slight bias of the modulo does not matter in a fake."""
    return bytes(ord(alphabet[byte % len(alphabet)]) for byte in range(256))
