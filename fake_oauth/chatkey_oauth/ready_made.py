"""One application per provider that is there without a clients file, its keys in the real provider's format.

They are as public as this file: whoever starts the fake may use them, and their redirect URIs stay on the machine.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from chatkey_oauth.engine.clients import Client

HEX_32: Final = "c0ffee00" * 4
HEX_64: Final = "c0ffee00" * 8


def ready_made(provider: str, client_id: str, client_secret: str = "", **members: Any) -> Client:
    """A client that may come back to any address of this machine."""
    return Client(
        provider=provider,
        client_id=client_id,
        client_secret=client_secret,
        name="Ready-made App",
        redirect_uris=("http://127.0.0.1/callback",),
        any_loopback=True,
        **members,
    )


READY_MADE: Final = (
    ready_made(
        "google",
        "480912345678-readymadereadymadereadymadeready.apps.googleusercontent.com",
        "GOCSPX-ready-made-for-tests-only-00",
    ),
    ready_made("facebook", "1234567890123456", HEX_32),
    ready_made("github", "Ov23liReadyMade00000", HEX_32 + "c0ffee00"),
    ready_made("gitlab", HEX_64, f"gloas-{HEX_64}"),
    ready_made("discord", "1234567890123456789", "ready-made-for-tests-only-000000"),
    ready_made(
        "apple",
        "com.example.ready-made",
        team_id="READYMADE0",
        key_id="READYMADE1",
        public_key={
            "kty": "EC",
            "crv": "P-256",
            "x": "UVY6kVEHhCWAxRZcMjYNfXprlXJFvddJZY6VHTU2h0c",
            "y": "wF0BIYdNZqSEqMnkqYGuSTUuqV9sg4upfnBna2rAToM",
        },
    ),
    ready_made("x", "RmFrZUNsaWVudEZvclRlc3RzOjE6Y2k", "ready-made-for-tests-only-0000000000000000000000000"),
    ready_made("tiktok", "awreadymade0000000", "ready-made-for-tests-only-000000"),
    ready_made("amazon", f"amzn1.application-oa2-client.{HEX_32}", f"amzn1.oa2-cs.v1.{HEX_64}"),
)


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
