"""The reference server: public endpoints, the WebSocket, the chat, the agent panel and the admin panel."""

__version__ = "0.1.0"
