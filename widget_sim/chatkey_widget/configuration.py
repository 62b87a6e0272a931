"""The configuration endpoint's answer (contract 2.2), read leniently: what is missing or unknown has a default."""

import re
from collections.abc import Mapping
from typing import Final

from chatkey_protocol.names import ANNOUNCED_SOCIALS, AVAILABLE_SOCIALS
from chatkey_widget.view import Appearance

_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_SOCIALS: Final = frozenset({*AVAILABLE_SOCIALS, *ANNOUNCED_SOCIALS})


def appearance(data: Mapping[str, object]) -> Appearance:
    """Return what the screen needs of the configuration."""
    livechat, service, ui, auth = (_block(data, name) for name in ("livechat", "service", "ui", "auth"))
    standard = Appearance()
    return Appearance(
        title=_text(livechat, "title", standard.title),
        greeting=_text(livechat, "greeting", standard.greeting),
        call_title=_text(service, "title", standard.call_title),
        colour=_colour(ui, standard.colour),
        position="left" if ui.get("position") == "left" else "right",
        locale=_text(ui, "locale", standard.locale),
        can_chat=livechat.get("enabled") is not False,
        can_call=service.get("enabled") is True,
        socials=tuple(name for name in _texts(auth, "oauth_providers") if name in _SOCIALS),
    )


def _block(data: Mapping[str, object], name: str) -> Mapping[str, object]:
    block = data.get(name)
    return block if isinstance(block, Mapping) else {}


def _text(block: Mapping[str, object], member: str, standard: str) -> str:
    value = block.get(member)
    return value if isinstance(value, str) else standard


def _texts(block: Mapping[str, object], member: str) -> tuple[str, ...]:
    value = block.get(member)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _colour(block: Mapping[str, object], standard: str) -> str:
    value = _text(block, "colour", standard)
    return value if _COLOUR.fullmatch(value) else standard
