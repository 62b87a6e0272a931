"""The command that runs the site in a separate process."""

import os
import socket

import click

from chatkey_lab.guard import TOKEN_VARIABLE
from chatkey_serving.few_lines import write_few_lines
from chatkey_serving.server import Server, server_context
from chatkey_serving.site import Site
from chatkey_stack.ports import LOOPBACK
from chatkey_stack.site.app import Addresses, create_app


@click.command()
@click.option(
    "--port", "ports", type=int, required=True, multiple=True, help="Port to listen on, on 127.0.0.1 only. Repeatable."
)
@click.option("--browser-url", required=True, help="This site's address as browsers see it.")
@click.option("--service-url", required=True, help="The chat service's address as browsers see it.")
@click.option("--sdk-url", required=True, help="The address at which browsers find sdk.js.")
@click.option("--tls-cert", help="PEM file of the certificate chain.")
@click.option("--tls-key", help="PEM file of the private key.")
def site(
    *,
    ports: tuple[int, ...],
    browser_url: str,
    service_url: str,
    sdk_url: str,
    tls_cert: str | None,
    tls_key: str | None,
) -> None:
    """Run the integrator's site with its control API on loopback."""
    listeners = [socket.create_server((LOOPBACK, port)) for port in ports]
    write_few_lines()
    tls = server_context(tls_cert, tls_key) if tls_cert and tls_key else None
    app = create_app(Addresses(browser_url, service_url, sdk_url), lab_token=os.environ.get(TOKEN_VARIABLE, ""))
    Server(Site(app=app), lambda: click.echo(f"ready {browser_url}"), tls=tls, grace=1).run(listeners)
