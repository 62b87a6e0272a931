"""The admin panel under `/admin/`: Piccolo Admin, with the section Member Login (contract 2.1)."""

from chatkey_server.panel.admin.mount import handler

__all__ = ["handler"]
