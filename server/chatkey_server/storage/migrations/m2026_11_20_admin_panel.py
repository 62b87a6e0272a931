"""Administrators, and the views that the admin panel reads."""

# ruff: noqa: SLF001 - Piccolo keeps a table's description in `_meta`

from typing import Final

from piccolo.apps.migrations.auto.migration_manager import MigrationManager
from piccolo.columns import ForeignKey, OnDelete, Serial, Timestamp, Varchar
from piccolo.table import Table

ID = "2026-11-20T15:00:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "Administrators, and the views that the admin panel reads: they hold no secret, sealed or not."


class Administrator(Table, tablename="administrator"):
    id: Serial
    username = Varchar(length=64, unique=True)
    password_hash = Varchar(length=255, secret=True)


class AdminSession(Table, tablename="admin_session"):
    id: Serial
    token = Varchar(length=100, unique=True, secret=True)
    user_id = ForeignKey(references=Administrator, on_delete=OnDelete.cascade, null=False)
    expiry_date = Timestamp()
    max_expiry_date = Timestamp()


MOMENT: Final = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%S UTC', {}, 'unixepoch')",
    "postgres": "to_char(to_timestamp({}) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS \"UTC\"')",
}
"""Seconds since the epoch as people write them; text, because no kind of column has a time zone in both databases."""

PROVIDERS = """
    SELECT id, name, enabled, restrict_socket_origins, livechat_enabled, livechat_title, livechat_greeting,
        service_enabled, service_title, service_greeting, ui_colour, ui_position, ui_locale,
        CASE WHEN sealed_previous_secret_key IS NULL THEN '' ELSE {previous_until} END AS old_secret_until,
        {updated_at} AS changed
    FROM provider
"""
DOMAINS = "SELECT id, provider, domain, origins FROM registered_domain"
SOCIAL_LOGINS = """
    SELECT social_login.id, social_login.provider, social_login.social, social_login.enabled, social_login.key_source,
        COALESCE(own.client_id, '') AS client_id, '' AS client_secret, COALESCE(own.team_id, '') AS team_id,
        COALESCE(own.key_id, '') AS key_id, '' AS p8
    FROM social_login
    LEFT JOIN oauth_application AS own ON own.holder = social_login.provider AND own.social = social_login.social
"""
SERVICE_KEYS = """
    SELECT id, social, client_id, '' AS client_secret, COALESCE(team_id, '') AS team_id,
        COALESCE(key_id, '') AS key_id, '' AS p8
    FROM oauth_application WHERE holder = 'service'
"""
MEMBERS = """
    SELECT id, provider, login, COALESCE(auth_provider, '') AS auth_provider, uid, COALESCE(name, '') AS name,
        COALESCE(email, '') AS email, {created_at} AS first_seen, {updated_at} AS changed
    FROM chat_customer
"""
VIEWS: Final = {
    "providers": PROVIDERS,
    "domains": DOMAINS,
    "social_logins": SOCIAL_LOGINS,
    "service_keys": SERVICE_KEYS,
    "members": MEMBERS,
}


async def create() -> None:
    """Create the views."""
    raw = _database()
    moment = MOMENT[raw._meta.db.engine_type]
    moments = {column: moment.format(column) for column in ("previous_until", "created_at", "updated_at")}
    for name, query in VIEWS.items():
        await raw.raw(f"CREATE VIEW {name} AS {query.format(**moments)}")


async def drop() -> None:
    """Drop the views."""
    raw = _database()
    for name in VIEWS:
        await raw.raw(f"DROP VIEW {name}")


def _database() -> type[Table]:
    class RawTable(Table):
        """Only a way to the database; made anew, because it keeps the first one it was used with."""

    return RawTable


async def forwards() -> MigrationManager:
    """Create tables and views."""
    manager = MigrationManager(migration_id=ID, app_name="chatkey", description=DESCRIPTION)
    for table in (Administrator, AdminSession):
        manager.add_table(class_name=table.__name__, tablename=table._meta.tablename)
        for column in table._meta.non_default_columns:
            manager.add_column(
                table_class_name=table.__name__,
                tablename=table._meta.tablename,
                column_name=column._meta.name,
                column_class=type(column),
                params=column._meta.params,
            )
    manager.add_raw(create)
    manager.add_raw_backwards(drop)
    return manager
