"""The settings of Sphinx for the documentation site. The pages stay Markdown that can be read without the site.

A page of links becomes a section of the site: each page that it links to under a heading is listed below it.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sphinx.application import Sphinx

VERSION: Final = Path(__file__).parents[2] / "server" / "chatkey" / "__init__.py"
LISTS: Final = ("docs/index", "docs/tutorials", "docs/how-to", "docs/reference", "docs/background")
"""The pages of links."""
SOURCE_LINK: Final = re.compile(
    r"\[(?P<text>[^\]]+)\]\((?:\.\./)*(?:(?:tests|e2e|templates|widget_sim|kit|\.github)/[^)\s]*|deploy|LICENSE|action\.yml)\)"
)
"""A link to a file of the source tree, which the site does not contain."""
DIAGRAM: Final = re.compile(r"^```mermaid\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
DECISION: Final = re.compile(r"^#{2,3} (?P<id>D-[\d.]+) ", re.MULTILINE)
ITEM: Final = re.compile(r"^- \[[^\]]+\]\((?P<page>[\w./-]+)\.md\)", re.MULTILINE)
LIST: Final = re.compile(r"^(?P<caption>[^\n]+):\n\n(?P<items>(?:[- ] .+\n)+)", re.MULTILINE)
"""A list of pages. The line above it is its caption in the navigation."""

project = "chatkey"
copyright = "the authors of chatkey"  # noqa: A001 - Sphinx's name
release = re.findall(r'^__version__ = "(.+)"$', VERSION.read_text("utf-8"), re.MULTILINE)[0]

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
include_patterns = ["docs/**", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "NOTICE.md"]
exclude_patterns = ["**/node_modules"]
language = "en"

myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp"

html_theme = "pydata_sphinx_theme"
html_title = "chatkey"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def read_page(_: Sphinx, page: str, source: list[str]) -> None:
    """Take out links to source files, pass diagrams to their script, and list the pages that a page of links names."""
    text = DIAGRAM.sub(_diagram, SOURCE_LINK.sub(r"\g<text>", source[0]))
    if page == "docs/decisions":
        text = DECISION.sub(_target, text)
    if page in LISTS:
        text += "".join(_contents(found["items"], found["caption"]) for found in LIST.finditer(text)) or _contents(text)
    source[0] = text


def _target(heading: re.Match[str]) -> str:
    """Give a decision the address of its id, which stays if the title changes."""
    return f"({heading['id'].lower().replace('.', '-')})=\n{heading[0]}"


def _contents(items: str, caption: str = "") -> str:
    """Return a table of contents that only the navigation shows."""
    pages = "\n".join(ITEM.findall(items))
    options = f":hidden:\n:caption: {caption}" if caption else ":hidden:"
    return f"\n```{{toctree}}\n{options}\n\n{pages}\n```\n"


def _diagram(found: re.Match[str]) -> str:
    return f'```{{raw}} html\n<pre class="mermaid">\n{html.escape(found["text"])}</pre>\n```'


def add_drawing(app: Sphinx, *given: object) -> None:
    """Load the scripts that draw diagrams into the pages that have diagrams."""
    context = given[2]
    if isinstance(context, dict) and 'class="mermaid"' in context.get("body", ""):
        app.add_js_file("mermaid.tiny.js", loading_method="defer")
        app.add_js_file("diagrams.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx."""
    mermaid = Path(__file__).parent / "node_modules" / "@mermaid-js" / "tiny" / "dist"
    app.config["html_static_path"].append(str(mermaid))
    app.connect("source-read", read_page)
    app.connect("html-page-context", add_drawing)
