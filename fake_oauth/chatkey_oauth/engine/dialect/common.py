"""The base class of all parts of a dialect: name, hosts, grants and keys, and helpers for formats."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from chatkey_oauth.engine.grants import Grants
from chatkey_oauth.engine.http import Answer, json_answer
from chatkey_oauth.engine.sessions import Sessions
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
    """One provider of a running fake.

    `grants` are all grants that the provider has issued; `keys` are its signing keys. `real_port` is the port (such as
    `:8443`, or empty) if a client called the provider by a real host.
    """

    name: ClassVar[str]
    hosts: ClassVar[tuple[str, ...]]
    """The real hosts of the provider. The fake treats them as one host. The first is the host in the issuer."""

    accent: ClassVar[tuple[str, str]]
    """The colours of buttons, on a light page and on a dark page."""

    ready_made: ClassVar[Mapping[str, Any]]
    """The client that is registered if there is no clients file. Its id and secret have the provider's format."""
    scopes: ClassVar[Mapping[str, str]]
    """Every scope, with its description on the consent page."""
    scope_separator: ClassVar[str] = " "
    first_keys: ClassVar[int] = 1
    """The number of signing keys that are published from the start."""
    has_tenants: ClassVar[bool] = False
    """Whether `/<name>/<tenant>` is the address of a further issuer, with its own keys, grants and sessions."""
    open_to_pages: ClassVar[frozenset[Leg]] = frozenset()
    """The steps of a login whose endpoints allow requests from pages of other origins."""
    switches: ClassVar[tuple[Switch, ...]] = ()
    """Behaviours that are poorly documented. Each can be switched on or off."""

    def __init__(self, world: World, addresses: Addresses) -> None:
        self.world = world
        self.addresses = addresses
        self.real_port: str | None = None
        self.keys = KeyRing(world.make_key, self.first_keys, self.kid)
        self.grants = Grants()
        self.sessions = Sessions(world.random)
        self._defaults = {switch.name: switch.default for switch in self.switches}

    def reset(self) -> None:
        """Delete all codes, tokens, consents and sessions.

        The signing keys stay, because clients may have cached them.
        """
        self.grants.clear()
        self.sessions.clear()

    def on(self, name: str) -> bool:
        """Return whether one of `switches` is on."""
        return self.world.switches.is_on(f"{self.name}.{name}", self._defaults[name])

    def canonical(self, path: str) -> str:
        """Return the normal form of a path. Some providers accept several forms of the same path."""
        return path

    def kid(self, digest: bytes) -> str:
        """Return the id of the signing key with this digest."""
        return hexadecimal(digest)

    def rate_limited(self, retry_after: int) -> Answer:
        """Return the response to a request that exceeds the rate limit, at any endpoint.

        `retry_after` is in seconds (RFC 6585 4).
        """
        wait = f"Too many requests. Retry in {retry_after} seconds."
        body = {"error": "rate_limit_exceeded", "error_description": wait}
        return json_answer(body, 429, (("retry-after", str(retry_after)),))

    @property
    def label(self) -> str:
        """The provider's name that people see."""
        return SOCIALS[self.name].title

    @property
    def now(self) -> int:
        """The time in whole seconds."""
        return int(self.world.clock())

    def at_host(self, host: str) -> str:
        """Return the base address of a real host. Otherwise, all endpoints have the same base address.

        The real host counts only if the client called the provider by a real host.
        """
        if self.real_port is None:
            return self.addresses.server
        return f"{urlsplit(self.addresses.server).scheme}://{host}{self.real_port}"

    @property
    def browser_path(self) -> str:
        """The path of the base address that browsers use for this provider."""
        return path_of(self.addresses.browser)

    def alphanumeric(self, length: int, alphabet: str = ALPHANUMERIC) -> str:
        return letters(self.world.random(length), alphabet)

    def hexadecimal(self, length: int) -> str:
        return self.world.random(length // 2).hex()

    def number(self, person: Person, length: int, *more: str) -> str:
        """Return a number with `length` digits. For the same person at this provider, the number is always the same."""
        return digits(" ".join((self.name, person.id, *more)), length)


@lru_cache(maxsize=64)
def path_of(address: str) -> str:
    return urlsplit(address).path


def letters(raw: bytes, alphabet: str = ALPHANUMERIC) -> str:
    """Map each byte to a letter of an alphabet."""
    return raw.translate(bytes_to(alphabet)).decode()


@cache
def bytes_to(alphabet: str) -> bytes:
    """Return the table that maps bytes to letters.

    The modulo makes some letters slightly more frequent, which is acceptable in a fake.
    """
    return bytes(ord(alphabet[byte % len(alphabet)]) for byte in range(256))
