"""Tells fixtures of the harness from fixtures of the project that have the same names."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from _pytest.scope import Scope

FIXTURES: Final = "chatkey_e2e.fixtures"
STACK: Final = "stack"
TRUST: Final = "chatkey_trust"

ASYNCHRONOUS: Final = (
    "{name} is asynchronous, but uses fixtures of the harness, which are made for Playwright's synchronous API. Write "
    "`def {name}` without `async` and `await`, in a class in a unittest.TestCase. Asynchronous tests that use no "
    "fixture of the harness can run in the same project, but not in the same process as Playwright's synchronous API: "
    "run them with a pytest command of their own."
)
TAKEN: Final = (
    "The fixture {name!r} of {where} returned a {found}, but the harness needs a {wanted} from the fixture of this "
    "name. Rename your fixture, or let it return a {wanted}."
)


def uses_stack(node: pytest.Item, names: Iterable[str]) -> bool:
    """Return whether one of a test's fixtures needs the harness's servers.

    A fixture `stack` of the project counts only if it is built on the harness's fixtures.
    """
    return any(_needs_stack(definitions[-1]) for name in names if (definitions := _definitions(node, name)))


def trusting(item: pytest.Item) -> None:
    """Give a method of a `unittest.TestCase` a browser that trusts the run's CA, if the method uses the stack.

    pytest does not parametrize such methods, so no `pytest_generate_tests` reaches them.
    """
    if isinstance(item, pytest.Function) and not hasattr(item, "callspec") and uses_stack(item, item.fixturenames):
        item.callspec = _Call()  # type: ignore[assignment]


def refuse_asynchronous(item: pytest.Item) -> None:
    """Fail an asynchronous test that uses the harness, and say what to write."""
    function = getattr(item, "function", None)
    if inspect.iscoroutinefunction(function) and uses_stack(item, getattr(item, "fixturenames", ())):
        pytest.fail(ASYNCHRONOUS.format(name=function.__name__), pytrace=False)


def check(request: pytest.FixtureRequest, name: str, value: object, wanted: type) -> None:
    """Fail if a fixture of the project has taken a name of ours, and returns something else."""
    if isinstance(value, wanted):
        return
    definitions = _definitions(request.node, name)
    pytest.fail(
        TAKEN.format(
            name=name,
            where=_where(definitions[-1]) if definitions else "this test",
            found=type(value).__name__,
            wanted=f"{wanted.__module__}.{wanted.__name__}",
        ),
        pytrace=False,
    )


@dataclass
class _Call:
    """What pytest reads of a parametrization, with one hidden parameter."""

    params: dict[str, object] = field(default_factory=lambda: {TRUST: True})
    indices: dict[str, int] = field(default_factory=lambda: {TRUST: 0})
    marks: Sequence[pytest.Mark] = ()
    id: str = ""
    _arg2scope: dict[str, Scope] = field(default_factory=lambda: {TRUST: Scope.Session})
    _idlist: Sequence[str] = ()


def _definitions(node: Any, name: str) -> Sequence[pytest.FixtureDef[Any]]:
    """Return the fixtures with a name that a test can see. The last one is used first."""
    info: Any = getattr(node, "_fixtureinfo", None)  # pytest offers no other way; items of other kinds lack it
    return info.name2fixturedefs.get(name, ()) if info else ()


def _needs_stack(definition: pytest.FixtureDef[Any]) -> bool:
    names = definition.argnames
    if definition.func.__module__ == FIXTURES:
        return definition.argname == STACK or STACK in names
    return definition.argname == STACK and any(name == STACK or name.startswith("chatkey_") for name in names)


def _where(definition: pytest.FixtureDef[Any]) -> str:
    code = inspect.unwrap(definition.func).__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"
