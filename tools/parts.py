"""Generates the parts of pages between `<!-- kind: name -->` and `<!-- end -->` from code."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, is_typeddict

from tools import check_samples, declarations, examples

from chatkey_conform.capabilities import CAPABILITIES
from chatkey_conform.data import elsewhere, later
from chatkey_oauth.app import BODY_BYTES, create_app
from chatkey_oauth.engine.flows import FLOWS, STEPS
from chatkey_oauth.engine.grants import RING
from chatkey_oauth.engine.people import SEEDED
from chatkey_oauth.engine.signing import KEYS
from chatkey_oauth.faults.rules import RULES
from chatkey_oauth.providers import NAMES, declared_switches, load
from chatkey_oauth.ready_made import READY_MADE
from chatkey_oauth.request_log import RING as LOG_RING
from chatkey_protocol import frames
from chatkey_protocol.names import SOCIALS
from chatkey_server.social import providers
from chatkey_stack.site import pages
from chatkey_stack.site.people import PEOPLE

ROOT: Final = Path(__file__).parents[1]
PART: Final = re.compile(
    r"<!-- (?P<kind>example|file|include|table|shop|sample): (?P<name>[^>]+?) -->\n.*?<!-- end -->", re.DOTALL
)
SAID: Final = re.compile(r"The (?P<who>server|widget) (?P<what>.+)")
SDK: Final = f"{examples.BASE_URL}/assets/sdk.js"
FENCES: Final = {".py": "python", ".html": "html", ".toml": "toml"}


def has_any(page: str) -> bool:
    return PART.search(page) is not None


def filled(page: str) -> str:
    """Return a page with every generated part up to date. Raises `KeyError` for an unknown part."""
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


def _include(name: str) -> str:
    return f"{INCLUDES[name]}\n"


def _shop(name: str) -> str:
    """Return the snippet or the policy of an integrator's page, as in the demo's shops."""
    if name == "snippet":
        snippet = pages.snippet("prov_1f2e3d4c5b6a7988", SDK, get_token=True)
        absolute = snippet.replace('fetch("chat/token"', 'fetch("/chat/token"')  # the demo's shops are below a path
        return f"```html\n{absolute}\n```\n"
    policy = pages._policy("strict", "…", examples.BASE_URL, SDK).replace("; ", ";\n")  # noqa: SLF001 - shown, not used
    return f"```text\n{policy}\n```\n"


def _sample(name: str) -> str:
    return f"```text\n{check_samples.sample(name)}\n```\n"


def _table(name: str) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in TABLES[name]())


def frame_types() -> list[Any]:
    """Return the frames of the socket profile, in their order in the module."""
    kinds = [found for found in vars(frames).values() if is_typeddict(found)]
    return [found for found in kinds if found is not frames.OAuthMessage and "type" in found.__annotations__]


def kind_of(frame: Any) -> str:
    return str(inspect.get_annotations(frame)["type"].__args__[0])


def _frames() -> Iterator[tuple[str, ...]]:
    yield "kind", "from", "members", ""
    yield "---", "---", "---", "---"
    for frame in frame_types():
        said = SAID.fullmatch(" ".join((frame.__doc__ or "").split()))
        if said is None:
            raise ValueError(f"{frame.__name__}: the docstring must begin with The server or The widget")
        what = said["what"]
        yield f"`{kind_of(frame)}`", said["who"], _members(frame), what[:1].upper() + what[1:]


def _members(frame: Any) -> str:
    names = [name for name in frame.__annotations__ if name != "type"]
    return " ".join(f"`{name}{'?' if name in frame.__optional_keys__ else ''}`" for name in names) or "none"


def _fixtures() -> Iterator[tuple[str, ...]]:
    yield "fixture", "lasts", ""
    yield "---", "---", "---"
    fixtures = ast.parse((ROOT / "e2e" / "chatkey_e2e" / "fixtures.py").read_text())
    for function in (node for node in fixtures.body if isinstance(node, ast.FunctionDef)):
        for decorator in map(ast.unparse, function.decorator_list):
            if decorator.startswith("pytest.fixture"):
                lasts = "session" if "session" in decorator else "test"
                yield f"`{function.name}`", lasts, (ast.get_docstring(function) or "").split("\n\n")[0]


def _people() -> Iterator[tuple[str, ...]]:
    yield "id", "name", "e-mail", "special feature"
    yield "---", "---", "---", "---"
    for person in SEEDED:
        name = (person.name or "").replace("\u2028", "[U+2028]").replace("|", "\\|")
        shown = f"`{name[:40]}{'…' if len(name) > 40 else ''}`" if name else "none"
        yield f"`{person.id}`", shown, f"`{person.email}`" if person.email else "none", person.note


def _shop_people() -> Iterator[tuple[str, ...]]:
    yield "id", "name", "e-mail"
    yield "---", "---", "---"
    for key, name, email in PEOPLE:
        yield f"`{key}`", name, f"`{email}`" if email else "none"


def _endpoints(name: str) -> Iterator[tuple[str, ...]]:
    provider = load(name)
    hosts = (provider.__doc__ or "").split("\n")[0].removeprefix("Imitates ").removesuffix(".")
    yield "method", f"path, as at {hosts}"
    yield "---", "---"
    for endpoint in re.findall(r'"((?:GET|POST|DELETE|PUT)[^"]*)"', inspect.getsource(provider.routes)):
        methods, _, path = endpoint.rpartition(" ")
        yield methods, f"`{path}`"


def _ready_made() -> Iterator[tuple[str, ...]]:
    yield "provider", "client id", "client secret"
    yield "---", "---", "---"
    for client in READY_MADE:
        key = f"none: team `{client.team_id}`, key `{client.key_id}`, and `/lab/ready-made/apple.p8`"
        yield (
            f"`{client.provider}`",
            f"`{client.client_id}`",
            f"`{client.client_secret}`" if client.client_secret else key,
        )


def _faults() -> Iterator[tuple[str, ...]]:
    yield "fault", "acts on", "what happens", "options"
    yield "---", "---", "---", "---"
    for fault in create_app().faults.catalogue():
        options = (f"`{option.name}`: {json.dumps(option.default)}" for option in fault.options)
        yield f"`{fault.name}`", ", ".join(fault.legs), fault.summary, "<br>".join(options)


def _switches() -> Iterator[tuple[str, ...]]:
    yield "switch", "default", "effect while it is on"
    yield "---", "---", "---"
    for provider, switches in declared_switches().items():
        for switch in switches:
            yield f"`{provider}.{switch.name}`", "on" if switch.default else "off", switch.summary


def _lives() -> Iterator[tuple[str, ...]]:
    yield "provider", "code", "access token", "refresh token"
    yield "---", "---", "---", "---"
    app = create_app()
    for name in NAMES:
        provider = app.provider(name)
        lives = provider.lives()
        refresh = (
            f"{_duration(lives.refresh)}{', works once' if provider.rotates else ''}" if provider.refreshes else "none"
        )
        yield f"`{name}`", _duration(lives.code), _duration(lives.access), refresh


def _duration(seconds: int | None) -> str:
    return "does not expire" if seconds is None else f"{seconds:,} s"


def _rings() -> Iterator[tuple[str, ...]]:
    yield "entries", "maximum"
    yield "---", "---"
    yield "codes, access tokens, refresh tokens and approvals of one provider, each", f"{RING:,}"
    yield "flows", f"{FLOWS:,}, of up to {STEPS} steps"
    yield "requests in the log", f"{LOG_RING:,}"
    yield "rules, including spent ones", f"{RULES:,}"
    yield "published signing keys of one provider", str(KEYS)
    yield "bytes of a request's body", f"{BODY_BYTES:,}"


def _socials() -> Iterator[tuple[str, ...]]:
    yield "", "scope", "at the token endpoint", "PKCE", "id_token", "`iss`"
    yield "---", "---", "---", "---", "---", "---"
    for name in SOCIALS:
        social = providers.load(name)
        yield (
            name,
            f"`{social.scope}`",
            f"`{social.client_auth}`",
            "yes" if social.pkce else "no",
            "yes" if social.keys_url else "no",
            " or ".join(f"`{issuer}`" for issuer in social.issuers) or "none",
        )


def _events() -> Iterator[tuple[str, ...]]:
    yield "event", "detail", ""
    yield "---", "---", "---"
    for event in declarations.events():
        yield f"`{event.name}`", ", ".join(f"`{member}`" for member in event.members), event.text


def _handle() -> Iterator[tuple[str, ...]]:
    yield "member", ""
    yield "---", "---"
    for name, text in declarations.handle().items():
        yield f"`{name}`", text


def _capabilities() -> Iterator[tuple[str, ...]]:
    yield "capability", "meaning"
    yield "---", "---"
    for name, meaning in CAPABILITIES.items():
        yield f"`{name}`", meaning


def _elsewhere() -> Iterator[tuple[str, ...]]:
    yield "part", "*must* sentences of the contract"
    yield "---", "---"
    for part, ids in elsewhere().items():
        yield PARTS[part], ", ".join(f"`{name}`" for name in ids)


def _later() -> Iterator[tuple[str, ...]]:
    yield "added on", "case"
    yield "---", "---"
    for date, entries in later().items():
        yield from ((date, f"`{entry}`") for entry in entries)


INCLUDES: Final = {
    "before the first release": "Before the first release: `python -m nox -s wheels` in a checkout, then "
    "`export PIP_FIND_LINKS=CHECKOUT/dist`."
}
"""Sentences that are in several pages. A release empties the first one."""

PARTS: Final = {
    "scenarios": "`chatkey conform --browser`: needs a browser and the fake provider",
    "widget": "`chatkey conform widget.toml`, and `--browser` with a service",
    "backend": "`chatkey check`, for the business's backend",
    "nothing": "no part: the sentence is about a panel, an administrator's form or a limit of the design",
}

TABLES: Final[dict[str, Callable[[], Iterator[tuple[str, ...]]]]] = {
    "capabilities": _capabilities,
    "elsewhere": _elsewhere,
    "later cases": _later,
    "frames": _frames,
    "socials": _socials,
    "fixtures": _fixtures,
    "people": _people,
    "shop people": _shop_people,
    **{f"fake endpoints of {name}": partial(_endpoints, name) for name in NAMES},
    "fake applications": _ready_made,
    "fake faults": _faults,
    "fake switches": _switches,
    "fake lifetimes": _lives,
    "fake rings": _rings,
    "events": _events,
    "handle": _handle,
}
KINDS: Final[dict[str, Callable[[str], str]]] = {
    "example": _example,
    "file": _file,
    "include": _include,
    "table": _table,
    "shop": _shop,
    "sample": _sample,
}
