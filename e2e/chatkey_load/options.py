"""What Locust is told beside its own options: the business, and an agent of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gevent  # type: ignore[import-untyped]
from locust import events

if TYPE_CHECKING:
    from locust.argument_parser import LocustArgumentParser


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]  # Locust leaves types out
def add_options(parser: LocustArgumentParser, **_: Any) -> None:
    """Declare them; each has a variable, too, which for the password is the better place."""
    parser.add_argument("--provider", env_var="LOCUST_PROVIDER", default="", help="Id of the business to load")
    parser.add_argument(
        "--agent", env_var="LOCUST_AGENT", default="", help="Name of an agent of that business; nobody sees without one"
    )
    parser.add_argument(
        "--agent-password", env_var="LOCUST_AGENT_PASSWORD", default="", is_secret=True, help="The agent's password"
    )


@events.init.add_listener  # type: ignore[untyped-decorator]
def look_at_the_clock(**_: Any) -> None:
    """Let gevent see how late it is: what importing took would be taken off `--run-time`."""
    gevent.sleep(0)
