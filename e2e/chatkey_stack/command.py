"""The command `chatkey stack`."""

from __future__ import annotations

import json
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from chatkey_stack.lab import SocialKeys
    from chatkey_stack.stack import Server, Stack

LOOK_SECONDS = 1.0
"""Time between two checks that the servers still run."""


@click.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for data, logs and certificates (without keys).  [default: a temporary folder, removed at the end]",
)
def stack(*, folder: Path | None) -> None:
    """Run the service, the fake provider and the site, over TLS on three sites, until interrupted.

    Once all servers answer, prints one line of JSON: the addresses and labs of the servers, the labs' token, and the
    CA. Tests in any language can read this line. On Ctrl-C, SIGTERM, SIGHUP, or the end of standard input, stops all
    servers and exits.
    """
    from chatkey_oauth.client import LabError  # noqa: PLC0415  (`chatkey --help` need not wait for them)
    from chatkey_protocol.names import SOCIALS  # noqa: PLC0415
    from chatkey_stack.process import ProcessError, ended_in_order  # noqa: PLC0415
    from chatkey_stack.stack import UNLIMITED, running  # noqa: PLC0415

    token = secrets.token_urlsafe(24)
    try:
        with (
            suppress(KeyboardInterrupt),  # Ctrl-C is the normal way to stop
            ended_in_order(),
            running(folder=folder, settings=UNLIMITED, socials=tuple(SOCIALS), lab_token=token) as started,
        ):
            click.echo(json.dumps(_described(started, token)))
            while True:
                for server in started.servers:
                    server.process.check()
                time.sleep(LOOK_SECONDS)
    except (ProcessError, LabError) as error:
        raise click.ClickException(str(error)) from error


def _described(started: Stack, token: str) -> dict[str, object]:
    """Open the two shops, and return the data that a test in another language needs."""
    from chatkey_protocol.names import SOCIALS  # noqa: PLC0415
    from chatkey_stack.lab import SocialKeys  # noqa: PLC0415

    certificates = started.certificates
    if certificates is None:
        raise AssertionError("a stack over TLS must have certificates")
    return {
        "service": _addresses(started.service),
        "provider": _addresses(started.provider),
        "site": _addresses(started.site),
        "lab_token": token,
        "ca": {"file": str(certificates.ca), "pem": certificates.ca.read_text(), "spki": certificates.spki},
        "shops": {
            "custom": _shop(started, "custom", get_token=True, socials={}),
            "social": _shop(
                started, "social", get_token=False, socials={name: SocialKeys("service") for name in SOCIALS}
            ),
        },
    }


def _addresses(server: Server) -> dict[str, str]:
    return {"url": server.browser_url, "lab": f"{server.local_url}/lab"}


def _shop(started: Stack, slug: str, *, get_token: bool, socials: dict[str, SocialKeys]) -> dict[str, str]:
    domain = started.site.browser_url.partition("://")[2]
    provider = started.service_lab.add_provider(domains=[domain], socials=socials)
    started.site_lab.open_shop(slug, provider, get_token=get_token)
    return {"url": f"{started.site.browser_url}/{slug}/", "provider_id": provider.id}
