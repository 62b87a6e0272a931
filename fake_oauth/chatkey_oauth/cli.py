"""The command `chatkey fake-oauth`, which runs the fake without the chat service."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chatkey_oauth.engine.clients import Client
    from chatkey_oauth.run_ca import Certified
    from chatkey_oauth.settings import Settings


@click.command("fake-oauth", short_help="Run the fake OAuth providers.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    default=9911,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="The port to listen on; 0 selects a free one.",
)
@click.option("--tls-cert", default="", help="A certificate chain (PEM) with which to serve https.")
@click.option("--tls-key", default="", help="The private key (PEM) of the certificate.")
@click.option(
    "--tls",
    is_flag=False,
    flag_value="-",
    default="",
    metavar="[FILE]",
    help="Serve https for every host name of every provider, with a certificate authority made for this run. "
    "The authority's certificate is written to FILE, or to the path in the second line of output.",
)
@click.option(
    "--browser-url",
    multiple=True,
    metavar="[PROVIDER=]URL",
    help=(
        "The base address that browsers use, if it differs from the listening address: for all providers, or "
        "for one. Repeatable."
    ),
)
@click.option(
    "--server-url",
    multiple=True,
    metavar="[PROVIDER=]URL",
    help="The base address that login backends use. Default: the one for browsers. Repeatable.",
)
@click.option(
    "--issuer",
    multiple=True,
    metavar="PROVIDER=URL",
    help="The issuer of a provider. Default: its address for browsers. Repeatable.",
)
@click.option(
    "--clients",
    type=click.Path(path_type=Path),
    help="A JSON file with a list of clients to register instead of the ready-made ones.",
)
@click.option(
    "--seed",
    type=click.Path(path_type=Path),
    help="A TOML file with applications, people, claims, switches, lifetimes and faults. Other options override it.",
)
@click.option("--init", is_flag=True, help="Write an example of a seed file to chatkey-fake.toml, and exit.")
@click.option(
    "--claims",
    type=click.Path(path_type=Path),
    help="A JSON file with claims for the provider oidc, by account, or under * for everybody. Null removes a claim.",
)
@click.option(
    "--lifetime",
    multiple=True,
    metavar="NAME=SECONDS",
    help=(
        "How many seconds a code, access token, refresh token or id_token of oidc is valid (names: code, "
        "access, refresh, id). Repeatable."
    ),
)
@click.option(
    "--any-client",
    is_flag=True,
    help=(
        "Besides the registered clients, accept every client id, with any secret and any redirect URI on this machine."
    ),
)
@click.option(
    "--auto-approve",
    default="",
    metavar="ACCOUNT",
    help="Approve every request at once as ACCOUNT, without showing a page.",
)
@click.option(
    "--switch",
    "switches",
    multiple=True,
    metavar="PROVIDER.NAME=on|off",
    help="Set a behaviour that can be on or off, such as discord.iss=on. Repeatable.",
)
@click.option(
    "--lab/--no-lab",
    default=None,
    help="Whether to serve the control API under /lab. By default it is served only on loopback. If "
    "CHATKEY_LAB_TOKEN is set, it is served on every address, and clients must send the token.",
)
def fake_oauth(
    *,
    host: str,
    port: int,
    tls_cert: str,
    tls_key: str,
    tls: str,
    browser_url: tuple[str, ...],
    server_url: tuple[str, ...],
    issuer: tuple[str, ...],
    clients: Path | None,
    seed: Path | None,
    init: bool,
    claims: Path | None,
    lifetime: tuple[str, ...],
    any_client: bool,
    auto_approve: str,
    switches: tuple[str, ...],
    lab: bool | None,
) -> None:
    """Run fakes of real OAuth providers, each under its own path: /google, /github, /apple and so on.

    Prints `ready <address>` once it accepts requests. On a terminal it also prints the addresses and client ids.
    """
    gc.disable()  # until the start is over: the garbage collector would only find imported modules
    from chatkey_lab.guard import TOKEN_VARIABLE
    from chatkey_oauth.engine.switches import SwitchError, read_switch
    from chatkey_oauth.faults.errors import FaultError
    from chatkey_oauth.serve import Listening
    from chatkey_oauth.settings import (
        Settings,
        SettingsError,
        check_addresses,
        is_only_here,
        read_addresses,
        read_claims,
        read_clients,
        read_issuers,
        read_lifetimes,
    )
    from chatkey_serving.ending import ended_in_order

    token = os.environ.get(TOKEN_VARIABLE, "")
    try:
        if init:
            from chatkey_oauth.seed import NAME, write_example

            write_example(Path(NAME))
            click.echo(f"Wrote {NAME}. Start the fake with it: chatkey fake-oauth --seed {NAME}")
            return
        sown = read(seed)
        for_browsers, by_browser = read_addresses("--browser-url", browser_url)
        for_servers, by_server = read_addresses("--server-url", server_url)
        check_addresses("--browser-url", for_browsers, by_browser)
        with (
            ended_in_order(),
            Listening(host, port) as listening,
            authority(tls, host, given=tls_cert or tls_key) as own,
        ):
            settings = Settings(
                host=host,
                port=listening.port,
                tls_cert=tls_cert,
                tls_key=tls_key,
                tls=own.context if own else None,
                browser_url=for_browsers,
                browser_urls=by_browser,
                server_url=for_servers,
                server_urls=by_server,
                issuers=read_issuers(issuer),
                lab=bool(token) or is_only_here(host, for_browsers) if lab is None else lab,
                lab_token=token,
                clients=read_clients(clients) if clients else sown.get("clients") or ready_made(),
                any_client=any_client,
                claims=sown.get("claims", {}) | (read_claims(claims) if claims else {}),
                lifetimes=sown.get("lifetimes", {}) | read_lifetimes(lifetime),
                auto_approve=auto_approve or sown.get("auto_approve", ""),
                switches=sown.get("switches", {}) | dict(map(read_switch, switches)),
                people=sown.get("people", ()),
                faults=sown.get("faults", ()),
            )
            if lab is None and not settings.lab:
                where = for_browsers or host
                click.echo(
                    f"The lab is off: {where} is reachable from other machines, and {TOKEN_VARIABLE} is not set.",
                    err=True,
                )
            listening.serve(settings, ready=lambda: announce(settings, own))
    except KeyboardInterrupt:
        pass  # Ctrl+C ends the command
    except (SettingsError, SwitchError, FaultError) as error:
        raise click.ClickException(str(error)) from error
    finally:
        gc.enable()


def read(seed: Path | None) -> dict[str, Any]:
    """Return the members of a seed file as fields of `Settings`."""
    if seed is None:
        return {}
    from chatkey_oauth.seed import read_seed

    sown = read_seed(seed)
    names = ("people", "claims", "switches", "lifetimes", "faults", "auto_approve")
    return {"clients": sown.applications} | {name: getattr(sown, name) for name in names}


def authority(tls: str, host: str, *, given: str) -> AbstractContextManager[Certified | None]:
    """Create the certificate authority of this run if `--tls` asks for one.

    Raises `SettingsError` if the options also name a certificate.
    """
    from chatkey_oauth.settings import SettingsError

    if not tls:
        return nullcontext()
    if given:
        raise SettingsError("--tls cannot be combined with --tls-cert and --tls-key: it makes its own certificate.")
    from chatkey_oauth.run_ca import certified

    return certified(host, "" if tls == "-" else tls)


def ready_made() -> Sequence[Client]:
    """Return the clients that are registered without a clients file. Each provider's module defines one client."""
    from chatkey_oauth.ready_made import READY_MADE

    return READY_MADE


