"""Compares shared names with the contract, word for word. Server and widget share the names, so both could be wrong."""

import pytest
from tests.protocol.contract_socials import ANNOUNCED, SUPPORTED

from chatkey_protocol import names, storage_keys


@pytest.mark.contract("4/paths", "9/prefix")
def test_the_public_paths_are_those_of_the_contract() -> None:
    assert (
        names.CONFIG_PATH,
        names.VISITOR_TOKEN_PATH,
        names.MEMBER_TOKEN_PATH,
        names.OAUTH_START_PATH,
        names.OAUTH_CALLBACK_PATH,
    ) == (
        "/v1/public/provider/{id}",
        "/v1/public/provider/{id}/token",
        "/v1/public/provider/{id}/member/token",
        "/v1/public/provider/{id}/oauth/{social}",
        "/v1/public/oauth/{social}/callback",
    )


@pytest.mark.contract("4.4/names")
def test_the_social_providers_are_those_of_the_contract() -> None:
    """Other providers must be previews. Businesses can enable a preview only if the server's settings allow it."""
    assert names.AVAILABLE_SOCIALS == SUPPORTED == ("google", "facebook", "github", "gitlab", "discord")
    assert names.ANNOUNCED_SOCIALS[: len(ANNOUNCED)] == ANNOUNCED == ("apple", "x", "tiktok", "amazon")


def test_announced_providers_follow_the_available_ones() -> None:
    assert tuple(names.SOCIALS) == names.AVAILABLE_SOCIALS + names.ANNOUNCED_SOCIALS


@pytest.mark.contract("4.8/config", "D-01/globals")
def test_the_globals_are_those_of_the_contract_and_the_handle() -> None:
    assert (names.GLOBAL_CONFIG, names.GLOBAL_INIT, names.GLOBAL_HANDLE) == ("ServiceConfig", "initService", "Service")


@pytest.mark.contract("2.8/member-token-key")
def test_the_storage_keys_are_those_of_the_contract() -> None:
    assert storage_keys.MEMBER_TOKEN_PREFIX == "wf_member_token_"
    assert (storage_keys.DATABASE, storage_keys.STORE, storage_keys.RECORD) == ("wf_keys", "keys", "connection")
