"""Builds the files of the wheels that are not sources: Pyodide, the widget's snapshot, and the documentation site."""

from chatkey_build.builder import Built, build, is_fresh
from chatkey_build.node import BuildError
from chatkey_build.site import build_site, pack_site

__all__ = ["BuildError", "Built", "build", "build_site", "is_fresh", "pack_site"]
