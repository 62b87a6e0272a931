"""Runs the sample service in Node in a process."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.node import NODE

from chatkey_stack.ports import LOOPBACK
from chatkey_stack.process import Process
from chatkey_stack.stack import Server
from chatkey_stack.tls import Certificates

HOME: Final = Path(__file__).parent / "node_service"
OFFERED: Final = ("google", "github")
"""The social providers that the service supports."""


@dataclass(frozen=True)
class Wishes:
    base_url: str
    port: int
    certificates: Certificates | None = None
    socials: Mapping[str, Mapping[str, Any]] | None = None
    limits: Mapping[str, int] | None = None
    lab_token: str = ""

    def settings(self) -> dict[str, Any]:
        tls = {"cert": str(self.certificates.chain), "key": str(self.certificates.key)} if self.certificates else None
        named = {"base_url": self.base_url, "port": self.port, "lab": True, "socials": dict(self.socials or {})}
        return {**named, "lab_token": self.lab_token, "limits": dict(self.limits or {}), "tls": tls, "tied": True}


def places(browser_url: str, server_url: str) -> dict[str, dict[str, Any]]:
    """Return the addresses at which browsers and the service reach the providers of a fake."""
    return {
        name: {
            "browser_url": f"{browser_url}/{name}",
            "server_url": f"{server_url}/{name}",
            "issuers": [f"{browser_url}/{name}{'/login/oauth' if name == 'github' else ''}"],
        }
        for name in OFFERED
    }


def changed(folder: Path, *edits: Mapping[str, str]) -> Path:
    """Copy the service and apply the edits. The text that an edit replaces must occur exactly once in the file."""
    home = Path(shutil.copytree(HOME, folder / "changed"))
    for edit in edits:
        path = home / edit["file"]
        text = path.read_text()
        assert text.count(edit["find"]) == 1, f"{edit['find']!r} stands {text.count(edit['find'])} times in {path.name}"
        path.write_text(text.replace(edit["find"], edit["replace"]))
    return home


@contextmanager
def node_service(folder: Path, wishes: Wishes, home: Path = HOME) -> Iterator[Server]:
    """Run the service until the block ends. Raises `ProcessError` with the output of the process."""
    settings = folder / "node-service.json"
    settings.touch(mode=0o600)
    settings.write_text(json.dumps(wishes.settings()))
    trusted = {"NODE_EXTRA_CA_CERTS": str(wishes.certificates.ca)} if wishes.certificates else {}
    scheme = "https" if wishes.certificates else "http"
    with Process(
        "node service",
        (NODE, str(home / "main.mjs"), str(settings)),
        environ={**os.environ, **trusted},
        log=folder / "node-service.log",
        tied=True,
    ) as process:
        yield Server(process, wishes.base_url, f"{scheme}://{LOOPBACK}:{wishes.port}")
