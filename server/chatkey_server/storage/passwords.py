"""Hashes the passwords of agents and administrators with scrypt (RFC 7914), with salt and cost parameters."""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor
from hashlib import scrypt
from hmac import compare_digest
from typing import Final

from chatkey_server.identity.errors import RateLimited

N, R, P = 2**14, 8, 5
"""The parameters of scrypt: one password takes 16 MiB and about 0.1 s. OWASP recommends them."""
MEMORY: Final = 64 * 1024 * 1024

AT_ONCE: Final = 2
"""How many passwords are checked concurrently, so that many guesses do not occupy every core."""
WAITING: Final = 50

_threads: Final = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="password")
_waiting: set[asyncio.Future[bool]] = set()


def hash_password(password: str) -> str:
    """Return the text to store for a password: `scrypt$n$r$p$salt$hash`."""
    salt = secrets.token_bytes(16)
    return "$".join(["scrypt", str(N), str(R), str(P), _text(salt), _text(_derive(password, salt, N, R, P))])


def verify_password(password: str, stored: str) -> bool:
    _, n, r, p, salt, expected = stored.split("$")
    derived = _derive(password, b64decode(salt), int(n), int(r), int(p))
    return compare_digest(derived, b64decode(expected))


async def verified(password: str, stored: str) -> bool:
    """Run `verify_password` in a thread, after waiting for a turn. Raises `RateLimited` if too many calls wait."""
    if len(_waiting) >= AT_ONCE + WAITING:
        raise RateLimited(1, "Too many sign-ins at once")
    looking = asyncio.get_running_loop().run_in_executor(_threads, verify_password, password, stored)
    _waiting.add(looking)
    looking.add_done_callback(_waiting.discard)
    return await looking


def _derive(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return scrypt(password.encode("utf-8", "replace"), salt=salt, n=n, r=r, p=p, maxmem=MEMORY, dklen=32)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()
