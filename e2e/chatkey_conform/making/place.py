"""Where a token is shown, as the rows of `token_verdicts.py` see it."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from chatkey_conform.making.honest import Json
from chatkey_conform.making.issuer import Issuer


class Place(Protocol):
    """Where tokens of one kind (`socket` or `identity`) are read: a reader, or a door of a running service."""

    kind: ClassVar[str]

    @property
    def shop(self) -> Issuer: ...
    def claims(self, **changes: Any) -> Json: ...
    def accept(self, token: str) -> None: ...
    def refuse(self, token: str, code: str) -> object: ...
