"""Reads the manifest of the built files."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from chatkey import __version__

INSTALL: Final = f"pip install 'chatkey[server]=={__version__}'"
REMEDY: Final = f"In a checkout, run `python widget_sim/build_assets.py`. Otherwise: {INSTALL}"


class AssetsError(Exception):
    """Files that the browser needs are missing. The message names the command that installs or builds them."""


class Manifest(msgspec.Struct, frozen=True):
    """The contents of the manifest: relative file names, the Pyodide version, and sizes in bytes."""

    pyodide: str
    snapshot: str
    sources: str
    lock: dict[str, str]
    sizes: dict[str, int]


def read_manifest(built: Path) -> Manifest:
    """Read the manifest. Raises `AssetsError` if nothing was built, or if a listed file is missing."""
    try:
        manifest = msgspec.json.decode((built / "manifest.json").read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise AssetsError(f"The widget's files have not been built: {built} has no manifest.json. {REMEDY}") from None
    except msgspec.DecodeError as error:
        raise AssetsError(f"{built / 'manifest.json'} cannot be read: {error}. {REMEDY}") from error
    for name in manifest.sizes:
        if not (built / name).is_file():
            raise AssetsError(f"The widget's files are incomplete: {built / name} is missing. {REMEDY}")
    return manifest
