"""Random numbers that differ in every page.

The start-up snapshot contains the state of the `random` module, so that module would give the same numbers in every
page.
"""

import secrets


class SystemChance:
    def token(self) -> str:
        return secrets.token_urlsafe(16)

    def fraction(self) -> float:
        return secrets.randbits(53) / (1 << 53)
