"""Why the link was lost, in words for the log that hold nothing of an address."""

from __future__ import annotations

from collections.abc import Iterator


class Silent(ConnectionError):
    """A connection that seems to be there, and on which nothing is heard."""


def reasons_of(error: BaseException) -> str:
    """Name the kinds of error that came together."""
    return ", ".join(sorted(set(_kinds(error))))


def _kinds(error: BaseException) -> Iterator[str]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _kinds(one)
    else:
        yield type(error).__name__
