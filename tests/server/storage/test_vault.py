"""Tests of encryption at rest and of the keys that are derived from the master key."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.fernet import Fernet, InvalidToken

from chatkey_server.settings import Settings, SettingsError
from chatkey_server.storage.vault import KEY_FILE, Vault

OLD, NEW = "o" * 32, "n" * 32


@pytest.mark.contract("D-15/sealed")
def test_sealing_hides_a_secret_and_opening_returns_it() -> None:
    vault = Vault([OLD])

    sealed = vault.seal("the secret")

    assert "the secret" not in sealed
    assert vault.open(sealed) == "the secret"


@pytest.mark.contract("D-15/sealed")
def test_an_old_master_key_still_opens_and_the_new_one_seals() -> None:
    sealed = Vault([OLD]).seal("the secret")
    both = Vault([NEW, OLD])

    assert both.open(sealed) == "the secret"
    assert Vault([NEW]).open(both.seal("another")) == "another"
    assert Vault([NEW]).open(both.reseal(sealed)) == "the secret"


@pytest.mark.parametrize("act", [Vault.open, Vault.reseal])
def test_a_secret_of_an_unknown_master_key_is_refused_naming_the_variable(act: object) -> None:
    sealed = Vault([OLD]).seal("the secret")

    with pytest.raises(SettingsError) as refused:
        act(Vault([NEW]), sealed)  # type: ignore[operator]

    assert str(refused.value).startswith("CHATKEY_MASTER_KEY (not shown) does not decrypt")
    assert NEW not in str(refused.value)


@pytest.mark.contract("D-15/sealed")
def test_each_purpose_and_master_key_has_its_own_derived_key() -> None:
    vault = Vault([NEW, OLD])

    sealed = vault.seal("the secret")

    assert len(set(vault.state_keys)) == 2
    assert {len(key) for key in vault.state_keys} == {32}
    for key in vault.state_keys:
        with pytest.raises(InvalidToken):
            Fernet(urlsafe_b64encode(key)).decrypt(sealed)
    assert vault.state_keys[1:] == Vault([OLD]).state_keys


@pytest.mark.contract("D-15/embedded-key")
def test_the_embedded_server_keeps_a_master_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new")

    sealed = Vault.of(settings).seal("the secret")

    assert Vault.of(settings).open(sealed) == "the secret"
    assert (tmp_path / "new" / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "new").iterdir()] == [KEY_FILE]


def test_servers_that_start_together_agree_on_one_master_key(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)

    with ThreadPoolExecutor(8) as pool:
        vaults = list(pool.map(lambda _: Vault.of(settings), range(8)))

    assert len({vault.state_keys for vault in vaults}) == 1


def test_with_a_given_master_key_nothing_is_written_to_the_data_folder(tmp_path: Path) -> None:
    Vault.of(Settings(data_dir=tmp_path, master_key=(NEW,)))

    assert list(tmp_path.iterdir()) == []


def test_a_master_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    Vault.of(Settings(data_dir=tmp_path))
    (tmp_path / KEY_FILE).chmod(0o644)

    with pytest.raises(SettingsError, match=r"CHATKEY_DATA_DIR .* other users can read; run chmod 600 on it"):
        Vault.of(Settings(data_dir=tmp_path))


def test_an_empty_master_key_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).touch(mode=0o600)

    with pytest.raises(SettingsError, match=r"CHATKEY_DATA_DIR .* empty master\.key"):
        Vault.of(Settings(data_dir=tmp_path))


def test_a_data_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SettingsError, match=r"CHATKEY_DATA_DIR cannot hold the master key \(Not a dir"):
        Vault.of(Settings(data_dir=tmp_path / "file" / "data"))
