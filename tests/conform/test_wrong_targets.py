"""Tests of targets that are no service of the profile, or that answer so that a case could hang or crash."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from click.testing import CliRunner

from chatkey_conform.case import Family
from chatkey_conform.cli import conform
from chatkey_conform.judging.verdict import Verdict
from chatkey_conform.running.runner import Run
from chatkey_conform.subject import subject, world
from chatkey_conform.subject.subject import Subject
from chatkey_conform.target import read_target
from chatkey_peer.exits import Exit
from chatkey_stack.ports import LOOPBACK

SAMPLE = Path(__file__).parents[2] / "e2e" / "chatkey_conform" / "sample.toml"


@contextmanager
def target_of(folder: Path, status: int, body: bytes, *, drips: bool = False) -> Iterator[Path]:
    """Serve the same answer to every request, and yield a TARGET.toml with the server's address."""
    ended = Event()

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)
            while drips and not ended.wait(0.05):
                self.wfile.write(b" ")

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - the base class's name

    with ThreadingHTTPServer((LOOPBACK, 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        path = folder / "target.toml"
        path.write_text(SAMPLE.read_text().replace("localhost:8800", f"{LOOPBACK}:{server.server_port}"))
        try:
            yield path
        finally:
            ended.set()
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_SECRET", "a-secret-of-at-least-thirty-two-bytes")
    monkeypatch.setattr(world, "SLOWEST", 1.0)
    monkeypatch.setattr(subject, "SLOWEST", 1.0)


@pytest.mark.parametrize(
    ("status", "body", "drips", "said"),
    [
        (
            404,
            b'{"error": {"code": "provider_unknown"}}',
            False,
            "Check the id of the business, base_url and local_url",
        ),
        (404, b"<h1>Nothing here", False, "Check the id of the business, base_url and local_url"),
        (200, b"<h1>Another server", False, "is answered without JSON. Check base_url"),
        (200, b"{", True, "the response was not complete after 1 s"),
    ],
    ids=["wrong-id", "wrong-path", "wrong-server", "drips"],
)
def test_a_run_does_not_start_with_a_wrong_target(
    tmp_path: Path, status: int, body: bytes, drips: bool, said: str
) -> None:
    with target_of(tmp_path, status, body, drips=drips) as target:
        run = CliRunner().invoke(conform, [str(target)])

    assert run.exit_code == Exit.NOT_STARTED
    assert said in run.stderr


@pytest.mark.parametrize(
    ("send", "body", "drips", "reason"),
    [
        (lambda subject: subject.get("/v1").json(), b'{"a":' * 100_000, False, "nested too deeply"),
        (lambda subject: subject.get("/v1"), b"{", True, "got no response: ReadTimeout"),
        (lambda subject: subject.spelled("/v1"), b"{", True, "got no response: ReadTimeout"),
    ],
    ids=["nested", "drips", "drips-raw"],
)
def test_an_answer_that_cannot_be_read_fails_its_case(
    tmp_path: Path, send: Callable[[Subject], object], body: bytes, drips: bool, reason: str
) -> None:
    family = Family("smoke", "Smoke", "protocol.md#endpoints")

    @family.judges("4.1/content")
    def something(service: Subject) -> None:
        """Something is answered."""
        send(service)

    with target_of(tmp_path, 200, body, drips=drips) as target, closing(world.World(read_target(target))) as opened:
        [outcome] = Run(opened).judge(family.cases).outcomes

    assert outcome.verdict is Verdict.FAILED
    assert reason in outcome.reason
