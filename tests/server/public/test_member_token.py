"""Tests of the member token endpoint (contract 4.3) during a rotation of the business's secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.server.public.conftest import SECRET

from chatkey_server.identity.social_uid import SocialUid
from chatkey_server.identity.tokens import Profile, Secrets, mint_identity
from chatkey_server.storage import admin

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient

PATH = "/v1/public/provider/shop/member/token"
JKT = "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"


async def test_tokens_of_the_previous_secret_are_valid_during_the_overlap(client: ServerClient, shop: str) -> None:
    now, secrets, uid = client.services.clock(), Secrets(SECRET.encode()), SocialUid("google", "42")
    auth = mint_identity(secrets, pid=shop, uid=uid, profile=Profile(), jkt=JKT, now=now)
    await admin.rotate_secret(client.services.vault, shop, now=now, overlap_seconds=3600)

    overlapping = await client.get(PATH, params={"auth": auth, "jkt": JKT})
    client.services.clock.advance(3601)
    after = await client.get(PATH, params={"auth": auth, "jkt": JKT})

    assert overlapping.status_code == 200
    assert (after.status_code, after.json()["error"]["code"]) == (401, "token_signature")
