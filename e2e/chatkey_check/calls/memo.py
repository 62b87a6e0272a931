"""Values that are computed when they are first read, and then shared by all threads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from threading import Lock, RLock
from typing import Generic, Protocol, TypeVar, cast

Made = TypeVar("Made")


class Lasting(Exception):
    """An error that is kept like a value, because a second attempt would only repeat it. A failed login is one."""


class Memo:
    """Keeps values by name. Only one thread computes a value.

    If the computation raises `Lasting`, every reader gets that error. After another error, the next thread retries.
    """

    def __init__(self, made: Mapping[str, object] = {}) -> None:
        self._born = Lock()
        self._locks: defaultdict[str, RLock] = defaultdict(RLock)
        self._made = dict(made)

    def get(self, name: str, make: Callable[[], Made]) -> Made:
        """Return the value with this name. The first call computes the value."""
        with self._born:
            lock = self._locks[name]
        with lock:
            if name not in self._made:
                self._made[name] = _made_or_error(make)
            found = self._made[name]
        if isinstance(found, Lasting):
            raise found
        return cast("Made", found)


def _made_or_error(make: Callable[[], object]) -> object:
    try:
        return make()
    except Lasting as error:
        return error


class Owner(Protocol):
    """An object that has a memo for its properties."""

    @property
    def memo(self) -> Memo: ...


O = TypeVar("O", bound=Owner)  # noqa: E741


class once(Generic[O, Made]):  # noqa: N801 - it is written as `property` is
    """A property that is computed when it is first read, and then kept in the `memo` of the object."""

    def __init__(self, make: Callable[[O], Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, owner: O, kind: type[O] | None = None) -> Made:
        return owner.memo.get(self._make.__name__, lambda: self._make(owner))
