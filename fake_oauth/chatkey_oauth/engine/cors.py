"""What a page of another origin may ask and read (Fetch 3.2), at the endpoints that a provider has opened to pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from chatkey_oauth.engine.http import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chatkey_oauth.engine.call import Call

UNEXPOSED: Final = frozenset({"cache-control", "content-language", "content-type", "expires", "pragma", "set-cookie"})
"""Headers that a page may read anyway, or never."""


def is_preflight(call: Call) -> bool:
    """Tell whether a browser asks, before a page's request, if it may send it."""
    return call.method == "OPTIONS" and {"origin", "access-control-request-method"} <= call.headers.keys()


def preflight(call: Call, methods: Iterable[str]) -> Answer:
    """Allow the methods there are, and whatever headers are asked for."""
    headers = [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-methods", ", ".join(methods)),
        ("access-control-max-age", "86400"),
    ]
    if asked := call.headers.get("access-control-request-headers"):
        headers.append(("access-control-allow-headers", asked))
    return Answer(204, headers=tuple(headers))


def opened(answer: Answer) -> Answer:
    """An answer that pages may read with all of its headers."""
    exposed = ", ".join(dict.fromkeys(name for name, _ in answer.headers if name not in UNEXPOSED))
    expose = (("access-control-expose-headers", exposed),) if exposed else ()
    return msgspec.structs.replace(answer, headers=(*answer.headers, ("access-control-allow-origin", "*"), *expose))
