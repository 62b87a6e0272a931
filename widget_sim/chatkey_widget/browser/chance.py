"""Random numbers that differ in every page. The start-up snapshot freezes the state of the `random` module."""

import secrets


class SystemChance:
    """The system's random numbers."""

    def token(self) -> str:
        """Return 128 unguessable bits as base64url."""
        return secrets.token_urlsafe(16)

    def fraction(self) -> float:
        """Return a number from 0 up to 1."""
        return secrets.randbits(53) / (1 << 53)
