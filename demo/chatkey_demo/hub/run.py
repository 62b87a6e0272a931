"""Starts all servers of the demo in parallel, and ends them together."""

import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from chatkey_demo.hub.curtain import Curtain, Demo
from chatkey_demo.hub.places import Places
from chatkey_demo.hub.server import HubServer
from chatkey_stack.patience import PATIENCE
from chatkey_stack.process import ProcessError
from chatkey_stack.stack import Flavour, Stack, running
from chatkey_stack.tls import Certificates, issue, trust

if TYPE_CHECKING:
    from litestar import Litestar

AGENT = "Mia"
"""The agent's name, which customers read beside the answers."""
ADMINISTRATOR = "admin"
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Credentials:
    """The name and password of an account that was created for this run."""

    name: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Running:
    """The running demo: its address, the page's data, and the accounts of the agent and the administrator."""

    url: str
    demo: Demo
    agent: Credentials
    administrator: Credentials
    stack: Stack
    hub: HubServer

    def watch(self) -> None:
        """Block while all servers run. If a server dies, raise `ProcessError` with the last output of the server."""
        while self.hub.running:
            for server in self.stack.servers:
                server.process.check()
            time.sleep(LOOK_SECONDS)
        raise ProcessError("The hub has stopped.")


@contextmanager
def demo(
    places: Places, *, tls: bool = False, listening: Callable[[str, Certificates | None], None] = lambda *_: None
) -> Iterator[Running]:
    """Start service, fake provider, shops and hub on `localhost`.

    Calls `listening` with the address of the hub as soon as the hub's page can be opened, before the other servers are
    running. Raises `ProcessError` with the output of a server that fails to start.
    """
    with tempfile.TemporaryDirectory(prefix="chatkey-demo-") as name:
        folder = Path(name)
        url = f"{'https' if tls else 'http'}://localhost:{places.hub}"
        curtain = Curtain()
        with (
            issue(folder) if tls else nullcontext() as certificates,
            HubServer(
                lambda: _app(curtain),
                places.hub,
                certificates=certificates,
                listening=lambda: listening(url, certificates),
            ) as hub,
            running(
                Flavour.LOCAL_TLS if tls else Flavour.PLAIN,
                folder=folder,
                ports=(places.service, places.provider, places.shops[0]),
                settings={"CHATKEY_PANEL_FRAME_ANCESTORS": url},
                certificates=certificates,
                more_site_ports=places.shops[1:],
            ) as stack,
        ):
            agent = _agent(stack)
            curtain.demo = _furnish(stack, places, url, agent)
            yield Running(url, curtain.demo, agent, _administrator(stack), stack, hub)


def _app(curtain: Curtain) -> "Litestar":
    from chatkey_demo.hub.app import create_app  # noqa: PLC0415  (in the hub's thread, beside everything else)

    return create_app(curtain)


def _furnish(stack: Stack, places: Places, url: str, agent: Credentials) -> Demo:
    """Open the shops, each at a different origin, and sign the agent in."""
    from chatkey_demo.hub.modes import open_modes  # noqa: PLC0415  (Litestar, imported by the hub's thread meanwhile)

    origins = [stack.site.browser_url.replace(str(places.shops[0]), str(port)) for port in places.shops]
    service = stack.service.browser_url
    modes = open_modes(stack, origins, url)
    return Demo(modes, f"{service}/agent", f"{service}/admin/", agent.name, _signed_in(stack, agent))


def _signed_in(stack: Stack, agent: Credentials) -> str:
    """Sign in to the agent panel, and return the cookie of the session, as the panel sets it."""
    import httpx  # noqa: PLC0415  (as above)

    answer = httpx.post(
        f"{stack.service.local_url}/agent/sign-in",
        data={"username": agent.name, "password": agent.password},
        headers={"Origin": stack.service.browser_url},
        verify=trust(stack.ca),
        trust_env=False,
        timeout=PATIENCE,
    )
    return answer.headers["Set-Cookie"]


def _agent(stack: Stack) -> Credentials:
    agent = Credentials(AGENT, secrets.token_urlsafe(9))
    stack.service_lab.add_agent(agent.name, agent.password)
    return agent


def _administrator(stack: Stack) -> Credentials:
    administrator = Credentials(ADMINISTRATOR, secrets.token_urlsafe(9))
    stack.service_lab.add_administrator(administrator.name, administrator.password)
    return administrator
