"""Counts the password attempts of administrators.

The code replaces the function with which Piccolo checks a password.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

count_sign_in: ContextVar[Callable[[], Awaitable[None]]] = ContextVar("count_sign_in")
"""Counts a password attempt by the client of the current request. Raises `RateLimited` above the limit."""
