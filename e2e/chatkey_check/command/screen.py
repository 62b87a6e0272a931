"""Prints styled text to a terminal or a file, and shows a progress line while a run lasts."""

from __future__ import annotations

import os
import shutil
from textwrap import TextWrapper
from typing import Final, TextIO

import click

from chatkey_peer.runners import harmless

Part = str | tuple[str, str]
"""A text, or a text and its style. A style has words such as `bold`, `dim` and `red`."""

BAR: Final = 24
"""The width of the progress bar, in characters."""

CONTROLS: Final = dict.fromkeys(number for number in (*range(32), *range(127, 160)) if chr(number) not in "\t\n")
"""Control characters are removed, because an endpoint could otherwise write anywhere on the terminal."""


class Screen:
    """Writes to a stream so that a CI runner that reads the stream finds no commands in it.

    `live` says whether the stream is a terminal. Colours are omitted if the stream is not a terminal, or if `NO_COLOR`
    is set, and shown if `FORCE_COLOR` is set.
    """

    def __init__(self, stream: TextIO, *, width: int | None = None, live: bool | None = None) -> None:
        self._stream = stream
        self._width = width or shutil.get_terminal_size().columns
        self.live = stream.isatty() if live is None else live
        self._coloured = (self.live or bool(os.environ.get("FORCE_COLOR"))) and not os.environ.get("NO_COLOR")
        self.has_unicode = "utf" in (stream.encoding or "utf-8").lower()
        self._has_progress = False

    def say(self, *parts: Part) -> None:
        """Print one line without wrapping."""
        self.end_progress()
        self._write("".join(map(self._styled, parts)) + "\n")

    def indented(self, text: str, indent: int, style: str = "") -> None:
        """Print a text: wrapped in a terminal, in one line if the output is piped."""
        margin = " " * indent
        wrapper = TextWrapper(self._width - 2, initial_indent=margin, subsequent_indent=margin, break_on_hyphens=False)
        for line in wrapper.wrap(text) if self.live else [margin + text]:
            self.say((line, style))

    def rule(self, title: str, style: str, line_style: str) -> None:
        """Print a title, followed by a line to the end of the terminal."""
        line = ("─" if self.has_unicode else "-") * max(self._width - len(title) - 1, 0)
        self.say((title, style), " ", (line, line_style))

    def clear(self) -> None:
        """Clear the terminal. Other streams are left unchanged."""
        if self.live:
            self._write("\x1b[2J\x1b[H")

    def progress(self, done: int, total: int, words: str) -> None:
        """Show a bar with these words, in place of an earlier bar. Only a terminal shows it."""
        if not self.live:
            return
        full, empty = "━ " if self.has_unicode else "# "
        bar = (full * (BAR * done // max(total, 1))).ljust(BAR, empty)
        room = max(self._width - BAR - len(f"  {done}/{total}") - 4, 0)
        self._write(f"\r\x1b[2K  {self._styled((bar, 'cyan'))} {done}/{total} {words[:room]}")
        self._has_progress = True

    def end_progress(self) -> None:
        """Remove the bar."""
        if self._has_progress:
            self._write("\r\x1b[2K")
        self._has_progress = False

    def _styled(self, part: Part) -> str:
        text, style = part if isinstance(part, tuple) else (part, "")
        text = text.translate(CONTROLS)
        words = style.split()
        if not (self._coloured and text and words):
            return text
        colour = next((word for word in words if word not in {"bold", "dim"}), None)
        return click.style(text, fg=colour, bold="bold" in words or None, dim="dim" in words or None)

    def _write(self, text: str) -> None:
        click.echo(harmless(text), file=self._stream, nl=False, color=self._coloured or self.live)
