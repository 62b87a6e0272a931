"""CORS (Fetch 3.2) for endpoints that pages of other origins may call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from chatkey_oauth.engine.http import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatkey_oauth.engine.call import Call

UNEXPOSED: Final = frozenset({"cache-control", "content-language", "content-type", "expires", "pragma", "set-cookie"})
"""Response headers that pages can always read, or can never read."""


def is_preflight(call: Call) -> bool:
    return call.method == "OPTIONS" and {"origin", "access-control-request-method"} <= call.headers.keys()


def preflight(call: Call, methods: Iterable[str]) -> Answer:
    headers = [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", ", ".join(methods)),
        ("access-control-max-age", "86400"),
    ]
    if asked := call.headers.get("access-control-request-headers"):
        headers.append(("access-control-allow-headers", asked))
    return Answer(204, headers=tuple(headers))


def opened(answer: Answer) -> Answer:
    """Return the response with headers that allow pages of any origin to read the complete response."""
    exposed = ", ".join(dict.fromkeys(name for name, _ in answer.headers if name not in UNEXPOSED))
    expose = (("access-control-expose-headers", exposed),) if exposed else ()
    return msgspec.structs.replace(answer, headers=(*answer.headers, ("access-control-allow-origin", "*"), *expose))
