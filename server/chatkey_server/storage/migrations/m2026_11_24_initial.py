"""Every table, index and view of the first release."""

from typing import Final

from piccolo.columns import (
    UUID,
    BigInt,
    Boolean,
    ForeignKey,
    Integer,
    OnDelete,
    Serial,
    Text,
    Timestamp,
    Varchar,
)
from piccolo.columns.defaults.uuid import UUID4
from piccolo.table import Table

from chatkey_server.storage.schema_changes import Definitions

ID = "2026-11-24T12:00:00:000000"
DESCRIPTION = "Every table, index and view of the first release."


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
    folded = Text(default="")


class Conversation(Table, tablename="conversation"):
    id = UUID(primary_key=True, default=UUID4())
    provider = Varchar(length=64)
    login = Varchar(length=8)
    uid = Varchar(length=255)
    customer = ForeignKey(references=ChatCustomer, on_delete=OnDelete.set_null, null=True, default=None)
    last_seq = Integer(default=0)
    last_at = BigInt()
    waiting = Boolean(default=False)
    answered_by = Varchar(length=64, null=True, default=None)


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
    all_providers = Boolean(default=True)


class AgentProvider(Table, tablename="agent_provider"):
    agent = ForeignKey(references=Agent, on_delete=OnDelete.cascade, null=False)
    provider = ForeignKey(references=Provider, on_delete=OnDelete.cascade, null=False)


class AgentSession(Table, tablename="agent_session"):
    id = Varchar(length=64, primary_key=True, secret=True)
    agent = ForeignKey(references=Agent, on_delete=OnDelete.cascade, null=True, default=None)
    expires_at = BigInt()


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


TABLES: Final[list[type[Table]]] = [
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
    AgentProvider,
    AgentSession,
    Administrator,
    AdminSession,
]
"""The tables at the time of this migration. The current ones are in `tables.py`."""

INDEXES: Final = (
    # Piccolo's own composite keys are constraints, which SQLite cannot add to a table.
    "CREATE UNIQUE INDEX registered_domain_key ON registered_domain (provider, domain)",
    "CREATE UNIQUE INDEX social_login_key ON social_login (provider, social)",
    "CREATE UNIQUE INDEX oauth_application_key ON oauth_application (holder, social)",
    "CREATE UNIQUE INDEX chat_customer_key ON chat_customer (provider, login, uid)",
    "CREATE UNIQUE INDEX conversation_key ON conversation (provider, login, uid)",
    "CREATE UNIQUE INDEX message_seq_key ON message (conversation, seq)",
    "CREATE UNIQUE INDEX message_id_key ON message (conversation, message_id)",
    "CREATE UNIQUE INDEX call_open_key ON call (conversation) WHERE state <> 'ended'",
    "CREATE UNIQUE INDEX agent_provider_key ON agent_provider (agent, provider)",
    # With the id, because the agents' list is in this order. Otherwise a page would sort all conversations of a moment.
    "CREATE INDEX conversation_newest ON conversation (last_at, id)",
    "CREATE INDEX conversation_of_provider ON conversation (provider, last_at, id)",
    "CREATE INDEX conversation_of_agent ON conversation (answered_by, last_at, id)",
    "CREATE INDEX conversation_of_member ON conversation (last_at, id) WHERE login <> 'visitor'",
    "CREATE INDEX conversation_waiting ON conversation (last_at, id) WHERE waiting",
)

SEARCH: Final = {
    "sqlite": (
        """
        CREATE VIRTUAL TABLE message_search USING fts5(
            folded, conversation UNINDEXED, seq UNINDEXED, detail = 'none', tokenize = 'trigram case_sensitive 1'
        )
        """,
        """
        CREATE TRIGGER message_searchable AFTER INSERT ON message BEGIN
            INSERT INTO message_search (folded, conversation, seq) VALUES (new.folded, new.conversation, new.seq);
        END
        """,
        """
        CREATE TRIGGER message_unsearchable BEFORE DELETE ON conversation
        WHEN EXISTS (SELECT 1 FROM message WHERE conversation = old.id) BEGIN
            DELETE FROM message_search WHERE rowid IN (
                SELECT message_search.rowid FROM message_search
                WHERE message_search MATCH (
                    SELECT '"' || substr(folded, 1, 3) || '"' FROM message WHERE conversation = old.id LIMIT 1
                ) AND message_search.conversation = old.id
            );
        END
        """,
    ),
    "postgres": (
        # The trigrams of a text as an array. PL/pgSQL, because PostgreSQL would plan a function in SQL at every insert.
        """
        CREATE FUNCTION message_trigrams(text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
            DECLARE
                letters text[] := string_to_array($1, NULL);
                grams text[] := '{}';
            BEGIN
                FOR place IN 1 .. cardinality(letters) - 2 LOOP
                    grams[place] := letters[place] || letters[place + 1] || letters[place + 2];
                END LOOP;
                RETURN grams;
            END
        $$
        """,
        # Without fastupdate: otherwise, now and then, one insert would wait until all pending entries are sorted in.
        "CREATE INDEX message_search ON message USING gin (message_trigrams(folded)) WITH (fastupdate = off)",
    ),
}
"""The index for searching messages: the trigrams of the text."""

MOMENT: Final = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%S UTC', {}, 'unixepoch')",
    "postgres": "to_char(to_timestamp({}) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS \"UTC\"')",
}
"""Formats seconds since the epoch for people. It is text, because no column type has a time zone on both databases."""

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


def _views(kind: str) -> list[str]:
    moments = {column: MOMENT[kind].format(column) for column in ("previous_until", "created_at", "updated_at")}
    return [f"CREATE VIEW {name} AS {query.format(**moments)}" for name, query in VIEWS.items()]


CHANGE = Definitions(
    tables=TABLES,
    statements={kind: (*INDEXES, *SEARCH[kind], *_views(kind)) for kind in SEARCH},
)
