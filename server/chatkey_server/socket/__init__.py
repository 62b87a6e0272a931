"""The socket profile `wf.v1` on the server (D-10)."""

from chatkey_server.socket.endpoint import close_all, handler

__all__ = ["close_all", "handler"]
