"""Serves the widget's built files under the assets address (contract 4.8, D-17)."""

from chatkey_server.assets.manifest import AssetsError
from chatkey_server.assets.routes import router

__all__ = ["AssetsError", "router"]
