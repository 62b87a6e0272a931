"""Parts of pages that follow from the code: they stand between `<!-- kind: name -->` and `<!-- end -->`."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, is_typeddict

import examples

from chatkey_demo.site import pages
from chatkey_oauth.engine.people import SEEDED
from chatkey_oauth.providers import NAMES, load
from chatkey_protocol import frames

ROOT: Final = Path(__file__).parents[1]
PART: Final = re.compile(r"<!-- (?P<kind>example|file|table|shop): (?P<name>[^>]+?) -->\n.*?<!-- end -->", re.DOTALL)
SAID: Final = re.compile(r"(?P<who>Server|Widget)[,:] (?P<what>.+)")
SDK: Final = f"{examples.BASE_URL}/assets/sdk.js"
FENCES: Final = {".py": "python", ".html": "html"}


def has_any(page: str) -> bool:
    """Tell whether a page has generated parts."""
    return PART.search(page) is not None


def filled(page: str) -> str:
    """Return a page with every generated part as it should be. Raises `KeyError` for a part nobody makes."""
    return PART.sub(lambda part: _part(part["kind"], part["name"]), page)


def named(page: str, kind: str) -> set[str]:
    """Return the names of a page's parts of one kind."""
    return {part["name"] for part in PART.finditer(page) if part["kind"] == kind}


def _part(kind: str, name: str) -> str:
    return f"<!-- {kind}: {name} -->\n{KINDS[kind](name)}<!-- end -->"


def _example(name: str) -> str:
    return f"```json\n{json.dumps(examples.examples()[name], indent=2, ensure_ascii=False)}\n```\n"


def _file(name: str) -> str:
    path = ROOT / name
    return f"```{FENCES[path.suffix]}\n{path.read_text()}```\n"


def _shop(name: str) -> str:
    """What an integrator's page needs, as the demo's shops have it."""
    if name == "snippet":
        snippet = pages.snippet("prov_1f2e3d4c5b6a7988", SDK, get_token=True)
        absolute = snippet.replace('fetch("chat/token"', 'fetch("/chat/token"')  # the demo's shops live below a path
        return f"```html\n{absolute}\n```\n"
    policy = pages._policy("…", examples.BASE_URL, SDK).replace("; ", ";\n")  # noqa: SLF001 - shown, not used
    return f"```text\n{policy}\n```\n"


def _table(name: str) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in TABLES[name]())


def frame_types() -> list[Any]:
    """Return the frames of the socket profile, in the order of the module."""
    kinds = [found for found in vars(frames).values() if is_typeddict(found)]
    return [found for found in kinds if found is not frames.OAuthMessage and "type" in found.__annotations__]


def kind_of(frame: Any) -> str:
    """Return the word that a frame has in `type`."""
    return str(inspect.get_annotations(frame)["type"].__args__[0])


def _frames() -> Iterator[tuple[str, ...]]:
    yield "kind", "from", "members", ""
    yield "---", "---", "---", "---"
    for frame in frame_types():
        said = SAID.fullmatch(" ".join((frame.__doc__ or "").split()))
        if said is None:
            raise ValueError(f"{frame.__name__}: the docstring begins with who sends it, Server or Widget")
        what = said["what"]
        yield f"`{kind_of(frame)}`", said["who"].lower(), _members(frame), what[:1].upper() + what[1:]


def _members(frame: Any) -> str:
    names = [name for name in frame.__annotations__ if name != "type"]
    return " ".join(f"`{name}{'?' if name in frame.__optional_keys__ else ''}`" for name in names) or "none"


def _fixtures() -> Iterator[tuple[str, ...]]:
    yield "fixture", "lasts", ""
    yield "---", "---", "---"
    plugin = ast.parse((ROOT / "e2e" / "chatkey_e2e" / "plugin.py").read_text())
    for function in (node for node in plugin.body if isinstance(node, ast.FunctionDef)):
        for decorator in map(ast.unparse, function.decorator_list):
            if decorator.startswith("pytest.fixture"):
                lasts = "session" if "session" in decorator else "test"
                yield f"`{function.name}`", lasts, (ast.get_docstring(function) or "").split("\n\n")[0]


def _people() -> Iterator[tuple[str, ...]]:
    yield "id", "name", "e-mail", "what is special"
    yield "---", "---", "---", "---"
    for person in SEEDED:
        name = (person.name or "").replace("\u2028", "[U+2028]").replace("|", "\\|")
        shown = f"`{name[:40]}{'…' if len(name) > 40 else ''}`" if name else "none"
        yield f"`{person.id}`", shown, f"`{person.email}`" if person.email else "none", person.note


def _endpoints() -> Iterator[tuple[str, ...]]:
    yield "provider", "stands for", "endpoints, below its name"
    yield "---", "---", "---"
    for name in NAMES:
        provider = load(name)
        listed = re.findall(r'"((?:GET|POST|DELETE|PUT)[^"]*)"', inspect.getsource(provider.routes))
        hosts = (provider.__doc__ or "").split("\n")[0].removesuffix(".")
        yield f"`{name}`", hosts, "<br>".join(f"`{endpoint}`" for endpoint in listed)


TABLES: Final[dict[str, Callable[[], Iterator[tuple[str, ...]]]]] = {
    "frames": _frames,
    "fixtures": _fixtures,
    "people": _people,
    "fake endpoints": _endpoints,
}
KINDS: Final[dict[str, Callable[[str], str]]] = {"example": _example, "file": _file, "table": _table, "shop": _shop}
