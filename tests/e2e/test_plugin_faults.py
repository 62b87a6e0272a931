"""Tests of the faults that a test arms, and of the timelines of its logins."""

import pytest
from tests.e2e.stand_ins import run

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.long


def test_a_fault_acts_only_in_the_tests_context_and_is_disarmed_afterwards(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(faults, context, stack):
            rule = faults.arm("code-used", provider="google")
            rule.hits = 1
            (cookie,) = context.cookies
            assert (cookie["name"], cookie["url"]) == ("chatkey_flow", "https://id.localhost:1")
            assert (rule.scope.cookie, rule.scope.provider) == (cookie["value"], "google")

        def test_behind_it(stack):
            assert stack.provider_lab.armed == []
        """,
    )

    result.assert_outcomes(passed=2)


@pytest.mark.contract("D-14/fault-missed")
def test_a_fault_that_is_never_hit_fails_its_test_and_is_disarmed(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(faults):
            faults.arm("code-used", provider="google")

        def test_behind_it(stack):
            assert stack.provider_lab.armed == []
        """,
    )

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["The fault 'code-used' for provider 'google', cookie '*' was armed but never acted.*"])


def test_a_fault_of_the_service_that_is_never_hit_fails_its_test_and_is_disarmed(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_never(stack):
            stack.service_lab.rules = [{"rule": {"action": "close", "where": "ack"}, "hits": 0}]

        def test_hit(stack):
            assert stack.service_lab.rules == []
            stack.service_lab.rules = [{"rule": {"action": "close", "where": "ack"}, "hits": 1}]

        def test_behind_it(stack):
            assert stack.service_lab.rules == []
        """,
    )

    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["The service's fault 'close' at 'ack' was armed and never hit."])


def test_a_failure_is_not_hidden_by_a_fault_that_was_not_hit(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(faults):\n    faults.arm('code-used')\n    assert 1 == 2")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2"])
    result.stdout.no_fnmatch_line("*never hit*")


def test_each_context_has_a_mark_of_its_own(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        def test_it(new_context, make_faults):
            one, other = (make_faults(new_context()).arm("slow") for _ in range(2))
            one.hits = other.hits = 1
            assert one.scope.cookie != other.scope.cookie
        """,
    )

    result.assert_outcomes(passed=1)


def test_a_failing_report_has_the_timelines_of_the_tests_logins(harness: pytest.Pytester) -> None:
    result = run(harness, "def test_it(new_context, stack):\n    new_context()\n    assert False")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*login f_1 at google*", "*+1.50 s*token*POST /token*400", "*fault: code-used"])


def test_a_failure_is_reported_even_if_the_fake_has_ended(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import httpx

        def refuse(scope):
            raise httpx.ConnectError("refused")

        def test_it(new_context, stack):
            new_context()
            stack.provider_lab.flows = refuse
            assert 1 == 2
        """,
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*assert 1 == 2", "*The fake provider's timelines could not be read: refused*"])


def test_faults_for_a_context_that_is_not_watched_are_refused(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        @pytest.fixture
        def context(browser):
            return browser.new_context()

        def test_it(faults):
            pass
        """,
    )

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["The harness does not watch this context*new_context*"])
