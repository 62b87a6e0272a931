"""The widget's state machine: events in, effects out. It decides who the widget is; its parts do the rest (D-12)."""

from collections.abc import Mapping

from chatkey_widget import events, inspection, tokens
from chatkey_widget.cache import Cache
from chatkey_widget.chat import Chat
from chatkey_widget.configuration import Configuration
from chatkey_widget.context import Chance, Context, Settings
from chatkey_widget.effects import (
    Effect,
    LoadConfiguration,
    PrepareKey,
    Reason,
    TearDown,
)
from chatkey_widget.errors import Fault, Phase, WidgetError
from chatkey_widget.frame_members import UnreadableFrame
from chatkey_widget.login import Login
from chatkey_widget.panel import Panel
from chatkey_widget.principal import Custom, Member, Principal, Social, Visitor, identity, person, same_person
from chatkey_widget.server_time import ServerTime
from chatkey_widget.service_link import TERMINAL, Established, Outcome, Reauth, Refused, ServiceLink, Stage
from chatkey_widget.social import SocialFlow
from chatkey_widget.view import Page


class Machine:
    """One widget on one page, without the page: feed it events, do its effects."""

    def __init__(self, settings: Settings, chance: Chance, time: ServerTime | None = None) -> None:
        self._ctx = Context(settings, chance, time=time or ServerTime())
        self._link = ServiceLink(self._ctx)
        self._login = Login(self._ctx)
        self._flow = SocialFlow(self._ctx)
        self._chat = Chat(self._ctx, self._link)
        self._cache = Cache(self._ctx)
        self._configuration = Configuration(self._ctx)
        self._panel = Panel(self._ctx)
        self._held: Member | None = None
        self._told: tuple[str, str] | None = None
        self._early: list[events.Event] = []
        self._over = False

    def handle(self, event: events.Event, now: float) -> list[Effect]:
        """Take one event at the page's time `now` (seconds since the epoch); return what is to be done, in order."""
        if self._over:
            return []
        self._ctx.go_on(now)
        self._dispatch(event)
        self._show()
        return self._ctx.take_effects()

    def debug(self) -> dict[str, object]:
        """Return the state for people who look inside, safe to be pasted into a ticket."""
        return {
            **inspection.of(self._ctx, self._link),
            "cached_token": self._cache.token is not None,
            "signing_in": self._flow.social,
            "panel": self._panel.debug(),
        }

    def note(self, error: WidgetError) -> None:
        """Remember an error that was told to the page by somebody else, for `debug()`."""
        self._ctx.note("error", error.detail())

    # dispatch

    def _dispatch(self, event: events.Event) -> None:  # noqa: PLR0912 (one line per event)
        match event:
            case events.Started():
                self._start(event)
            case events.KeyReady():
                self._key_ready(event)
            case events.KeyFailed(reason):
                self._stop(WidgetError(Fault.KEY_UNAVAILABLE, reason))
            case events.TokenNotStored(reason) if "storage:degraded" not in self._ctx.counters:
                self._ctx.emit("storage:degraded", what="token", reason=reason)
            case events.ConfigurationLoaded(data):
                self._configured(data)
            case events.ConfigurationFailed(code=str(code), message=message) if code in TERMINAL:
                self._stop(WidgetError(code, message))
            case events.ConfigurationFailed():
                self._configuration.failed(event)
            case events.TokenLoaded():
                self._token_loaded(event)
            case events.TokenFailed() if self._link.awaits(event.ref):
                self._follow(self._link.token_failed(event))
            case events.GetTokenReturned(ref, value) if self._login.awaits(ref):
                self._get_token_returned(value)
            case events.GetTokenFailed(ref, reason) if self._login.awaits(ref):
                self._get_token_failed(WidgetError(Fault.GETTOKEN_FAILED, f"getToken failed: {reason}"))
            case events.GetTokenTimedOut(ref) if self._login.awaits(ref):
                self._get_token_failed(WidgetError(Fault.GETTOKEN_TIMEOUT, "getToken took more than 10 seconds."))
            case events.TurnCame(ref, stored):
                self._turn_came(ref, stored)
            case events.StoredTokenChanged(token):
                self._stored_token_changed(token)
            case events.SocketOpened(ref) if self._link.awaits(ref):
                self._link.opened()
            case events.ProofSigned(ref, signature) if self._link.awaits(ref):
                self._link.proof_signed(signature)
            case events.FrameReceived(ref, frame) if self._link.awaits(ref):
                self._frame(frame)
            case events.SocketClosed(ref, code) if self._link.awaits(ref):
                self._follow(self._link.closed(code))
            case events.TimerFired(name) if name in self._ctx.timers:
                del self._ctx.timers[name]
                self._timer(name)
            case _:
                self._dispatch_acts(event)

    def _dispatch_acts(self, event: events.Event) -> None:
        """Events that a person or the page causes, rather than the machinery."""
        match event:
            case events.Woken():
                self._ctx.hasten("configuration")
                self._follow(self._link.wake())
            case events.RefreshAsked() | events.LogoutAsked() | events.MessageWritten() if self._ctx.key is None:
                self._early.append(event)
            case events.RefreshAsked(force):
                self._refresh_asked(force=force)
            case events.LogoutAsked(heard):
                self._logout(heard=heard)
            case events.ShutdownAsked():
                self._shut_down()
            case events.SocialClicked(social) if self._ctx.key is not None:
                self._social_clicked(social)
            case events.PopupBlocked(ref):
                self._flow.blocked(ref)
            case events.PopupReached(ref):
                self._flow.reached(ref)
            case events.PopupClosed(ref, blank):
                self._flow.closed(ref, blank=blank)
            case events.PopupMessage():
                self._popup_message(event)
            case _:
                self._dispatch_panel(event)

    def _dispatch_panel(self, event: events.Event) -> None:
        match event:
            case events.PanelToggled(is_open):
                self._toggle(is_open=is_open)
            case events.PageChosen(page):
                self._turn_to(page)
            case events.MessageWritten(body):
                self._chat.write(body)
            case events.SearchAsked(query):
                self._chat.search(query)
            case events.OlderAsked():
                self._chat.older()
            case events.CallAsked(action):
                self._chat.call(action)
            case events.NoticeDismissed():
                self._ctx.notice = None
            case _:
                pass

    # starting

    def _start(self, event: events.Started) -> None:
        if not event.secure:
            message = f"{self._ctx.settings.page_origin} is no secure context, so the browser gives the page no key."
            self._stop(WidgetError(Fault.INSECURE_CONTEXT, message))
            return
        if event.fault is not None and not self._ctx.settings.provider_id:
            self._stop(event.fault)
            return
        if event.fault is not None:
            self._ctx.report(event.fault)
        self._ctx.do(LoadConfiguration())
        self._ctx.do(PrepareKey())

    def _key_ready(self, event: events.KeyReady) -> None:
        self._ctx.key = event.key
        if event.lost is not None:
            self._ctx.emit("key:lost", reason=event.lost)
        self._ctx.key_in_memory = event.degraded is not None
        if event.degraded is not None:
            self._ctx.emit("storage:degraded", what="key", reason=event.degraded)
        self._ctx.emit("key:ready", jkt=event.key.jkt, uid=event.key.uid)
        self._cache.token = event.cached_token
        self._judge_cached()
        early, self._early = self._early, []
        for act in early:
            self._dispatch_acts(act)

    def _judge_cached(self) -> None:
        """Reuse a good cached token; drop a useless one before anything connects (contract 2.8, D-06)."""
        cached = self._cache.token
        member = None if cached is None else self._cache.member(cached)
        if member is None:
            self._cache.drop("unusable")
            self._begin_as_visitor()
        elif self._cache.lasts(member):
            self._ctx.emit("token:reused", uid=member.uid, expires_at=member.claims.expires_at)
            self._become(member)
        elif self._ctx.time.offset is None:
            # The page's clock may be wrong: the first answer of the service tells the time.
            self._held = member
            self._become(self._visitor)
        else:
            self._cache.drop("expired")
            self._begin_as_visitor()

    def _begin_as_visitor(self) -> None:
        self._become(self._visitor)
        self._ask("load")

    def _judge_held(self) -> bool:
        """Judge the cached token now that the server's time is known; tell whether it was taken."""
        held, self._held = self._held, None
        if held is None:
            return False
        if held.token == self._cache.token and self._cache.lasts(held):
            self._take(held)
            return True
        self._cache.drop("expired")
        self._ask("load")
        return False

    def _configured(self, data: Mapping[str, object]) -> None:
        self._configuration.loaded(data)
        uri = data.get("socket_uri")
        if isinstance(uri, str):
            self._link.configured(uri)

    # who the widget is

    @property
    def _visitor(self) -> Visitor:
        return Visitor(self._ctx.connection_key.uid)

    @property
    def _member(self) -> Member | None:
        principal = self._link.principal
        return None if isinstance(principal, Visitor) else principal

    def _become(self, principal: Principal) -> None:
        """Be this person from now on: another's history leaves the screen before anything else (D-10)."""
        self._chat.enter(principal)
        self._link.begin(principal)
        if isinstance(principal, Visitor):
            if self._told is not None:
                self._tell_identity(principal)
        elif isinstance(principal, Custom):
            self._login.plan_renewal(principal)

    def _take(self, member: Member) -> None:
        """A member's token came: renew the member who is there, or become this one."""
        if same_person(member, self._link.principal) and isinstance(member, Custom):
            self._link.renew(member)
            self._login.plan_renewal(member)
            if self._link.stage in {Stage.IDLE, Stage.STOPPED}:
                self._link.begin(member)
        else:
            self._become(member)

    def _leave_member(self, reason: str) -> None:
        """Be the visitor; while `getToken` is tried again, the member may come back."""
        self._cache.drop(reason)
        self._ctx.cancel_timer("renew")
        if not self._login.failing:
            self._chat.forget_members()
        self._become(self._visitor)

    def _tell_identity(self, principal: Principal) -> None:
        now = identity(principal), principal.uid
        if now != self._told:
            self._told = now
            someone = person(principal)
            self._ctx.emit("identity:changed", identity=now[0], uid=now[1], name=someone.name, avatar=someone.avatar)

    # what the connection says

    def _token_loaded(self, event: events.TokenLoaded) -> None:
        if not self._link.awaits(event.ref):
            return
        self._learn_time_from(event.token)
        if not self._judge_held():
            self._link.token_loaded(event)

    def _learn_time_from(self, token: str) -> None:
        try:
            issued_at = tokens.read(token).issued_at
        except WidgetError:
            return  # the link reports it when it uses the token
        if issued_at is not None:
            self._ctx.learn_time(issued_at)

    def _frame(self, frame: Mapping[str, object] | None) -> None:
        try:
            if frame is None:
                raise UnreadableFrame("type")  # noqa: TRY301 (one way out for every frame that cannot be read)
            outcome = self._link.frame(frame)
            if self._link.stage is Stage.READY:
                self._chat.frame(frame, panel_open=self._panel.open)
        except UnreadableFrame as error:
            message = f"A frame of the server has no usable member {error.member!r}."
            self._ctx.report(WidgetError(Fault.FRAME_UNREADABLE, message))
            self._link.unreadable()
        else:
            self._follow(outcome)

    def _follow(self, outcome: Outcome) -> None:
        match outcome:
            case Established():
                self._established()
            case Reauth():
                self._ask("renew")
            case Refused() if outcome.terminal:
                self._stop(WidgetError(outcome.code, outcome.message, phase="socket"))
            case Refused():
                self._refused(outcome)
            case _:
                pass

    def _established(self) -> None:
        principal = self._link.principal
        if principal is None:
            return
        if self._ctx.notice_phase in {"socket", "token", "configuration"}:
            self._ctx.notice = None
        first = self._told is None
        self._tell_identity(principal)
        self._chat.connected()
        if first:
            self._ctx.emit("ready", identity=identity(principal), uid=principal.uid)

    def _refused(self, refused: Refused) -> None:
        match self._link.principal:
            case Custom():
                self._custom_refused(refused)
            case Social():
                self._tell_refusal(refused, "socket" if refused.expired else "oauth")
                self._leave_member(refused.code)
            case _:
                self._tell_refusal(refused)
                self._link.halt(Stage.STOPPED)

    def _custom_refused(self, refused: Refused) -> None:
        """Ask for another token once, then be a visitor: a backend that is wrong is not hammered (D-12).

        The old one stays in the cache meanwhile: if it went, the other tabs would take it for a logout.
        """
        self._ctx.cancel_timer("renew")
        if refused.expired:
            self._login.ended()
        another = self._login.useless() and not self._login.failing
        if not refused.expired:
            self._tell_refusal(refused)
        if not (another and self._ask("renew" if refused.expired else "rejected")):
            self._leave_member(refused.code)

    def _tell_refusal(self, refused: Refused, phase: Phase = "socket") -> None:
        message = refused.message or "The server refused the token."
        self._ctx.report(WidgetError(refused.code, message, phase=phase))

    def _stop(self, error: WidgetError) -> None:
        self._login.cancel()
        self._link.halt(Stage.STOPPED)
        self._ctx.report(error)

    # getToken

    def _ask(self, reason: Reason) -> bool:
        return self._login.ask(reason, self._cache.token)

    def _get_token_returned(self, value: str | events.Unusable | None) -> None:
        self._login.answered()
        if value is None:
            self._nobody_logged_in()
            return
        try:
            member = self._login.read(value)
            tokens.check_time(member.claims, now=self._time_for(member))
        except WidgetError as error:
            self._useless_token(error)
            return
        self._ctx.emit("token:received", uid=member.uid, expires_at=member.claims.expires_at)
        self._held = None
        self._cache.keep(member.token)
        self._take(member)

    def _time_for(self, member: Member) -> float:
        """While the server's time is in doubt, a new token's own `iat` is the better clock."""
        if self._ctx.time.in_doubt and member.claims.issued_at is not None:
            return member.claims.issued_at
        return self._ctx.server_now

    def _nobody_logged_in(self) -> None:
        self._ctx.emit("token:none")
        if isinstance(self._link.principal, Custom):
            self._leave_member("logged_out")
        elif self._member is None:
            self._forget_unused()

    def _forget_unused(self) -> None:
        """A login of the page's that is not in use, cached or away, must not come back."""
        self._chat.forget_members()
        cached = None if self._cache.token is None else self._cache.member(self._cache.token)
        if isinstance(cached, Custom):
            self._held = None
            self._cache.drop("logged_out")

    def _useless_token(self, error: WidgetError) -> None:
        self._ctx.report(error)
        worth_it = error.code in {Fault.TOKEN_KEY_MISMATCH, Fault.TOKEN_EXPIRED}
        if not (worth_it and self._login.useless() and self._ask("rejected")):
            self._go_on_without()

    def _get_token_failed(self, error: WidgetError) -> None:
        self._login.failed(error)
        self._go_on_without()

    def _go_on_without(self) -> None:
        """A member who is connected stays until the token ends; else chat as the visitor."""
        if self._link.stage is Stage.IDLE:
            self._leave_member("not_renewed")

    def _refresh_asked(self, *, force: bool) -> None:
        self._link.forgive()
        if force:
            self._forget("refresh")
        self._login.ask_afresh(self._cache.token)
        if self._link.stage is Stage.STOPPED:
            self._become(self._visitor)

    def _timer(self, name: str) -> None:
        match name:
            case "renew":
                self._ask("renew")
            case "getToken":
                self._login.again(self._cache.token)
            case "configuration":
                self._ctx.do(LoadConfiguration())
            case "call":
                self._chat.call_over()
            case "again" if self._link.stage is Stage.READY:
                self._chat.again()
            case "stable":
                self._login.settled()
                self._link.timer(name)
            case _:
                self._follow(self._link.timer(name))
                self._look()

    # login and logout by the person, here and in other tabs

    def _social_clicked(self, social: str) -> None:
        if social in self._configuration.socials:
            self._ctx.notice = None
            self._flow.start(social)

    def _popup_message(self, event: events.PopupMessage) -> None:
        member = self._flow.message(event)
        if member is None:
            return
        self._login.cancel()
        self._held = None
        self._panel.page = "chat"
        self._link.forgive()
        self._cache.keep(member.token)
        self._become(member)

    def _logout(self, *, heard: bool) -> None:
        """What is under way ends too, a visitor's as well: it began before the logout."""
        if self._member is not None or not heard:
            self._ctx.emit("logout", heard=heard)
        self._forget("logout", heard=heard)

    def _forget(self, reason: str, *, heard: bool = False) -> None:
        """Leave whoever is logged in, and stop whatever would make somebody a member."""
        self._login.cancel()
        self._flow.cancel()
        self._held = None
        self._chat.forget_members()
        if not heard:
            self._cache.clear(reason)
        if self._member is not None:
            self._leave_member(reason)

    def _stored_token_changed(self, token: str | None) -> None:
        if token == self._cache.token or self._ctx.key is None:
            return
        if token is not None:
            self._adopt(token)
        elif self._member is None:
            self._cache.token = None
        elif self._cache.lasts(self._member):
            self._logout(heard=True)
        # Any tab deletes a token that has ended: nobody logged out.

    def _turn_came(self, ref: int, stored: str | None) -> None:
        found = self._login.turn_came(ref, stored)
        if found is not None and not self._adopt(found):
            self._login.again(found)

    def _adopt(self, token: str) -> bool:
        """Another tab logged in or renewed: be the same member here. Tell whether its token is of use."""
        member = self._cache.member(token)
        if member is None or not self._cache.lasts(member, now=self._time_for(member)):
            return False
        self._login.spared()
        self._held = None
        self._cache.token = token
        self._ctx.emit("token:adopted", uid=member.uid, expires_at=member.claims.expires_at)
        self._take(member)
        return True

    def _shut_down(self) -> None:
        self._login.cancel()
        self._flow.cancel()
        self._link.halt(Stage.STOPPED)
        for name in list(self._ctx.timers):
            self._ctx.cancel_timer(name)
        self._ctx.emit("shutdown")
        self._ctx.do(TearDown())
        self._over = True

    # the screen

    def _toggle(self, *, is_open: bool) -> None:
        self._panel.open = is_open
        if is_open:
            self._chat.read()
            self._try_again()
        self._look()

    def _try_again(self) -> None:
        """Somebody wants to chat: what was refused a while ago may be accepted now, as after a reload."""
        principal = self._link.principal
        if principal is None or self._link.stage is not Stage.STOPPED:
            return
        if self._configuration.appearance is None:
            self._ctx.do(LoadConfiguration())
        self._link.forgive()
        self._become(principal)

    def _turn_to(self, page: Page) -> None:
        self._panel.page = page
        if page != "search":
            self._chat.search("")
        self._look()

    def _look(self) -> None:
        if self._panel.open:
            self._configuration.freshen()

    def _show(self) -> None:
        if not self._over:
            self._panel.show(self._configuration.appearance, self._link, self._flow, self._chat)
