"""Tests of the page for other languages. The table must be correct, and the TypeScript must run as printed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import playwright
import pytest

from chatkey_stack.patience import PATIENCE
from chatkey_stack.tls import trust

pytestmark = pytest.mark.long

PAGE = Path(__file__).parents[2] / "docs" / "other-languages.md"
PLAYWRIGHT_CORE = Path(playwright.__file__).parent / "driver" / "package"
"""The Node package inside Playwright for Python. It is the same as the one that npm installs."""

ROWS = re.compile(r"^\| (`.*?`) \|", re.MULTILINE)
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")


@pytest.fixture(scope="module")
def stack() -> Iterator[dict[str, Any]]:
    """Run `chatkey stack`, and yield its first line of output as JSON."""
    command = [sys.executable, "-m", "chatkey", "stack"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environ()) as running:
        assert running.stdout is not None
        told: dict[str, Any] = json.loads(running.stdout.readline())
        yield told
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE) == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(told["service"]["lab"], trust_env=False)


def test_the_labs_accept_the_printed_token_and_the_named_ca_file_is_trusted(stack: dict[str, Any]) -> None:
    bearer = {"Authorization": f"Bearer {stack['lab_token']}"}
    verify = trust(Path(stack["ca"]["file"]))

    moved, refused = (
        httpx.post(
            f"{stack['service']['lab']}/clock",
            json={"advance": 0},
            headers=headers,
            verify=verify,
            trust_env=False,
            timeout=PATIENCE,
        )
        for headers in (bearer, {})
    )

    assert (moved.status_code, refused.status_code) == (200, 401)
    assert Path(stack["ca"]["file"]).read_text() == stack["ca"]["pem"]
    assert set(stack) == {
        *re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?`) \|", PAGE.read_text(), re.MULTILINE)))
    }


def test_the_typescript_of_the_page_runs_as_it_is_printed(stack: dict[str, Any], tmp_path: Path) -> None:
    """The example writes a message as a member of the shop. The service must receive the message."""
    node = shutil.which("node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if node is None or browser is None:
        pytest.skip("there is no Node or no Chromium on this machine")
    (code,) = re.findall(r"^```ts\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "chat.ts").write_text(code)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "stack.json").write_text(json.dumps(stack))
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "playwright-core").symlink_to(PLAYWRIGHT_CORE)

    environ = {**_environ(), "CHATKEY_BROWSER": browser}
    done = subprocess.run([node, "chat.ts"], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def _environ() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("CHATKEY_")}
