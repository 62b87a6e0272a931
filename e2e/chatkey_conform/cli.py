"""The command `chatkey conform`: judges a third-party chat service or widget."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import click

from chatkey_peer.exits import Exit
from chatkey_peer.redaction import Masks

SAMPLE = Path(__file__).parent / "sample.toml"


@click.command()
@click.argument("target", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--init", is_flag=True, help="Print a sample TARGET.toml and exit.")
@click.option("--list", "only_list", is_flag=True, help="List the cases with their sentences, and run none.")
@click.option("--smoke", is_flag=True, help="Run only the smoke cases, which show whether the adapter works.")
@click.option(
    "-k", "words", metavar="WORDS", default="", help="Run only the cases whose id contains WORDS, and the smoke cases."
)
@click.option("--browser", is_flag=True, help="Run the browser scenarios too, and report both together.")
@click.option(
    "--jobs", type=click.IntRange(1, 32), default=8, show_default=True, help="Number of cases that run in parallel."
)
@click.option(
    "--output",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for report.json, junit.xml, report.md, matrix.html and badge.json.",
)
@click.option(
    "--index",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Write FOLDER/index.html, which lists every report below FOLDER, and run no case.",
)
@click.option(
    "--compare",
    metavar="REPORT.json",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Show this report side by side with the new one in matrix.html.",
)
def conform(
    *,
    target: Path | None,
    init: bool,
    only_list: bool,
    smoke: bool,
    words: str,
    browser: bool,
    jobs: int,
    output: Path | None,
    index: Path | None,
    compare: Path | None,
) -> None:
    """Judge the chat service described in TARGET.toml over the network, against every sentence of the contract.

    If the file is a widget.toml, which has a table [widget] and no table [target], judge the widget in a browser with
    our service and our fake providers.

    Tests that need an undeclared capability are not applicable and do not fail. The exit status is 0 if nothing failed,
    1 if a sentence failed, 3 if the suite or the adapter made a mistake, 4 if the run could not start, and 9 if a must
    sentence was not judged although all it needs is declared. With --smoke and -k, the status is about the selected
    cases only.
    """
    if init:
        click.echo(SAMPLE.read_text("utf-8"), nl=False)
        return
    if only_list:
        from chatkey_conform.command import listed  # noqa: PLC0415 - imports the whole suite

        click.echo("\n".join(listed(words, target)))
        return
    if index is not None:
        from chatkey_conform.command import write_index  # noqa: PLC0415 - imports the whole suite

        click.echo(f"Written: {write_index(index)}")
        return
    if target is None:
        raise click.UsageError("TARGET.toml is missing. `chatkey conform --init` prints a sample.")
    from chatkey_conform.command import Wanted, run  # noqa: PLC0415 - imports the whole suite

    try:
        status = run(Wanted(target, smoke, words, jobs, browser, output, compare))
    except Exception as error:  # noqa: BLE001 - the suite's own mistake, which must not look like a failure of the target
        told = f"{traceback.format_exc()}An error in the suite, not in the service: {type(error).__name__}: {error}"
        click.echo(Masks().text(told), err=True)
        status = Exit.OURS
    sys.exit(status)
