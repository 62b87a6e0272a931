"""Renders the HTML pages of reports, in which foreign text stays text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from chatkey_peer.markdown import NAMED


def page(template: Path, **values: Any) -> str:
    """Render a template, which may include files of its folder. The filter `code` shows text in backticks as code."""
    environment = Environment(
        loader=FileSystemLoader(template.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"code": _code, "dashed": lambda text: text.replace(" ", "-")}
    return environment.get_template(template.name).render(values)


def _code(text: str) -> Markup:
    return Markup(NAMED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - it was escaped
