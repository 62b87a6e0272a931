"""Adds an index of messages by language and time."""

from chatkey_server.storage.schema_changes import Index

ID = "2100-01-04T12:00:00:000000"
DESCRIPTION = "Messages by language and time."

CHANGE = Index("message_by_language", "message (language, sent_at)")
