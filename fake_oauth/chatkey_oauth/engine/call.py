"""One HTTP request as a plain value, together with the hooks for this request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from chatkey_oauth.engine.hooks import UNTOUCHED, Hooks
from chatkey_oauth.engine.http import Answer


class Call:
    """A request. Header names are in lower case.

    If a parameter is repeated, the last value counts. Parameters may contain bytes that are not UTF-8, as surrogate
    escapes, so that `state` is returned byte for byte. The endpoint calls the `hooks` at each step.
    """

    __slots__ = ("_form", "_form_pairs", "_query", "body", "headers", "hooks", "method", "path", "query_string")

    def __init__(
        self,
        method: str,
        path: str,
        query_string: str = "",
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> None:
        self.method = method
        self.path = path
        self.query_string = query_string
        self.headers = headers or {}
        self.body = body
        self.hooks: Hooks = UNTOUCHED
        self._query: dict[str, str] | None = None
        self._form: dict[str, str] | None = None
        self._form_pairs: list[tuple[str, str]] | None = None

    # `cached_property` locks each access before Python 3.12, which takes longer than these properties.

    @property
    def query(self) -> dict[str, str]:
        if self._query is None:
            self._query = dict(query_pairs(self.query_string))
        return self._query

    @property
    def form_pairs(self) -> list[tuple[str, str]]:
        """The parameters of a form body, in order and with repetitions."""
        if self._form_pairs is None:
            self._form_pairs = (
                [] if not self.body or self.is_json else pairs(self.body.decode("ascii", "surrogateescape"))
            )
        return self._form_pairs

    @property
    def form(self) -> dict[str, str]:
        """The parameters of the body. For a JSON object, these are the string members that are valid Unicode."""
        if self._form is None:
            self._form = self._json_members() if self.body and self.is_json else dict(self.form_pairs)
        return self._form

    @property
    def is_json(self) -> bool:
        return "json" in self.headers.get("content-type", "").lower()

    def _json_members(self) -> dict[str, str]:
        try:
            body = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        if not isinstance(body, dict):
            return {}
        return {name: value for name, value in body.items() if isinstance(value, str) and is_unicode(name + value)}

    def cookie(self, name: str) -> str | None:
        if "cookie" not in self.headers:
            return None
        for part in self.headers["cookie"].split(";"):
            key, _, value = part.strip().partition("=")
            if key == name:
                return value
        return None


Handler = Callable[[Call], Answer]


def is_unicode(text: str) -> bool:
    """Return whether text can be encoded as UTF-8. JSON escapes may contain half of a surrogate pair."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def pairs(text: str) -> list[tuple[str, str]]:
    """Parse form-encoded text. Blank values and bytes that are not UTF-8 are kept."""
    found = []
    for part in text.split("&"):
        if part:
            name, _, value = part.partition("=")
            found.append((decoded(name), decoded(value)) if "%" in part or "+" in part else (name, value))
    return found


@lru_cache(maxsize=64)
def decoded(text: str) -> str:
    """Decode a name or value. The result is cached, because a client sends its redirect URI twice at each login."""
    raw = text.replace("+", " ").encode("utf-8", "surrogateescape")
    return unquote_to_bytes(raw).decode("utf-8", "surrogateescape")


@lru_cache(maxsize=64)
def query_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Parse a query string.

    The result is cached, because the consent form sends the query of the authorization request again.
    """
    return tuple(pairs(text))
