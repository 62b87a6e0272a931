"""Changes the source of the sample service in Node, and then runs and judges the service."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conform.nodes import OFFERED, Wishes, changed, node_service, places

from chatkey_conform.case import Case
from chatkey_conform.running.outcome import Result
from chatkey_conform.running.runner import Run
from chatkey_conform.subject.world import World
from chatkey_conform.suite import cases
from chatkey_conform.target import read_target
from chatkey_protocol.names import REVISION
from chatkey_stack.applications import new_application
from chatkey_stack.lab import ServiceLab
from chatkey_stack.ports import LOOPBACK, free_ports

HERE = Path(__file__).parent
NOBODY = f"http://{LOOPBACK}:9"
"""An address at which no social provider listens. The cases that are judged over HTTP never log in there."""
UNLIMITED = {"tokenRate": 0, "oauthRate": 0}
DECLARED = {"token_rate": 0, "oauth_rate": 0}
TARGET = """\
[target]
name = "Sample in Node"
base_url = "{base}"
revision = {revision}
[businesses]
grade = "lab"
url = "{base}/lab"
[limits]
"""


def services(name: str) -> list[Any]:
    """Return the services described in a TOML file, each as a parameter with its name as the id."""
    return [pytest.param(entry, id=entry["name"]) for entry in entries(name)]


def judged_of_its_family(folder: Path, service: Mapping[str, Any]) -> Result:
    """Judge a broken service with the families of cases that must detect the fault."""
    [port] = free_ports(1)
    rated = service["family"] == "rates"
    limits = {"tokenRate": 60 if rated else 0, "oauthRate": 30 if rated else 0}
    declared = {"token_rate": limits["tokenRate"], "oauth_rate": limits["oauthRate"]}
    home = changed(folder, *service.get("edits", [service]))
    with target_of(folder, home, wished(port, limits), declared) as target:
        return judged(target, of_families(*service["family"].split()))


@contextmanager
def target_of(
    folder: Path, home: Path, wishes: Wishes, declared: Mapping[str, int], revision: int = REVISION
) -> Iterator[Path]:
    """Run the service with its own applications for the social providers, and yield the path of the service's
    TARGET.toml.
    """
    base = wishes.base_url
    with node_service(folder, wishes, home):
        with closing(ServiceLab(base, None)) as lab:
            for social in OFFERED:
                lab.set_application(new_application(social, f"node-{social}"))
        target = folder / "target.toml"
        target.write_text(
            TARGET.format(base=base, revision=revision)
            + "".join(f"{name} = {most}\n" for name, most in declared.items())
        )
        yield target


def wished(port: int, limits: Mapping[str, int], base: str = "") -> Wishes:
    """Return settings for a service with social logins. No request is sent to the addresses of the social providers."""
    return Wishes(base or f"http://{LOOPBACK}:{port}", port, socials=places(NOBODY, NOBODY), limits=limits)


def judged(target: Path, chosen: list[Case]) -> Result:
    with closing(World(read_target(target))) as world:
        return Run(world).judge(chosen)


def of_families(*keys: str) -> list[Case]:
    """Return the smoke cases and those of the given families. If no family is given, return all cases."""
    return [case for case in cases() if not keys or case.id.partition("/")[0] in {"smoke", *keys}]


def entries(name: str) -> list[dict[str, Any]]:
    """Return the services described in a TOML file, each with the family and the file that its heading names."""
    families: dict[str, dict[str, list[dict[str, Any]]]] = tomllib.loads((HERE / name).read_text())
    return [
        {"family": family, "file": file, **row}
        for family, files in families.items()
        for file, rows in files.items()
        for row in rows
    ]
