"""Checks accessibility with axe, for people with impaired vision or without a pointing device."""

from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal

from playwright.sync_api import Frame, Page

Scheme = Literal["light", "dark"]

SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark")
SERIOUS: Final = frozenset({"serious", "critical"})

RUN: Final = """async (root) => {
  const { violations } = await axe.run(root ?? document, { iframes: false, resultTypes: ["violations"] });
  return violations.map(({ impact, id, help, nodes }) => ({
    impact, id, help, places: nodes.map(({ target }) => target.flat().join(" ")),
  }));
}"""


def found(page: Page, root: str | None = None) -> list[str]:
    """Return the serious and critical violations below `root`, or on the whole page including frames, one line each."""
    frames = [page.main_frame] if root else [frame for frame in page.frames if frame.url.startswith(("http", "file"))]
    return [line for frame in frames for line in _found(frame, root)]


def found_in_both_schemes(page: Page, root: str | None = None) -> list[str]:
    """Return the violations in the light and in the dark colour scheme."""
    lines = []
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        lines += [f"{scheme}: {line}" for line in found(page, root)]
    return lines


def _found(frame: Frame, root: str | None) -> list[str]:
    frame.evaluate(_source())
    faults: list[dict[str, Any]] = frame.evaluate(RUN, root)
    return [
        f"{fault['id']} at {', '.join(fault['places'][:3])}: {fault['help']}"
        for fault in faults
        if fault["impact"] in SERIOUS
    ]


@cache
def _source() -> str:
    return files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
