"""Endpoints for operators: whether the process is alive, whether it can take traffic, and the metrics."""

from chatkey_server.health.routes import router

__all__ = ["router"]
