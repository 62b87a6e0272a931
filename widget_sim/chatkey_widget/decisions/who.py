"""The widget's identity, and how it changes."""

from chatkey_widget.decisions.parts import Parts
from chatkey_widget.errors import WidgetError
from chatkey_widget.link_stages import Idle, Stopped
from chatkey_widget.principal import Custom, Member, Principal, Visitor, identity, person, same_person


class Who:
    """Changes or renews the widget's identity. These steps are the same for every reason."""

    def __init__(self, parts: Parts) -> None:
        self._ctx, self._link, self._login = parts.ctx, parts.link, parts.login
        self._flow, self._chat, self._cache = parts.flow, parts.chat, parts.cache
        self._told: tuple[str, str] | None = None

    @property
    def is_told(self) -> bool:
        """Whether the page has been notified of the widget's identity."""
        return self._told is not None

    @property
    def visitor(self) -> Visitor:
        """The widget's identity without a login."""
        return Visitor(self._ctx.connection_key.uid)

    @property
    def member(self) -> Member | None:
        """The current member, or None."""
        principal = self._link.principal
        return None if isinstance(principal, Visitor) else principal

    def begin(self) -> None:
        """Begin as the member of the cached token, or as the visitor.

        A valid cached token is used again. A useless one is deleted before anything connects (contract 2.8, D-06).
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
        """Change to this identity. Someone else's history leaves the screen before anything else happens (D-10)."""
        self._chat.enter(principal)
        self._link.begin(principal)
        if isinstance(principal, Visitor):
            if self.is_told:
                self.tell(principal)
        elif isinstance(principal, Custom):
            self._login.plan_renewal(principal)

    def take(self, member: Member) -> None:
        """Use a new token: renew the current member, or become the token's member."""
        if same_person(member, self._link.principal) and isinstance(member, Custom):
            self._link.renew(member)
            self._login.plan_renewal(member)
            if isinstance(self._link.stage, Idle | Stopped):
                self._link.begin(member)
        else:
            self.become(member)

    def adopt(self, token: str) -> bool:
        """Another tab logged in or renewed its token: become the same member. Return whether the token is usable."""
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
        """Become the visitor. While `getToken` is being retried, the member's conversation is kept for their return."""
        self._cache.drop(reason)
        self._ctx.cancel_timer("renew")
        if not self._login.failing:
            self._chat.forget_members()
        self.become(self.visitor)

    def forget(self, reason: str, *, heard: bool = False) -> None:
        """Log out the current member, and stop all logins in progress. `heard`: another tab started this."""
        self._login.cancel()
        self._flow.cancel()
        self._cache.held = None
        self._chat.forget_members()
        if not heard:
            self._cache.clear(reason)
        if self.member is not None:
            self.leave_member(reason)

    def stop(self, error: WidgetError) -> None:
        """Stop the widget: the error affects every identity."""
        self._login.cancel()
        self._link.stop()
        self._ctx.report(error)

    def tell(self, principal: Principal) -> None:
        """Notify the page of the widget's identity, unless it already knows."""
        now = identity(principal), principal.uid
        if now != self._told:
            self._told = now
            someone = person(principal)
            self._ctx.emit("identity:changed", identity=now[0], uid=now[1], name=someone.name, avatar=someone.avatar)

    def _begin_as_visitor(self, reason: str) -> None:
        self._cache.drop(reason)
        self.become(self.visitor)
        self._login.ask("load", self._cache.token)
