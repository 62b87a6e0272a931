"""Converts values between Python and JavaScript, without leaving proxies behind."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import js
from pyodide.ffi import JsException, create_proxy, to_js

from chatkey_widget.json_text import read_json


def to_object(members: Mapping[str, Any]) -> Any:
    """Create a JS object with these members. Functions and JS values are passed unchanged."""
    return to_js(members, dict_converter=js.Object.fromEntries)


def to_plain(value: object) -> Any:
    """Create a JS copy of a JSON value."""
    return js.JSON.parse(json.dumps(value))


def from_plain(value: Any) -> object:
    """Return a Python copy of a JS value, or None if the value cannot be represented in JSON."""
    try:
        text = js.JSON.stringify(value)
        return read_json(text) if isinstance(text, str) else None
    except (JsException, ValueError):
        return None


def member(value: Any, name: str) -> Any:
    """Return a member of a JS object. Return None if the value is not an object, or if reading the member throws."""
    try:
        return getattr(value, name, None)
    except JsException:
        return None


def thrown(error: JsException) -> str:
    """Return the text of a thrown value as JavaScript formats it.

    Python's own text would be longer if the value is not an `Error`.
    """
    quoted = re.search('"""(.*?)"""', str(error), re.DOTALL)
    return quoted[1] if quoted else str(error)


def thrown_name(error: JsException) -> str:
    """Return the name of a thrown error, such as `SecurityError`."""
    return thrown(error).partition(":")[0]


async def call(function: Any, this: Any, *arguments: Any) -> tuple[bool, Any]:
    """Call a JS function.

    Return whether the promise was fulfilled, and its value or reason, of any type. Raises `JsException` if the function
    itself throws. The promise is awaited in JavaScript, because Pyodide would fail if the reason of the promise is not
    an `Error`.
    """
    applied = js.Reflect.apply.bind(None, function, this, js.Array.of(*arguments))
    outcomes = await js.Promise.allSettled(js.Array.from_(js.Array.of(None), applied))
    outcome = outcomes[0]
    fulfilled = outcome.status == "fulfilled"
    return fulfilled, outcome.value if fulfilled else outcome.reason


class Listeners:
    """Listeners on JS event targets that can be removed together."""

    def __init__(self) -> None:
        self._all: list[tuple[Any, str, Any]] = []

    def add(self, target: Any, name: str, handler: Callable[[Any], object]) -> None:
        proxy = create_proxy(handler)
        target.addEventListener(name, proxy)
        self._all.append((target, name, proxy))

    def remove_all(self) -> None:
        for target, name, proxy in self._all:
            target.removeEventListener(name, proxy)
            proxy.destroy()
        self._all.clear()
