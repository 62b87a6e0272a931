"""The database tables (D-11, D-15). Times are seconds since the epoch."""

from piccolo.columns import (
    UUID,
    BigInt,
    Boolean,
    Column,
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

from chatkey_protocol.names import STANDARD_CALL_TITLE, STANDARD_GREETING, STANDARD_TITLE


class Provider(Table, tablename="provider"):
    """A business that embeds the widget (contract 2.1). Columns named `sealed_*` are encrypted (D-15)."""

    id = Varchar(length=64, primary_key=True)
    name = Varchar(length=255)
    enabled = Boolean(default=True)
    sealed_secret_key = Text(secret=True)
    sealed_previous_secret_key = Text(null=True, default=None, secret=True)
    previous_until = BigInt(default=0)
    restrict_socket_origins = Boolean(default=False)
    livechat_enabled = Boolean(default=True)
    livechat_title = Varchar(length=255, default=STANDARD_TITLE)
    livechat_greeting = Text(default=STANDARD_GREETING)
    service_enabled = Boolean(default=True)
    service_title = Varchar(length=255, default=STANDARD_CALL_TITLE)
    service_greeting = Text(default="We answer calls during office hours.")
    ui_colour = Varchar(length=7, default="#4f46e5")
    ui_position = Varchar(length=5, default="right")
    ui_locale = Varchar(length=16, default="en")
    created_at = BigInt()
    updated_at = BigInt()


class RegisteredDomain(Table, tablename="registered_domain"):
    """A host, with an optional port, on which a business may embed the widget, and the origins of that host (D-08).

    `origins` contains serialised origins, separated by spaces, which are computed when the domain is saved. The origins
    of requests are compared with these origins. Messages to pages are posted to these origins.
    """

    provider = ForeignKey(references=Provider, on_delete=OnDelete.cascade, null=False)
    domain = Varchar(length=255)
    origins = Text()


class SocialLogin(Table, tablename="social_login"):
    """A social provider that is switched on for a business. `key_source` is `service` or `own`."""

    provider = ForeignKey(references=Provider, on_delete=OnDelete.cascade, null=False)
    social = Varchar(length=16)
    enabled = Boolean(default=True)
    key_source = Varchar(length=8, default="service")


class OAuthApplication(Table, tablename="oauth_application"):
    """The keys of an OAuth application of a business, or of the service if `holder` is `service`."""

    holder = Varchar(length=64)
    social = Varchar(length=16)
    client_id = Varchar(length=255)
    sealed_client_secret = Text(null=True, default=None, secret=True)
    team_id = Varchar(length=32, null=True, default=None)
    key_id = Varchar(length=32, null=True, default=None)
    sealed_p8 = Text(null=True, default=None, secret=True)


class OAuthFlow(Table, tablename="oauth_flow"):
    """A social login in progress, identified by the id of its state (D-07). `used_at` makes the state single-use.

    `code_digest` is the SHA-256 digest of the code that came with the first callback.
    """

    id = Varchar(length=64, primary_key=True)
    provider = Varchar(length=64)
    social = Varchar(length=16)
    verifier = Varchar(length=128)
    oidc_nonce = Varchar(length=64)
    created_at = BigInt(index=True)
    used_at = BigInt(null=True, default=None)
    code_digest = Varchar(length=43, null=True, default=None)


class ChatCustomer(Table, tablename="chat_customer"):
    """A member (contract 2.7, D-11). `login` is `custom` or `social`. Accounts are never linked by e-mail.

    `folded` is name, e-mail and uid in searchable form.
    """

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
    """The conversation between one identity and the agents.

    `login` is `visitor`, `custom` or `social`. A visitor's conversation never has a `customer`. `last_at` is the time
    of the last message or call, in milliseconds, so that conversations of the same second have an order. The person's
    messages and calls set `waiting`, and an agent's actions clear it. `answered_by` is the name of the agent who acted
    last.
    """

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
    """One message. `seq` is the message's number in the conversation. `folded` is the body in searchable form."""

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
    """A call: `ringing`, then possibly `active`, then `ended`. A conversation has one call at a time.

    `started_by` and `accepted_by` are the ids of the frames that started and accepted the call, which only the caller's
    tab and the agent's page know. `jkt` is the caller's key. `seen_at` is when a process last had the caller's socket.
    `code` says why the call ended, if nobody hung up.
    """

    id = UUID(primary_key=True, default=UUID4())
    conversation = ForeignKey(references=Conversation, on_delete=OnDelete.cascade, null=False)
    state = Varchar(length=8, default="ringing")
    started_at = BigInt()
    answered_at = BigInt(null=True, default=None)
    ended_at = BigInt(null=True, default=None)
    started_by = Varchar(length=64, null=True, default=None)
    accepted_by = Varchar(length=64, null=True, default=None)
    jkt = Varchar(length=43, null=True, default=None)
    seen_at = BigInt(null=True, default=None)
    code = Varchar(length=32, null=True, default=None)


class Agent(Table, tablename="agent"):
    """An account of the agent panel, for all businesses or for the businesses in `agent_provider` (D-21).

    `password_hash` is a scrypt hash with its salt.
    """

    id = UUID(primary_key=True, default=UUID4())
    username = Varchar(length=64, unique=True)
    password_hash = Varchar(length=255, secret=True)
    all_providers = Boolean(default=True)


class AgentProvider(Table, tablename="agent_provider"):
    """A business that an agent answers for, if the agent does not answer for all businesses."""

    agent = ForeignKey(references=Agent, on_delete=OnDelete.cascade, null=False)
    provider = ForeignKey(references=Provider, on_delete=OnDelete.cascade, null=False)


class AgentSession(Table, tablename="agent_session"):
    """A session of an agent, or of the lab's agent if `agent` is null. `id` is the SHA-256 of the cookie's token."""

    id = Varchar(length=64, primary_key=True, secret=True)
    agent = ForeignKey(references=Agent, on_delete=OnDelete.cascade, null=True, default=None)
    expires_at = BigInt()


class Administrator(Table, tablename="administrator"):
    """An account that may change everything in the admin panel. `password_hash` is a scrypt hash with its salt."""

    id: Serial
    username = Varchar(length=64, unique=True)
    password_hash = Varchar(length=255, secret=True)


class AdminSession(Table, tablename="admin_session"):
    """A session of an administrator. `token` is the SHA-256 of the cookie's token. Times come from the system clock."""

    id: Serial
    token = Varchar(length=100, unique=True, secret=True)
    user_id = ForeignKey(references=Administrator, on_delete=OnDelete.cascade, null=False)
    expiry_date = Timestamp()
    max_expiry_date = Timestamp()


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
    AgentProvider,
    AgentSession,
    Administrator,
    AdminSession,
]

UNIQUE: dict[type[Table], tuple[tuple[Column, ...], ...]] = {
    RegisteredDomain: ((RegisteredDomain.provider, RegisteredDomain.domain),),
    SocialLogin: ((SocialLogin.provider, SocialLogin.social),),
    OAuthApplication: ((OAuthApplication.holder, OAuthApplication.social),),
    ChatCustomer: ((ChatCustomer.provider, ChatCustomer.login, ChatCustomer.uid),),
    Conversation: ((Conversation.provider, Conversation.login, Conversation.uid),),
    Message: ((Message.conversation, Message.seq), (Message.conversation, Message.message_id)),
    AgentProvider: ((AgentProvider.agent, AgentProvider.provider),),
}
"""The composite keys. Piccolo cannot declare them for SQLite, so the migrations create them as unique indexes."""
