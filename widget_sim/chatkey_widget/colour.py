"""Chooses a readable text colour for the background colour of a business."""

from typing import Final

LIGHT: Final = "#ffffff"
DARK: Final = "#111111"


def text_on(colour: str) -> str:
    """Return a light or a dark colour, whichever contrasts more with a `#rrggbb` colour (WCAG 2 relative luminance)."""
    here, light, dark = (_luminance(each) + 0.05 for each in (colour, LIGHT, DARK))
    return LIGHT if light / here >= here / dark else DARK


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(int(colour[at : at + 2], 16) / 255) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
