"""Where Piccolo's own tools find the database (`PICCOLO_CONF=chatkey_server.storage.piccolo_conf`)."""

from piccolo.conf.apps import AppRegistry

from chatkey_server.settings import load
from chatkey_server.storage import engine

APP_REGISTRY = AppRegistry(apps=["chatkey_server.storage.piccolo_app"])


def __getattr__(name: str) -> object:
    """Return `DB`: the database that is open, else the one of the settings."""
    if name == "DB":
        return engine.bound() or engine.build(load().database)
    raise AttributeError(name)
