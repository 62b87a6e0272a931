"""During a rotation, the right secrets verify a signature. These tests need no database."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from chatkey_protocol.codes import Code
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.rotation import REREAD_SECONDS, judged
from chatkey_server.identity.tokens import Secrets


@dataclass(frozen=True)
class Shop:
    """A provider with one secret."""

    secrets: Secrets
    id: str = "shop"


@dataclass(frozen=True)
class Store:
    """A store that contains at most one provider. It records each lookup."""

    found: Shop | None
    asked: list[tuple[str, float]] = field(default_factory=list)

    async def find(self, provider_id: str, max_age: float) -> Shop | None:
        self.asked.append((provider_id, max_age))
        return self.found


OLD = Shop(Secrets(b"old"))
NEW = Shop(Secrets(b"new"))


def signed_with_new(shop: Shop) -> bytes:
    """Verify the signature of a token that was signed with the new secret."""
    if shop.secrets.current != b"new":
        raise Refused(Code.TOKEN_SIGNATURE, "It does not verify.", member="signature")
    return shop.secrets.current


async def test_a_token_of_the_known_secret_costs_no_query() -> None:
    """If the signature verifies, the store must not be queried again."""
    store = Store(None)

    assert await judged(NEW, signed_with_new, store.find) == b"new"
    assert store.asked == []


@pytest.mark.contract("D-05/rotation-at-once")
async def test_a_token_of_a_newer_secret_is_accepted() -> None:
    """The server must read the provider again and use the newer secret, unless the last read was a moment ago."""
    store = Store(NEW)

    assert await judged(OLD, signed_with_new, store.find) == b"new"
    assert store.asked == [("shop", REREAD_SECONDS)]


@pytest.mark.parametrize("found", [OLD, None], ids=["the secrets are the same", "the provider was removed"])
async def test_without_a_newer_secret_the_signature_is_refused(found: Shop | None) -> None:
    with pytest.raises(Refused) as refusal:
        await judged(OLD, signed_with_new, Store(found).find)

    assert refusal.value.code is Code.TOKEN_SIGNATURE
    assert refusal.value.member == "signature"
