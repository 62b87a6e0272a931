"""The agent panel, in which agents see and answer messages and calls (contract 2.7)."""

from chatkey_server.panel.routes import router

__all__ = ["router"]
