"""The servers around a target for one run: the front, our shops, the fake provider and, if needed, our widget files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from chatkey_e2e.aim.aim import Aim
from chatkey_e2e.aim.lab import TargetLab
from chatkey_oauth.client import FakeOAuth
from chatkey_stack.lab import SiteLab
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK
from chatkey_stack.process import Process
from chatkey_stack.stack import Flavour, Server, Stack
from chatkey_stack.tls import Certificates, trust


@contextmanager
def aimed(aim: Aim, *, folder: Path, certificates: Certificates, patience: float = PATIENCE) -> Iterator[Stack]:
    """Start the servers, and yield a stack whose service is the target.

    Each server may take `patience` seconds to start and to stop. Raises `ProcessError`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as ending:
        ending.callback(aim.businesses.close)
        around = _Around(aim, folder, certificates, ending, patience)
        started = [around.front(), around.provider(), around.site()]
        if aim.brings_files:
            started.append(around.files())
        for server in started:
            server.process.wait_ready()
        front, provider, site, *_ = started
        control = f"{around.scheme}://{LOOPBACK}:{aim.control_port}"
        yield Stack(
            flavour=Flavour.TLS,
            certificates=certificates,
            service=front,
            provider=provider,
            site=site,
            service_lab=ending.enter_context(closing(TargetLab(control, certificates.ca, aim.businesses, patience))),
            provider_lab=ending.enter_context(
                FakeOAuth(provider.local_url, verify=trust(certificates.ca), patience=patience)
            ),
            have=aim.have,
            site_lab=ending.enter_context(closing(SiteLab(site.local_url, certificates.ca, patience=patience))),
        )


class _Around:
    """Starts the servers one by one. Each is stopped at the end of the run."""

    def __init__(self, aim: Aim, folder: Path, certificates: Certificates, ending: ExitStack, patience: float) -> None:
        self._patience = patience
        self._aim = aim
        self._target = aim.target
        self._folder = folder
        self._certificates = certificates
        self._ending = ending

    @property
    def scheme(self) -> str:
        """The scheme (`https` or `http`) of the address at which browsers reach the service."""
        return urlsplit(self._target.base_url).scheme

    def front(self) -> Server:
        """Start the front: the proxy that browsers reach at the service's address."""
        aim, target = self._aim, self._target
        ca = ("--ca", str(target.ca_file)) if target.ca_file else ()
        files = ("--assets-url", f"http://{LOOPBACK}:{aim.assets_port}") if aim.brings_files else ()
        process = self._start(
            "front",
            *("chatkey_stack.front", "--port", str(aim.front_port), "--control-port", str(aim.control_port)),
            *("--browser-url", target.base_url, "--service-url", target.local_url),
            *(*ca, *files, *self._tls(target.base_url)),
        )
        return Server(process, target.base_url, f"{self.scheme}://{LOOPBACK}:{aim.front_port}")

    def files(self) -> Server:
        """Start a service of ours that only serves the widget files. The files name the target as their service."""
        process = self._start(
            "files",
            *("chatkey", "serve"),
            extra={
                "CHATKEY_BASE_URL": self._target.base_url,
                "CHATKEY_HOST": LOOPBACK,
                "CHATKEY_PORT": str(self._aim.assets_port),
                "CHATKEY_DATA_DIR": str(self._folder / "files"),
            },
        )
        return Server(process, self._target.base_url, f"http://{LOOPBACK}:{self._aim.assets_port}")

    def provider(self) -> Server:
        """Start the fake provider at the address at which the service expects the real providers."""
        given, url = self._target.document.social, self._aim.social_url
        split = urlsplit(url)
        local = f"{split.scheme}://{LOOPBACK}:{split.port}"
        clients = self._target.folder / given.clients if given.clients else self._no_clients()
        cert = (
            (
                "--tls-cert",
                str(self._target.folder / given.tls_cert),
                "--tls-key",
                str(self._target.folder / given.tls_key),
            )
            if given.tls_cert
            else self._tls(url)
        )
        process = self._start(
            "provider",
            *("chatkey", "fake-oauth", "--lab", "--port", str(split.port), "--clients", str(clients)),
            *("--browser-url", url, "--server-url", local, *cert),
        )
        return Server(process, url, local)

    def site(self) -> Server:
        """Start the shops, one for each origin that the target has registered."""
        aim = self._aim
        url = aim.origins[0]
        process = self._start(
            "site",
            "chatkey_stack.site",
            *(part for port in aim.sites.values() for part in ("--port", str(port))),
            *("--browser-url", url, "--service-url", self._target.base_url, "--sdk-url", aim.script_url),
            *self._tls(url),
        )
        return Server(process, url, f"{urlsplit(url).scheme}://{LOOPBACK}:{aim.sites[url]}")

    def _tls(self, url: str) -> tuple[str, ...]:
        if not url.startswith("https:"):
            return ()
        return ("--tls-cert", str(self._certificates.chain), "--tls-key", str(self._certificates.key))

    def _no_clients(self) -> Path:
        empty = self._folder / "clients.json"
        empty.write_text("[]")
        return empty

    def _start(self, name: str, *command: str, extra: Mapping[str, str] | None = None) -> Process:
        environ = {key: value for key, value in os.environ.items() if not key.startswith("CHATKEY_")}
        process = Process(
            name,
            (sys.executable, "-m", "chatkey_stack.tied", *command),
            environ={**environ, "PYTHONUNBUFFERED": "1", **(extra or {})},
            log=self._folder / f"{name}.log",
            ready_within=self._patience,
            ends_within=max(self._patience, PATIENCE),
            tied=True,
        )
        self._ending.callback(process.stop)
        process.start()
        return process
