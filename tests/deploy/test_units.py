"""Tests of the systemd units and the compose file. The tests do not start the services."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from chatkey_server.settings import SETTINGS, load

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE = DEPLOY / "compose" / "compose.yaml"


def example() -> dict[str, str]:
    """Return the variables that `environment.example` sets."""
    lines = (DEPLOY / "systemd" / "environment.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not on this machine")
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: str(unit.name))
def test_systemd_takes_the_units(unit: Path, tmp_path: Path) -> None:
    """The test replaces chatkey with Python in each unit, because chatkey is not installed."""
    copied = tmp_path / unit.name
    copied.write_text(unit.read_text().replace("/opt/chatkey/bin/chatkey", sys.executable))

    verified = subprocess.run(["systemd-analyze", "verify", str(copied)], capture_output=True, text=True, check=False)

    assert (verified.returncode, verified.stderr) == (0, "")


def test_the_example_of_an_environment_is_one_that_the_server_takes() -> None:
    settings = load(example())

    assert settings.redis_url
    assert settings.drain + 10 <= _seconds("TimeoutStopSec")


def _seconds(name: str) -> int:
    found = re.search(rf"^{name}=(\d+)$", (DEPLOY / "systemd" / "chatkey.service").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def test_the_compose_file_sets_what_is_a_setting_and_needs_a_value_for_each_secret() -> None:
    services = yaml.safe_load(COMPOSE.read_text())["services"]
    secrets = {setting.name for setting in SETTINGS if setting.secret}
    given = services["chatkey"]["environment"]

    assert set(given) <= {setting.name for setting in SETTINGS}
    assert all(":?}" in given[name] for name in secrets & set(given) - {"CHATKEY_REDIS_URL"})
    assert int(given["CHATKEY_DRAIN"]) + 10 <= int(services["chatkey"]["stop_grace_period"].removesuffix("s"))
    assert services["migrate"]["environment"] == given


def test_the_compose_file_waits_for_what_is_in_it_and_for_the_migrations_first() -> None:
    services = yaml.safe_load(COMPOSE.read_text())["services"]

    for name, service in services.items():
        for other, how in service.get("depends_on", {}).items():
            assert other in services, name
            assert how["condition"] != "service_healthy" or "healthcheck" in services[other]
    assert services["chatkey"]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert {services[name]["command"][0] for name in ("chatkey", "migrate")} == {"chatkey"}


@pytest.mark.skipif(not shutil.which("docker"), reason="docker is not on this machine")
def test_docker_compose_reads_it() -> None:
    version = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False)
    if version.returncode:
        pytest.skip("docker is there without its compose plugin")
    environ = {**os.environ, "MASTER_KEY": "m" * 40, "DATABASE_PASSWORD": "p", "METRICS_TOKEN": "t" * 20}

    read = subprocess.run(
        ["docker", "compose", "-f", str(COMPOSE), "config", "--quiet"],
        capture_output=True,
        text=True,
        env=environ,
        check=False,
    )

    assert (read.returncode, read.stderr) == (0, "")
