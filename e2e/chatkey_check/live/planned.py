"""The live part of a dry run. The calls to the endpoint are planned, but no service and no browser is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from chatkey_check.calls.shared import Calls
from chatkey_check.live.legs import Live
from chatkey_check.live.service import REFERENCE
from chatkey_check.model import Service

if TYPE_CHECKING:
    from chatkey_check.live.browser.visit import Visit
    from chatkey_peer.key import BrowserKey
    from chatkey_peer.peer import Outcome


class PlannedLive(Live):
    """Stands in for a live part with a working service, and with a visit in which nothing fails."""

    def connect(self, key: BrowserKey) -> Outcome:
        """Return the answer that a working service gives to this key."""
        from chatkey_peer.peer import Outcome  # noqa: PLC0415 - cryptography is not needed before

        if key is not self.key:
            return Outcome({"type": "error", "code": "proof_key_mismatch"}, 4403)
        return Outcome({"type": "ready", "identity": "member", "uid": self.answer.uid}, None)

    def named(self, url: str, sdk_url: str | None) -> Service:
        return Service(url, url, url, own=False, sdk_url=sdk_url or url)

    def own(self, secret: str) -> Service:  # noqa: ARG002 - nothing is signed
        """Return a service with a name in place of an address."""
        return self.named(REFERENCE, None)

    def visited(self, service: Service) -> Visit:  # noqa: ARG002 - no browser is started
        return cast("Visit", PlannedVisit(self.calls))


class PlannedVisit:
    """A visit in which nothing fails. It makes the same calls to the endpoint as a real visit."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.token_calls: list[object] = []
        self._identity = "member"
        self.page_calls = 0
        self.elsewhere = False
        self._event = "token:requested"
        self._load()
        self._call()

    @property
    def state(self) -> dict[str, Any]:
        page = {"provider": None, "getToken": "", "calls": 0}
        return {"identity": {"identity": self._identity, "uid": self.calls.token.uid}, "page": page}

    @property
    def stored(self) -> str | None:
        """The token while the widget is a member."""
        return self._last.token if self._identity == "member" else None

    def told(self, name: str) -> list[dict[str, Any]]:
        return [{}] if name == self._event else []

    def reload(self) -> None:
        """Make the calls of a reloaded page: one for the page, and none for a token."""
        self._event = ""
        self._load()

    def renew(self, seconds: float) -> None:  # noqa: ARG002 - no clock runs here
        """Make the call of a widget whose token expires soon."""
        self._event = "token:received"
        self._call()

    def log_out(self) -> None:
        self._identity = "visitor"

    def _load(self) -> None:
        page = self.calls.target.page_url
        if page is not None:
            self.calls.fetch("the page, for the browser", page, self.calls.member)

    def _call(self) -> None:
        self._last = self.calls.ask("the widget's call, in the browser", self.calls.member)
