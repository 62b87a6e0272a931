"""Adds the language of a message."""

from piccolo.columns import Varchar
from piccolo.table import Table

from chatkey_server.storage.schema_changes import Definitions

ID = "2100-01-01T12:00:00:000000"
DESCRIPTION = "The language of a message."


class Message(Table, tablename="message"):
    language = Varchar(length=8, default="")


CHANGE = Definitions(columns=[Message.language])
