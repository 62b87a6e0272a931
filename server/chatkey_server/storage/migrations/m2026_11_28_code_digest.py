"""Adds to a social login in progress the digest of the code that has used it up."""

from piccolo.columns import Varchar
from piccolo.table import Table

from chatkey_server.storage.schema_changes import Definitions

ID = "2026-11-28T12:00:00:000000"
DESCRIPTION = "The code of a used social login, to recognise a repeated callback."


class OAuthFlow(Table, tablename="oauth_flow"):
    code_digest = Varchar(length=43, null=True, default=None)


CHANGE = Definitions(columns=[OAuthFlow.code_digest])
