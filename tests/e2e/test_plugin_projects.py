"""Tests of projects with test cases, asynchronous tests, and fixtures with the names of ours."""

import pytest
from tests.e2e.stand_ins import run

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.long


TEST_CASE = """
    import unittest

    import pytest

    class Chat(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def _given(self, stack, context, browser):
            self.context, self.browser = context, browser

        def test_it(self):
            assert self.browser.trusts
            assert self.context.options == {"reduced_motion": "reduce"}

    class Theirs(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def _given(self, context, browser):
            self.context, self.browser = context, browser

        def test_it(self):
            assert self.browser.trusts is None
            assert self.context.options == {}
"""


def test_a_test_case_gets_a_browser_that_trusts_the_ca(harness: pytest.Pytester) -> None:
    """pytest parametrizes no methods of a TestCase, so trust cannot come from `pytest_generate_tests`."""
    result = run(harness, TEST_CASE)

    result.assert_outcomes(passed=2)


def test_a_failure_of_a_test_case_is_explained(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import unittest

        import pytest
        from playwright.sync_api import TimeoutError

        @pytest.mark.browser_context_args(offline=True)
        class Chat(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _given(self, stack, context):
                pass

            def test_it(self):
                raise TimeoutError("Locator.click: Timeout 30000ms exceeded.")
        """,
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*Locator.click: Timeout*", "*This context was opened with offline=True*"])


@pytest.mark.parametrize(
    "code",
    [
        "async def test_it(stack, context):\n    pass",
        """
        import unittest

        import pytest

        class Chat(unittest.IsolatedAsyncioTestCase):
            @pytest.fixture(autouse=True)
            def _given(self, stack, context):
                pass

            async def test_it(self):
                pass
        """,
    ],
    ids=["function", "test case"],
)
def test_an_asynchronous_test_is_refused_with_what_to_write(harness: pytest.Pytester, code: str) -> None:
    result = run(harness, code)

    assert "passed" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*test_it is asynchronous, but uses fixtures of the harness*"])


def test_an_asynchronous_test_of_the_project_is_left_alone(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import unittest

        class Theirs(unittest.IsolatedAsyncioTestCase):
            async def test_it(self):
                pass
        """,
    )

    result.assert_outcomes(passed=1)


def test_a_fixture_stack_of_the_project_is_theirs(harness: pytest.Pytester) -> None:
    result = run(
        harness,
        """
        import pytest

        @pytest.fixture
        def stack():
            return ["theirs"]

        def test_it(stack, context, browser):
            assert stack == ["theirs"]
            assert browser.trusts is None
            assert context.options == {}
        """,
    )

    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("name", "asked", "wanted"),
    [
        ("stack", "witness", "chatkey_stack.stack.Stack"),
        ("business", "shop", "chatkey_e2e.business.Business"),
        ("page", "shop", "playwright.sync_api._generated.Page"),
        ("shop", "widget", "chatkey_e2e.pages.shop.ShopPage"),
    ],
)
def test_a_fixture_that_takes_a_name_of_ours_is_named(
    harness: pytest.Pytester, name: str, asked: str, wanted: str
) -> None:
    code = f"""
        import pytest
        from chatkey_e2e.business import Business
        from playwright.sync_api import Page

        @pytest.fixture
        def page():
            return object.__new__(Page)

        @pytest.fixture
        def business():
            return object.__new__(Business)

        @pytest.fixture
        def {name}():
            return {{"name": "theirs"}}

        def test_it({asked}):
            pass
    """

    result = run(harness, code)

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [f"The fixture '{name}' of test_*.py:* returned a dict, but the harness needs a {wanted}*"]
    )
