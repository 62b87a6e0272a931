"""Tests of the file with the results of scenarios, from which `chatkey conform` makes its report."""

from pathlib import Path

import pytest

from chatkey_conform.judging.scenario import Scenario, read_scenarios
from chatkey_conform.judging.verdict import Verdict

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from types import SimpleNamespace
from chatkey_conform.grades.business import HarnessError
from chatkey_e2e.witness import witness_key

@pytest.fixture
def adapter():
    raise HarnessError("the adapter\\nfailed")

@pytest.mark.contract("3/logout", "2.3/silent")
@pytest.mark.parametrize("social", ["google"])
def test_passes(social):
    '''Something
    is so.'''

@pytest.fixture
def witness(request):
    address = "https://chat.test/v1/public/provider/p/member/token?auth=eyJhbGciOi.eyJwaWQi.c2ln"
    asked = [SimpleNamespace(method="GET", url=address)]
    sent = [SimpleNamespace(text='{"type": "connect", "token": "abc"}'), SimpleNamespace(text="no JSON")]
    seen = {"requests": asked, "sent": sent, "accepted": [{"type": "ready"}], "pages": [], "settings": {}}
    seen["refusal"] = {"type": "error", "code": "proof_htu"}
    request.node.stash[witness_key] = SimpleNamespace(**seen, secrets=set(), hidden=set(), output=dict)

@pytest.mark.contract("3/renewal")
def test_fails(witness):
    assert False, "x" * 400

def test_has_a_broken_adapter(adapter): ...

@pytest.fixture
def leaking():
    yield
    pytest.fail("a secret leaked:\\na token of type 'visitor' in the console", pytrace=False)

def test_leaks(leaking): ...

@pytest.mark.skip(reason="not applicable: clock")
def test_needs_a_clock(): ...

@pytest.mark.skip(reason="not in chromium")
def test_is_for_another_browser(): ...

@pytest.mark.xfail(reason="known failure: soon", strict=False)
def test_is_known(): assert False

@pytest.mark.needs("kit")
def test_is_about_the_kit(): ...

def test_ends_the_run(request):
    request.session.shouldstop = "enough"

def test_is_not_reached(): ...
"""


@pytest.fixture
def results(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> dict[str, Scenario]:
    """The results of a run of `TESTS`, by the name of the test."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(test_it=TESTS)
    pytester.runpytest_inprocess("-p", "playwright", "-p", "chatkey_e2e.plugin", "--chatkey-results", "results.json")
    return {scenario.id.rpartition("::")[2]: scenario for scenario in read_scenarios(Path("results.json"))}


def test_each_scenario_about_the_contract_has_a_verdict(results: dict[str, Scenario]) -> None:
    assert {name: scenario.verdict for name, scenario in results.items()} == {
        "test_passes[google]": Verdict.PASSED,
        "test_fails": Verdict.FAILED,
        "test_has_a_broken_adapter": Verdict.ERROR,
        "test_leaks": Verdict.PASSED,
        "test_needs_a_clock": Verdict.NOT_APPLICABLE,
        "test_is_for_another_browser": Verdict.NOT_RUN,
        "test_is_known": Verdict.KNOWN,
        "test_ends_the_run": Verdict.PASSED,
        "test_is_not_reached": Verdict.NOT_RUN,
        "leaks/2.6/memory-only": Verdict.FAILED,
        "refusals/D-10/proof": Verdict.FAILED,
    }


def test_a_leak_is_charged_to_the_sentence_about_it_and_not_to_the_scenario(results: dict[str, Scenario]) -> None:
    leak = results["leaks/2.6/memory-only"]

    assert leak.sentences == ("2.6/memory-only",)
    assert leak.reason == "a token of type 'visitor' in the console (test_leaks)"


def test_a_refused_proof_is_charged_to_the_sentence_about_proofs_and_the_reason_quotes_the_error_frame(
    results: dict[str, Scenario],
) -> None:
    refused = results["refusals/D-10/proof"]

    assert refused.sentences == ("D-10/proof",)
    assert '{"type": "error", "code": "proof_htu"}' in refused.reason


def test_a_result_has_title_sentences_and_a_short_reason(results: dict[str, Scenario]) -> None:
    passed, failed = results["test_passes[google]"], results["test_fails"]

    assert (passed.id, passed.title, passed.reason) == ("test_it.py::test_passes[google]", "Something is so.", "")
    assert passed.sentences == ("3/logout", "2.3/silent")
    assert failed.reason.startswith("AssertionError: xxx")
    assert len(failed.reason) < 310
    assert [step.sent for step in failed.steps] == [
        "GET https://chat.test/v1/public/provider/p/member/token?auth=[redacted]",
        '→ {"type": "connect", "token": "[3 characters]"}',
        "→ no JSON",
        '← {"type": "ready"}',
    ]
    assert results["test_has_a_broken_adapter"].reason.endswith("the adapter failed")
    assert results["test_needs_a_clock"].reason == "not applicable: clock"
    assert results["test_is_not_reached"].reason == "the run ended before this scenario"
