"""The command `chatkey check`: reads the options, runs the checks and writes the report."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from chatkey_check.options.table import OPTIONS, Kind, Option


class WrongUsage(click.UsageError):
    """An option has an unusable value. The command ends with status 4."""

    exit_code = 4


class NoBrowser(click.ClickException):
    """No browser was found for --browser. The command ends with status 8."""

    exit_code = 8


class CheckCommand(click.Command):
    """A command whose usage errors end with status 4."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments. Raises `WrongUsage` if click rejects the arguments."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise WrongUsage(error.format_message(), error.ctx) from error

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group."""
        listed = {parameter.name: parameter for parameter in self.get_params(ctx)}
        for group, members in groupby(OPTIONS, lambda option: option.group):
            rows = [listed[option.field].get_help_record(ctx) for option in members]
            with formatter.section(group):
                formatter.write_dl([row for row in rows if row is not None])
        last = self.get_help_option(ctx)
        row = last.get_help_record(ctx) if last is not None else None
        with formatter.section("Other"):
            formatter.write_dl([row] if row is not None else [])


def _explain(context: click.Context, _parameter: click.Parameter, check_id: str | None) -> None:
    """Print the page of a check, or the list of all checks, and exit."""
    if check_id is None or context.resilient_parsing:
        return
    from chatkey_check.command import explain  # noqa: PLC0415 - it imports the checks

    try:
        click.echo(explain.page(check_id) if check_id else explain.listing())
    except explain.UnknownCheckError as error:
        raise WrongUsage(str(error), context) from None
    context.exit()


INSTEAD_OF_A_RUN: Final[dict[str, dict[str, Any]]] = {
    "explain": {"is_flag": False, "flag_value": "", "is_eager": True, "expose_value": False, "callback": _explain},
}
"""Options that are handled before all others, so that they work without an address."""


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the table to a command."""
    for option in reversed(OPTIONS):
        command = click.option(*_declared(option), **_about(option))(command)
    return command


def _declared(option: Option) -> list[str]:
    switch = f"--{option.name}"
    long = f"{switch}/--no-{option.name}" if option.kind is Kind.FLAG and option.default else switch
    return [*([option.short] if option.short else []), long, option.field]


def _about(option: Option) -> dict[str, Any]:
    """Return the arguments that declare an option to click."""
    told: dict[str, Any] = {"help": option.help, **INSTEAD_OF_A_RUN.get(option.field, {})}
    if option.kind is Kind.FLAG:
        return told | ({"default": True} if option.default else {"is_flag": True})
    told |= {"type": _type(option), "multiple": option.many}
    told |= {} if option.kind in NAMED_BY_CLICK else {"metavar": str(option.kind)}
    return told | ({"default": option.default, "show_default": True} if option.default else {})


NAMED_BY_CLICK: Final = frozenset({Kind.PATH, Kind.SECONDS, Kind.CHOICE})


def _type(option: Option) -> click.ParamType[Any] | type:
    match option.kind:
        case Kind.PATH:
            return click.Path(path_type=Path)
        case Kind.SECONDS:
            return float
        case Kind.CHOICE:
            return click.Choice(option.choices)
        case _:
            return str


@click.command(cls=CheckCommand)
@click.argument("url", required=False)
@_options
@click.pass_context
def check(context: click.Context, /, **given: Any) -> None:
    """Report what is wrong with a getToken endpoint, why, and what to change.

    You can start without a secret or a login. Checks that need them are reported as not judged, with the missing
    option. Secrets come from the environment or a file, and are never shown.

    \b
    Exit status: 0 clean, 1 failed, 3 error in chatkey, 4 wrong usage,
    5 nothing judged, 6 warnings with --strict, 7 unreachable,
    8 no browser for --browser, 9 necessary checks not judged.
    """
    # Imported here so that `--help` does not have to wait.
    from chatkey_check.command import init, invocation  # noqa: PLC0415
    from chatkey_check.options.file import merged  # noqa: PLC0415
    from chatkey_check.target import BrowserMissing, OptionError  # noqa: PLC0415
    from chatkey_stack.process import ended_in_order  # noqa: PLC0415

    try:
        if given["init"]:
            init.ask(Path())
            return
        written = {name: value for name, value in given.items() if _was_written(context, name)}
        with ended_in_order():
            sys.exit(invocation.read(merged(written, here=Path())).run())
    except BrowserMissing as error:
        raise NoBrowser(str(error)) from error
    except OptionError as error:
        raise WrongUsage(str(error)) from error


def _was_written(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE
