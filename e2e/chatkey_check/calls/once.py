"""A property whose value is computed once and shared by all threads."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock, RLock
from typing import Generic, TypeVar, cast, overload

Owner = TypeVar("Owner")
Made = TypeVar("Made")
BORN = Lock()


class once(Generic[Owner, Made]):  # noqa: N801 - it is written as `property` is
    """A property that is computed when it is first read. Other threads wait. If it raises, the next read retries."""

    def __init__(self, make: Callable[[Owner], Made]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Owner]) -> once[Owner, Made]: ...
    @overload
    def __get__(self, owner: Owner, kind: type[Owner] | None = None) -> Made: ...
    def __get__(self, owner: Owner | None, kind: type[Owner] | None = None) -> Made | once[Owner, Made]:
        """Return the value. The first read computes it."""
        if owner is None:
            return self
        with self._lock_of(owner):
            made = vars(owner)
            if self._name not in made:
                made[self._name] = self._make(owner)
            return cast("Made", made[self._name])

    def _lock_of(self, owner: Owner) -> RLock:
        with BORN:
            return cast("RLock", vars(owner).setdefault(f"_lock_of_{self._name}", RLock()))
