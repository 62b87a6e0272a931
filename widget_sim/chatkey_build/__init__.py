"""Builds the files that the browser loads: the pinned Pyodide, the widget's snapshot, and compressed copies."""

from chatkey_build.builder import Built, build, is_fresh
from chatkey_build.node import BuildError

__all__ = ["BuildError", "Built", "build", "is_fresh"]
