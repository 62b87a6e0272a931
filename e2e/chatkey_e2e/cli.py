"""The command `chatkey e2e`: runs the scenarios through pytest."""

import signal
import sys
from pathlib import Path

import click

SCENARIOS = Path(__file__).parent / "scenarios"


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("-k", "expression", metavar="NAME", help="Run the scenarios whose name matches, as pytest's -k.")
@click.option("--list", "only_list", is_flag=True, help="Name the scenarios and run none.")
@click.option("--headed", is_flag=True, help="Show the browser.")
@click.option(
    "--browser",
    metavar="KIND|PATH",
    help="chromium, firefox, webkit, or a path; otherwise CHATKEY_BROWSER or the first Chromium found.",
)
@click.option("--trace", is_flag=True, help="Keep a trace of every scenario, not only of failed ones.")
@click.option(
    "--patience",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="How long one step may take.  [default: 30]",
)
@click.option("--results", metavar="FOLDER", help="Where traces and screenshots go.  [default: e2e-results]")
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def e2e(
    *,
    expression: str | None,
    only_list: bool,
    headed: bool,
    browser: str | None,
    trace: bool,
    patience: float | None,
    results: str | None,
    pytest_args: tuple[str, ...],
) -> None:
    """Drive the four identity modes in a real browser, against a stack started for the purpose.

    Further arguments go to pytest, for instance -x or --durations=10. The exit status is pytest's.
    """
    import pytest  # noqa: PLC0415  (`chatkey --help` need not wait for it)

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled pipeline leaves no server and no browser
    args = ["-c", str(SCENARIOS / "pytest.ini"), "--rootdir", str(SCENARIOS), str(SCENARIOS)]
    args += ["-k", expression] if expression else []
    args += ["--collect-only", "-q"] if only_list else []
    args += ["--chatkey-headed"] if headed else []
    args += ["--chatkey-browser", browser] if browser else []
    args += ["--chatkey-trace", "on"] if trace else []
    args += ["--chatkey-patience", str(patience)] if patience else []
    args += ["--chatkey-results", results] if results else []
    sys.exit(pytest.main([*args, *pytest_args]))
