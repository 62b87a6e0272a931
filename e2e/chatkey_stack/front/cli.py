"""The command that runs the front in a separate process."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import click

from chatkey_lab.guard import TOKEN_VARIABLE
from chatkey_serving.few_lines import write_few_lines
from chatkey_serving.server import Server, server_context
from chatkey_serving.site import Site
from chatkey_stack.front.app import Front
from chatkey_stack.front.upstream import Upstream
from chatkey_stack.ports import LOOPBACK
from chatkey_stack.tls import trust


@click.command()
@click.option("--port", type=int, required=True, help="Port for browsers, on 127.0.0.1 only.")
@click.option("--control-port", type=int, required=True, help="Port for the control API, on 127.0.0.1 only.")
@click.option("--browser-url", required=True, help="The service's address as browsers see it.")
@click.option("--service-url", required=True, help="The address at which the front reaches the service.")
@click.option("--ca", type=click.Path(path_type=Path), help="PEM file of the CA that issued the service's certificate.")
@click.option(
    "--assets-url", help="The address at which the front finds widget files, if the service has none under /assets/."
)
@click.option(
    "--assets-ca",
    type=click.Path(path_type=Path),
    help="PEM file of the CA that issued the certificate of the server with the widget files.",
)
@click.option("--tls-cert", help="PEM file of the certificate chain.")
@click.option("--tls-key", help="PEM file of the private key.")
def front(
    *,
    port: int,
    control_port: int,
    browser_url: str,
    service_url: str,
    ca: Path | None,
    assets_url: str | None,
    assets_ca: Path | None,
    tls_cert: str | None,
    tls_key: str | None,
) -> None:
    """Run a front before a service, with its control API on loopback."""
    host = urlsplit(browser_url).netloc
    assets = Upstream(assets_url, host, trust(assets_ca)) if assets_url else None
    app = Front(
        Upstream(service_url, host, trust(ca)), control_port, assets, lab_token=os.environ.get(TOKEN_VARIABLE, "")
    )
    write_few_lines()
    tls = server_context(tls_cert, tls_key) if tls_cert and tls_key else None
    listeners = [socket.create_server((LOOPBACK, number)) for number in (port, control_port)]
    # The response has the service's date.
    site = Site(app=app, has_sockets=True, has_date=False)
    Server(site, lambda: click.echo(f"ready {browser_url}"), tls=tls, grace=1).run(listeners)
