"""The tables of the admin panel: database views without secrets, and the two tables of the panel's sign-in."""

from __future__ import annotations

from enum import Enum
from typing import Final, cast

from piccolo.columns import UUID, Boolean, Column, ForeignKey, Text, Varchar
from piccolo.columns.choices import Choice
from piccolo.columns.readable import Readable
from piccolo.table import Table

from chatkey_protocol.names import SOCIALS

Social = cast("type[Enum]", Enum("Social", {name: Choice(name, social.title) for name, social in SOCIALS.items()}))


class KeySource(Enum):
    """Whose application a social login uses. The contract defines the names."""

    service_owned_keys = "service"
    own_application_keys = "own"


class Position(Enum):
    left = "left"
    right = "right"


MEMBER_LOGIN: Final = "Member Login"
"""The name of the panel's section (contract 1)."""
WRITE_ONLY: Final = "Never shown. Leave it empty to keep the stored value."
WORKED_OUT: Final = "Set by the server; input here is ignored."
APPLE: Final = "For Apple only."
P8: Final = f"For Apple only: the whole .p8 file, from BEGIN PRIVATE KEY to END. {WRITE_ONLY}"


class Providers(Table, tablename="providers"):
    """The businesses that embed the widget."""

    id = Varchar(length=64, primary_key=True)
    name = Varchar(length=255)
    enabled = Boolean(default=True, help_text="If off, no tokens are issued and no sockets open.")
    restrict_socket_origins = Boolean(help_text="If on, sockets only open on pages of the registered domains.")
    livechat_enabled = Boolean()
    livechat_title = Varchar(length=255)
    livechat_greeting = Text()
    service_enabled = Boolean()
    service_title = Varchar(length=255)
    service_greeting = Text()
    ui_colour = Varchar(length=7, help_text="For example #4f46e5.")
    ui_position = Varchar(length=5, choices=Position)
    ui_locale = Varchar(
        length=16, help_text="For example en or pt-BR. If empty, the widget uses the visitor's own language."
    )
    old_secret_until = Varchar(
        required=False, help_text=f"The time until which the previous secret_key is valid. {WORKED_OUT}"
    )
    changed = Varchar(required=False, help_text=WORKED_OUT)

    @classmethod
    def get_readable(cls) -> Readable:
        """Show a provider's name in rows of other tables that refer to the provider."""
        return Readable("%s", columns=[cls.name])


class Domains(Table, tablename="domains"):
    """The domains on which a business may embed the widget."""

    provider = ForeignKey(references=Providers, null=False)
    domain = Varchar(length=255, help_text="A host with an optional port: shop.example or localhost:3000.")
    origins = Text(required=False, help_text=f"The web origins that belong to the domain. {WORKED_OUT}")


class SocialLogins(Table, tablename="social_logins"):
    """The social providers of a business. Each row says whose keys the social provider uses."""

    provider = ForeignKey(references=Providers, null=False)
    social = Varchar(length=16, choices=Social)
    enabled = Boolean(default=True)
    key_source = Varchar(length=8, choices=KeySource, default=KeySource.service_owned_keys)
    client_id = Varchar(length=255, required=False, help_text="The client id of the business's own application.")
    client_secret = Varchar(length=255, required=False, secret=True, help_text=WRITE_ONLY)
    team_id = Varchar(length=32, required=False, help_text=APPLE)
    key_id = Varchar(length=32, required=False, help_text=APPLE)
    p8 = Text(required=False, secret=True, help_text=P8)


class ServiceKeys(Table, tablename="service_keys"):
    """The keys of the applications that belong to the service."""

    social = Varchar(length=16, choices=Social)
    client_id = Varchar(length=255)
    client_secret = Varchar(length=255, required=False, secret=True, help_text=WRITE_ONLY)
    team_id = Varchar(length=32, required=False, help_text=APPLE)
    key_id = Varchar(length=32, required=False, help_text=APPLE)
    p8 = Text(required=False, secret=True, help_text=P8)


class Members(Table, tablename="members"):
    """The member records (contract 2.7)."""

    id = UUID(primary_key=True)
    provider = ForeignKey(references=Providers, null=False)
    login = Varchar(length=8)
    auth_provider = Varchar(length=16)
    uid = Varchar(length=255)
    name = Varchar(length=255)
    email = Varchar(length=255)
    first_seen = Varchar()
    changed = Varchar()


def visible(table: type[Table]) -> list[Column]:
    """Return the columns for lists and filters: all columns except write-only ones."""
    return [column for column in table._meta.columns if not column._meta.secret]  # noqa: SLF001 - Piccolo's way
