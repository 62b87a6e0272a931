"""Reads the options that describe the format of the calls: --method, --body, --query and --token-at."""

from __future__ import annotations

import json
import re
from typing import Final

from chatkey_check.options.table import Given
from chatkey_check.options.texts import pair
from chatkey_check.shape import EXAMPLE, PLACE, Shape
from chatkey_check.target import OptionError

METHOD: Final = re.compile(r"[A-Za-z]+")
WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
RAW: Final = "raw"


def shape(given: Given) -> Shape:
    """Return how the endpoint is called. Raises `OptionError`."""
    query = tuple(pair(entry, "--query") for entry in given.query)
    method = (given.method or EXAMPLE.method).upper()
    in_query = any(PLACE in value for _, value in query)
    made = Shape(method, _body(given, method, in_query=in_query), query, _token_at(given.token_at))
    if not METHOD.fullmatch(method):
        raise OptionError(f"--method must be an HTTP method such as POST, not {given.method!r}.")
    if method in WITHOUT_BODY and made.body:
        raise OptionError(f"--method {method} has no body. Leave --body out, and send the fingerprint with --query.")
    if not (made.in_body or in_query):
        raise OptionError(
            f"The call does not send the fingerprint. Write {PLACE} into --body, or use --query jkt={PLACE}."
        )
    return made


def _body(given: Given, method: str, *, in_query: bool) -> str:
    if given.body is None:
        return "" if in_query or method in WITHOUT_BODY else EXAMPLE.body
    if given.body.lstrip().startswith(("{", "[")):
        try:
            json.loads(given.body)
        except ValueError as error:
            raise OptionError(f"--body looks like JSON, but is not valid JSON: {error}.") from None
    elif given.body and "=" not in given.body:
        raise OptionError(f"--body must be JSON, or a form such as jkt={PLACE}, not {given.body!r}.")
    return given.body


def _token_at(place: str | None) -> tuple[str, ...]:
    if place is None:
        return EXAMPLE.token_at
    names = tuple(place.split(".")) if place != RAW else ()
    if not all(names):
        raise OptionError(f"--token-at must be raw, or names separated by dots such as data.token, not {place!r}.")
    return names
