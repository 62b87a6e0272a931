"""Adds the time of the first message of a conversation."""

from piccolo.columns import BigInt
from piccolo.table import Table

from chatkey_server.storage.schema_changes import Definitions

ID = "2100-01-02T12:00:00:000000"
DESCRIPTION = "When the first message of a conversation was sent."


class Conversation(Table, tablename="conversation"):
    first_at = BigInt(null=True, default=None)


CHANGE = Definitions(columns=[Conversation.first_at])
