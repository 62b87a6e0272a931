"""The tables and migrations as Piccolo's own tools know them."""

from pathlib import Path

from piccolo.conf.apps import AppConfig

from chatkey_server.storage.tables import TABLES

APP_CONFIG = AppConfig(
    app_name="chatkey",
    migrations_folder_path=str(Path(__file__).with_name("migrations")),
    table_classes=TABLES,
)
