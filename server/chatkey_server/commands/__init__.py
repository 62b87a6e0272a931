"""The `chatkey` commands that belong to the server."""
