"""Tests of the docs on `chatkey check`: all checks and exit statuses must be listed, and commands must work."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # it brings no types

from chatkey_check import checks
from chatkey_check.cli import check
from chatkey_peer.exits import Exit

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [(DOCS / name).read_text() for name in ("check-endpoint.md", "check-widget.md", "check-ci.md")]
BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    return [match["text"] for page in PAGES for match in BLOCK.finditer(page) if match["language"] == language]


def pipelines() -> list[dict[Any, Any]]:
    return [yaml.safe_load(text) for text in blocks("yaml")]


def command_lines(value: object) -> Iterator[str]:
    """Yield the shell lines in a parsed CI configuration."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in {"run", "script"}:
                lines = inner if isinstance(inner, list) else [inner]
                yield from (line for text in lines for line in text.splitlines())
            else:
                yield from command_lines(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from command_lines(inner)


def copied() -> list[str]:
    """Return every line on the page that begins with `chatkey check`."""
    lines = [line for text in blocks("console") for line in text.splitlines()]
    lines += [line for pipeline in pipelines() for line in command_lines(pipeline)]
    return [line for line in lines if line.startswith("chatkey check ")]


def test_every_check_has_its_place_in_the_page_once_and_in_order() -> None:
    titles = re.findall(r"^### (\S+)$", (DOCS / "checks.md").read_text(), re.MULTILINE)

    assert titles == list(checks.ORDER)


def test_every_status_is_in_the_table_and_no_other() -> None:
    section = PAGES[-1].partition("## Use the exit status")[2].partition("## ")[0]

    assert [int(status) for status in re.findall(r"^\| (\d) \|", section, re.MULTILINE)] == list(Exit)


def test_there_is_a_pipeline_for_github_and_one_for_gitlab() -> None:
    github, gitlab = pipelines()

    steps = github["jobs"]["check"]["steps"]
    assert github[True] == "pull_request"  # YAML 1.1 parses `on` as true
    assert [set(step) & {"uses", "run"} != set() for step in steps] == [True] * len(steps)
    assert gitlab["chat token"]["artifacts"]["reports"] == {"junit": "check.xml"}


@pytest.mark.parametrize("line", copied(), ids=range(len(copied())))
def test_a_command_line_is_one_that_the_command_understands(line: str) -> None:
    context = check.make_context("check", shlex.split(line)[2:])

    assert context.params["url"].endswith("/chat/token")
    assert context.params["provider_id"].startswith("prov_")
    assert context.params["secret_env"] == "CHAT_SECRET"
    assert context.params["login"] or context.params["login_url"]


def test_a_pipeline_uploads_the_file_that_its_command_writes() -> None:
    for pipeline, form in zip(pipelines(), ("markdown", "junit"), strict=True):
        (line,) = [line for line in command_lines(pipeline) if line.startswith("chatkey check ")]
        params = check.make_context("check", shlex.split(line)[2:]).params

        assert params["format"] == form
        assert str(params["output"]) in str(pipeline).replace(line, "")
