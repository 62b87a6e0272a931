"""The command `chatkey e2e`: runs the scenarios through pytest."""

import os
import shlex
import sys
from pathlib import Path

import click

from chatkey_stack.browsers.search import KINDS
from chatkey_stack.process import ended_in_order

SCENARIOS = Path(__file__).parent / "scenarios"


@click.command(context_settings={"ignore_unknown_options": True})
@click.option("-k", "expression", metavar="NAME", help="Run only the scenarios whose name matches, like pytest's -k.")
@click.option(
    "--target",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="TARGET.toml of another service, or widget.toml of another widget, to run against.",
)
@click.option("--list", "only_list", is_flag=True, help="List the scenarios, and run none.")
@click.option(
    "--browser",
    "wanted",
    metavar="KIND|PATH",
    multiple=True,
    help="chromium, firefox, webkit or a path. Repeatable.  [default: CHATKEY_BROWSER or the first Chromium found]",
)
@click.option(
    "--patience",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    help="Timeout of one step.  [default: 30]",
)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def e2e(
    *,
    expression: str | None,
    target: str | None,
    only_list: bool,
    wanted: tuple[str, ...],
    patience: float | None,
    pytest_args: tuple[str, ...],
) -> None:
    """Drive the four identity modes in a real browser, against a stack that is started for the run.

    All other arguments are passed to pytest and pytest-playwright: -x, --headed, --tracing on, --device "iPhone 13".
    Files saved on failure are in e2e-results, unless you set --output. The exit status is pytest's.
    """
    import pytest  # noqa: PLC0415  (`chatkey --help` need not wait for it)

    args = ["-c", str(SCENARIOS / "pytest.ini"), "--rootdir", str(SCENARIOS), str(SCENARIOS)]
    args += ["-o", f"cache_dir={Path.cwd() / '.pytest_cache'}"] if _has_cache(pytest_args) else []
    args += ["-o", "faulthandler_timeout=0"] if os.environ.get("PWDEBUG") else []
    args += ["-k", expression] if expression else []
    args += ["--collect-only", "-q"] if only_list else []
    args += ["--chatkey-target", target] if target else []
    args += ["--chatkey-patience", str(patience)] if patience else []
    args += [part for browser in wanted for part in _browser(browser)]
    with ended_in_order():  # so that a cancelled pipeline leaves no server or browser running
        sys.exit(pytest.main([*args, *pytest_args]))


def _has_cache(pytest_args: tuple[str, ...]) -> bool:
    """Return whether pytest keeps a cache. Without its plugin, pytest does not know the setting `cache_dir`."""
    given = [*shlex.split(os.environ.get("PYTEST_ADDOPTS", "")), *pytest_args]
    return not any(word.removeprefix("-p").strip() == "no:cacheprovider" for word in given)


def _browser(wanted: str) -> tuple[str, ...]:
    """Return pytest-playwright's option for a kind of browser. If `wanted` is a path, set CHATKEY_BROWSER instead."""
    if wanted in KINDS:
        return ("--browser", wanted)
    os.environ["CHATKEY_BROWSER"] = wanted
    return ()
