"""What those ask who run the service: is the process alive, may it be sent people, and how is it doing."""

from chatkey_server.health.routes import router

__all__ = ["router"]
