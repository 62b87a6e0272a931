"""The command `chatkey demo`."""

import signal

import click


@click.command()
@click.option("--tls", is_flag=True, help="Use https and wss, with certificates made for this run.")
@click.option(
    "--port",
    type=click.IntRange(0, 65521),
    default=8800,
    show_default=True,
    help=(
        "The hub's port. The service and the fake provider use the next two, and the shops use +11 to +14. 0 "
        "means free ports."
    ),
)
@click.option("--no-browser", is_flag=True, help="Do not open a browser.")
def demo(*, tls: bool, port: int, no_browser: bool) -> None:
    """Show the four identity modes on this machine: shops, service, fake providers and an agent, in one page.

    Nothing leaves this machine, and no data is kept after the demo ends.
    """
    from chatkey_demo.hub import run, terminal  # noqa: PLC0415  (`chatkey --help` need not wait for them)
    from chatkey_demo.hub.places import BusyPortError, places  # noqa: PLC0415
    from chatkey_demo.hub.window import window  # noqa: PLC0415
    from chatkey_oauth.client import LabError  # noqa: PLC0415
    from chatkey_stack.process import ProcessError, ended_in_order  # noqa: PLC0415

    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs with SIGINT ignored
    try:
        found = places(port)
        with (
            ended_in_order(),
            window(wanted=not no_browser, tls=tls) as shown,
            run.demo(found, tls=tls, listening=shown.open) as running,
        ):
            terminal.welcome(running, shown.note)
            running.watch()
    except KeyboardInterrupt:
        pass  # Ctrl-C is the normal way to stop
    except (BusyPortError, LabError) as error:
        raise click.ClickException(str(error)) from error
    except ProcessError as error:
        raise click.ClickException(terminal.last_words(str(error))) from error
