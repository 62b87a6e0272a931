"""One HTTP request as a plain value, together with the hooks for this request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from urllib.parse import unquote

from chatkey_oauth.engine.hooks import UNTOUCHED, Hooks
from chatkey_oauth.engine.http import Answer


class Call:
    """A request. Header names are in lower case.

    If a parameter is repeated, the last value counts. Parameters may contain bytes that are not UTF-8, as surrogate
    escapes, so that `state` is returned byte for byte. The endpoint calls the `hooks` at each step.
    """

    hooks: Hooks = UNTOUCHED

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

    def watched(self, hooks: Hooks) -> Call:
        """Return the same request with these hooks. Cached parameters are kept."""
        watched = Call.__new__(Call)
        vars(watched).update(vars(self), hooks=hooks)
        return watched

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(query_pairs(self.query_string))

    @cached_property
    def form_pairs(self) -> list[tuple[str, str]]:
        """The parameters of a form body, in order and with repetitions."""
        return [] if self.is_json else pairs(self.body.decode("ascii", "surrogateescape"))

    @cached_property
    def form(self) -> dict[str, str]:
        """The parameters of the body. For a JSON object, these are the string members that are valid Unicode."""
        return self._json_members() if self.is_json else dict(self.form_pairs)

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
        for part in self.headers.get("cookie", "").split(";"):
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
    return [
        (decoded(name), decoded(value)) for name, _, value in (part.partition("=") for part in text.split("&") if part)
    ]


def decoded(text: str) -> str:
    if "+" in text:
        text = text.replace("+", " ")
    return unquote(text, errors="surrogateescape") if "%" in text else text


@lru_cache(maxsize=64)
def query_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """Parse a query string.

    The result is cached, because the consent form sends the query of the authorization request again.
    """
    return tuple(pairs(text))
