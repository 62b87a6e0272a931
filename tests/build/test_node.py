"""Tests of how the builder runs Node and npm."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from chatkey_build.node import CAS, UNTRUSTED, BuildError, install_pyodide, pinned_version, run
from chatkey_stack.tls import Certificates, issue

if TYPE_CHECKING:
    from tests.build.checkout import Checkout


PINNED = Path(__file__).parents[2] / "widget_sim" / "pyodide"


def test_a_failing_step_is_told_in_its_own_words_and_short_lines(tmp_path: Path) -> None:
    script = "console.error('x'.repeat(100000)); console.error('the reason'); process.exitCode = 3"

    with pytest.raises(BuildError, match="node -e failed with exit code 3") as failure:
        run("node", ["-e", script], cwd=tmp_path)

    assert "the reason" in str(failure.value)
    assert len(str(failure.value)) < 1000


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[tuple[str, Certificates]]:
    """The address of a server with a certificate of a company's proxy, and the certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with issue(tmp_path) as made, HTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as server:
        context.load_cert_chain(made.chain, made.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"https://127.0.0.1:{server.server_port}/", made
        server.shutdown()


@pytest.mark.parametrize("variable", [*CAS, "NODE_EXTRA_CA_CERTS", None])
def test_node_trusts_the_cas_that_python_trusts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, proxy: tuple[str, Certificates], variable: str | None
) -> None:
    address, certificates = proxy
    for name in (*CAS, "NODE_EXTRA_CA_CERTS"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, str(certificates.ca))

    with nullcontext() if variable else pytest.raises(BuildError, match=f"{UNTRUSTED.pattern}(.|\n)*set SSL_CERT_FILE"):
        run("node", ["-e", f"fetch('{address}').catch((error) => {{ throw error.cause; }})"], cwd=tmp_path)


def test_an_installed_pyodide_of_the_pinned_version_is_used_as_it_is(checkout: Checkout) -> None:
    folder = checkout.root / "widget_sim" / "pyodide"
    checkout.write("widget_sim/pyodide/node_modules/pyodide/package.json", json.dumps({"version": "1.2.3"}))

    assert install_pyodide(folder) == folder / "node_modules" / "pyodide"


def test_the_lock_pins_one_pyodide_by_hash_and_names_no_address() -> None:
    lock = json.loads((PINNED / "package-lock.json").read_text())
    package = json.loads((PINNED / "package.json").read_text())

    assert package["dependencies"] == {"pyodide": pinned_version(PINNED)}
    for name, entry in lock["packages"].items():
        assert "resolved" not in entry, name
        assert not name or entry["integrity"].startswith("sha512-"), name
