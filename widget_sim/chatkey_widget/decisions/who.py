"""Who the widget is, and how it becomes somebody else."""

from chatkey_widget.decisions.parts import Parts
from chatkey_widget.errors import WidgetError
from chatkey_widget.link_stages import Idle, Stopped
from chatkey_widget.principal import Custom, Member, Principal, Visitor, identity, person, same_person


class Who:
    """Becomes, renews and leaves: what happens, whatever the reason, when the widget's identity changes."""

    def __init__(self, parts: Parts) -> None:
        self._ctx, self._link, self._login = parts.ctx, parts.link, parts.login
        self._flow, self._chat, self._cache = parts.flow, parts.chat, parts.cache
        self._told: tuple[str, str] | None = None

    @property
    def is_told(self) -> bool:
        """Whether the page knows who the widget is."""
        return self._told is not None

    @property
    def visitor(self) -> Visitor:
        """Who the widget is without a login."""
        return Visitor(self._ctx.connection_key.uid)

    @property
    def member(self) -> Member | None:
        """The member who is here."""
        principal = self._link.principal
        return None if isinstance(principal, Visitor) else principal

    def begin(self) -> None:
        """Be who was logged in when the last page was left, or the visitor.

        A good cached token is used again; a useless one is dropped before anything connects (contract 2.8, D-06).
        """
        cached = self._cache.token
        member = None if cached is None else self._cache.member(cached)
        if member is None:
            self._begin_as_visitor("unusable")
        elif self._cache.lasts(member):
            self._ctx.emit("token:reused", uid=member.uid, expires_at=member.claims.expires_at)
            self.become(member)
        elif self._ctx.time.offset is None:
            # The page's clock may be wrong: the first answer of the service tells the time.
            self._cache.held = member
            self.become(self.visitor)
        else:
            self._begin_as_visitor("expired")

    def become(self, principal: Principal) -> None:
        """Be this person from now on: another's history leaves the screen before anything else (D-10)."""
        self._chat.enter(principal)
        self._link.begin(principal)
        if isinstance(principal, Visitor):
            if self.is_told:
                self.tell(principal)
        elif isinstance(principal, Custom):
            self._login.plan_renewal(principal)

    def take(self, member: Member) -> None:
        """A member's token came: renew the member who is there, or become this one."""
        if same_person(member, self._link.principal) and isinstance(member, Custom):
            self._link.renew(member)
            self._login.plan_renewal(member)
            if isinstance(self._link.stage, Idle | Stopped):
                self._link.begin(member)
        else:
            self.become(member)

    def adopt(self, token: str) -> bool:
        """Another tab logged in or renewed: be the same member here. Tell whether its token is of use."""
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
        """Be the visitor; while `getToken` is tried again, the member may come back."""
        self._cache.drop(reason)
        self._ctx.cancel_timer("renew")
        if not self._login.failing:
            self._chat.forget_members()
        self.become(self.visitor)

    def forget(self, reason: str, *, heard: bool = False) -> None:
        """Leave whoever is logged in, and stop whatever would make somebody a member; `heard`: another tab began it."""
        self._login.cancel()
        self._flow.cancel()
        self._cache.held = None
        self._chat.forget_members()
        if not heard:
            self._cache.clear(reason)
        if self.member is not None:
            self.leave_member(reason)

    def stop(self, error: WidgetError) -> None:
        """Be nobody any more: what is wrong would be so for everybody."""
        self._login.cancel()
        self._link.stop()
        self._ctx.report(error)

    def tell(self, principal: Principal) -> None:
        """Tell the page who the widget is, unless it knows."""
        now = identity(principal), principal.uid
        if now != self._told:
            self._told = now
            someone = person(principal)
            self._ctx.emit("identity:changed", identity=now[0], uid=now[1], name=someone.name, avatar=someone.avatar)

    def _begin_as_visitor(self, reason: str) -> None:
        self._cache.drop(reason)
        self.become(self.visitor)
        self._login.ask("load", self._cache.token)
