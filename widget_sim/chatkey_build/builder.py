"""One call that brings `assets/built` up to date with the sources, doing only what has changed."""

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
    """What was built, as `manifest.json` records it.

    `source` is the hash of everything the build depends on, `widget` of what the snapshot depends on. `pyodide`,
    `snapshot` and `sources` are a folder and two files below `assets/built`, with a hash of their content in the name.
    `lock` says which Pyodide this is, for Pyodide itself, and `sizes` are those of every file, in bytes.
    """

    source: str
    widget: str
    pyodide: str
    snapshot: str
    sources: str
    lock: dict[str, str]
    sizes: dict[str, int]


def build(root: Path) -> Built:
    """Bring the built files of the checkout at `root` up to date. Raises `BuildError` when a step fails."""
    known = read(root)
    if known and is_fresh(root):
        return known
    # Taken first: what is edited while this runs counts for the next build.
    source, widget = _source_hash(root), _widget_hash(root)
    folder, widget_sim, staging = built_folder(root), root / "widget_sim", root / "build"
    folder.mkdir(parents=True, exist_ok=True)
    staging.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=staging) as room:
        pyodide = _place_pyodide(folder, widget_sim / "pyodide", Path(room))
        if known and known.widget == widget and _whole(root, known):
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
    # Written last: an interrupted build is never taken for a finished one.
    (folder / MANIFEST).write_text(json.dumps(asdict(made), indent=2) + "\n", "utf-8")
    return made


def is_fresh(root: Path) -> bool:
    """Tell whether the built files are whole and belong to the present sources."""
    known = read(root)
    return known is not None and known.source == _source_hash(root) and _whole(root, known)


def read(root: Path) -> Built | None:
    """The manifest of the last build, or None where there is none that this builder understands."""
    try:
        return Built(**json.loads((built_folder(root) / MANIFEST).read_text("utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def built_folder(root: Path) -> Path:
    """Where the built files of the checkout at `root` belong."""
    return root / "server" / "chatkey_server" / "assets" / "built"


def _source_hash(root: Path) -> str:
    return sources.digest(root, sources.everything(root / "widget_sim"))


def _widget_hash(root: Path) -> str:
    return sources.digest(root, sources.snapshot_files(root / "widget_sim"))


def _place_pyodide(folder: Path, package: Path, room: Path) -> str:
    """Copy Pyodide's files, under their own names, into a folder that is named by their content."""
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
    """Make the zip of the sources and the snapshot of a Pyodide that has imported them."""
    staged = room / "widget.zip"
    staged.write_bytes(sources.pack(widget_sim, sources.widget_files(widget_sim)))
    memory = room / "widget.snapshot"
    make_snapshot(widget_sim / "pyodide", pyodide=pyodide, sources=staged, output=memory)
    compress([memory])
    return _move(memory, folder), _move(staged, folder)


def _move(file: Path, folder: Path) -> str:
    """Move a file and its compressed siblings into `folder`, under a name with the hash of its content."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    name = f"{file.stem}-{digest}{file.suffix}"
    for sibling in sorted(file.parent.glob(f"{file.name}*")):
        sibling.replace(folder / (name + sibling.name.removeprefix(file.name)))
    return name


def _prune(folder: Path, *, keep: tuple[str, ...]) -> None:
    """Remove what earlier builds left."""
    for entry in folder.iterdir():
        if entry.name.startswith(keep):
            continue
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _whole(root: Path, known: Built) -> bool:
    return all((built_folder(root) / name).is_file() for name in known.sizes)


def _names(folder: Path) -> list[str]:
    files = (file for file in folder.rglob("*") if file.is_file() and file.name != MANIFEST)
    return sorted(file.relative_to(folder).as_posix() for file in files)
