"""The reference server: the public endpoints, the socket, the chat behind it and the panels."""

__version__ = "0.1.0"
