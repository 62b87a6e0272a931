"""The servers that are compared: how to start each server, the requests of a login there, and the server's memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from urllib.request import ProxyHandler, build_opener

from benchmarks import npm

from chatkey_stack.ports import LOOPBACK, free_ports

NPM_PEERS: Final = ("oauth2-mock-server@9.3.0", "emulate@0.12.2")
SCRIPTS: Final = Path(sysconfig.get_path("scripts"))
CEILING: Final = Path(__file__).with_name("ceiling.py")

CALLBACK: Final = "https://backend.example/callback"
CLIENT_ID: Final = "benchmark"


class Login(NamedTuple):
    """The endpoints of a login. If `consent` is empty, the authorization endpoint redirects at once.

    `form` is the body of the consent form; `{query}` in it stands for the parameters of the authorization request.
    """

    authorize: str
    token: str
    profile: str
    scope: str
    consent: str = ""
    form: str = ""


class Server(NamedTuple):
    """A server under test: its command (without the port), its discovery document, and its kinds of login."""

    command: Sequence[str]
    port: int
    discovery: str
    logins: dict[str, Login]

    @property
    def at(self) -> str:
        """Host and port."""
        return f"{LOOPBACK}:{self.port}"


def servers(folder: Path) -> dict[str, Server]:
    """Return all servers, not yet started. A `plain` login does not ask for an ID token, an `id_token` login does."""
    ports = [str(port) for port in free_ports(6)]
    clients = [{"provider": name, **OUR_CLIENT} for name in ("google", "github")]
    (folder / "clients.json").write_text(json.dumps(clients))
    command = [str(SCRIPTS / "chatkey"), "fake-oauth", "--clients", str(folder / "clients.json"), "--port"]
    flask = [str(SCRIPTS / "oidc-provider-mock"), "--port", ports[2]]
    node, packages = npm.install(folder, *NPM_PEERS)
    mock = [node, f"{packages}/oauth2-mock-server/dist/oauth2-mock-server.mjs", "-a", LOOPBACK, "-p", ports[3]]
    seed = {"google": {"users": [{"email": PERSON, "name": "Rhea"}], "oauth_clients": [OUR_CLIENT]}}
    (folder / "seed.json").write_text(json.dumps(seed))
    emulate = [node, f"{packages}/emulate/dist/index.js", "start", "-s", "google", "--seed", str(folder / "seed.json")]
    canned = [sys.executable, str(CEILING), ports[4]]
    google = "/google/.well-known/openid-configuration"
    document = "/.well-known/openid-configuration"
    return {
        "ours": Server([*command, ports[0]], int(ports[0]), google, OURS),
        "ours_no_lab": Server([*command, ports[1], "--no-lab"], int(ports[1]), google, OURS),
        "oidc_provider_mock": Server(flask, int(ports[2]), document, OIDC_PROVIDER_MOCK),
        "oauth2_mock_server": Server(mock, int(ports[3]), document, OAUTH2_MOCK_SERVER),
        "emulate": Server([*emulate, "-p", ports[5]], int(ports[5]), document, EMULATE),
        "ceiling": Server(canned, int(ports[4]), document, OIDC_PROVIDER_MOCK),
    }


PERSON: Final = "rhea@example.com"
OUR_CLIENT: Final = {"client_id": CLIENT_ID, "client_secret": "secret", "redirect_uris": [CALLBACK]}
OUR_FORM: Final = "account=rhea&decision=approve"
OURS: Final = {
    "id_token": Login(
        "/google/o/oauth2/v2/auth",
        "/google/token",
        "/google/v1/userinfo",
        "openid email profile",
        "/google/consent",
        OUR_FORM,
    ),
    "plain": Login(
        "/github/login/oauth/authorize",
        "/github/login/oauth/access_token",
        "/github/user",
        "read:user user:email",
        "/github/consent",
        OUR_FORM,
    ),
}
_FLASK: Final = Login("/oauth2/authorize", "/oauth2/token", "/userinfo", "openid email", "/oauth2/authorize", "sub=r")
_NODE: Final = Login("/authorize", "/token", "/userinfo", "openid email")
_EMULATE: Final = Login(
    "/o/oauth2/v2/auth",
    "/oauth2/token",
    "/oauth2/v2/userinfo",
    "openid email profile",
    "/o/oauth2/v2/auth/callback",
    f"email={PERSON}&{{query}}",
)
EMULATE: Final = {"id_token": _EMULATE}
"""`emulate` allows 5,000 requests an hour: enough for these logins, but not for the other measurements."""
OIDC_PROVIDER_MOCK: Final = {"id_token": _FLASK, "plain": _FLASK._replace(scope="email")}
OAUTH2_MOCK_SERVER: Final = {"id_token": _NODE, "plain": _NODE._replace(scope="email")}


@contextmanager
def running(server: Server) -> Iterator[int]:
    """Run a server during the context, after waiting for its discovery document. Yields its pid."""
    environ = os.environ | {"NO_COLOR": "1"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(server.command, env=environ, stdout=output, stderr=output)
        try:
            if not answers(process, f"http://{server.at}{server.discovery}"):
                output.seek(0)
                raise SystemExit(f"{' '.join(server.command)} did not start:\n{output.read().decode()[-2000:]}")
            yield process.pid
        finally:
            process.terminate()
            process.wait(10)


def answers(process: subprocess.Popen[bytes], address: str) -> bool:
    """Wait for the first 200. Returns False if the process exits or the wait times out."""
    opener, deadline = build_opener(ProxyHandler({})), time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with opener.open(address, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.002)
    return False


def memory(pid: int) -> float:
    """Return the resident set size of a process and all its descendants, in megabytes."""
    own = int(Path(f"/proc/{pid}/smaps_rollup").read_text().partition("\nRss:")[2].split()[0]) / 1024
    children = [found.read_text().split() for found in Path(f"/proc/{pid}/task").glob("*/children")]
    return own + sum(memory(int(child)) for of_thread in children for child in of_thread)
