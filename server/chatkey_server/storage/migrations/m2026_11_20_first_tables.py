"""The first tables."""

# ruff: noqa: SLF001 - Piccolo keeps a table's description in `_meta`

from piccolo.apps.migrations.auto.migration_manager import MigrationManager
from piccolo.columns import (
    UUID,
    BigInt,
    Boolean,
    ForeignKey,
    Integer,
    OnDelete,
    Text,
    Varchar,
)
from piccolo.columns.defaults.uuid import UUID4
from piccolo.table import Table

ID = "2026-11-20T12:00:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "The first tables."


class Provider(Table, tablename="provider"):
    id = Varchar(length=64, primary_key=True)
    name = Varchar(length=255)
    enabled = Boolean(default=True)
    sealed_secret_key = Text(secret=True)
    sealed_previous_secret_key = Text(null=True, default=None, secret=True)
    previous_until = BigInt(default=0)
    restrict_socket_origins = Boolean(default=False)
    livechat_enabled = Boolean(default=True)
    livechat_title = Varchar(length=255, default="Chat with us")
    livechat_greeting = Text(default="Hello! How can we help?")
    service_enabled = Boolean(default=True)
    service_title = Varchar(length=255, default="Call us")
    service_greeting = Text(default="We answer calls during office hours.")
    ui_colour = Varchar(length=7, default="#4f46e5")
    ui_position = Varchar(length=5, default="right")
    ui_locale = Varchar(length=16, default="en")
    created_at = BigInt()
    updated_at = BigInt()


class RegisteredDomain(Table, tablename="registered_domain"):
    provider = ForeignKey(references=Provider, on_delete=OnDelete.cascade, null=False)
    domain = Varchar(length=255)
    origins = Text()


class SocialLogin(Table, tablename="social_login"):
    provider = ForeignKey(references=Provider, on_delete=OnDelete.cascade, null=False)
    social = Varchar(length=16)
    enabled = Boolean(default=True)
    key_source = Varchar(length=8, default="service")


class OAuthApplication(Table, tablename="oauth_application"):
    holder = Varchar(length=64)
    social = Varchar(length=16)
    client_id = Varchar(length=255)
    sealed_client_secret = Text(null=True, default=None, secret=True)
    team_id = Varchar(length=32, null=True, default=None)
    key_id = Varchar(length=32, null=True, default=None)
    sealed_p8 = Text(null=True, default=None, secret=True)


class OAuthFlow(Table, tablename="oauth_flow"):
    id = Varchar(length=64, primary_key=True)
    provider = Varchar(length=64)
    social = Varchar(length=16)
    verifier = Varchar(length=128)
    oidc_nonce = Varchar(length=64)
    created_at = BigInt(index=True)
    used_at = BigInt(null=True, default=None)


class ChatCustomer(Table, tablename="chat_customer"):
    id = UUID(primary_key=True, default=UUID4())
    provider = Varchar(length=64)
    login = Varchar(length=8)
    uid = Varchar(length=255)
    auth_provider = Varchar(length=16, null=True, default=None)
    name = Varchar(length=255, null=True, default=None)
    email = Varchar(length=255, null=True, default=None)
    avatar = Text(null=True, default=None)
    created_at = BigInt()
    updated_at = BigInt()


class Conversation(Table, tablename="conversation"):
    id = UUID(primary_key=True, default=UUID4())
    provider = Varchar(length=64)
    login = Varchar(length=8)
    uid = Varchar(length=255)
    customer = ForeignKey(references=ChatCustomer, on_delete=OnDelete.set_null, null=True, default=None)
    last_seq = Integer(default=0)
    last_at = BigInt(index=True)


class Message(Table, tablename="message"):
    id = UUID(primary_key=True, default=UUID4())
    conversation = ForeignKey(references=Conversation, on_delete=OnDelete.cascade, null=False)
    seq = Integer()
    message_id = Varchar(length=64)
    sender = Varchar(length=8)
    name = Varchar(length=255, null=True, default=None)
    body = Text()
    folded = Text()
    sent_at = BigInt()


class Call(Table, tablename="call"):
    id = UUID(primary_key=True, default=UUID4())
    conversation = ForeignKey(references=Conversation, on_delete=OnDelete.cascade, null=False)
    state = Varchar(length=8, default="ringing")
    started_at = BigInt()
    answered_at = BigInt(null=True, default=None)
    ended_at = BigInt(null=True, default=None)


class Agent(Table, tablename="agent"):
    id = UUID(primary_key=True, default=UUID4())
    username = Varchar(length=64, unique=True)
    password_hash = Varchar(length=255, secret=True)


TABLES: list[type[Table]] = [
    Provider,
    RegisteredDomain,
    SocialLogin,
    OAuthApplication,
    OAuthFlow,
    ChatCustomer,
    Conversation,
    Message,
    Call,
    Agent,
]
"""The tables as they were at this step; those of today are in `tables.py`."""


async def forwards() -> MigrationManager:
    """Create every table with its columns."""
    manager = MigrationManager(migration_id=ID, app_name="chatkey", description=DESCRIPTION)
    for table in TABLES:
        manager.add_table(class_name=table.__name__, tablename=table._meta.tablename)
        for column in table._meta.non_default_columns:
            manager.add_column(
                table_class_name=table.__name__,
                tablename=table._meta.tablename,
                column_name=column._meta.name,
                column_class=type(column),
                params=column._meta.params,
            )
    return manager
