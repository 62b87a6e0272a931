"""The protocol for a place that reads tokens, used by the rows of `token_verdicts.py`."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from chatkey_conform.making.issuer import Issuer
from chatkey_peer.key import Json


class Place(Protocol):
    """A place that reads tokens of one kind (`socket` or `identity`): a function, or a running service's endpoint."""

    kind: ClassVar[str]

    @property
    def shop(self) -> Issuer: ...
    def claims(self, **changes: Any) -> Json: ...
    def accept(self, token: str) -> None: ...
    def refuse(self, token: str, code: str) -> object: ...
