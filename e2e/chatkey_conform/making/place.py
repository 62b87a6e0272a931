"""The protocol of a place that reads tokens. The rows of `token_verdicts.py` use it."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from chatkey_conform.making.issuer import Issuer
from chatkey_peer.key import Json


class Place(Protocol):
    """A place that reads one kind of token (`socket` or `identity`). It is a service or makes vectors."""

    kind: ClassVar[str]

    @property
    def shop(self) -> Issuer: ...
    def claims(self, **changes: Any) -> Json: ...
