"""A proxy between users and hosts that closes connections after a minute without traffic."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.hosts.crowd import Crowd
from benchmarks.hosts.deployment import PORT, Machines
from benchmarks.hosts.faults import AGENTS, EVERY_SECONDS, HOSTS, SETTLE_SECONDS, live_after, lost
from benchmarks.hosts.network import at
from benchmarks.hosts.sizes import Size

from chatkey_stack.patience import PATIENCE

IDLE_SECONDS: Final = 60
QUIET_SECONDS: Final = 150.0
"""Long enough for the proxy to close an idle connection twice."""

CONFIGURATION: Final = """
daemon off;
user root;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    upstream hosts {{ {servers} }}
    map $http_upgrade $connection_upgrade {{ default upgrade; "" close; }}
    server {{
        listen {port};
        location / {{
            proxy_pass http://hosts;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_read_timeout {idle}s;
            proxy_send_timeout {idle}s;
        }}
    }}
}}
"""


async def idle(machines: Machines, size: Size) -> dict[str, object]:
    """Leave all pages idle behind the proxy, and then let everyone write."""
    if shutil.which("nginx") is None:
        return {"skipped": "not installed: nginx"}
    async with machines.deployment(HOSTS) as deployment:
        cookie = await deployment.agents_cookie()
        with _running(machines.folder, [host.address for host in deployment.hosts]):
            proxy = [machines.network.address("proxy")]
            async with Crowd(deployment, size.members, AGENTS, cookie, through=proxy) as crowd:
                await asyncio.sleep(QUIET_SECONDS)
                closes = sum((page.closes for page in crowd.pages), Counter[int]())
                quiet_until = time.monotonic()
                async with crowd.writing(EVERY_SECONDS):
                    await asyncio.sleep(size.seconds)
                await crowd.settled(SETTLE_SECONDS)
                return {
                    "idle_s": QUIET_SECONDS,
                    "closes": {str(code): count for code, count in closes.items()},
                    "acknowledged": crowd.acknowledged(),
                    "lost": await lost(deployment, crowd),
                    "unknown": crowd.missing(),
                    "doubled": crowd.doubled(),
                    "unacknowledged": crowd.unacknowledged(),
                    "tabs_live_s": round(max(live_after(tab, quiet_until, across=False) for tab in crowd.listeners), 2),
                    "panels_live_s": round(
                        max(live_after(page, quiet_until, across=False) for page in crowd.panels), 2
                    ),
                }


@contextmanager
def _running(folder: Path, hosts: Sequence[str]) -> Iterator[None]:
    """Run nginx on the machine `proxy`."""
    servers = " ".join(f"server {host}:{PORT};" for host in hosts)
    file = folder / "nginx.conf"
    file.write_text(CONFIGURATION.format(folder=folder, servers=servers, port=PORT, idle=IDLE_SECONDS))
    with subprocess.Popen(at("proxy", "nginx", "-c", str(file))) as process:
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)
