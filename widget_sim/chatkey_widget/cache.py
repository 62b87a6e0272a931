"""The member's token that all tabs of a browser share: kept, read, dropped (contract 2.8, D-06, D-12)."""

from chatkey_widget.context import Context
from chatkey_widget.effects import AnnounceLogout, DropToken, StoreToken
from chatkey_widget.errors import WidgetError
from chatkey_widget.login import LEAST_SECONDS, read_member
from chatkey_widget.principal import Member


class Cache:
    """What this tab knows of it: `token`. Another tab may have stored a newer one, or deleted it, a moment ago."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.token: str | None = None
        self.held: Member | None = None
        """The cached login as long as nobody can tell whether it has ended: the service has not told the time yet."""

    def keep(self, token: str) -> None:
        """Cache a token, for the other tabs too."""
        self.token = token
        self._ctx.do(StoreToken(token))

    def drop(self, reason: str) -> None:
        """Delete the token this tab knows; what another tab has put in its place stays."""
        if self.token is not None:
            self._ctx.do(DropToken(self.token))
            self._forget(reason)

    def clear(self, reason: str) -> None:
        """Delete whatever is cached, known here or not, and tell the other tabs."""
        self._ctx.do(AnnounceLogout())
        self._forget(reason)

    def member(self, token: str) -> Member | None:
        """Read a token that was cached; tell the page of one that cannot be used."""
        try:
            return read_member(token, self._ctx)
        except WidgetError as error:
            self._ctx.emit("token:unusable", code=error.code, message=error.message)
            return None

    def lasts(self, member: Member, *, now: float | None = None) -> bool:
        """Tell whether the token is worth connecting with; `now` is the server's time."""
        at = self._ctx.server_now if now is None else now
        return member.claims.expires_at - at > LEAST_SECONDS

    def _forget(self, reason: str) -> None:
        if self.token is not None:
            self.token = None
            self._ctx.emit("token:dropped", reason=reason)
