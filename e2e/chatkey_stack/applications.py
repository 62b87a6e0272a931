"""An application at a social provider, with the data with which it is registered at the service and at the provider."""

import secrets
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Application:
    """The id and the credentials of an application: a secret or, for Apple, a team's private key (PEM)."""

    social: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    team_id: str = ""
    key_id: str = ""
    p8: str = field(default="", repr=False)

    def for_service(self) -> dict[str, str]:
        """Return the members for the service."""
        return {"client_id": self.client_id} | self._set("client_secret", "team_id", "key_id", "p8")

    def for_provider(self) -> dict[str, str]:
        """Return the members for the social provider, which gets only the public half of a private key."""
        public_key = {"public_key": _public_half(self.p8)} if self.p8 else {}
        return {"client_id": self.client_id} | self._set("client_secret", "team_id", "key_id") | public_key

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must never appear in a browser, a log or a page."""
        return tuple(filter(None, (self.client_secret, self.p8)))

    def _set(self, *names: str) -> dict[str, str]:
        return {name: value for name in names if (value := getattr(self, name))}


def new_application(social: str, client_id: str) -> Application:
    """Create an application with new keys."""
    if social == "apple":
        team_id, key_id = (secrets.token_hex(5).upper() for _ in range(2))
        return Application(social, client_id, team_id=team_id, key_id=key_id, p8=_private_key())
    return Application(social, client_id, secrets.token_urlsafe(32))


def _private_key() -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415  (for Apple only, and not quick)
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415

    return (
        ec.generate_private_key(ec.SECP256R1())
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode()
    )


def _public_half(p8: str) -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    key = serialization.load_pem_private_key(p8.encode(), password=None).public_key()
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
