"""Handles the service's responses and frames, and changes the widget's identity accordingly."""

from collections.abc import Mapping
from typing import assert_never

from chatkey_protocol.frames import Kind
from chatkey_widget import events, tokens
from chatkey_widget.chat import ChatKind
from chatkey_widget.decisions.parts import Parts
from chatkey_widget.decisions.who import Who
from chatkey_widget.errors import Fault, Phase, WidgetError
from chatkey_widget.frame_members import UnreadableFrame, kind_of
from chatkey_widget.link_outcomes import TERMINAL, Established, Outcome, Reauth, Refused
from chatkey_widget.link_stages import Stopped
from chatkey_widget.principal import Custom, Principal, Social, Visitor, identity


class OnService:
    """Handles the answers of the service. Answers to an earlier attempt are ignored."""

    def __init__(self, parts: Parts, who: Who) -> None:
        self._ctx, self._link, self._login = parts.ctx, parts.link, parts.login
        self._chat, self._cache, self._panel = parts.chat, parts.cache, parts.panel
        self._configuration = parts.configuration
        self._who = who

    def handle(self, event: events.ServiceEvent) -> None:
        match event:
            case events.ConfigurationLoaded(data):
                self._configured(data)
            case events.ConfigurationFailed():
                self._not_configured(event)
            case events.PolicyBlocked() | events.LocalNetworkBlocked():
                self._blocked(event)
            case _ if not self._link.awaits(event.ref):
                pass
            case events.TokenLoaded():
                self._token_loaded(event)
            case events.TokenFailed():
                self.follow(self._link.token_failed(event))
            case events.SocketOpened():
                self._link.opened()
            case events.ProofSigned(_, signature):
                self._link.proof_signed(signature)
            case events.FrameReceived(_, frame):
                self._frame_received(frame)
            case events.SocketClosed(_, code):
                if self._link.is_ready:
                    self._chat.lost(code, self._link.complaint)
                self.follow(self._link.closed(code))
            case _:
                assert_never(event)

    def follow(self, outcome: Outcome | None) -> None:
        """Act on an outcome of the connection."""
        match outcome:
            case None:
                pass
            case Established(principal):
                self._established(principal)
            case Reauth():
                self._login.ask("renew", self._cache.token)
            case Refused():
                self._refused(outcome)
            case _:
                assert_never(outcome)

    # configuration and tokens

    def _configured(self, data: Mapping[str, object]) -> None:
        self._configuration.loaded(data)
        uri = data.get("socket_uri")
        if isinstance(uri, str):
            self._link.configured(uri)

    def _not_configured(self, event: events.ConfigurationFailed) -> None:
        if event.code is not None and event.code in TERMINAL:
            self._who.stop(WidgetError(event.code, event.message))
        elif not isinstance(self._link.stage, Stopped):  # if stopped, opening the panel requests it again
            self._configuration.failed(event)

    def _blocked(self, event: events.PolicyBlocked | events.LocalNetworkBlocked) -> None:
        """Stop until the person opens the panel, because the browser would block the next request, too."""
        if self._link.is_ready or isinstance(self._link.stage, Stopped):
            return
        if isinstance(event, events.PolicyBlocked) and not self._concerns_us(event):
            return
        self._ctx.cancel_timer("configuration")
        self._configuration.blocked()
        self._who.stop(_error(event))

    def _concerns_us(self, event: events.PolicyBlocked) -> bool:
        return event.directive == "connect-src" and self._is_ours(event.address)

    def _is_ours(self, address: str) -> bool:
        """Return whether the address belongs to the service. Some browsers report only the origin of an address."""
        base = self._ctx.settings.base_url
        ours = (base, base.replace("http", "ws", 1), self._link.socket_uri or base)
        return any(f"{address}/".startswith(f"{known}/") for known in ours)

    def _token_loaded(self, event: events.TokenLoaded) -> None:
        self._learn_time_from(event.token)
        if not self._judge_held():
            self._link.token_loaded(event)

    def _learn_time_from(self, token: str) -> None:
        try:
            issued_at = tokens.read(token).issued_at
        except WidgetError:
            return  # the link reports the error when it uses the token
        if issued_at is not None:
            self._ctx.learn_time(issued_at)

    def _judge_held(self) -> bool:
        """Check the cached token, now that the server's time is known. Return whether the widget uses this token."""
        held, self._cache.held = self._cache.held, None
        if held is None:
            return False
        if held.token == self._cache.token and self._cache.lasts(held):
            self._who.take(held)
            return True
        self._cache.drop("expired")
        self._login.ask("load", self._cache.token)
        return False

    # frames

    def _frame_received(self, frame: Mapping[str, object] | None) -> None:
        try:
            outcome = self._read(frame)
        except UnreadableFrame as error:
            message = f"A frame from the server lacks a valid member {error.member!r}."
            self._ctx.report(WidgetError(Fault.FRAME_UNREADABLE, message))
            self._link.unreadable()
        else:
            self.follow(outcome)

    def _read(self, frame: Mapping[str, object] | None) -> Outcome | None:
        """Pass a frame to the part of the widget that handles it. Raises `UnreadableFrame`."""
        if frame is None:
            raise UnreadableFrame("type")
        kind = kind_of(frame)
        self._link.heard(kind)
        match kind:
            case Kind.HELLO | Kind.READY | Kind.REFRESHED | Kind.REAUTH | Kind.PONG:
                return self._link.frame(kind, frame)
            case Kind.ERROR:
                if "id" not in frame:
                    return self._link.frame(kind, frame)
                self._chat_frame(kind, frame)
            case Kind.MESSAGE | Kind.ACK | Kind.HISTORY | Kind.SEARCH | Kind.CALL | Kind.SIGNAL:
                self._chat_frame(kind, frame)
            case Kind.CONNECT | Kind.REFRESH | Kind.PING | None:
                pass  # ignore a widget's frames, and kinds of a later server (D-10)
            case _:
                assert_never(kind)
        return None

    def _chat_frame(self, kind: ChatKind, frame: Mapping[str, object]) -> None:
        if self._link.is_ready:
            self._chat.frame(kind, frame, panel_open=self._panel.open)

    # accepted and refused principals

    def _established(self, principal: Principal) -> None:
        if self._ctx.notice_phase in {"socket", "token", "configuration"}:
            self._ctx.notice = None
        first = not self._who.is_told
        self._who.tell(principal)
        self._chat.connected()
        if first:
            self._ctx.emit("ready", identity=identity(principal), uid=principal.uid)

    def _refused(self, refused: Refused) -> None:
        if refused.terminal:
            self._who.stop(WidgetError(refused.code, refused.message, phase="socket"))
            return
        match self._link.principal:
            case Custom() as member:
                self._custom_refused(member, refused)
            case Social():
                self._tell_refusal(refused, "socket" if refused.expired else "oauth")
                self._who.leave_member(refused.code)
            case Visitor() | None:
                self._tell_refusal(refused)
                self._link.stop()
            case _:
                assert_never(self._link.principal)

    def _custom_refused(self, member: Custom, refused: Refused) -> None:
        """Ask for another token once, then become the visitor, so that a faulty backend gets few calls (D-12).

        If the token has really expired, the backend is not at fault. If the server refuses a token as expired long
        before its `exp`, the backend is at fault. Meanwhile the old token stays in the cache, because other tabs would
        treat its removal as a logout.
        """
        self._ctx.cancel_timer("renew")
        ended = refused.expired and not self._cache.lasts(member)
        if ended:
            self._login.ended()
        another = self._login.useless() and not self._login.failing
        if not ended:
            self._tell_refusal(refused)
        if not (another and self._login.ask("renew" if ended else "rejected", self._cache.token)):
            self._who.leave_member(refused.code)

    def _tell_refusal(self, refused: Refused, phase: Phase = "socket") -> None:
        self._ctx.report(refused.error(self._link.principal, phase=phase))


def _error(blocked: events.PolicyBlocked | events.LocalNetworkBlocked) -> WidgetError:
    match blocked:
        case events.PolicyBlocked(address, directive):
            message = f"The page's Content-Security-Policy blocks {address}."
            remedy = f"Add {'/'.join(address.split('/')[:3])} to its {directive}."
            return WidgetError(Fault.CSP_BLOCKED, message, phase="socket", remediation=remedy)
        case events.LocalNetworkBlocked(address):
            message = f"The page could not reach {address}, which is on this computer or in the local network."
            return WidgetError(Fault.LOCAL_NETWORK_BLOCKED, message)
