"""The envelope of the lab's answers, the same as the public one (D-02)."""

from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")


class Data(msgspec.Struct, Generic[T], frozen=True):
    """What a successful answer of the lab is: its data, under `data`."""

    data: T
