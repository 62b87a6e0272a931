"""Adds options to Locust: the business to load, and one of its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gevent  # type: ignore[import-untyped]
from locust import events

if TYPE_CHECKING:
    from locust.argument_parser import LocustArgumentParser


@events.init_command_line_parser.add_listener  # type: ignore[untyped-decorator]  # Locust leaves types out
def add_options(parser: LocustArgumentParser, **_: Any) -> None:
    """Add the options. Each can also be set with an environment variable, which is safer for the password."""
    parser.add_argument("--provider", env_var="LOCUST_PROVIDER", default="", help="Id of the business to load")
    parser.add_argument(
        "--agent", env_var="LOCUST_AGENT", default="", help="Name of an agent of that business, who reads the messages"
    )
    parser.add_argument(
        "--agent-password", env_var="LOCUST_AGENT_PASSWORD", default="", is_secret=True, help="The agent's password"
    )


@events.init.add_listener  # type: ignore[untyped-decorator]
def look_at_the_clock(**_: Any) -> None:
    """Update gevent's clock. Otherwise the time of the imports would be subtracted from `--run-time`."""
    gevent.sleep(0)
