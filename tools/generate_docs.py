"""Writes the pages, and parts of pages, that are generated from code. With --check, lists the outdated pages."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import click
from tools import checks_page, codes_page, contract, declarations, limits_page, parts, refusals_page, schemas, vectors

from chatkey.cli import GROUP
from chatkey_server.settings import SETTINGS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NOTE = "<!-- `nox -s docs -- --write` writes this page from the code. -->\n\n"


def settings() -> str:
    entries = (f"## {setting.name}\n\n{setting.help}{_default(setting.default)}\n" for setting in SETTINGS)
    return (
        "# Settings\n\nThe server reads its settings from environment variables, and checks them before it starts. An "
        "error names the setting and says what to write, but never shows the value. An empty variable is not set."
        f"\n\n{NOTE}" + "\n".join(entries) + "\nNext: [run the service](operators.md).\n"
    )


def commands() -> str:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]
    found = [EntryPoint(name, value, GROUP) for name, value in sorted(declared.items())]
    helps = (page for command in found for page in _command_pages(command.load(), ("chatkey", command.name)))
    end = "\nNext: [settings](settings.md), for `chatkey serve`.\n"
    return f"# Commands\n\n{NOTE}{_extras(found)}\n" + "\n".join(helps) + end


def _extras(found: list[EntryPoint]) -> str:
    """Return a table of the commands, grouped by the extra that installs them."""
    names: dict[str, list[str]] = {}
    for command in found:
        what = f"chatkey[{','.join(sorted(command.extras))}]" if command.extras else "chatkey"
        names.setdefault(what, []).append(command.name)
    rows = (f"| `pip install '{what}'` | {', '.join(map(_code, names[what]))} |\n" for what in sorted(names))
    return "| installed by | commands |\n| --- | --- |\n" + "".join(rows)


WHOLE: dict[str, Callable[[], str]] = {
    "contract.md": contract.page,
    "settings.md": settings,
    "codes.md": lambda: codes_page.page(NOTE),
    "commands.md": commands,
    "limits.md": lambda: limits_page.page(NOTE),
    "checks.md": lambda: checks_page.page(NOTE),
    "refusals.md": lambda: refusals_page.page(NOTE),
}


def pages() -> Iterator[tuple[Path, str]]:
    """Yield every file that is generated in whole or in part, with the text that the file should have."""
    yield from ((DOCS / name, make()) for name, make in WHOLE.items())
    for page in (ROOT / "README.md", *sorted(DOCS.glob("*.md"))):
        if page.name not in WHOLE and parts.has_any(page.read_text()):
            yield page, parts.filled(page.read_text())
    yield from ((DOCS / "schemas" / name, text) for name, text in schemas.schemas())
    yield vectors.FILE, vectors.text()
    yield declarations.FILE, declarations.with_codes(declarations.FILE.read_text(), codes_page.every_code())


@click.command()
@click.option("--check/--write", help="List outdated pages, or update them (the default).")
def main(*, check: bool) -> None:
    """Write the generated pages, or compare them."""
    made = list(pages())
    stale = [path.name for path, text in made if _brought_up_to_date(path, text, check=check)]
    if check and stale:
        raise click.ClickException(f"Outdated pages: {', '.join(stale)}. Run `nox -s docs -- --write`.")
    click.echo(f"docs: {len(made)} generated pages, {len(stale)} written")


def _brought_up_to_date(path: Path, text: str, *, check: bool) -> bool:
    if path.exists() and path.read_text() == text:
        return False
    if not check:
        path.write_text(text)
    return True


def _default(text: str) -> str:
    return f" Default: `{text}`." if text else ""


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _command_pages(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join(path), max_content_width=100, terminal_width=100)
    yield f"## {' '.join(path)}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _command_pages(child, (*path, name))


if __name__ == "__main__":
    main()
