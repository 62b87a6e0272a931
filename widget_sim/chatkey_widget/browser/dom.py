"""Creates elements. Data becomes only text and attributes, never markup."""

from collections.abc import Mapping
from typing import Any, Final

import js

from chatkey_protocol.logos import LOGOS, Shape

SVG: Final = "http://www.w3.org/2000/svg"

ICONS: Final = {
    "chat": "M5 4h14a3 3 0 0 1 3 3v8a3 3 0 0 1-3 3h-7l-5 4v-4H5a3 3 0 0 1-3-3V7a3 3 0 0 1 3-3z",
    "close": "M6 6l12 12M18 6L6 18",
    "search": "M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM16.2 16.2L21 21",
    "call": (
        "M6.5 3h3L11 7.5 9 9a12 12 0 0 0 6 6l1.5-2 4.5 1.5v3a2.5 2.5 0 0 1-2.7 2.5"
        "A17 17 0 0 1 4 5.7 2.5 2.5 0 0 1 6.5 3z"
    ),
    "microphone": "M12 3a3 3 0 0 1 3 3v5a3 3 0 0 1-6 0V6a3 3 0 0 1 3-3zM5.5 11a6.5 6.5 0 0 0 13 0M12 17.5V21M8.5 21h7",
    "send": "M4 12l16-8-5 16-3.5-6.5L4 12zM11.5 13.5L20 4",
    "back": "M15 5l-7 7 7 7",
    "person": "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM4.5 20.5c.8-4 3.8-5.5 7.5-5.5s6.7 1.5 7.5 5.5",
}
"""Outlines of icons on a 24 by 24 grid."""


def element(tag: str, *children: Any, text: str | None = None, **attributes: str | None) -> Any:
    """Create an element.

    In attribute names, `_` becomes `-`, and a `_` at the end is dropped. An attribute with the value None is omitted.
    """
    made = js.document.createElement(tag)
    if text is not None:
        made.textContent = text
    return _furnished(made, children, attributes)


def _vector(tag: str, *children: Any, **attributes: str | None) -> Any:
    return _furnished(js.document.createElementNS(SVG, tag), children, attributes)


def _furnished(made: Any, children: tuple[Any, ...], attributes: Mapping[str, str | None]) -> Any:
    for name, value in attributes.items():
        set_attribute(made, name.rstrip("_").replace("_", "-"), value)
    made.append(*children)
    return made


def set_attribute(target: Any, name: str, value: str | None) -> None:
    """Set an attribute. The value None removes the attribute."""
    if value is None:
        target.removeAttribute(name)
    else:
        target.setAttribute(name, value)


def icon(name: str) -> Any:
    """Draw an icon without a label. The button around the icon has the label."""
    return _svg(_vector("path", d=ICONS[name]), class_="icon", data_icon=name)


def logo(social: str) -> Any:
    """Draw the logo of a social provider without a label. The button around the logo has the label."""
    shapes = LOGOS.get(social)
    return icon("person") if shapes is None else _svg(*map(_shape, shapes), class_="logo")


def _svg(*children: Any, **attributes: str) -> Any:
    return _vector("svg", *children, viewBox="0 0 24 24", aria_hidden="true", **attributes)


def _shape(shape: Shape) -> Any:
    if shape.width is None:
        return _vector("path", d=shape.path, fill=shape.colour, fill_rule="evenodd")
    return _vector("path", d=shape.path, fill="none", stroke=shape.colour, stroke_width=str(shape.width))


def icon_button(name: str, label: str, **attributes: str | None) -> Any:
    """Create a button that shows an icon. Screen readers read `label`."""
    return element("button", icon(name), type="button", aria_label=label, title=label, **attributes)


def replace(parent: Any, *children: Any) -> None:
    parent.replaceChildren(*children)
