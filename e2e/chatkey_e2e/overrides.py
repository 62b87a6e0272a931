"""What the harness adds to fixtures of pytest-playwright: one import in the top-most conftest.py.

    from chatkey_e2e.overrides import *

It brings the plugin, too. A `conftest.py` overrides a plugin's fixtures reliably, another plugin
does not. Each fixture here calls pytest-playwright's own and adds to its result. What you ask for wins: by an option,
by your own overrides, by `@pytest.mark.browser_context_args(…)`, or as an argument. Tests that ask for nothing of the
harness get the found browser's path, and nothing else of it.
"""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from chatkey_e2e.keeping import archives

__all__ = ["browser_context_args", "browser_type_launch_args", "launch_browser", "new_context", "pytest_plugins"]

pytest_plugins = ["chatkey_e2e.plugin"]

CALM = {"reduced_motion": "reduce"}
"""Nobody waits for animations."""

Members = dict[str, Any]


@pytest.fixture(scope="session")
def browser_type_launch_args(
    browser_type_launch_args: Members, chatkey_launch: Callable[[Members], Members]
) -> Members:
    """The arguments of `launch`: where the browser is, and the CA that a Chromium is to trust."""
    return chatkey_launch(browser_type_launch_args)


@pytest.fixture(scope="session")
def launch_browser(
    launch_browser: Callable[..., Browser],
    browser_type_launch_args: Members,
    chatkey_launch: Callable[[Members], Members],
) -> Callable[..., Browser]:
    """Start a further browser: `args` are added to ours, everything else replaces it."""

    def launch(**members: Any) -> Browser:
        args = [*browser_type_launch_args.get("args", ()), *members.pop("args", ())]
        more = {"args": args} if args else {}
        return launch_browser(**chatkey_launch({**browser_type_launch_args, **members, **more}))

    return launch


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: Members, browser_name: str, chatkey_trust: str | None) -> Members:
    """The arguments of `new_context`: only a Chromium can be told to trust one CA by its key."""
    if chatkey_trust is None or browser_name == "chromium":
        return browser_context_args
    return {"ignore_https_errors": True, **browser_context_args}


@pytest.fixture
def new_context(
    request: pytest.FixtureRequest,
    new_context: Callable[..., BrowserContext],
    browser_context_args: Members,
    browser_type_launch_args: Members,
    chatkey_trust: str | None,
) -> Callable[..., BrowserContext]:
    """Open a context, which the harness watches where the test asks for something of the harness."""
    if chatkey_trust is None:
        return new_context
    marker = request.node.get_closest_marker("browser_context_args")
    said = {**browser_context_args, **(marker.kwargs if marker else {})}
    calm = {} if "reduced_motion" in said or "ignore_default_args" in browser_type_launch_args else CALM
    watch: Callable[..., BrowserContext] = request.getfixturevalue("chatkey_watch")

    def make(**members: Any) -> BrowserContext:
        wanted = {**calm, **members}
        context = new_context(**{name: value for name, value in wanted.items() if said.get(name) != value})
        return watch(context, *archives({**said, **wanted}))

    return make
