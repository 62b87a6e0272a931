"""Runs our own service as a target of the harness.

The service runs in a separate process and uses a separate CA. The harness knows the service only from a TARGET.toml.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer
from threading import Thread

from chatkey_protocol.names import ANNOUNCED_SOCIALS
from chatkey_stack.applications import Application, new_application
from chatkey_stack.lab import Provider, ServiceLab, SocialKeys
from chatkey_stack.ports import LOOPBACK, free_ports
from chatkey_stack.process import Process
from chatkey_stack.stack import SERVICE_NAME, UNLIMITED, callback
from chatkey_stack.tls import issue

CLOCKED = ("clock", "own-keys", "agent", "member-records", "businesses", "change", "search", "calls")
AGAIN = "import socket, sys; assert socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(5) == b'again'"
"""The restart command of the TARGET.toml. It connects to `restart_port`, and waits until the service has restarted."""
BY_HAND = ("search", "calls")


@dataclass(frozen=True)
class Foreign:
    """The running service, with methods that write a TARGET.toml for it."""

    folder: Path
    url: str
    local_url: str
    social_url: str
    socials: tuple[str, ...]
    lab: ServiceLab
    restart_port: int
    secrets: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    """Environment variables with the secrets of the businesses, which `chatkey e2e` needs."""

    def by_lab(self, *, have: Sequence[str] = CLOCKED) -> Path:
        return self._write("lab", have, f'grade = "lab"\nurl = "{self.local_url}/lab"\n')

    def by_hand(self, *, have: Sequence[str] = BY_HAND) -> Path:
        """Create one business with all social logins and one without. Write a TARGET.toml of grade `prepared`."""
        ports = free_ports(2)
        made = [self._business(port, enabled) for port, enabled in zip(ports, ((), self.socials), strict=True)]
        return self._write("prepared", have, 'grade = "prepared"\n' + "".join(made))

    def _business(self, port: int, enabled: Sequence[str]) -> str:
        logins = {social: SocialKeys("service") for social in enabled}
        provider: Provider = self.lab.add_provider(domains=[f"shop.localhost:{port}"], socials=logins)
        variable = f"SECRET_OF_{port}"
        self.secrets[variable] = provider.secret_key
        return (
            f'[[businesses.prepared]]\nid = "{provider.id}"\nsecret_key_env = "{variable}"\n'
            f'origins = ["https://shop.localhost:{port}"]\nsocials = {json.dumps(list(enabled))}\n'
        )

    def _write(self, name: str, have: Sequence[str], businesses: str) -> Path:
        path = self.folder / f"{name}.toml"
        names = [*have, *(f"social:{social}" for social in self.socials)]
        restart = [sys.executable, "-c", AGAIN, str(self.restart_port)]
        path.write_text(
            f'[target]\nname = "Ours, as somebody else\'s"\nbase_url = "{self.url}"\nlocal_url = "{self.local_url}"\n'
            f'ca_file = "ca.pem"\nhave = {json.dumps(names)}\nrestart = {json.dumps(restart)}\n'
            f'[social]\nurl = "{self.social_url}"\nclients = "clients.json"\n'
            f'tls_cert = "chain.pem"\ntls_key = "key.pem"\n[businesses]\n{businesses}'
        )
        return path


@contextmanager
def foreign(folder: Path, *, socials: Sequence[str] = ("google",)) -> Iterator[Foreign]:
    """Start the service with keys for these social providers. Nothing listens at the providers' addresses yet."""
    port, social_port = free_ports(2)
    url, local_url = f"https://chat.localhost:{port}", f"https://{LOOPBACK}:{port}"
    social_url = f"https://id.localhost:{social_port}"
    with ExitStack() as ending:
        certificates = ending.enter_context(issue(folder))
        applications = [new_application(social, f"service-{social}") for social in socials]
        (folder / "clients.json").write_text(json.dumps([_client(one, url) for one in applications]))
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")},
            "CHATKEY_BASE_URL": url,
            "CHATKEY_HOST": LOOPBACK,
            "CHATKEY_PORT": str(port),
            "CHATKEY_DATA_DIR": str(folder / "data"),
            "CHATKEY_LAB": "1",
            "CHATKEY_TLS_CERT": str(certificates.chain),
            "CHATKEY_TLS_KEY": str(certificates.key),
            "CHATKEY_CA_FILE": str(certificates.ca),
            "CHATKEY_PREVIEW_PROVIDERS": ",".join(social for social in socials if social in ANNOUNCED_SOCIALS),
            **UNLIMITED,
        }
        for social in socials:
            environ[f"CHATKEY_{social.upper()}_BROWSER_URL"] = f"{social_url}/{social}"
            environ[f"CHATKEY_{social.upper()}_SERVER_URL"] = f"https://{LOOPBACK}:{social_port}/{social}"
        command = (sys.executable, "-m", "chatkey_stack.tied", "chatkey", "serve")
        process = Process("foreign", command, environ=environ, log=folder / "service.log", tied=True)
        ending.enter_context(process)
        restart_port = ending.enter_context(restarting(process))
        lab = ending.enter_context(closing(ServiceLab(local_url, certificates.ca)))
        for application in applications:
            lab.set_application(application)
        yield Foreign(folder, url, local_url, social_url, tuple(socials), lab, restart_port)


@contextmanager
def restarting(process: Process) -> Iterator[int]:
    """Listen on a port, and restart the service whenever a client connects."""

    class Asked(BaseRequestHandler):
        def handle(self) -> None:
            process.restart()
            self.request.sendall(b"again")

    with TCPServer((LOOPBACK, 0), Asked) as listening:
        thread = Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield listening.server_address[1]
        finally:
            listening.shutdown()
            thread.join()


def _client(application: Application, url: str) -> dict[str, object]:
    known = {"provider": application.social, "name": SERVICE_NAME, **application.for_provider()}
    return {**known, "redirect_uris": [callback(url, application.social)]}
