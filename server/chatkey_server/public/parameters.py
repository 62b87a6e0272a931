"""Describes the parameters of the public endpoints.

Request parsing, refusals and the OpenAPI document use these descriptions.

Queries and forms are read strictly: a parameter may occur once, and every refusal names the parameter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_plus

from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from chatkey_protocol.codes import Code
from chatkey_protocol.tokens import THUMBPRINT
from chatkey_server.identity.errors import Refused

if TYPE_CHECKING:
    from litestar import Request
    from litestar.types import Scope

FORM: Final = "application/x-www-form-urlencoded"
MAX_PARAMETERS: Final = 32


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name, a description of its value, and the pattern that the whole value must match."""

    name: str
    meaning: str
    pattern: str | None = None
    _compiled: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", re.compile(self.pattern or "(?s).*"))

    def is_well_formed(self, value: str) -> bool:
        return self._compiled.fullmatch(value) is not None

    def check(self, value: str) -> None:
        """Refuse a value that does not match the pattern. The message does not repeat the value."""
        if not self.is_well_formed(value):
            raise Refused(
                Code.PARAMETER_INVALID,
                f"The parameter {self.name} is malformed; send {self.meaning}.",
                member=self.name,
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The query of an endpoint: required parameters, which must not be empty, and optional parameters."""

    required: tuple[Parameter, ...] = ()
    optional: tuple[Parameter, ...] = ()
    _names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = tuple(parameter.name for parameter in (*self.required, *self.optional))
        object.__setattr__(self, "_names", names)

    def read(self, scope: Scope, *, most: int) -> dict[str, str]:
        """Return the given parameters by name. Unknown parameters are ignored.

        Raises `Refused`: `parameter_repeated` if a parameter occurs twice, `parameter_missing` if a required parameter
        is missing, and `parameter_invalid` if the query has more than `most` bytes or too many parameters.
        """
        found = read_pairs(scope["query_string"], *self._names, most=most)
        for parameter in self.required:
            if not found.get(parameter.name):
                raise Refused(
                    Code.PARAMETER_MISSING,
                    f"The parameter {parameter.name} is missing; send {parameter.meaning}.",
                    member=parameter.name,
                )
        return found


# in paths

ID: Final = Parameter("id", "the provider's id")
SOCIAL: Final = Parameter("social", "the social provider's name")
FILE: Final = Parameter("name", "the name of a file: sdk.js, sdk.json, or a file that they name")

# of the token endpoints

UID: Final = Parameter("uid", "the visitor's uid: v_ and the thumbprint of the connection key", f"^v_{THUMBPRINT}$")
JKT: Final = Parameter("jkt", "the thumbprint of the connection key: 43 characters of base64url", f"^{THUMBPRINT}$")
AUTH: Final = Parameter("auth", "the identity token of the social login")

# of the start of a social login

ORIGIN: Final = Parameter("origin", "the origin of the page that opens this window")
BINDING: Final = replace(JKT, meaning=f"{JKT.meaning}, to which the identity token is bound")
NONCE: Final = Parameter(
    "nonce",
    "1 to 64 characters of A-Z a-z 0-9 _ -; returned in the message to the opener",
    "^[A-Za-z0-9_-]{1,64}$",
)
PROMPT: Final = Parameter("prompt", "select_account, if the person shall choose an account", "^select_account$")

# of its callback

STATE: Final = Parameter("state", "the state of the sign-in, as returned by the social provider")
CODE: Final = Parameter("code", "the authorization code")
ISS: Final = Parameter("iss", "the social provider's issuer (RFC 9207)")
ERROR: Final = Parameter("error", "why there is no code (RFC 6749 4.1.2.1)")

# reading


async def form_body(request: Request[Any, Any, Any]) -> bytes:
    """Return the posted form for `read_pairs`. Refuses any other kind of body, and a form that is too large."""
    if request.content_type[0] != FORM:
        raise Refused(Code.MEDIA_TYPE_UNSUPPORTED, f"Send the form as {FORM}.", member="Content-Type")
    try:
        return await request.body()
    except RequestEntityTooLarge:
        raise Refused(Code.TOO_LARGE, "The form is too large.", member="form") from None


def read_pairs(query: bytes, *names: str, most: int, form: bytes = b"") -> dict[str, str]:
    """Return the named parameters of a query, a form, or both, under the rules of `Query.read`."""
    for name, text in (("query", query), ("form", form)):
        if len(text) > most:
            raise Refused(
                Code.PARAMETER_INVALID, f"The {name} has {len(text)} bytes; the limit is {most}.", member=name
            )
    together = (b"&".join(filter(None, (query, form))) if form else query).decode(errors="replace")
    fields = together.split("&")  # not `parse_qsl`, which would cost a token request 3 µs
    if len(fields) > MAX_PARAMETERS:
        raise Refused(Code.PARAMETER_INVALID, f"The query has more than {MAX_PARAMETERS} parameters.", member="query")
    found: dict[str, str] = {}
    for each in fields:
        name, _, value = each.partition("=")
        if "%" in each or "+" in each:
            name, value = unquote_plus(name), unquote_plus(value)
        if name not in names:
            continue
        if name in found:
            raise Refused(
                Code.PARAMETER_REPEATED, f"The parameter {name} occurs more than once; send it once.", member=name
            )
        found[name] = value
    return found
