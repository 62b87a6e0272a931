"""Extends fixtures of pytest-playwright. Import it in a conftest.py:

    from chatkey_e2e.overrides import *

This import also makes `chatkey.pytest_plugin` load the plugin. The overrides are not in the plugin, because only a
`conftest.py` reliably overrides the fixtures of another plugin. Each fixture here calls the fixture of
pytest-playwright and extends the result. Your settings take precedence: options, your own overrides,
`@pytest.mark.browser_context_args(…)`, or arguments. Tests that use no fixture of the harness get only the path of the
browser.
"""

from collections.abc import Callable
from typing import Any

import pytest

try:
    import pytest_playwright  # noqa: F401  (whose fixtures the overrides extend)
    from playwright.sync_api import Browser, BrowserContext
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}. Browser tests need the extra: pip install 'chatkey[e2e]'") from error

from chatkey_e2e import plugin as chatkey_harness  # chatkey.pytest_plugin registers it
from chatkey_e2e.annotations import Members, Watch
from chatkey_e2e.people import trusting

__all__ = ["browser_context_args", "browser_type_launch_args", "chatkey_harness", "launch_browser", "new_context"]

TWICE = (
    "new_context({name}={value!r}): the fixture browser_context_args of your project sets {name!r}, too, and "
    "pytest-playwright accepts an argument only once. Use @pytest.mark.browser_context_args({name}={value!r}), which "
    "takes precedence."
)

CALM = {"reduced_motion": "reduce"}
"""Switches animations off, so that tests need not wait for them."""


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: Members, chatkey_launch: Callable[[Members], Members]
) -> Members:
    """The arguments of `launch`: the path of the browser, and the CA that Chromium must trust."""
    return chatkey_launch(browser_type_launch_args)


@pytest.fixture(scope="session")
def launch_browser(
    launch_browser: Callable[..., Browser],
    browser_type_launch_args: Members,
    chatkey_launch: Callable[[Members], Members],
) -> Callable[..., Browser]:
    """Start another browser. Your `args` are added to the harness's `args`; your other arguments take precedence."""

    def launch(**members: Any) -> Browser:
        args = [*browser_type_launch_args.get("args", ()), *members.pop("args", ())]
        more = {"args": args} if args else {}
        return launch_browser(**chatkey_launch({**browser_type_launch_args, **members, **more}))

    return launch


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: Members, browser_name: str, chatkey_trust: str | None) -> Members:
    """The arguments of `new_context`. Chromium trusts the CA by its key; all other browsers ignore HTTPS errors."""
    return browser_context_args if chatkey_trust is None else trusting(browser_name, browser_context_args)


@pytest.fixture
def new_context(
    request: pytest.FixtureRequest,
    new_context: Callable[..., BrowserContext],
    browser_context_args: Members,
    browser_type_launch_args: Members,
    chatkey_trust: str | None,
) -> Callable[..., BrowserContext]:
    """Open a context. If the test uses a fixture of the harness, the harness watches the context."""
    if chatkey_trust is None:
        return new_context
    marker = request.node.get_closest_marker("browser_context_args")
    said = {**browser_context_args, **(marker.kwargs if marker else {})}
    ours = trusting(
        request.getfixturevalue("browser_name"), {} if "ignore_default_args" in browser_type_launch_args else CALM
    )
    added = {name: value for name, value in ours.items() if name not in said}
    launched = {name: value for name, value in browser_type_launch_args.items() if name == "proxy"}
    watch: Watch = request.getfixturevalue("chatkey_watch")

    def make(**members: Any) -> BrowserContext:
        if twice := [name for name, value in members.items() if said.get(name, value) != value]:
            pytest.fail(TWICE.format(name=twice[0], value=members[twice[0]]), pytrace=False)
        wanted = {**added, **members}
        context = new_context(**{name: value for name, value in wanted.items() if said.get(name) != value})
        return watch(context, {**launched, **said, **wanted})

    return make
