"""`chatkey docs`: shows the documentation that this installation contains."""

from __future__ import annotations

import re
import tarfile
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import click

PLACES = (Path(__file__).with_name("site.tar.xz"), Path(__file__).parents[2] / "build" / "site.tar.xz")
"""The site in an installation, and in a checkout."""
ENTRIES = ("settings", "codes", "checks", "faults", "refusals", "limits", "alerts", "decisions")
"""The pages whose entries have names."""


@click.command()
@click.argument("entry", required=False)
@click.option("--port", default=0, show_default="a free port", help="The port to listen on.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the pages in your browser.")
def docs(*, entry: str | None, port: int, browser: bool) -> None:
    """Show the documentation of this version, from this machine, until Ctrl-C.

    ENTRY is the name of a setting, a code, a check, a fault, a refusal, an alert or a decision, such as token_expired,
    claim.cnf or D-10.2.
    """
    place = next((place for place in PLACES if place.is_file()), None)
    if place is None:
        raise click.ClickException("This checkout has no built documentation: run `nox -s docs -- --site`.")
    site = unpack(place)
    page = address_of(site, entry) if entry else "index.html"
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Pages, site))
    except OSError as error:
        raise click.ClickException(f"Port {port} cannot be used: {error.strerror}. Choose another --port.") from error
    with server, suppress(KeyboardInterrupt):  # Ctrl-C is the normal way to stop
        address = f"http://127.0.0.1:{server.server_port}/docs/{page}"
        click.echo(f"The documentation is at {address}. Ctrl-C stops.")
        if browser:
            webbrowser.open(address)
        server.serve_forever()


def unpack(packed: Path) -> dict[str, bytes]:
    """Return the files of the site by name. Raises `ClickException` if this Python was built without lzma."""
    try:
        with tarfile.open(packed, "r:xz") as site:
            return {member.name: content.read() for member in site if (content := site.extractfile(member))}
    except tarfile.CompressionError as error:
        raise click.ClickException(f"The documentation cannot be read here: {error}. Use another Python.") from error


def address_of(site: Mapping[str, bytes], entry: str) -> str:
    """Return the page and the anchor of an entry. Raises `ClickException` if there is no such entry."""
    anchor = re.sub(r"[^a-z0-9]+", "-", entry.lower())
    for page in ENTRIES:
        if f'id="{anchor}"' in site[f"docs/{page}.html"].decode():
            return f"{page}.html#{anchor}"
    raise click.ClickException(f"The documentation has no entry {entry!r}. Start `chatkey docs`, and search there.")


class Pages(SimpleHTTPRequestHandler):
    """Serves the files of the packed site, without a log."""

    def __init__(self, site: Mapping[str, bytes], *args: Any) -> None:
        self._site = site
        super().__init__(*args)

    def send_head(self) -> BytesIO | None:
        """Send the headers of a file, and return its content."""
        name = unquote(urlsplit(self.path).path).removeprefix("/") or "index.html"
        try:
            content = self._site[name]
        except KeyError:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.guess_type(name))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        return BytesIO(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing."""
