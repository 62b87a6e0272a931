"""The identity of the widget, and how it changes."""

from chatkey_widget.decisions.parts import Parts
from chatkey_widget.errors import WidgetError
from chatkey_widget.link_stages import Idle, Stopped
from chatkey_widget.principal import Custom, Member, Principal, Visitor, identity, person, same_person


class Who:
    """Changes or renews the identity of the widget, in the same way for every reason."""

    def __init__(self, parts: Parts) -> None:
        self._ctx, self._link, self._login = parts.ctx, parts.link, parts.login
        self._flow, self._chat, self._cache = parts.flow, parts.chat, parts.cache
        self._told: tuple[str, str] | None = None

    @property
    def is_told(self) -> bool:
        """Whether the page has been notified of the current identity."""
        return self._told is not None

    @property
    def visitor(self) -> Visitor:
        """The identity of the widget without a login."""
        return Visitor(self._ctx.connection_key.uid)

    @property
    def member(self) -> Member | None:
        principal = self._link.principal
        return None if isinstance(principal, Visitor) else principal

    def begin(self) -> None:
        """Start as the member of the cached token, or as the visitor.

        A valid cached token is used. An unusable one is deleted before anything connects (contract 2.8, D-06).
        """
        cached = self._cache.token
        member = None if cached is None else self._cache.member(cached)
        if member is None:
            self._begin_as_visitor("unusable")
        elif self._cache.lasts(member):
            self._ctx.emit("token:reused", uid=member.uid, expires_at=member.claims.expires_at)
            self.become(member)
        elif self._ctx.time.offset is None:
            # The page's clock may be wrong, so wait for the service's time before deciding.
            self._cache.held = member
            self.become(self.visitor)
        else:
            self._begin_as_visitor("expired")

    def become(self, principal: Principal) -> None:
        """Change to this identity. The history of another identity is removed from the screen first (D-10)."""
        self._chat.enter(principal)
        self._link.begin(principal)
        if isinstance(principal, Visitor):
            if self.is_told:
                self.tell(principal)
        elif isinstance(principal, Custom):
            self._login.plan_renewal(principal)

    def take(self, member: Member) -> None:
        """Use a new token. The token renews the current member, or the widget changes to the member of the token."""
        if same_person(member, self._link.principal) and isinstance(member, Custom):
            self._link.renew(member)
            self._login.plan_renewal(member)
            if isinstance(self._link.stage, Idle | Stopped):
                self._link.begin(member)
        else:
            self.become(member)

    def adopt(self, token: str) -> bool:
        """Use the token that another tab got from a login or a renewal. Return whether the token is usable."""
        member = self._cache.member(token)
        if member is None or not self._cache.lasts(member, now=self._ctx.time_for(member.claims.issued_at)):
            return False
        self._login.spared()
        self._cache.held = None
        self._cache.token = token
        self._ctx.emit("token:adopted", uid=member.uid, expires_at=member.claims.expires_at)
        self.take(member)
        return True

    def leave_member(self, reason: str) -> None:
        """Become the visitor.

        While `getToken` is being retried, the widget keeps the member's conversation, because the member may return.
        """
        self._cache.drop(reason)
        self._ctx.cancel_timer("renew")
        if not self._login.failing:
            self._chat.forget_members()
        self.become(self.visitor)

    def forget(self, reason: str, *, heard: bool = False) -> None:
        """Log out the current member, and stop all logins in progress. `heard` says that another tab has logged out."""
        self._login.cancel()
        self._flow.cancel()
        self._cache.held = None
        self._chat.forget_members(another=reason == "refresh")
        if not heard:
            self._cache.clear(reason)
        if self.member is not None:
            self.leave_member(reason)

    def stop(self, error: WidgetError) -> None:
        """Stop the widget, because the error affects every identity."""
        self._login.cancel()
        self._link.stop()
        self._ctx.report(error)

    def tell(self, principal: Principal) -> None:
        """Notify the page of the widget's identity, unless the page has been notified already."""
        now = identity(principal), principal.uid
        if now != self._told:
            self._told = now
            someone = person(principal)
            self._ctx.emit("identity:changed", identity=now[0], uid=now[1], name=someone.name, avatar=someone.avatar)

    def _begin_as_visitor(self, reason: str) -> None:
        self._cache.drop(reason)
        self.become(self.visitor)
        self._login.ask("load", self._cache.token)
