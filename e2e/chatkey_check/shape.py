"""The format of the calls to an endpoint: how the thumbprint is sent, and where the answer contains the token.

The contract only defines what `getToken` returns. The integrator decides how the page gets the token. The default is
the contract's example.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

PLACE: Final = "{jkt}"
JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
EXAMPLE_BODY: Final = '{"jkt": "{jkt}"}'
EXAMPLE_TOKEN: Final = ("token",)
Pair = tuple[str, str]


class Left:
    """Stands for a jkt that is not sent. A jkt that is null is sent."""

    def __repr__(self) -> str:
        return "left out"


LEFT_OUT: Final = Left()


@dataclass(frozen=True, slots=True)
class Shape:
    """How the endpoint is called. `{jkt}` in `body` and in the values of `query` is replaced by the thumbprint.

    `token_at` is the path to the token in the JSON of the answer. An empty path means that the whole answer is the
    token.
    """

    method: str = "POST"
    body: str = EXAMPLE_BODY
    query: tuple[Pair, ...] = ()
    token_at: tuple[str, ...] = EXAMPLE_TOKEN

    @property
    def is_example(self) -> bool:
        """Whether the calls have the format of the contract's example (4.7)."""
        return self == EXAMPLE

    @property
    def json(self) -> bool:
        """Whether the body is JSON."""
        return self.body.lstrip().startswith(("{", "["))

    @property
    def content_type(self) -> str:
        """The Content-Type of the body, or empty without a body."""
        return "" if not self.body else JSON if self.json else FORM

    @property
    def in_body(self) -> bool:
        """Whether the thumbprint is sent in the body."""
        return PLACE in self.body

    def content(self, jkt: object, more: Mapping[str, object]) -> bytes:
        """Return the body with the given members added. `jkt` may have any type, or be left out.

        JSON is written without spaces, as `JSON.stringify` in a page writes it.
        """
        if not self.body:
            return b""
        if not self.json:
            pairs = [*_pairs(parse_qsl(self.body, keep_blank_values=True), jkt), *_texts(more)]
            return urlencode(pairs, errors="surrogatepass").encode()
        filled = _filled(json.loads(self.body), jkt, more)
        if not self.in_body and isinstance(filled, dict):
            filled |= more
        try:
            return json.dumps(filled, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return json.dumps(filled, separators=(",", ":")).encode()

    def address(self, url: str, jkt: object, more: Sequence[Pair]) -> str:
        """Return the address with the configured query and the pairs of `more` added."""
        pairs = [*_pairs(self.query, jkt), *more]
        if not pairs:
            return url
        parts = urlsplit(url)
        joined = "&".join(filter(None, (parts.query, urlencode(pairs, errors="surrogatepass"))))
        return urlunsplit((parts.scheme, parts.netloc, parts.path, joined, ""))

    def browser(self) -> dict[str, Any]:
        """Return the format of the calls for a script in a page. The script replaces `{jkt}`."""
        query = "&".join(f"{quote(name)}={quote(value, safe='{}')}" for name, value in self.query)
        return {
            "method": self.method,
            "body": self.content(PLACE, {}).decode() if self.json else self.body,
            "query": query,
            "type": self.content_type,
            "tokenAt": self.token_at,
        }

    def __str__(self) -> str:
        asked = " ".join(filter(None, (self.method, "&".join("=".join(pair) for pair in self.query), self.body)))
        return f"{asked}; the token is {'at ' + '.'.join(self.token_at) if self.token_at else 'the whole answer'}"


EXAMPLE: Final = Shape()


def _filled(template: object, jkt: object, more: Mapping[str, object]) -> Any:
    """Return the JSON template with the jkt filled in, and with `more` added to the object that contains the jkt."""
    if isinstance(template, str):
        return jkt if template == PLACE else template.replace(PLACE, "" if jkt is LEFT_OUT else str(jkt))
    if isinstance(template, list):
        return [_filled(item, jkt, more) for item in cast("list[object]", template)]
    if not isinstance(template, dict):
        return template
    members = cast("dict[str, object]", template)
    made = {
        name: _filled(value, jkt, more) for name, value in members.items() if not (value == PLACE and jkt is LEFT_OUT)
    }
    beside = any(isinstance(value, str) and PLACE in value for value in members.values())
    return {**made, **more} if beside else made


def _pairs(template: Sequence[Pair], jkt: object) -> list[Pair]:
    text = jkt if isinstance(jkt, str) else json.dumps(jkt, default=str)
    return [(name, value.replace(PLACE, text)) for name, value in template if not (PLACE in value and jkt is LEFT_OUT)]


def _texts(more: Mapping[str, object]) -> list[Pair]:
    return [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in more.items()]
