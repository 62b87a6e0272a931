"""The command `chatkey check`: reads its options, runs the checks, writes the report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

from chatkey_e2e.gettoken import reports
from chatkey_e2e.gettoken.options.live import RESULTS

FORMATS: Final = (reports.TERMINAL, *reports.NAMES)


class WrongUsage(click.UsageError):
    """An option that cannot be used; ends with a status of its own."""

    exit_code = 4


class CheckCommand(click.Command):
    """A command whose usage errors end with status 4."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            raise WrongUsage(error.format_message(), error.ctx) from error


def _explain(context: click.Context, _parameter: click.Parameter, check_id: str | None) -> None:
    """Print the page of a check, or the list of them, and end."""
    if check_id is None or context.resilient_parsing:
        return
    from chatkey_e2e.gettoken.command import explain  # noqa: PLC0415 - it imports the checks

    try:
        click.echo(explain.page(check_id) if check_id else explain.listing())
    except explain.UnknownCheckError as error:
        raise WrongUsage(str(error), context) from None
    context.exit()


@click.command(cls=CheckCommand)
@click.argument("url")
@click.option("--provider-id", metavar="ID", help="Your provider id.")
@click.option("--secret-env", metavar="NAME", help="Environment variable that holds secret_key.")
@click.option("--secret-file", type=click.Path(path_type=Path), help="File that holds secret_key.")
@click.option(
    "--other-secret-env",
    "other_secret_envs",
    metavar="NAME",
    multiple=True,
    help="Variable with the secret of another environment, to recognise it. Repeatable.",
)
@click.option(
    "--login",
    "login",
    metavar="HEADER",
    multiple=True,
    help="Header that carries a session, such as 'Cookie: sid=…'; @FILE reads it from a file. Repeatable.",
)
@click.option("--login-b", "login_b", metavar="HEADER", multiple=True, help="The same for a second person. Repeatable.")
@click.option("--login-url", metavar="URL", help="Login form to fill in instead; its hidden inputs are sent along.")
@click.option("--login-field", "login_fields", metavar="NAME=VALUE", multiple=True, help="Field of it. Repeatable.")
@click.option(
    "--login-field-env",
    "login_field_envs",
    metavar="NAME=VARIABLE",
    multiple=True,
    help="Field whose value is in an environment variable, such as a password. Repeatable.",
)
@click.option(
    "--login-field-b", "login_fields_b", metavar="NAME=VALUE", multiple=True, help="The second person's. Repeatable."
)
@click.option(
    "--login-field-env-b",
    "login_field_envs_b",
    metavar="NAME=VARIABLE",
    multiple=True,
    help="The second person's. Repeatable.",
)
@click.option(
    "--header",
    "headers",
    metavar="HEADER",
    multiple=True,
    help="Sent with every call, such as 'X-CSRFToken: {cookie:csrftoken}'; @FILE reads it. Repeatable.",
)
@click.option("--page-origin", metavar="ORIGIN", help="Origin of the page.  [default: the endpoint's]")
@click.option("--page-url", metavar="URL", help="A page of yours, searched for the secret; --browser uses it.")
@click.option("--whoami", metavar="URL", help="Address that answers 200 to a session that is logged in.")
@click.option("--logout-url", metavar="URL", help="Address that logs out. The session given by --login ends.")
@click.option("--ca", type=click.Path(path_type=Path), help="Certificate authority to trust besides the system's, PEM.")
@click.option("--insecure-tls", is_flag=True, help="Accept any certificate.")
@click.option(
    "--connect-to",
    "connect_to",
    metavar="HOST=ADDRESS",
    multiple=True,
    help="Connect to this address for that host name. Repeatable.",
)
@click.option("--timeout", type=click.FloatRange(min=0.1), default=10.0, show_default=True, help="Seconds to wait.")
@click.option(
    "--socket/--no-socket",
    default=True,
    help="Open a real socket at the end, of a server started for it.  [default: yes]",
)
@click.option("--service-url", metavar="URL", help="Base address of a chat service that runs, to be used instead.")
@click.option(
    "--browser", is_flag=True, help="Put a real widget on your page (--page-url, or an empty one), at the end."
)
@click.option("--browser-login", is_flag=True, help="The same, and log in by hand first, in a browser that you see.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    default=RESULTS,
    show_default=True,
    help="Folder for what is kept when the browser fails.",
)
@click.option("--yes", is_flag=True, help="Send requests to a host that is not this machine.")
@click.option("--plan", is_flag=True, help="Print every request, and send none.")
@click.option(
    "--only", metavar="PATTERN", multiple=True, help="Judge only these checks, such as 'claim.*'. Repeatable."
)
@click.option("--skip", metavar="PATTERN", multiple=True, help="Leave these checks out. Repeatable.")
@click.option(
    "--known-failures",
    type=click.Path(path_type=Path),
    help="File of 'id: reason' lines; an entry that is not needed any more fails.",
)
@click.option("--strict", is_flag=True, help="End with status 6 when there are warnings.")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="terminal", show_default=True, help="Of the report."
)
@click.option("--output", type=click.Path(path_type=Path), help="File for the report.  [default: standard output]")
@click.option(
    "--explain",
    metavar="ID",
    is_flag=False,
    flag_value="",
    is_eager=True,
    expose_value=False,
    callback=_explain,
    help="Print what a check is about, and how to mend what it finds; without an id, list them.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show every check.")
@click.option(
    "--watch",
    "watched",
    metavar="PATH",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Run again when files change.",
)
def check(
    *,
    yes: bool,
    plan: bool,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    known_failures: Path | None,
    strict: bool,
    form: str,
    output: Path | None,
    verbose: bool,
    watched: tuple[Path, ...],
    **given: Any,
) -> None:
    """Tell what is wrong with a getToken endpoint, why, and what to change.

    Give it what you have: without a secret, a login or a second one, what can be judged is judged, and what cannot
    says which option would allow it. Secrets come from the environment or a file, and are never shown.

    \b
    Ends with status 0 clean, 1 failed, 3 error of chatkey, 4 wrong usage,
    5 nothing judged, 6 warnings with --strict, 7 unreachable.
    """
    # `--help` need not wait for the rest.
    from chatkey_e2e.gettoken.command.invocation import Invocation  # noqa: PLC0415
    from chatkey_e2e.gettoken.options import target as options  # noqa: PLC0415
    from chatkey_e2e.gettoken.running import known  # noqa: PLC0415
    from chatkey_e2e.gettoken.running.runner import Selection  # noqa: PLC0415
    from chatkey_e2e.gettoken.target import OptionError  # noqa: PLC0415

    try:
        invocation = Invocation(
            options.target(options.Given(**given)),
            known=known.read(known_failures) if known_failures else known.Known(),
            selection=Selection(only, skip),
            strict=strict,
            form=form,
            output=output,
            verbose=verbose,
        )
        if plan:
            sys.exit(invocation.plan())
        invocation.check_allowed(yes=yes)
        invocation = invocation.with_login_by_hand()
        sys.exit(invocation.watch(watched) if watched else invocation.once())
    except OptionError as error:
        raise WrongUsage(str(error)) from error
