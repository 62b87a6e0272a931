"""The member's token that all tabs of a browser share: store, read and delete it (contract 2.8, D-06, D-12)."""

from chatkey_widget.context import Context
from chatkey_widget.effects import AnnounceLogout, DropToken, StoreToken
from chatkey_widget.errors import WidgetError
from chatkey_widget.login import LEAST_SECONDS, read_member
from chatkey_widget.principal import Member


class Cache:
    """The cached token as this tab knows it. Another tab may just have replaced or deleted it."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self.token: str | None = None
        self.held: Member | None = None
        """The cached login while the server's time is unknown, so that its expiry cannot be checked yet."""

    def keep(self, token: str) -> None:
        """Cache a token for all tabs."""
        self.token = token
        self._ctx.do(StoreToken(token))

    def drop(self, reason: str) -> None:
        """Delete the token that this tab knows. If another tab has replaced it, the new one stays."""
        if self.token is not None:
            self._ctx.do(DropToken(self.token))
            self._forget(reason)

    def clear(self, reason: str) -> None:
        """Delete any cached token, even one this tab does not know, and notify the other tabs."""
        self._ctx.do(AnnounceLogout())
        self._forget(reason)

    def member(self, token: str) -> Member | None:
        """Read a cached token. If it cannot be used, notify the page and return None."""
        try:
            return read_member(token, self._ctx)
        except WidgetError as error:
            self._ctx.emit("token:unusable", code=error.code, message=error.message)
            return None

    def lasts(self, member: Member, *, now: float | None = None) -> bool:
        """Return whether the token lasts long enough to connect with it. `now` is the server's time."""
        at = self._ctx.server_now if now is None else now
        return member.claims.expires_at - at > LEAST_SECONDS

    def _forget(self, reason: str) -> None:
        if self.token is not None:
            self.token = None
            self._ctx.emit("token:dropped", reason=reason)
