"""The socket profile `wf.v1` on the server (D-10)."""

from chatkey_server.socket.endpoint import SocketEndpoint, close_all

__all__ = ["SocketEndpoint", "close_all"]
