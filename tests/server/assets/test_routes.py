"""Tests of the responses under `/assets`: content, type, caching, encoding, and access by pages of any origin."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from chatkey import __version__

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from litestar import Litestar
    from litestar.testing import TestClient
    from tests.server.assets.conftest import MakeClient

    Client = TestClient[Litestar]

WASM = "/assets/pyodide-1/pyodide.asm.wasm"
PINNED = "/assets/sdk.json"
EVERY = (WASM, PINNED, "/assets/sdk.js", "/assets/sdk.d.ts", "/assets/widget-1.snapshot")


def served(answer: httpx.Response) -> object:
    """Return the addresses that the server has written into `sdk.js`."""
    return json.loads(answer.text.removeprefix("const served = ").removesuffix(";"))


@pytest.mark.contract("4.8/sdk", "D-17/sdk")
def test_sdk_js_is_served_with_the_addresses_written_in(client: Client) -> None:
    answer = client.get("/assets/sdk.js")

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert served(answer) == {
        "version": __version__,
        "baseUrl": "http://localhost:8800",
        "pyodide": "http://localhost:8800/assets/pyodide-1/",
        "snapshot": "http://localhost:8800/assets/widget-1.snapshot",
        "snapshotSize": 6,
        "sources": "http://localhost:8800/assets/widget-1.zip",
        "lock": {"version": "1"},
    }


def test_during_an_upgrade_the_files_of_both_releases_are_served(
    make_client: MakeClient, built: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    previous = tmp_path_factory.mktemp("previous")
    shutil.copytree(built, previous, dirs_exist_ok=True)
    manifest = previous / "manifest.json"
    manifest.write_text(manifest.read_text().replace("widget-1", "widget-0"))
    for file in previous.glob("widget-1*"):
        file.rename(previous / file.name.replace("widget-1", "widget-0"))

    client = make_client(previous_assets=str(previous))

    files = ["widget-0.snapshot", "widget-0.zip", "widget-1.snapshot", "widget-1.zip"]
    assert [client.get(f"/assets/{name}").status_code for name in files] == [200] * 4
    assert "widget-1.snapshot" in client.get("/assets/sdk.js").text


@pytest.mark.parametrize("path", EVERY)
def test_a_preflight_allows_any_header(client: Client, path: str) -> None:
    """F240: a tool, a proxy or an extension adds a header to each request of the page."""
    answer = client.options(path, headers={"Access-Control-Request-Headers": "x-house"})

    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["access-control-allow-headers"] == "*"


def test_the_assets_address_may_be_another_host_than_the_base_address(make_client: MakeClient) -> None:
    client = make_client(base_url="https://chat.example", assets_url="https://cdn.example/w")

    answer = client.get("/assets/sdk.js")

    written = served(answer)
    assert isinstance(written, dict)
    assert written["baseUrl"] == "https://chat.example"
    assert written["snapshot"] == "https://cdn.example/w/widget-1.snapshot"
    assert written["pyodide"] == "https://cdn.example/w/pyodide-1/"


@pytest.mark.contract("D-12/types")
def test_the_types_are_served_beside_the_script(client: Client) -> None:
    answer = client.get("/assets/sdk.d.ts")

    assert (answer.status_code, answer.text) == (200, "declare const Service: unknown;")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=60"


@pytest.mark.contract("D-17/sdk")
def test_sdk_js_is_kept_for_a_minute_and_then_asked_for_again(client: Client) -> None:
    answer = client.get("/assets/sdk.js")

    again = client.get("/assets/sdk.js", headers={"if-none-match": answer.headers["etag"]})

    assert answer.headers["cache-control"] == "public, max-age=60"
    assert again.status_code == 304
    assert again.content == b""
    assert again.headers["etag"] == answer.headers["etag"]


def test_another_version_of_sdk_js_is_sent_anew(client: Client) -> None:
    answer = client.get("/assets/sdk.js", headers={"if-none-match": 'W/"older"'})

    assert answer.status_code == 200
    assert answer.content


def test_two_servers_with_other_addresses_have_other_etags(make_client: MakeClient) -> None:
    one, two = make_client(), make_client(base_url="https://chat.example")

    assert one.get("/assets/sdk.js").headers["etag"] != two.get("/assets/sdk.js").headers["etag"]


@pytest.mark.contract("D-17/pinned")
def test_sdk_json_names_an_address_of_sdk_js_that_never_changes_and_its_hash(client: Client) -> None:
    pinned = client.get(PINNED).json()

    answer = client.get(pinned["url"].removeprefix("http://localhost:8800"))

    assert answer.content == client.get("/assets/sdk.js").content
    assert pinned["integrity"] == f"sha384-{b64encode(hashlib.sha384(answer.content).digest()).decode()}"
    assert pinned["version"] == __version__
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


@pytest.mark.contract("D-17/pinned")
@pytest.mark.parametrize("accepted", ["gzip", "identity"])
def test_the_hash_is_that_of_the_bytes_in_every_encoding(client: Client, accepted: str) -> None:
    pinned = client.get(PINNED).json()

    answer = client.get(pinned["url"].removeprefix("http://localhost:8800"), headers={"accept-encoding": accepted})

    assert answer.headers.get("content-encoding", "identity") == accepted
    assert pinned["integrity"] == f"sha384-{b64encode(hashlib.sha384(answer.content).digest()).decode()}"


@pytest.mark.contract("D-17/pinned")
def test_the_address_of_a_script_depends_only_on_its_content(make_client: MakeClient) -> None:
    one, same, other = make_client(), make_client(), make_client(base_url="https://chat.example")

    pinned, again, elsewhere = (client.get(PINNED).json() for client in (one, same, other))

    assert pinned == again
    assert elsewhere["url"].startswith("https://chat.example/assets/sdk-")
    assert elsewhere["url"].rpartition("/")[2] != pinned["url"].rpartition("/")[2]
    assert elsewhere["integrity"] != pinned["integrity"]
    assert other.get(pinned["url"].removeprefix("http://localhost:8800")).status_code == 404


@pytest.mark.contract("D-17/hashed-files")
@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        (WASM, "application/wasm"),
        ("/assets/pyodide-1/pyodide.mjs", "text/javascript; charset=utf-8"),
        ("/assets/pyodide-1/pyodide-lock.json", "application/json"),
        ("/assets/pyodide-1/python_stdlib.zip", "application/zip"),
        ("/assets/widget-1.snapshot", "application/octet-stream"),
        ("/assets/widget-1.zip", "application/zip"),
    ],
)
def test_a_hashed_file_is_immutable_and_has_its_type(client: Client, path: str, content_type: str) -> None:
    answer = client.get(path)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == content_type
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.contract("D-17/hashed-files")
@pytest.mark.parametrize("path", EVERY)
def test_pages_anywhere_may_read_and_measure_the_files(client: Client, path: str) -> None:
    answer = client.get(path, headers={"origin": "https://shop.example"})

    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["timing-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers


@pytest.mark.contract("D-17/hashed-files")
@pytest.mark.parametrize(
    ("accepted", "sent", "suffix"),
    [
        ("gzip, deflate, br, zstd", "zstd", ".zst"),
        ("gzip, deflate, br", "gzip", ".gz"),
        ("br", None, ""),
        ("", None, ""),
    ],
)
def test_the_best_encoding_the_browser_reads_is_sent(
    client: Client, built: Path, accepted: str, sent: str | None, suffix: str
) -> None:
    with client.stream("GET", WASM, headers={"accept-encoding": accepted}) as answer:
        raw = b"".join(answer.iter_raw())

    assert answer.headers.get("content-encoding") == sent
    assert answer.headers["vary"] == "accept-encoding"
    assert int(answer.headers["content-length"]) == len(raw)
    assert raw == (built / f"pyodide-1/pyodide.asm.wasm{suffix}").read_bytes()


def test_sdk_js_is_compressed_when_the_server_starts(client: Client) -> None:
    with client.stream("GET", "/assets/sdk.js", headers={"accept-encoding": "gzip"}) as answer:
        raw = b"".join(answer.iter_raw())

    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(raw).startswith(b"const served = {")


@pytest.mark.parametrize("path", EVERY)
def test_head_answers_as_get_without_a_body(client: Client, path: str) -> None:
    plain = {"accept-encoding": "identity"}

    head, got = client.head(path, headers=plain), client.get(path, headers=plain)

    assert head.status_code == 200
    assert head.content == b""
    assert head.headers == got.headers


@pytest.mark.parametrize(
    "name", ["manifest.json", "widget-0.snapshot", "pyodide-1", "pyodide-1/pyodide.asm.wasm.gz", "sdk.js%00", "SDK.JS"]
)
def test_other_paths_get_404_readable_by_any_origin(client: Client, name: str) -> None:
    answer = client.get(f"/assets/{name}", headers={"origin": "https://shop.example"})

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("step", ["..", "%2e%2e", "..%2f.", "..%5c", "pyodide-1/..%2f.."])
def test_no_path_leads_out_of_the_folder(client: Client, built: Path, step: str) -> None:
    (built.parent / "outside.json").write_text("{}")

    assert client.get(f"/assets/{step}/outside.json").status_code == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_the_files_are_only_read(client: Client, method: str) -> None:
    assert client.request(method, WASM).status_code == 405


def test_a_file_is_served_as_read_at_the_start(client: Client, built: Path) -> None:
    (built / "pyodide-1/pyodide.asm.wasm").unlink()

    answer = client.get(WASM, headers={"accept-encoding": "identity"})

    assert answer.content == b"\0asm plain"
