"""nginx with `deploy/nginx`, before a server on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.listening import listening, program

if TYPE_CHECKING:
    from chatkey_stack.tls import Certificates

SHIPPED: Final = (Path(__file__).parents[2] / "deploy" / "nginx" / "chatkey.conf").read_text()
AROUND: Final = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/start.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/chatkey.conf;
}}
"""


@contextmanager
def nginx(
    folder: Path, ports: tuple[int, int], upstream: int, certificates: Certificates, text: str = SHIPPED
) -> Iterator[None]:
    """Run nginx for http and https. Only ports, file paths and the upstream of the configuration are changed."""
    command = [program("nginx"), "-e", str(folder / "start.log"), "-c", str(folder / "nginx.conf")]
    http, https = ports
    own = {
        "server 127.0.0.1:8800": f"server 127.0.0.1:{upstream}",
        "listen 80;": f"listen 127.0.0.1:{http};",
        "listen 443 ssl;": f"listen 127.0.0.1:{https} ssl;",
        "server_name chat.example;": "server_name localhost;",
        "/etc/ssl/chatkey/fullchain.pem": str(certificates.chain),
        "/etc/ssl/chatkey/privkey.pem": str(certificates.key),
        "/var/log/nginx/": f"{folder}/",
    }
    for written, ours in own.items():
        assert written in text
        text = text.replace(written, ours)
    (folder / "chatkey.conf").write_text(text)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    subprocess.run([*command, "-t", "-q"], check=True)
    with listening(command, https, folder / "nginx.log"):
        yield
