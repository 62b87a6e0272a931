"""Fixtures for a widget without a browser. The test controls the service, the page and the clock."""

from __future__ import annotations

import pytest
from tests.widget.caller import Caller
from tests.widget.driver import PID, Driver, MakeWidget, click, post

from chatkey_widget import events
from chatkey_widget.context import Settings


@pytest.fixture
def make_widget() -> MakeWidget:
    """Return a function that makes a widget.

    With `custom_login=True`, the page has a `getToken`, and the driver's `page` determines the results of `getToken`.
    """

    def make(*, custom_login: bool = False, **options: object) -> Driver:
        settings = Settings("https://chat.test", "https://chat.test", "https://shop.test", PID, custom_login)
        return Driver(settings, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def visitor(make_widget: MakeWidget) -> Driver:
    """A widget that is connected as the visitor, on a page without `getToken`."""
    return make_widget().start()


@pytest.fixture
def member(make_widget: MakeWidget) -> Driver:
    """A widget that is connected as the custom-login member `ada`."""
    driver = make_widget(custom_login=True)
    driver.page = lambda call: events.GetTokenReturned(call.ref, driver.custom())
    return driver.start()


@pytest.fixture
def caller(visitor: Driver) -> Caller:
    return Caller(visitor)


@pytest.fixture(params=["visitor", "member"])
def anyone(request: pytest.FixtureRequest) -> Driver:
    """A connected widget. Each test runs once as the visitor and once as a member."""
    driver: Driver = request.getfixturevalue(request.param)
    return driver


@pytest.fixture
def grace(visitor: Driver) -> Driver:
    post(visitor, click(visitor))
    return visitor
