"""Encrypts all secrets again with the current master key, so that old keys can be removed (D-15)."""

from __future__ import annotations

from typing import Final

from piccolo.columns import Text
from piccolo.table import Table

from chatkey_server.storage.engine import transaction
from chatkey_server.storage.tables import OAuthApplication, Provider
from chatkey_server.storage.vault import Vault

SEALED: Final[tuple[tuple[type[Table], Text], ...]] = (
    (Provider, Provider.sealed_secret_key),
    (Provider, Provider.sealed_previous_secret_key),
    (OAuthApplication, OAuthApplication.sealed_client_secret),
    (OAuthApplication, OAuthApplication.sealed_p8),
)
"""All columns that are encrypted."""


async def reseal(vault: Vault) -> int:
    """Encrypt all stored secrets with the vault's current key, and return their number. If one fails, change none.

    Raises `SettingsError` if a secret was encrypted with a key that the vault does not have.
    """
    count = 0
    async with transaction():
        for table, column in SEALED:
            count += await _reseal_column(vault, table, column)
    return count


async def _reseal_column(vault: Vault, table: type[Table], column: Text) -> int:
    key = table._meta.primary_key  # noqa: SLF001 - Piccolo keeps a table's description in `_meta`
    rows = await table.select(key.as_alias("key"), column.as_alias("sealed")).where(column.is_not_null())
    for row in rows:
        await table.update({column: vault.reseal(row["sealed"])}).where(key == row["key"])
    return len(rows)
