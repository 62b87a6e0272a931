"""Tests of the last part of a run without a browser, in which the checker opens a socket at a real service."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import httpx
import pytest
from tests.check.mutants.mutant_backend import PROVIDER, SECRET, Backend, Clock
from tests.check.mutants.mutant_server import Answer, Request, Server

from chatkey_check.live import legs
from chatkey_check.live.legs import Live
from chatkey_check.live.service import ReferenceServer
from chatkey_check.model import Outcome, Verdict
from chatkey_check.run import Run, opened
from chatkey_check.running.runner import Selection, report_of
from chatkey_check.target import LiveOptions, Target
from chatkey_peer.peer import Outcome as Said
from chatkey_stack.patience import PATIENCE

pytestmark = pytest.mark.long

ACCEPTS, REFUSES = "e2e.socket-accepts", "e2e.socket-refuses-other-key"
SOCKETS = Selection(only=["e2e.socket-*"])


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The address of a running service. It has the provider and the secret of the endpoints in these tests."""
    target = Target("http://127.0.0.1:1/chat/token", PROVIDER, SECRET, live=LiveOptions())
    with opened(target) as run:
        yield run.live.service.url


@pytest.fixture
def serve(endpoints: Server, clock: Clock) -> Any:
    """Serve a site with one handler, and return its address."""

    def served(handler: Any) -> str:
        return endpoints.add(f"site-{id(handler)}", handler)

    return served


def judged(run: Run) -> tuple[Outcome, Outcome]:
    report = report_of(run, selection=SOCKETS)
    return report.of(ACCEPTS), report.of(REFUSES)


def at(target: Target, service: str | None, **changes: Any) -> Target:
    return replace(target, live=LiveOptions(service), **changes)


@pytest.mark.contract("5.5/proof-matches", "2.4/cnf.jkt")
def test_the_reference_server_is_started_for_a_run_and_ended_with_it(make_run: Any, target: Target) -> None:
    """The test gives the run the provider's secret.

    The run must start a service that accepts the token only with the key to which the token is bound.
    """
    run = make_run(at(target, None))

    accepts, refuses = judged(run)
    url = run.live.service.url
    run.close()

    assert (accepts.verdict, refuses.verdict) == (Verdict.PASS, Verdict.PASS)
    assert accepts.message == 'the reference server answers ready for the member "u-1001"'
    assert refuses.message == "refused: proof_key_mismatch"
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False, timeout=PATIENCE)


def test_a_service_that_runs_needs_no_secret(make_run: Any, target: Target, service: str) -> None:
    accepts, refuses = judged(make_run(at(target, service, secret=None)))

    assert (accepts.verdict, refuses.verdict) == (Verdict.PASS, Verdict.PASS)
    assert service in accepts.message


def test_without_a_secret_and_without_a_service_the_options_are_named(make_run: Any, target: Target) -> None:
    accepts, refuses = judged(make_run(at(target, None, secret=None)))

    assert {accepts.verdict, refuses.verdict} == {Verdict.SKIP}
    assert accepts.option == "--secret-env NAME, or --service-url URL"


