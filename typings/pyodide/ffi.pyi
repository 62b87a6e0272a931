from collections.abc import Callable
from typing import Any

class JsProxy:
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class JsException(Exception):
    js_error: Any
    name: str
    message: str

class JsNull: ...

jsnull: JsNull

def create_once_callable(obj: Any, /) -> Any: ...
def create_proxy(obj: Any, /, *, capture_this: bool = ..., roundtrip: bool = ...) -> Any: ...
def to_js(
    obj: Any,
    /,
    *,
    depth: int = ...,
    create_pyproxies: bool = ...,
    dict_converter: Callable[[Any], Any] | None = ...,
) -> Any: ...
