"""The agent panel: who wrote or called, what was said, and an answer (contract 2.7)."""

from chatkey_server.panel.routes import router

__all__ = ["router"]
