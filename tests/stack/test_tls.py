"""Tests of the temporary CA. Clients with its certificate must trust the server; other clients must not."""

import ssl
from pathlib import Path

import pytest

from chatkey_stack.tls import NAMES, issue


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    while ends:
        for end in list(ends):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            ends.remove(end)


def server_context(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "chain.pem", folder / "key.pem")
    return context


@pytest.mark.parametrize("name", NAMES)
def test_a_client_with_the_ca_file_trusts_every_name(tmp_path: Path, name: str) -> None:
    with issue(tmp_path) as made:
        handshake(server_context(tmp_path), ssl.create_default_context(cafile=made.ca), name)


def test_a_client_without_the_ca_file_refuses(tmp_path: Path) -> None:
    with issue(tmp_path), pytest.raises(ssl.SSLCertVerificationError):
        handshake(server_context(tmp_path), ssl.create_default_context(), "localhost")


def test_another_name_is_refused(tmp_path: Path) -> None:
    with issue(tmp_path) as made, pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(server_context(tmp_path), ssl.create_default_context(cafile=made.ca), "evil.localhost")


def test_the_private_key_is_its_owners_only_and_gone_at_the_end(tmp_path: Path) -> None:
    exposed = tmp_path / "key.pem"
    exposed.write_text("of an earlier run")
    exposed.chmod(0o644)

    with issue(tmp_path) as made:
        assert made.key.stat().st_mode & 0o777 == 0o600
        assert "PRIVATE KEY" in made.key.read_text()

    assert {file.name for file in tmp_path.iterdir()} == {"ca.pem", "chain.pem"}
