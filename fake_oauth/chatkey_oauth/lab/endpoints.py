"""The endpoints of the control API as plain functions. Their annotations say what requests and responses contain."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import get_annotations
from types import UnionType
from typing import Any, Final, NamedTuple, get_args

import msgspec

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.http import Answer
from chatkey_oauth.engine.routing import pattern
from chatkey_oauth.engine.text import clean
from chatkey_oauth.lab.refusals import LabRefused, invalid

PREFIX: Final = "/lab"

BODY: Final = "data"
"""The parameter of a handler for the JSON body."""

FILTER: Final = "wanted"
"""The parameter of a handler for the query string. Its type is a structure of all query parameters."""


class Endpoint(NamedTuple):
    """An endpoint. `kinds` are the types of the handler's parameters and of its result.

    A handler that returns no `Answer` returns the `data` of a JSON response.
    """

    method: str
    path: str
    summary: str
    status: int
    handler: Callable[..., Any]
    kinds: dict[str, Any]

    @property
    def result(self) -> Any:
        """The type of `data` in the response. `Answer` stands for another response, such as a page."""
        kind = self.kinds["return"]
        others = [one for one in get_args(kind) if one is not Answer] if isinstance(kind, UnionType) else []
        return others[0] if others else kind

    @property
    def parameters(self) -> list[str]:
        """The names in the path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def is_at(self, path: str) -> bool:
        return pattern(self.path).fullmatch(path) is not None

    def arguments(self, path: str, call: Call) -> dict[str, Any]:
        """Return the arguments of the handler for a request. Raises `LabRefused` for an invalid request."""
        parts = zip(self.path.split("/"), path.split("/"), strict=True)
        found: dict[str, Any] = {name[1:-1]: value for name, value in parts if name.startswith("{")}
        query = read_query(self.kinds.get(FILTER), call.query)
        if FILTER in self.kinds:
            found[FILTER] = query
        if BODY in self.kinds:
            found[BODY] = read_body(self.kinds[BODY], call.body)
        return found | ({"call": call} if "call" in self.kinds else {})


def endpoint(method: str, path: str, summary: str, *, status: int = 200) -> Callable[[Callable[..., Any]], Endpoint]:
    """Make an endpoint of the decorated function. `path` is the path below `/lab`."""

    def made(handler: Callable[..., Any]) -> Endpoint:
        kinds = get_annotations(handler, eval_str=True)
        return Endpoint(method, f"{PREFIX}{path}".rstrip("/"), summary, status, handler, kinds)

    return made


get: Final = partial(endpoint, "GET")
post: Final = partial(endpoint, "POST")
put: Final = partial(endpoint, "PUT")
delete: Final = partial(endpoint, "DELETE")


def read_query(kind: type[msgspec.Struct] | None, query: dict[str, str]) -> msgspec.Struct | None:
    """Convert query parameters. An unknown one is refused, because a misspelt filter would match everything."""
    known = [] if kind is None else sorted(field.encode_name for field in msgspec.structs.fields(kind))
    if unknown := sorted(query.keys() - known):
        takes = f"the parameters are {', '.join(known)}" if known else "there are no parameters"
        raise LabRefused(400, "request_invalid", f"{unknown[0]}: no such parameter; {takes}.")
    if kind is None:
        return None
    try:
        return msgspec.convert({name: clean(value) for name, value in query.items()}, kind, strict=False)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from error


def read_body(kind: Any, body: bytes) -> Any:
    try:
        return msgspec.convert(msgspec.json.decode(body), kind)
    except msgspec.MsgspecError as error:
        raise invalid(str(error)) from error
    except RecursionError:
        raise invalid("nested too deeply") from None
    except UnicodeDecodeError:
        raise invalid("not UTF-8") from None
