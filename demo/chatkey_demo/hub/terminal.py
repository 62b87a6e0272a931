"""The demo's messages in the terminal."""

import re
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from chatkey_demo.hub.run import Running

WIDTH = 76
PLAIN: Any = {"soft_wrap": True, "highlight": False, "markup": False}


def welcome(running: Running, note: str | None = None, console: Console | None = None) -> None:
    """Print all addresses and how to end the demo. If the output is piped, first print `ready <url>`."""
    console = console or Console()
    if not console.is_terminal:
        console.print(f"ready {running.url}", **PLAIN)
    console.print(
        Panel(
            _addresses(running, note),
            title="[bold]chatkey demo[/]",
            title_align="left",
            subtitle="Ctrl-C stops the demo; nothing is kept",
            subtitle_align="left",
            padding=(1, 2),
            width=min(WIDTH, console.width),
        ),
        highlight=False,
    )
    certificates = running.stack.certificates
    if certificates:
        # Printed outside the panel, so that the line can be copied without the frame.
        console.print(f"Chromium trusts them with: --ignore-certificate-errors-spki-list={certificates.spki}", **PLAIN)
        console.print(f"Other browsers trust them with this CA: {certificates.ca}", **PLAIN)


def last_words(message: str) -> str:
    """Return the error message that a server printed before it stopped, or everything that is known about the stop."""
    said = re.findall(r"^Error: (.+)$", message, re.MULTILINE)
    return str(said[-1]) if said else message


def _addresses(running: Running, note: str | None) -> Table:
    rows = Table.grid(padding=(0, 3))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    rows.add_row("Open", Text(running.url, "bold"))
    rows.add_row("Agent panel", running.demo.agent_url)
    rows.add_row("  sign in as", f"{running.agent.name}  /  {running.agent.password}")
    rows.add_row("Admin panel", running.demo.admin_url)
    rows.add_row("  sign in as", f"{running.administrator.name}  /  {running.administrator.password}")
    for open_ in running.demo.modes:
        rows.add_row(f"{open_.mode.label}, {open_.mode.hint}", open_.url)
    if note:
        rows.add_row("", "")
        rows.add_row("Note", note)
    return rows
