"""The envelope of the lab's responses, which is the same as that of the public endpoints (D-02)."""

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Data(msgspec.Struct, Generic[T], frozen=True):
    """The body of a successful response of the lab: the result under `data`."""

    data: T
