"""One client per provider that is available without a clients file. Its keys have the real provider's format.

The keys are public, like this file: anyone who starts the fake may use them. The redirect URIs are on this machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import Final, overload

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.providers import NAMES, load


def ready_made(provider: str) -> Client:
    """Return the ready-made client of one of `NAMES`. The client accepts every redirect URI on this machine."""
    return Client(
        provider=provider,
        name="Ready-made App",
        redirect_uris=("http://127.0.0.1/callback",),
        any_loopback=True,
        **load(provider).ready_made,
    )


class ReadyMade(Sequence[Client]):
    """The ready-made clients of all providers.

    The modules of the providers are imported at the first access, so that the fake starts fast.
    """

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


def shown_keys(client: Client) -> list[tuple[str, str]]:
    """Return the id of a client. For a ready-made client, also return the secret or the key, which are public."""
    keys = [("id", client.client_id)]
    if client not in READY_MADE:
        return keys
    if client.client_secret:
        return [*keys, ("secret", client.client_secret)]
    return [*keys, ("team", client.team_id), ("key id", client.key_id), ("key", "/lab/ready-made/apple.p8")]


def apple_p8() -> str:
    """Return the private key of the ready-made Apple client, as PKCS #8 in PEM.

    Apple offers such a file for a single download.
    """
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, derive_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = derive_private_key(int.from_bytes(sha256(b"ready-made").digest()), SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
