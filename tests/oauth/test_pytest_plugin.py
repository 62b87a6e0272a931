"""Tests of the pytest fixtures, in a separate project that only names the plugin."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.long

CONFTEST = """
import pytest

pytest_plugins = ["chatkey_oauth.pytest_plugin"]


@pytest.fixture(scope="session")
def fake_oauth_settings():
    return {"auto_approve": "rhea"}
"""
LOGIN = """
import httpx

KEYS = {"client_id": "ready-made", "redirect_uri": "http://localhost:3000/callback"}
SECRET = "ready-made-for-tests-only"
addresses = []


def log_in(oidc):
    asked = httpx.get(f"{oidc}/authorize", params={**KEYS, "response_type": "code", "scope": "openid email"})
    code = httpx.URL(asked.headers["location"]).params["code"]
    form = {**KEYS, "client_secret": SECRET, "code": code, "grant_type": "authorization_code"}
    token = httpx.post(f"{oidc}/token", data=form).json()["access_token"]
    return httpx.get(f"{oidc}/userinfo", headers={"authorization": f"Bearer {token}"}).json()
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    return pytester


def passed(project: pytest.Pytester, tests: str) -> int:
    """Run these tests, and return how many passed. No test may fail."""
    project.makepyfile(LOGIN + tests)
    ended = project.runpytest_subprocess("-p", "no:cacheprovider", "-W", "error")
    assert ended.ret == 0, ended.outlines
    return ended.parseoutcomes()["passed"]


def test_every_test_finds_the_same_fake_as_it_was_at_the_start(run: pytest.Pytester) -> None:
    tests = """
def test_one(fake_oauth):
    addresses.append(fake_oauth.url)
    fake_oauth.auto_approve("omar")
    fake_oauth.arm("status-500", times=None)


def test_two(fake_oauth):
    assert addresses == [fake_oauth.url]
    assert log_in(f"{fake_oauth.url}/oidc")["email"] == "rhea@example.com"
"""

    assert passed(run, tests) == 2


def test_a_setting_that_cannot_be_used_is_told_by_its_name(run: pytest.Pytester) -> None:
    run.makeconftest(CONFTEST.replace("rhea", "nobody-known"))
    run.makepyfile("def test_login(fake_oauth):\n    pass\n")

    ended = run.runpytest_subprocess("-p", "no:cacheprovider")

    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["*SettingsError: --auto-approve: 'nobody-known' is not one of *"])


def test_without_the_plugin_there_are_no_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_login(fake_oauth):\n    pass\n")

    ended = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    ended.assert_outcomes(errors=1)
    ended.stdout.fnmatch_lines(["*fixture 'fake_oauth' not found*"])
