"""The agent panel: shows agents who wrote or called and the messages, and lets them answer (contract 2.7)."""

from chatkey_server.panel.routes import router

__all__ = ["router"]
