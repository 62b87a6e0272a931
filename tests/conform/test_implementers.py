"""Tests that the commands on the page for implementers work as printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml  # type: ignore[import-untyped]  # it brings no types
from tests.node import NODE

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "implementers.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_lead_to_a_passing_smoke_test(tmp_path: Path) -> None:
    """The test runs the printed commands for vectors, service, adapter and smoke, and changes only the port."""
    [port] = free_ports(1)
    for folder in ("docs", "tests/conform/node_service"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for sample in (tmp_path / "docs" / "samples").iterdir():
        sample.write_text(sample.read_text().replace(":8800", f":{port}"))
    (tmp_path / "settings.json").write_text(blocks("json")[0].replace("8800", str(port)))
    _install, vectors, serve, judge = blocks("sh")[0].splitlines()
    waiting = f"until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do :; done"
    script = "\n".join((vectors, serve, "service=$!", "trap 'kill $service' EXIT", waiting, judge))
    path = os.pathsep.join((str(Path(NODE).parent), str(Path(sys.executable).parent), os.environ["PATH"]))

    done = subprocess.run(
        ["/bin/bash", "-e", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * PATIENCE,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert " held\n" in done.stdout
    assert "nothing failed" in done.stdout


def test_its_workflows_name_inputs_and_variables_that_exist() -> None:
    """The page's examples may use only existing inputs of the action and existing variables of the template."""
    workflow, pipeline = map(yaml.safe_load, blocks("yaml"))
    [step] = (step for step in workflow["jobs"]["staging"]["steps"] if "chatkey" in step["uses"])
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    template = yaml.safe_load((ROOT / "templates" / "gitlab.yml").read_text())

    assert set(step["with"]) <= set(action["inputs"])
    assert set(pipeline["variables"]) <= set(template["variables"])


def test_the_page_links_every_sample() -> None:
    linked = set(re.findall(r"\(samples/([\w.-]+)\)", PAGE))

    assert linked == {file.name for file in (ROOT / "docs" / "samples").iterdir()}
