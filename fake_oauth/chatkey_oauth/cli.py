"""`chatkey fake-oauth`: run the fake on its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from chatkey_oauth.settings import Settings


@click.command("fake-oauth", short_help="Run the fake OAuth providers.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port", default=9911, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@click.option("--tls-cert", default="", help="Certificate chain (PEM) to serve https with.")
@click.option("--tls-key", default="", help="Private key (PEM) of the certificate.")
@click.option("--browser-url", default="", help="Base address browsers use, where it is not the one listened at.")
@click.option("--server-url", default="", help="Base address login backends use; the browsers' one by default.")
@click.option("--clients", type=click.Path(path_type=Path), help="JSON list of clients to register.")
@click.option("--lab", is_flag=True, help="Switch on the control API under /lab.")
def fake_oauth(
    *,
    host: str,
    port: int,
    tls_cert: str,
    tls_key: str,
    browser_url: str,
    server_url: str,
    clients: Path | None,
    lab: bool,
) -> None:
    """Run fakes of real OAuth providers, each under its name: /google, /facebook, /github, /gitlab, /discord.

    Prints `ready <address>` when it can be asked.
    """
    from chatkey_oauth.serve import Listening
    from chatkey_oauth.settings import Settings, SettingsError, read_clients

    try:
        with Listening(host, port) as listening:
            settings = Settings(
                host=host,
                port=listening.port,
                tls_cert=tls_cert,
                tls_key=tls_key,
                browser_url=browser_url,
                server_url=server_url,
                lab=lab,
                clients=read_clients(clients) if clients else (),
            )
            listening.serve(settings, ready=lambda: announce(settings))
    except SettingsError as error:
        raise click.ClickException(str(error)) from error


def announce(settings: Settings) -> None:
    """Say that requests are answered now."""
    click.echo(f"ready {settings.for_browsers}")
