"""The built files, as the manifest beside them lists them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

BUILT: Final = Path(__file__).parent / "built"


class AssetsError(Exception):
    """The files the browser needs are missing; the message says which command makes them."""


class Manifest(msgspec.Struct, frozen=True):
    """What was built: names below the folder, which Pyodide it is, and sizes in bytes."""

    pyodide: str
    snapshot: str
    sources: str
    lock: dict[str, str]
    sizes: dict[str, int]


def read_manifest(built: Path) -> Manifest:
    """Read what was built. Raises `AssetsError` when nothing was, or when a listed file is gone."""
    remedy = "In a checkout, `python hatch_build.py` makes them; an installed package brings them."
    try:
        manifest = msgspec.json.decode((built / "manifest.json").read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise AssetsError(f"The widget's files have not been built: {built} has no manifest.json. {remedy}") from None
    except msgspec.DecodeError as error:
        raise AssetsError(f"{built / 'manifest.json'} cannot be read: {error}. {remedy}") from error
    for name in manifest.sizes:
        if not (built / name).is_file():
            raise AssetsError(f"The widget's files are incomplete: {built / name} is missing. {remedy}")
    return manifest
