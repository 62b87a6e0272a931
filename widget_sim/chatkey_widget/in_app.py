"""The built-in browsers of apps that open a new window in place of the page, and the way out of them."""

import re
from typing import Final

_NAMES: Final = re.compile(r"\b(?:FBA[NV]|FB_IAB|Instagram|Barcelona)\b")
"""The names by which Facebook, Messenger, Instagram and Threads identify their browsers."""


def is_in_app(user_agent: str) -> bool:
    return _NAMES.search(user_agent) is not None


def outside(user_agent: str, address: str) -> str | None:
    """Return an address that opens the page in the person's own browser. Only Android and iOS have such addresses."""
    scheme, _, rest = address.partition("#")[0].partition("://")
    if scheme not in {"http", "https"}:
        return None
    if "Android" in user_agent:
        return f"intent://{rest}#Intent;scheme={scheme};end"
    return f"x-safari-{scheme}://{rest}" if re.search("iPhone|iPad", user_agent) else None
