"""Converts the declarations of frames into types for msgspec (D-10). The declarations themselves import no package."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import (
    Annotated,
    Any,
    Final,
    NotRequired,
    TypedDict,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

from chatkey_protocol.frames import Between, Length, Pattern

_LIMITS: Final = {
    Pattern: lambda limit: msgspec.Meta(pattern=rf"^(?:{limit.regex})\Z"),
    Between: lambda limit: msgspec.Meta(ge=limit.least, le=limit.most),
    Length: lambda limit: msgspec.Meta(min_length=limit.least, max_length=limit.most),
}


def kind_of(frame: Any) -> str:
    return str(get_args(get_type_hints(frame)["type"])[0])


@cache  # so that a dictionary used in two others becomes a single type
def strict(declared: Any) -> Any:
    """Return the type that msgspec decodes into: the declared type, with its limits as msgspec constraints."""
    if is_typeddict(declared):
        members = {name: strict(hint) for name, hint in get_type_hints(declared, include_extras=True).items()}
        return cast("Any", TypedDict)(declared.__name__, members, total=declared.__total__)
    origin, inner = get_origin(declared), get_args(declared)
    if origin is Annotated:
        return Annotated[strict(inner[0]), *(_LIMITS[type(limit)](limit) for limit in inner[1:])]
    if origin in {NotRequired, list}:
        return origin[strict(inner[0])]
    if origin in {Union, UnionType}:
        return Union[tuple(map(strict, inner))]  # noqa: UP007 - built here
    return declared
