"""The business's configuration (contract 2.2).

The widget requests the configuration until there is a response, and later requests it again to stay up to date.
"""

import re
from collections.abc import Mapping
from typing import Final

from chatkey_protocol.names import SOCIALS
from chatkey_widget.backoff import full_jitter
from chatkey_widget.context import Context
from chatkey_widget.effects import LoadConfiguration
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.events import ConfigurationFailed
from chatkey_widget.view import Appearance

FRESH_SECONDS: Final = 60.0
"""The age in seconds after which a configuration is requested again while the panel is open (contract 4.1)."""

_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")


class Configuration:
    """The settings of the business. `appearance` is None until the settings have been loaded."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.appearance: Appearance | None = None
        self._asked_at = 0.0
        self._failures = 0

    @property
    def socials(self) -> tuple[str, ...]:
        return self.appearance.socials if self.appearance else ()

    def loaded(self, data: Mapping[str, object]) -> None:
        self.appearance = appearance(data, calls=self._ctx.settings.calls)
        self._asked_at = self._ctx.now
        self._failures = 0
        self._ctx.emit("configuration:loaded", socials=list(self.socials))

    def failed(self, event: ConfigurationFailed) -> None:
        """Plan another request after a failure. Only the first failure is reported to the page."""
        self._failures += 1
        if self._failures == 1:
            message = event.message or f"The configuration endpoint answered with status {event.status}."
            self._ctx.report(WidgetError(Fault.CONFIGURATION_UNREACHABLE, message))
        delay = full_jitter(self._failures, fraction=self._ctx.chance.fraction(), cap=FRESH_SECONDS)
        self._ctx.set_timer("configuration", max(event.retry_after or 0.0, 0.5 + delay))

    def blocked(self) -> None:
        """The browser blocked a request. Do not report the failure of this request.

        The page already knows about the block. The failure may be noticed only after this call.
        """
        self._failures = max(1, self._failures)

    def freshen(self) -> None:
        """Request the configuration again if it is too old."""
        old = self._ctx.now - self._asked_at >= FRESH_SECONDS
        if old and self.appearance is not None and "configuration" not in self._ctx.timers:
            self._asked_at = self._ctx.now
            self._ctx.do(LoadConfiguration())


def appearance(data: Mapping[str, object], *, calls: bool = True) -> Appearance:
    """Return the endpoint's data for the screen. Missing or unknown values are replaced by defaults."""
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
        can_call=calls and service.get("enabled") is True,
        socials=tuple(name for name in _texts(auth, "oauth_providers") if name in SOCIALS),
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
