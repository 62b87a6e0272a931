"""How a try at a password is counted: the act, wherever Piccolo does it, and not a path by which one gets there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

count_sign_in: ContextVar[Callable[[], Awaitable[None]]] = ContextVar("count_sign_in")
"""Counts a try of whoever sent the request at hand. Raises `RateLimited` when it is one too many."""
