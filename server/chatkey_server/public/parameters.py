"""Query parameters and forms, read strictly: each member at most once, every refusal names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused

if TYPE_CHECKING:
    from litestar import Request
    from litestar.types import Scope

FORM: Final = "application/x-www-form-urlencoded"
MAX_PARAMETERS: Final = 32


def read_query(scope: Scope, *names: str, most: int) -> dict[str, str]:
    """Return those of the named query parameters that are there; other parameters are ignored.

    Raises `Refused(parameter_repeated)` for one that is given twice, `Refused(parameter_invalid)` for a query of more
    than `most` bytes or with too many members.
    """
    return read_pairs(scope["query_string"], *names, most=most)


async def form_body(request: Request[Any, Any, Any]) -> bytes:
    """Return a form as it was posted, for `read_pairs`; refuses any other kind of body."""
    if request.content_type[0] != FORM:
        raise Refused(
            Code.MEDIA_TYPE_UNSUPPORTED, f"A form is posted to this address, as {FORM}.", member="Content-Type"
        )
    return await request.body()


def read_pairs(query: bytes, *names: str, most: int) -> dict[str, str]:
    """Return the named parameters of a query or form, under the rules of `read_query`."""
    if len(query) > most:
        raise Refused(Code.PARAMETER_INVALID, f"The query has {len(query)} bytes; send at most {most}.", member="query")
    try:
        pairs = parse_qsl(query.decode(errors="replace"), keep_blank_values=True, max_num_fields=MAX_PARAMETERS)
    except ValueError:
        raise Refused(
            Code.PARAMETER_INVALID, f"The query has more than {MAX_PARAMETERS} parameters.", member="query"
        ) from None
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in names:
            continue
        if name in found:
            raise Refused(
                Code.PARAMETER_REPEATED, f"The parameter {name} is given more than once; send it once.", member=name
            )
        found[name] = value
    return found


def required(query: dict[str, str], name: str, meaning: str) -> str:
    """Return a parameter that must be there and not be empty; `meaning` tells the caller what belongs in it."""
    value = query.get(name)
    if not value:
        raise Refused(Code.PARAMETER_MISSING, f"The parameter {name} is missing; send {meaning}.", member=name)
    return value
