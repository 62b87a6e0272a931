"""Random numbers that differ in every page.

The `random` module would give the same numbers in every page, because the start-up snapshot contains the module's
state.
"""

import secrets


class SystemChance:
    def token(self) -> str:
        return secrets.token_urlsafe(16)

    def fraction(self) -> float:
        return secrets.randbits(53) / (1 << 53)
