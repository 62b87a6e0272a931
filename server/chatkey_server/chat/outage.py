"""Describes for the log why the link was lost. The descriptions contain no part of an address."""

from __future__ import annotations

from collections.abc import Iterator


class Silent(ConnectionError):
    """A connection that seems to be open, but on which nothing is received."""


class Moved(Exception):
    """The open connection leads to a server that other processes no longer use."""


def reasons_of(error: BaseException) -> str:
    """Return the names of all error types in an exception or exception group."""
    return ", ".join(sorted(set(_kinds(error))))


def _kinds(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _kinds(one)
    else:
        yield type(error).__name__
