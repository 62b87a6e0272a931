"""The settings of Sphinx for the documentation site. The pages stay Markdown that can be read without the site.

A page of links becomes a section of the site: each page that it links to under a heading is listed below it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docutils import nodes
from docutils.parsers.rst import Directive

from chatkey_server import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SECTIONS: Final = ("tutorials", "how-to", "reference", "background")
SOURCE_LINK: Final = re.compile(
    r"\[(?P<text>[^\]]+)\]\((?:\.\./)*(?:(?:tests|e2e|templates|\.github)/[^)\s]*|deploy|LICENSE|action\.yml)\)"
)
"""A link to a file of the source tree, which the site does not contain."""
ITEM: Final = re.compile(r"^- \[[^\]]+\]\((?P<page>[\w./-]+)\.md\)", re.MULTILINE)

project = "chatkey"
copyright = "the authors of chatkey"  # noqa: A001 - Sphinx's name
release = __version__

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
include_patterns = ["docs/**", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "NOTICE.md"]
exclude_patterns = ["**/node_modules"]
language = "en"

myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
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


class Mermaid(Directive):
    """Pass a diagram on to the script that draws it in the page."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the diagram's text, escaped, and the scripts."""
        text = "\n".join(self.content).replace("&", "&amp;").replace("<", "&lt;")
        return [nodes.raw("", f'<pre class="mermaid">{text}</pre>', format="html")]


def list_pages(_: Sphinx, name: str, source: list[str]) -> None:
    """Take out the links to source files, and list the pages that a page of links names in its table of contents."""
    source[0] = SOURCE_LINK.sub(r"\g<text>", source[0])
    folder, _, page = name.rpartition("/")
    if folder != "docs" or page not in {"index", *SECTIONS}:
        return
    pages = "\n".join(ITEM.findall(source[0]))
    source[0] += f"\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def add_drawing(app: Sphinx, *given: object) -> None:
    """Load the scripts that draw diagrams into the pages that have diagrams."""
    tree = given[-1]
    if isinstance(tree, nodes.document) and any('class="mermaid"' in raw.astext() for raw in tree.findall(nodes.raw)):
        app.add_js_file("mermaid.tiny.js", loading_method="defer")
        app.add_js_file("diagrams.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx."""
    mermaid = Path(__file__).parent / "node_modules" / "@mermaid-js" / "tiny" / "dist"
    app.config["html_static_path"].append(str(mermaid))
    app.add_directive("mermaid", Mermaid)
    app.connect("source-read", list_pages)
    app.connect("html-page-context", add_drawing)
