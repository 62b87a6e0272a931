"""Tests that run sections of the pages for QA as they are written, in a project of their own."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.e2e.outside.test_outside import Project
from tests.webkit.driven import screen as virtual_screen

from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

DOCS = Path(__file__).parents[3] / "docs"
NO_SCREEN = pytest.mark.skipif(shutil.which("Xvfb") is None, reason="there is no Xvfb on this machine")


def section(page: str, title: str, language: str) -> str:
    """Return the code of one language in a section of a page. Without a title, the section is the whole page."""
    text = (DOCS / page).read_text()
    if title:
        text = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with the one line of the page in its conftest.py."""
    made = Project(tmp_path / "project")
    for file in made.folder.iterdir():
        file.unlink()
    (made.folder / "conftest.py").write_text("from chatkey_e2e.overrides import *\n")
    return made


def test_a_test_case_and_soft_expectations(project: Project) -> None:
    (project.folder / "test_case.py").write_text(section("your-project.md", "", "python"))
    (project.folder / "test_soft.py").write_text(
        section("write-scenario.md", "Expect several things at once", "python")
    )

    done = project.run("-p", "no:cacheprovider")

    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


@NO_SCREEN
def test_trying_things_out(project: Project) -> None:
    """The steps of the page are typed at the prompt, and each answers."""
    (project.folder / "test_loop.py").write_text(section("debug-scenario.md", "Try things out", "python"))
    command = section("debug-scenario.md", "Try things out", "console")
    steps = section("debug-scenario.md", "Try things out", "text").replace("(Pdb) ", "")

    with virtual_screen() as display, project.running(*command.split()[1:], DISPLAY=display) as process:
        output, _ = process.communicate(steps, timeout=20 * PATIENCE)

    assert process.returncode == 0, output
    assert "'u-1001'" in output
    assert "'ready'" in output
    assert "***" not in output
