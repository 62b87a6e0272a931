"""The member's token that all tabs of a browser share: stored, read and deleted (contract 2.8, D-06, D-12)."""

from chatkey_widget.context import Context
from chatkey_widget.effects import AnnounceLogout, DropToken, StoreToken
from chatkey_widget.errors import WidgetError
from chatkey_widget.login import LEAST_SECONDS, read_member
from chatkey_widget.principal import Member


class Cache:
    """The cached token as this tab last saw it. Another tab may have replaced or deleted the token since then."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.token: str | None = None
        self.held: Member | None = None
        """A cached login whose expiry cannot be checked yet, because the widget does not know the server's time."""

    def keep(self, token: str) -> None:
        self.token = token
        self._ctx.do(StoreToken(token))

    def drop(self, reason: str) -> None:
        """Delete the token that this tab knows. If another tab has replaced the token, the new token stays."""
        if self.token is not None:
            self._ctx.do(DropToken(self.token))
            self._forget(reason)

    def clear(self, reason: str) -> None:
        """Delete any cached token, including a token that this tab does not know. Notify the other tabs."""
        self._ctx.do(AnnounceLogout())
        self._forget(reason)

    def member(self, token: str) -> Member | None:
        """Read a cached token. If the token cannot be used, notify the page and return None."""
        try:
            return read_member(token, self._ctx)
        except WidgetError as error:
            self._ctx.emit("token:unusable", code=error.code, message=error.message)
            return None

    def lasts(self, member: Member, *, now: float | None = None) -> bool:
        """Return whether the token is valid for long enough to connect with it. `now` is the server's time."""
        at = self._ctx.server_now if now is None else now
        return member.claims.expires_at - at > LEAST_SECONDS

    def _forget(self, reason: str) -> None:
        if self.token is not None:
            self.token = None
            self._ctx.emit("token:dropped", reason=reason)