def announce(settings: Settings, own: Certified | None = None) -> None:
    """Print the ready line and the CA file. On a terminal, also print the addresses, and how to stop."""
    gc.freeze()
    gc.enable()
    click.echo(f"ready {settings.for_browsers}")
    if own is not None:
        click.echo(f"ca {own.ca}")
    if sys.stdout.isatty():
        click.echo(guide(settings))


def guide(settings: Settings) -> str:
    """Return the text that is shown on a terminal at the start: addresses, client ids and secrets."""
    from chatkey_oauth.providers import NAMES
    from chatkey_oauth.ready_made import shown_keys

    lab = f"{settings.listens_at}/lab" if settings.lab else "off"
    approval = f"automatic, as {settings.auto_approve}" if settings.auto_approve else "on a page, by the chosen account"
    rows = [("lab", lab), ("approval", approval)]
    rows += [("clients", "any, with any secret and any redirect URI on this machine")] if settings.any_client else []
    for name in NAMES:
        rows.append((name, settings.browser_base(name)))
        for client in settings.clients:
            if client.provider == name:
                rows += [("", f"{key:<7} {value}") for key, value in shown_keys(client)]
    return "\n".join(["", *(f"  {name:<9} {what}" for name, what in rows), "", "Press Ctrl+C to stop."])
