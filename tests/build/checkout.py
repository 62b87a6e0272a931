"""A miniature source checkout, on which the tests run the builder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from chatkey_build import build as chatkey_build
from chatkey_build.builder import Built, built_folder


@dataclass
class Checkout:
    """A checkout in which Pyodide and the snapshot have only a few bytes.

    `steps` lists the slow build steps that were run.
    """

    root: Path
    steps: list[str] = field(default_factory=list)

    @property
    def widget_sim(self) -> Path:
        return self.root / "widget_sim"

    @property
    def built(self) -> Path:
        return built_folder(self.widget_sim)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def build(self) -> Built:
        self.steps.clear()
        return chatkey_build(self.widget_sim)

    def install(self, folder: Path) -> Path:
        self.steps.append("install")
        return folder / "node_modules" / "pyodide"

    def snapshot(self, _folder: Path, *, pyodide: Path, sources: Path, output: Path) -> None:
        self.steps.append("snapshot")
        output.write_bytes(pyodide.name.encode() + sources.read_bytes() + bytes(1000))
