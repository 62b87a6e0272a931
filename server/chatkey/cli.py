"""The command `chatkey`. Finds the commands of all components, and imports only the command that is run."""

from __future__ import annotations

import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

import click

from chatkey import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from importlib.metadata import EntryPoint

GROUP = "chatkey.commands"

KIT: Final = ("chatkey-kit", "chatkey_server")
"""The distribution with most of the commands, and one of its packages. Both distributions have the same version."""

AT_HAND: Final[Mapping[str, tuple[str, str]]] = MappingProxyType({"fake-oauth": ("chatkey_oauth.cli", "fake_oauth")})
"""Commands that are found without searching the installed distributions. The search takes a fifth of their start."""


def installed() -> Iterable[EntryPoint]:
    """Return the commands of all installed distributions."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - see `AT_HAND`

    return entry_points(group=GROUP)


class Commands(click.Group):
    """Finds the commands that installed distributions provide as entry points, and imports only the one that runs."""

    def __init__(
        self,
        *args: object,
        find: Callable[[], Iterable[EntryPoint]] = installed,
        **kwargs: object,
    ) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._find = find

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return sorted(self._found)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command. Raises `ClickException` if the extra that it needs is not installed."""
        if cmd_name in AT_HAND:
            module, name = AT_HAND[cmd_name]
            return cast("click.Command", getattr(import_module(module), name))
        found = self._found.get(cmd_name)
        if found is None:
            return None
        if lacking := missing(found):
            extras = ",".join(sorted(found.extras))
            others = " and other packages, which are" if lacking[1:] else ", which is"
            needs = f"`chatkey {cmd_name}` needs {lacking[0]}{others} not installed here"
            raise click.ClickException(f"{needs}: pip install 'chatkey[{extras}]'")
        return cast("click.Command", found.load())

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the requested command. If there is no such command, suggest the most similar name."""
        name = args[0]
        if not name.startswith("-") and name not in AT_HAND and name not in self._found:
            from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

            near = get_close_matches(name, self._found, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "see `chatkey --help` for the list."
            raise click.UsageError(f"There is no command {name!r}: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands, each with the first sentence of its docstring. The commands are not imported."""
        rows = [(name, summary(found)) for name, found in sorted(self._found.items())]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    @cached_property
    def _found(self) -> dict[str, EntryPoint]:
        return {found.name: found for found in self._find()}


def missing(command: EntryPoint) -> list[str]:
    """Return the packages that a command's extras require and that are not installed.

    The requirements are read from the metadata of the command's distribution.
    """
    from importlib.metadata import Distribution  # noqa: PLC0415 - see `AT_HAND`

    if not command.extras or command.dist is None:
        return []
    asked = re.compile(rf"([\w.-]+).*\bextra == ['\"]({'|'.join(command.extras)})['\"]")
    names = [found[1] for line in command.dist.requires or [] if (found := asked.match(line))]
    kit, package = KIT
    lacking = [name for name in names if name != kit and not any(Distribution.discover(name=name))]
    return lacking if kit not in names or _in_this_version(kit, package) else [f"{kit} {__version__}", *lacking]


def _in_this_version(name: str, package: str) -> bool:
    """Return whether our own distribution is installed in this version, or its package is in this checkout."""
    from importlib.metadata import Distribution  # noqa: PLC0415 - see `AT_HAND`
    from importlib.util import find_spec  # noqa: PLC0415 - see `AT_HAND`

    installed = next(iter(Distribution.discover(name=name)), None)
    return find_spec(package) is not None if installed is None else installed.version == __version__


def summary(command: EntryPoint) -> str:
    """Return the first sentence of a command's docstring without importing the command, or how to install the command.

    The list of commands must not wait for web frameworks and browsers that only some commands need.
    """
    import ast  # noqa: PLC0415 - only the listing needs it
    from importlib.util import find_spec  # noqa: PLC0415 - see above

    package = find_spec(command.module.partition(".")[0])
    spec = package and find_spec(command.module)
    if spec is None or spec.origin is None:
        return f"(not installed: pip install 'chatkey[{','.join(sorted(command.extras))}]')"
    for statement in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) and statement.name == command.attr:
            return (ast.get_docstring(statement) or "").split("\n\n")[0].split(". ")[0].removesuffix(".")
    return ""


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="chatkey")
def chatkey() -> None:
    """The reference kit for the identity handling of an embeddable chat and call widget."""


def main() -> None:
    chatkey(prog_name="chatkey")
