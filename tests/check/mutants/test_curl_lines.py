"""Tests of the printed curl lines of calls to a running server."""

from __future__ import annotations

import pytest
from tests.check.mutants import self_test
from tests.check.mutants.mutant_backend import SECRET, UNUSUAL, Clock
from tests.check.mutants.mutant_server import Server

from chatkey_check.evidence.shown import evidence
from chatkey_check.run import opened
from chatkey_check.target import OptionError
from chatkey_check.wire import http


def test_without_h2_the_command_says_how_to_install_it(mutant_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = UNUSUAL["OnlyHttp2"]
    base = mutant_server.add("only-http2-here", kind(Clock()).handle)
    monkeypatch.setattr(http, "find_spec", lambda name: None)

    told = pytest.raises(OptionError, match=r"speaks only HTTP/2: pip install 'chatkey\[http2\]'")
    with opened(self_test.target_for(kind, base, mutant_server.port, SECRET)) as run, told:
        _ = run.calls.first


def test_the_curl_line_of_a_call_over_http2_without_tls_says_so(mutant_server: Server) -> None:
    """Without TLS, curl cannot find out that a server speaks only HTTP/2."""
    kind = UNUSUAL["OnlyHttp2"]
    base = mutant_server.add("only-http2", kind(Clock()).handle)
    target = self_test.target_for(kind, base, mutant_server.port, SECRET)

    with opened(target) as run:
        calls = [run.calls.first, run.calls.second]
        lines = [evidence(done, target, run.calls.masks).curl for done in calls]

    assert [done.status for done in calls] == [200, 200]
    assert all(line.startswith("curl -i --http2-prior-knowledge ") for line in lines)
