"""Tests of announced social providers. They must be disabled unless a setting enables previews (contract 4.4, D-03)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from chatkey_server.identity import oauth_state

if TYPE_CHECKING:
    from tests.server.in_process import MakeClient, ServerClient

MASTER_KEY = "a-master-key-for-tests-only-0123456789abcdef"
ORIGIN = "https://shop.example"
AVAILABLE = ["google", "facebook", "github", "gitlab", "discord"]
ANNOUNCED = ["apple", "x", "tiktok", "amazon"]
"""The contract's own list of announced providers (4.4), in the order of the login page."""

Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]


def start_path(social: str) -> str:
    return f"/v1/public/provider/shop/oauth/{social}"


async def offered(client: ServerClient) -> list[str]:
    configuration = await client.get("/v1/public/provider/shop")
    return list(configuration.json()["data"]["auth"]["oauth_providers"])


@pytest.fixture
async def preview(make_client: MakeClient) -> AsyncIterator[ServerClient]:
    """A server that previews all announced providers. The setting lists these providers in reverse order."""
    async with make_client(master_key=(MASTER_KEY,), preview_providers=tuple(ANNOUNCED[::-1])) as made:
        yield made


@pytest.mark.contract("D-03/preview", "D-03/social-unknown")
@pytest.mark.parametrize("social", ANNOUNCED)
async def test_without_a_preview_start_and_callback_are_404(
    client: ServerClient, delivered: Delivered, social: str
) -> None:
    start = await client.get(start_path(social), params={"origin": ORIGIN})
    callback = await client.post(f"/v1/public/oauth/{social}/callback", data={"state": "x", "code": "y"})

    assert (start.status_code, callback.status_code) == (404, 404)
    delivery = delivered(start)
    assert delivery is not None
    assert delivery["message"]["error"]["code"] == "social_unknown"
    assert "is not available yet" in delivery["message"]["error"]["message"]
    assert "social_unknown" in callback.text


@pytest.mark.contract("D-03/preview", "2.2/oauth-providers")
async def test_the_configuration_lists_a_preview_after_the_others(client: ServerClient, preview: ServerClient) -> None:
    assert await offered(client) == AVAILABLE
    assert await offered(preview) == AVAILABLE + ANNOUNCED


@pytest.mark.contract("D-03/preview")
async def test_one_preview_does_not_enable_others(make_client: MakeClient) -> None:
    async with make_client(master_key=(MASTER_KEY,), preview_providers=("x",)) as client:
        assert await offered(client) == [*AVAILABLE, "x"]
        statuses = {
            social: (await client.get(start_path(social), params={"origin": ORIGIN})).status_code
            for social in ANNOUNCED
        }

    assert statuses == {"apple": 404, "x": 302, "tiktok": 404, "amazon": 404}


@pytest.mark.contract("4.4/redirect")
def test_a_state_is_short_enough_for_x() -> None:
    """X accepts no `state` with more than 500 characters. The test uses the longest possible id and a long domain."""
    state = oauth_state.State(
        id="i" * 32,
        pid="p" * 64,
        social="x",
        origin=f"https://{'d' * 120}",
        iat=1_800_000_000,
        nonce="n" * 43,
        jkt="j" * 43,
    )

    assert len(oauth_state.mint(b"k" * 32, state)) <= 500
