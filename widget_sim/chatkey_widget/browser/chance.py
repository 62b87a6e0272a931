"""Randomness that is fresh in every page: a start-up snapshot freezes the `random` module, not the system's source."""

import secrets


class SystemChance:
    """The system's random numbers."""

    def token(self) -> str:
        """Return 128 unguessable bits as base64url."""
        return secrets.token_urlsafe(16)

    def fraction(self) -> float:
        """Return a number from 0 up to 1."""
        return secrets.randbits(53) / (1 << 53)
