"""Adds to a call who started and who accepted it, when its caller was last there, and why it ended."""

from piccolo.columns import BigInt, Varchar
from piccolo.table import Table

from chatkey_server.storage.schema_changes import Definitions

ID = "2026-11-26T12:00:00:000000"
DESCRIPTION = "The tabs, the key and the end of a call with sound."


class Call(Table, tablename="call"):
    started_by = Varchar(length=64, null=True, default=None)
    accepted_by = Varchar(length=64, null=True, default=None)
    jkt = Varchar(length=43, null=True, default=None)
    seen_at = BigInt(null=True, default=None)
    code = Varchar(length=32, null=True, default=None)


CHANGE = Definitions(columns=[Call.started_by, Call.accepted_by, Call.jkt, Call.seen_at, Call.code])
