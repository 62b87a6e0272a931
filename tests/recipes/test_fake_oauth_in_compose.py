"""Runs the command of the recipe for Docker Compose without a container, and checks the file against the image."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import yaml  # type: ignore[import-untyped]
from tests.recipes.conftest import blocks

from chatkey_oauth.client import FakeOAuth, LabError
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

ROOT: Final = Path(__file__).parents[2]
FROM_BROWSERS: Final = "http://localhost:9911"
FROM_CONTAINERS: Final = "http://fake:9911"


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(blocks("Docker Compose")[-1])["services"]
    return found


@pytest.fixture(scope="module")
def image() -> str:
    build: dict[str, str] = services()["fake"]["build"]
    return (ROOT / build["context"] / build["dockerfile"]).read_text()


@pytest.fixture
def port(image: str, tmp_path: Path) -> Iterator[int]:
    """Run the command of the service `fake`, with another port and with the example of a seed file.

    Containers find each other by name. Here, all names stand for this machine.
    """
    fake = services()["fake"]
    (port,) = free_ports(1)
    name, *entry = json.loads(image.partition("ENTRYPOINT ")[2])
    command = [Path(sys.executable).with_name(name), *entry]
    subprocess.run([*command, "--init"], cwd=tmp_path, check=True, capture_output=True)
    (mounted,) = (volume.split(":")[1] for volume in fake["volumes"])
    places = {mounted: "chatkey-fake.toml", "localhost:9911": f"localhost:{port}", "fake:9911": f"127.0.0.1:{port}"}
    given = [re.sub("|".join(places), lambda found: places[found[0]], word) for word in fake["command"]]
    environment = os.environ | fake["environment"]
    with subprocess.Popen(
        [*command, *given, "--port", str(port)], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == f"ready http://localhost:{port}\n"
            yield port
        finally:
            process.terminate()


def test_the_application_finds_the_issuer_and_browsers_find_the_login(port: int) -> None:
    application = services()["app"]["environment"]
    metadata = application["OIDC_METADATA"].replace(FROM_CONTAINERS, f"http://127.0.0.1:{port}")

    document = httpx.get(metadata, timeout=PATIENCE, trust_env=False).json()

    assert document["issuer"] == application["OIDC_ISSUER"].replace(FROM_BROWSERS, f"http://localhost:{port}")
    assert document["authorization_endpoint"].startswith(f"http://localhost:{port}/")
    assert document["token_endpoint"].startswith(f"http://127.0.0.1:{port}/")


def test_a_test_controls_the_lab_with_the_token_of_the_file(port: int) -> None:
    token = services()["fake"]["environment"]["CHATKEY_LAB_TOKEN"]
    with FakeOAuth(f"http://127.0.0.1:{port}", token=token) as ours, FakeOAuth(ours.url) as strange:
        with pytest.raises(LabError, match="The lab requires a token"):
            strange.overview()

        assert [one.client_id for one in ours.clients()] == ["my-app"]
        assert "ada" in {person.id for person in ours.people()}


def test_the_image_listens_at_the_published_port(image: str) -> None:
    (published,) = services()["fake"]["ports"]

    assert published.split(":")[-1] == image.partition("EXPOSE ")[2].split()[0] == "9911"
    assert FROM_CONTAINERS in services()["fake"]["command"]