def test_where_the_reference_server_is_not_installed_the_extra_is_named(
    make_run: Any, target: Target, started: list[ReferenceServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReferenceServer, "installed", False)

    accepts, refuses = judged(make_run(at(target, None)))

    assert {accepts.verdict, refuses.verdict} == {Verdict.SKIP}
    assert accepts.message == "the reference server is not installed"
    assert accepts.option == "pip install 'chatkey[server]'"
    assert started == []


def test_without_websockets_the_extra_is_named(
    make_run: Any, target: Target, service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legs, "find_spec", lambda name: None)

    accepts, refuses = judged(make_run(at(target, service, secret=None)))

    assert {accepts.verdict, refuses.verdict} == {Verdict.SKIP}
    assert (accepts.message, accepts.option) == ("websockets is not installed", "pip install 'chatkey[server]'")


def test_a_run_that_wants_no_socket_starts_nothing(make_run: Any, target: Target) -> None:
    run = make_run(target)

    accepts, _ = judged(run)

    assert (accepts.verdict, accepts.option) == (Verdict.SKIP, "--socket")


def test_a_secret_that_the_reference_server_refuses_is_no_fault_of_the_endpoint(
    make_run: Any, target: Target, endpoints: Server, clock: Clock
) -> None:
    base = endpoints.add("short-secret", Backend(clock, "short").handle)

    accepts, _ = judged(make_run(at(target, None, url=f"{base}/chat/token", secret="short")))

    assert accepts.verdict is Verdict.SKIP
    assert accepts.message == "the reference server refuses this provider: secret_key must have at least 32 bytes."


def test_a_wrong_token_is_found_by_its_own_check_and_no_service_is_asked(
    make_run: Any, target: Target, endpoints: Server, clock: Clock
) -> None:
    base = endpoints.add("wrong-secret", Backend(clock, "another-secret-of-at-least-32-bytes!").handle)

    accepts, refuses = judged(make_run(at(target, None, url=f"{base}/chat/token")))

    assert (accepts.verdict, accepts.blocked_by) == (Verdict.BLOCKED, "jwt.signature")
    assert (refuses.verdict, refuses.blocked_by) == (Verdict.BLOCKED, "jwt.signature")


def test_a_refusal_of_the_socket_is_reported_with_its_code(
    make_run: Any, target: Target, endpoints: Server, clock: Clock, service: str
) -> None:
    """Without the secret, only the service can verify the signature."""
    base = endpoints.add("other-secret", Backend(clock, "another-secret-of-at-least-32-bytes!").handle)

    accepts, refuses = judged(make_run(at(target, service, url=f"{base}/chat/token", secret=None)))

    assert accepts.verdict is Verdict.FAIL
    assert accepts.message.startswith("The socket refuses the token: token_signature. ")
    assert accepts.evidence[0].label == "the call with a new key's fingerprint"
    assert (refuses.verdict, refuses.blocked_by) == (Verdict.BLOCKED, ACCEPTS)


def test_a_service_that_does_not_know_the_provider_is_named(make_run: Any, target: Target, service: str) -> None:
    accepts, _ = judged(make_run(at(target, service, provider_id=None, secret=None)))
    unknown, _ = judged(make_run(at(target, f"{service}/elsewhere")))

    assert accepts.verdict is Verdict.PASS
    assert unknown.verdict is Verdict.FAIL
    assert unknown.message == f"{service}/elsewhere/v1/public/provider/{PROVIDER} did not answer 200: status 404."
    assert "--service-url" in unknown.hint


def test_a_service_that_is_not_there_is_named(make_run: Any, target: Target) -> None:
    accepts, _ = judged(make_run(at(target, "http://127.0.0.1:9")))

    assert accepts.verdict is Verdict.FAIL
    assert accepts.message.startswith("http://127.0.0.1:9 cannot be reached (127.0.0.1: ")


def test_a_configuration_without_a_socket_uri_is_reported(make_run: Any, target: Target, serve: Any) -> None:
    async def answer(request: Request) -> Answer:
        return Answer(200, [("Content-Type", "application/json")], b'{"data": {}}')

    accepts, _ = judged(make_run(at(target, serve(answer))))

    assert accepts.verdict is Verdict.FAIL
    assert accepts.message.endswith(f"/v1/public/provider/{PROVIDER} contains no socket_uri.")


def test_a_socket_that_cannot_be_opened_is_named(make_run: Any, target: Target, serve: Any) -> None:
    async def answer(request: Request) -> Answer:
        return Answer(200, [("Content-Type", "application/json")], b'{"data": {"socket_uri": "ws://127.0.0.1:9/s"}}')

    accepts, _ = judged(make_run(at(target, serve(answer))))

    assert accepts.verdict is Verdict.FAIL
    assert accepts.message.startswith("The socket at ws://127.0.0.1:9/s could not be opened: ")


def test_an_endpoint_that_fails_for_this_key_is_told(
    make_run: Any, target: Target, endpoints: Server, backend: Backend, service: str
) -> None:
    run = make_run(at(target, service))
    report_of(run, selection=Selection(only=["claim.*", "jwt.*"]))
    backend.sessions.clear()

    accepts, _ = judged(run)

    assert accepts.verdict is Verdict.FAIL
    assert accepts.message == "The call with the new key got no token (status 200)."


class AcceptsAnything(Live):
    """A service that does not verify which key signed the proof."""

    def connect(self, key: Any) -> Said:
        return Said({"type": "ready", "identity": "member", "uid": self.answer.uid}, None)


def test_a_service_that_accepts_another_key_is_no_fault_of_the_endpoint(
    make_run: Any, target: Target, service: str
) -> None:
    """The service accepts any key, so the token proves nothing.

    The checker must report an error of the service, not a failure of the endpoint.
    """
    run = make_run(at(target, service), live=AcceptsAnything)

    accepts, refuses = judged(run)

    assert accepts.verdict is Verdict.PASS
    assert refuses.verdict is Verdict.ERROR
    assert refuses.message == f"{service} accepts the token with a proof that another key has signed."
    assert "Your endpoint is correct" in refuses.hint


class TakesForVisitor(AcceptsAnything):
    """A service that treats everybody as a visitor."""

    def connect(self, key: Any) -> Said:
        return Said({"type": "ready", "identity": "visitor", "uid": "v_1"}, None)


def test_a_socket_that_accepts_the_token_as_another_person_is_reported(
    make_run: Any, target: Target, service: str
) -> None:
    run = make_run(at(target, service), live=TakesForVisitor)

    accepts, _ = judged(run)

    assert (accepts.verdict, accepts.message) == (
        Verdict.FAIL,
        'The socket accepts the token, but as the visitor "v_1".',
    )


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[ReferenceServer]:
    begun: list[ReferenceServer] = []
    begin = ReferenceServer.begin

    def noting(server: ReferenceServer) -> Future[str]:
        begun.append(server)
        return begin(server)

    monkeypatch.setattr(ReferenceServer, "begin", noting)
    return begun


def test_for_an_endpoint_without_a_token_no_service_is_started(
    make_run: Any, target: Target, started: list[ReferenceServer]
) -> None:
    """A run that fails early must not wait for a server to start."""
    report = report_of(make_run(at(target, None, url=f"{target.url}/nowhere")))

    assert report.of(ACCEPTS).verdict is Verdict.BLOCKED
    assert started == []


def test_the_service_is_started_as_soon_as_there_is_a_token(
    make_run: Any, target: Target, started: list[ReferenceServer]
) -> None:
    """Starting the service takes a second or two. The other checks run meanwhile."""
    report_of(make_run(at(target, None)), selection=Selection(only=["jwt.compact"]))

    assert len(started) == 1
