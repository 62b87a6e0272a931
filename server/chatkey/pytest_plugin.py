"""A pytest plugin that loads the harness as soon as a conftest.py has imported `chatkey_e2e.overrides`.

Every pytest run with chatkey installed loads this module, so it imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_plugin_registered(plugin: object, manager: pytest.PytestPluginManager) -> None:
    harness = getattr(plugin, "chatkey_harness", None)
    if harness and not manager.is_registered(harness):
        manager.register(harness, harness.__name__)
