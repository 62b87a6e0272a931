"""The data that the page of the hub shows once all servers are running."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatkey_demo.hub.modes import OpenMode


@dataclass(frozen=True, slots=True)
class Demo:
    """The data of the page: the open shops, the addresses of both panels, and the signed-in agent.

    `agent_session` is a `Set-Cookie` header. A browser sends cookies to all ports of a host, and therefore the hub can
    set a cookie for the agent panel.
    """

    modes: "Sequence[OpenMode]"
    agent_url: str
    admin_url: str
    agent_name: str
    agent_session: str = field(repr=False)

    @property
    def framed(self) -> list[str]:
        """The origins that the page shows in frames."""
        return [*(mode.origin for mode in self.modes), self.agent_url.removesuffix("/agent")]


@dataclass(slots=True)
class Curtain:
    """Holds the data of the page, or None until the servers run. One thread sets `demo`, another reads it."""

    demo: Demo | None = None
