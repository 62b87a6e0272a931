"""The commands of `chatkey` that belong to the server."""
