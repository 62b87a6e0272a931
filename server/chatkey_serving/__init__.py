"""Serves ASGI applications over HTTP/1.1 and WebSocket. Every connection has timeouts and size limits."""
