"""Tests of the GitHub action and the GitLab template: their syntax, and the commands and options that they use."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast

import click
import pytest
import yaml  # type: ignore[import-untyped]  # it brings no types
from tests.conform.nodes import Wishes, node_service

from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash") or "bash"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "templates" / "gitlab.yml").read_text())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
JOBS = {name: {**GITLAB[".chatkey"], **job} for name, job in GITLAB.items() if name.startswith("chatkey ")}
SCRIPTS = {
    **{str(step["name"]): str(step["run"]) for step in STEPS if "run" in step},
    **{name: "\n".join((*job["before_script"], *job["script"])) for name, job in JOBS.items()},
}

each_script = pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)


def commands() -> dict[str, click.Command]:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["chatkey.commands"]
    return {name: cast("click.Command", EntryPoint(name, value, "").load()) for name, value in declared.items()}


def called(script: str) -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each `chatkey` command that a script calls, with the options that the script may use."""
    for line in script.splitlines():
        if line.startswith("chatkey "):
            collected = " ".join(re.findall(r"options\+?=\((.*)\)", script)) if "options[@]" in line else ""
            options = set(re.findall(r"(?<![\w-])(--?[a-z][\w-]*)", line + collected))
            yield shlex.split(line)[1], options


def test_the_declared_inputs_are_exactly_those_used() -> None:
    """Every input needs a description and a default."""
    used = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))

    assert used == set(ACTION["inputs"])
    assert all(given["description"].endswith(".") and "default" in given for given in ACTION["inputs"].values())


def test_every_step_is_allowed_in_a_composite_action() -> None:
    """Each step must use an action with a pinned version, or name the shell that runs its script."""
    assert ACTION["runs"]["using"] == "composite"
    for step in STEPS:
        assert ("uses" in step) != ("run" in step)
        assert step.get("shell") == ("bash" if "run" in step else None)
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])


def test_no_script_has_an_input_written_into_it() -> None:
    """Scripts must get inputs through environment variables, so that no shell executes an input as code."""
    assert not [name for name, script in SCRIPTS.items() if "${{" in script]


def test_every_variable_that_a_step_reads_is_passed_to_it() -> None:
    """Scripts may read only variables that their step sets."""
    for step in STEPS:
        read = set(re.findall(r"\$\{?([A-Z_]+)", str(step.get("run", ""))))
        assert read <= {*step.get("env", {}), "GITHUB_STEP_SUMMARY"}


def test_every_variable_of_the_template_is_declared_and_used() -> None:
    """Every variable needs a description. GitLab shows the description when somebody starts a pipeline by hand."""
    jobs = yaml.safe_dump({name: job for name, job in GITLAB.items() if name != "variables"})

    assert set(re.findall(r"CONFORM_[A-Z_]+", jobs)) == set(GITLAB["variables"])
    assert all(given["value"] == "" and given["description"] for given in GITLAB["variables"].values())


@pytest.mark.parametrize("name", JOBS)
def test_every_job_of_the_template_runs_only_where_it_is_asked_for(name: str) -> None:
    """Each job needs a stage, a rule, and reports that GitLab keeps even if the job fails."""
    job = JOBS[name]

    assert {"stage", "image", "script", "rules"} <= job.keys()
    assert all("$CONFORM_" in rule["if"] for rule in job["rules"])
    assert job["artifacts"]["when"] == "always"
    assert job["artifacts"]["reports"]["junit"].startswith("conformity/")


@each_script
def test_every_script_can_be_read_by_its_shell(script: str) -> None:
    read = subprocess.run([BASH, "-n"], input=script, capture_output=True, text=True, check=False)

    assert (read.returncode, read.stderr) == (0, "")


@each_script
def test_every_option_in_a_script_exists(script: str) -> None:
    known = commands()
    for name, options in called(script):
        command = known[name]
        own = {word for parameter in command.params for word in (*parameter.opts, *parameter.secondary_opts)}
        assert options <= own


def test_the_action_judges_a_service(tmp_path: Path) -> None:
    """The test runs the action's step as a GitHub runner does. The step must succeed and write the reports."""
    [port] = free_ports(1)
    target = tmp_path / "target.toml"
    address = f"http://127.0.0.1:{port}"
    target.write_text(
        f'[target]\nname = "Sample"\nbase_url = "{address}"\n[businesses]\ngrade = "lab"\nurl = "{address}/lab"\n'
    )
    [step] = (step for step in STEPS if step.get("name") == "Judge the service")
    given = {"TARGET": str(target), "SMOKE": "true", "WORDS": "", "SCENARIOS": "", "OUTPUT": str(tmp_path / "reports")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    with node_service(tmp_path, Wishes(address, port)):
        done = subprocess.run(
            [BASH, "-e", "-c", step["run"]],
            env={**os.environ, **given, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=4 * PATIENCE,
        )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "reports" / "report.md").is_file()
