"""One application per provider that is there without a clients file, its keys in the real provider's format.

They are as public as this file: whoever starts the fake may use them, and their redirect URIs stay on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import Final, overload

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.providers import NAMES, load


def ready_made(provider: str) -> Client:
    """The application at one of `NAMES`, which may come back to any address of this machine."""
    return Client(
        provider=provider,
        name="Ready-made App",
        redirect_uris=("http://127.0.0.1/callback",),
        any_loopback=True,
        **load(provider).ready_made,
    )


class ReadyMade(Sequence[Client]):
    """The applications of all providers, whose modules are imported when somebody looks: the start need not wait."""

    @cached_property
    def _all(self) -> tuple[Client, ...]:
        return tuple(map(ready_made, NAMES))

    @overload
    def __getitem__(self, index: int) -> Client: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Client]: ...

    def __getitem__(self, index: int | slice) -> Client | Sequence[Client]:
        return self._all[index]

    def __len__(self) -> int:
        return len(NAMES)


READY_MADE: Final = ReadyMade()


def shown_secret(client: Client) -> str:
    """What proves a ready-made application, which everybody may know; nothing for any other."""
    if client not in READY_MADE:
        return ""
    return client.client_secret or f"team {client.team_id}, key {client.key_id}, /lab/ready-made/apple.p8"


def apple_p8() -> str:
    """The private key of the ready-made Apple application, as PKCS #8 in PEM, the file Apple lets one download once."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = derive_private_key(int.from_bytes(sha256(b"ready-made").digest()), SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
