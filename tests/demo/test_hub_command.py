"""Tests of the command `chatkey demo`: options, output and exit."""

import io
import os
import signal
import socket
import subprocess
import sys
import webbrowser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from rich.console import Console

from chatkey_demo.cli import demo
from chatkey_demo.hub import terminal, window
from chatkey_stack.patience import PATIENCE
from chatkey_stack.ports import LOOPBACK
from chatkey_stack.tls import Certificates, trust


def test_a_busy_port_is_one_sentence_and_no_traceback() -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        port = listener.getsockname()[1]

        result = CliRunner().invoke(demo, ["--no-browser", "--port", str(port)])

    assert result.exit_code == 1
    assert result.output.startswith(f"Error: Port {port} is in use")
    assert "--port" in result.output
    assert result.output.count("\n") == 1


def test_a_port_whose_shops_would_not_fit_is_refused() -> None:
    result = CliRunner().invoke(demo, ["--port", "65530"])

    assert result.exit_code == 2
    assert "65530 is not in the range" in result.output


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            "service ended before it was ready (exit status 1). Its last output:\nError: The files are gone.\n",
            "The files are gone.",
        ),
        ("service was not ready within 30 s.", "service was not ready within 30 s."),
    ],
    ids=["a sentence of its own", "none"],
)
def test_a_server_that_does_not_start_is_heard_in_its_own_words(message: str, sentence: str) -> None:
    assert terminal.last_words(message) == sentence


def running(**members: Any) -> Any:
    modes = [SimpleNamespace(mode=SimpleNamespace(label="Visitor", hint="no sign-in"), url="http://localhost:8811/v/")]
    return SimpleNamespace(
        url="http://localhost:8800",
        demo=SimpleNamespace(
            agent_url="http://localhost:8801/agent", admin_url="http://localhost:8801/admin/", modes=modes
        ),
        agent=SimpleNamespace(name="demo", password="a-password"),
        administrator=SimpleNamespace(name="admin", password="another-password"),
        stack=SimpleNamespace(certificates=members.get("certificates")),
    )


def said(running: Any, note: str | None = None, *, is_terminal: bool = False) -> str:
    written = io.StringIO()
    terminal.welcome(
        running, note, console=Console(file=written, force_terminal=is_terminal, width=100, color_system=None)
    )
    return written.getvalue()


def test_the_terminal_shows_addresses_passwords_and_how_to_stop() -> None:
    shown = said(running(), is_terminal=True)

    for words in (
        "http://localhost:8800",
        "http://localhost:8801/agent",
        "demo  /  a-password",
        "http://localhost:8801/admin/",
        "admin  /  another-password",
        "Visitor, no sign-in",
    ):
        assert words in shown
    assert "Ctrl-C stops the demo" in shown
    assert "ready" not in shown


def test_over_tls_the_terminal_says_how_to_trust_the_certificates() -> None:
    certificates = SimpleNamespace(ca=Path("/tmp/run/ca.pem"), spki="c3BraQ==")

    shown = said(running(certificates=certificates))

    assert "--ignore-certificate-errors-spki-list=c3BraQ==\n" in shown
    assert "/tmp/run/ca.pem\n" in shown


def test_without_a_screen_no_browser_is_tried_and_people_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "has_screen", lambda: False)

    with window.window(wanted=True, tls=True) as shown:
        note = shown.note

    assert shown.start is None
    assert note == window.NO_SCREEN
    assert note.split(":")[0] in said(running(), note).replace("\n", " ")


def test_the_persons_own_browser_opens_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(window, "has_screen", lambda: True)
    monkeypatch.setattr(webbrowser, "get", lambda: SimpleNamespace(open=opened.append))

    with window.window(wanted=True, tls=False) as shown:
        shown.open("http://localhost:8800", None)

    assert opened == ["http://localhost:8800"]


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in for a browser is a shell script")
def test_over_tls_a_chromium_that_trusts_the_ca_by_key_is_opened_and_closed_at_the_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chromium, told = tmp_path / "chromium", tmp_path / "told"
    os.mkfifo(told)
    chromium.write_text(f'#!/bin/sh\necho "$@" > {told}\nexec sleep 60\n')
    chromium.chmod(0o700)
    monkeypatch.setattr(window, "has_screen", lambda: True)
    monkeypatch.setenv("CHATKEY_BROWSER", str(chromium))
    certificates = Certificates(tmp_path, tmp_path, tmp_path, "c3BraQ==")

    with window.window(wanted=True, tls=True) as shown:
        shown.open("https://localhost:8800", certificates)
        arguments = told.read_text().split()

    profile = Path(arguments[0].removeprefix("--user-data-dir="))
    assert "--ignore-certificate-errors-spki-list=c3BraQ==" in arguments
    assert arguments[-1] == "https://localhost:8800"
    assert not profile.exists()


def test_over_tls_without_any_browser_people_are_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window, "has_screen", lambda: True)
    monkeypatch.setenv("CHATKEY_BROWSER", "/no/such/browser")

    with window.window(wanted=True, tls=True) as shown:
        note = shown.note or ""

    assert "CHATKEY_BROWSER is '/no/such/browser', which is neither a file nor a command" in note


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_a_screen_is_found_where_windows_can_open(environ: dict[str, str], platform: str, *, expected: bool) -> None:
    assert window.has_screen(environ, platform) is expected


def test_it_starts_over_tls_with_a_ca_to_trust_and_ends_cleanly_at_ctrl_c() -> None:
    command = (sys.executable, "-m", "chatkey", "demo", "--tls", "--no-browser", "--port", "0")
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    with child, child.stdout or io.StringIO() as output:
        url = output.readline().strip().removeprefix("ready ")
        ca = next(line.split()[-1] for line in output if "with this CA:" in line)
        page = httpx.get(url, verify=trust(Path(ca)), trust_env=False, timeout=PATIENCE).text
        child.send_signal(signal.SIGINT)
        rest = output.read()

    assert url.startswith("https://localhost:")
    assert page.count(f'data-src="{url.rpartition(":")[0]}:') == 4
    assert (child.returncode, rest) == (0, "")
    assert not Path(ca).exists()
