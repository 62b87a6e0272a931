"""Updates `chatkey_assets/built` from the sources. Only files whose sources have changed are built again."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from chatkey_build import sources
from chatkey_build.compress import compress
from chatkey_build.node import install_pyodide, make_snapshot, pinned_version

PYODIDE_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
SDK = "sdk.js"
TYPES = "sdk.d.ts"
MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class Built:
    """The result of a build, as recorded in `manifest.json`.

    `source` is the hash of all files on which the build depends. `widget` is the hash of all files on which the
    snapshot depends. `pyodide`, `snapshot` and `sources` name a folder and two files below `chatkey_assets/built`; each
    name contains a hash of the content. `lock` identifies this version of Pyodide to Pyodide's loader, and `sizes` are
    the sizes of all files, in bytes.
    """

    source: str
    widget: str
    pyodide: str
    snapshot: str
    sources: str
    lock: dict[str, str]
    sizes: dict[str, int]


def build(widget_sim: Path) -> Built:
    """Update the built files in the folder `widget_sim` of a checkout. Raises `BuildError` if a step fails."""
    known = read(widget_sim)
    if known and is_fresh(widget_sim):
        return known
    # Hash first, so that edits made during this build trigger another one.
    source, widget = _source_hash(widget_sim), _widget_hash(widget_sim)
    folder = built_folder(widget_sim)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as room:
        pyodide = _place_pyodide(folder, widget_sim / "pyodide", Path(room))
        if known and known.widget == widget and _whole(widget_sim, known):
            snapshot, archive = known.snapshot, known.sources
        else:
            snapshot, archive = _place_widget(folder, widget_sim, folder / pyodide, Path(room))
    for name in (SDK, TYPES):
        shutil.copyfile(widget_sim / "page" / name, folder / name)
    _prune(folder, keep=(pyodide, snapshot, archive, SDK, TYPES))
    made = Built(
        source=source,
        widget=widget,
        pyodide=pyodide,
        snapshot=snapshot,
        sources=archive,
        lock=json.loads((folder / pyodide / "pyodide-lock.json").read_text("utf-8"))["info"],
        sizes={name: (folder / name).stat().st_size for name in _names(folder)},
    )
    # Write the manifest last, so that an interrupted build does not count as finished.
    (folder / MANIFEST).write_text(json.dumps(asdict(made), indent=2) + "\n", "utf-8")
    return made


def is_fresh(widget_sim: Path) -> bool:
    """Return whether the built files are complete and match the current sources."""
    known = read(widget_sim)
    return known is not None and known.source == _source_hash(widget_sim) and _whole(widget_sim, known)


def read(widget_sim: Path) -> Built | None:
    """Return the manifest of the last build, or None if the manifest is missing or this builder cannot read it."""
    try:
        return Built(**json.loads((built_folder(widget_sim) / MANIFEST).read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def built_folder(widget_sim: Path) -> Path:
    return widget_sim / "chatkey_assets" / "built"


def _source_hash(widget_sim: Path) -> str:
    return sources.digest(widget_sim, sources.everything(widget_sim))


def _widget_hash(widget_sim: Path) -> str:
    return sources.digest(widget_sim, sources.snapshot_files(widget_sim))


def _place_pyodide(folder: Path, package: Path, room: Path) -> str:
    """Copy Pyodide's files with their original names into a folder that is named after a hash of their content."""
    installed = install_pyodide(package)
    files = [installed / name for name in PYODIDE_FILES]
    name = f"pyodide-{pinned_version(package)}-{sources.digest(installed, files)[:12]}"
    if not (folder / name).is_dir():
        staged = room / name
        staged.mkdir()
        copies = [Path(shutil.copyfile(file, staged / file.name)) for file in files]
        compress(copies)
        staged.rename(folder / name)
    return name


def _place_widget(folder: Path, widget_sim: Path, pyodide: Path, room: Path) -> tuple[str, str]:
    """Create the zip of the sources, and the memory snapshot of a Pyodide that has imported them."""
    staged = room / "widget.zip"
    staged.write_bytes(sources.pack(widget_sim, sources.widget_files(widget_sim)))
    memory = room / "widget.snapshot"
    make_snapshot(widget_sim / "pyodide", pyodide=pyodide, sources=staged, output=memory)
    compress([memory])
    return _move(memory, folder), _move(staged, folder)


def _move(file: Path, folder: Path) -> str:
    """Move a file and its compressed copies into `folder`. The new names contain the hash of the file's content."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    name = f"{file.stem}-{digest}{file.suffix}"
    for sibling in sorted(file.parent.glob(f"{file.name}*")):
        sibling.replace(folder / (name + sibling.name.removeprefix(file.name)))
    return name


def _prune(folder: Path, *, keep: tuple[str, ...]) -> None:
    for entry in folder.iterdir():
        if entry.name.startswith(keep):
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _whole(widget_sim: Path, known: Built) -> bool:
    return all((built_folder(widget_sim) / name).is_file() for name in known.sizes)


def _names(folder: Path) -> list[str]:
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != MANIFEST)
    return sorted(file.relative_to(folder).as_posix() for file in files)
