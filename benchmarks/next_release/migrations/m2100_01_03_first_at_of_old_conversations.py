"""Sets the time of the first message for conversations that began before the column existed."""

from chatkey_server.storage.schema_changes import Backfill

ID = "2100-01-03T12:00:00:000000"
DESCRIPTION = "Store the time of the first message for conversations that began before this migration."

CHANGE = Backfill(
    "conversation",
    "first_at = (SELECT sent_at FROM message WHERE message.conversation = conversation.id AND message.seq = 1)",
    where="first_at IS NULL AND last_seq > 0",
)
