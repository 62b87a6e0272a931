"""What the hub's page shows once everything is up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatkey_demo.hub.modes import OpenMode


@dataclass(frozen=True, slots=True)
class Demo:
    """What the page shows: the open shops, and the addresses of the agent panel and the admin panel."""

    modes: "Sequence[OpenMode]"
    agent_url: str
    admin_url: str

    @property
    def framed(self) -> list[str]:
        """The origins the page frames."""
        return [*(mode.origin for mode in self.modes), self.agent_url.removesuffix("/agent")]


@dataclass(slots=True)
class Curtain:
    """What is behind the page: nothing until the servers are up. One thread raises it, another looks."""

    demo: Demo | None = None
