"""Reverse proxies before a server on this machine: nginx with `deploy/nginx`, and HAProxy."""

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
HAPROXY: Final = """
defaults
    mode http
    option forwardfor
    timeout connect 30s
    timeout client 30s
    timeout server 30s
listen chatkey
    bind 127.0.0.1:{port}
    server one 127.0.0.1:{upstream}
"""


@contextmanager
def nginx(
    folder: Path, ports: tuple[int, int], upstream: int, certificates: Certificates, text: str = SHIPPED
) -> Iterator[None]:
    """Run nginx for http and https. Only ports, file paths and the upstream of the configuration are changed."""
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
    with any_nginx(folder, https, text):
        yield


@contextmanager
def any_nginx(folder: Path, port: int, servers: str) -> Iterator[None]:
    """Run nginx with these servers, one of which listens at the port."""
    command = [program("nginx"), "-e", str(folder / "start.log"), "-c", str(folder / "nginx.conf")]
    (folder / "chatkey.conf").write_text(servers)
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    subprocess.run([*command, "-t", "-q"], check=True)
    with listening(command, port, folder / "nginx.log"):
        yield


@contextmanager
def haproxy(folder: Path, port: int, upstream: int) -> Iterator[None]:
    """Run HAProxy for http. It forwards the trailers of a request, which nginx removes."""
    file = folder / "haproxy.cfg"
    file.write_text(HAPROXY.format(port=port, upstream=upstream))
    with listening([program("haproxy"), "-db", "-f", str(file)], port, folder / "haproxy.log"):
        yield
