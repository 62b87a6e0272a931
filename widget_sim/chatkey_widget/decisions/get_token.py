"""Handles the results of the page's `getToken`, and changes the widget's identity accordingly."""

from typing import assert_never

from chatkey_widget import events, tokens
from chatkey_widget.decisions.parts import Parts
from chatkey_widget.decisions.who import Who
from chatkey_widget.errors import Fault, WidgetError
from chatkey_widget.link_stages import Idle, Stopped
from chatkey_widget.principal import Custom


class OnGetToken:
    """Handles events about `getToken`. The result of a call that was replaced or cancelled is ignored."""

    def __init__(self, parts: Parts, who: Who) -> None:
        self._ctx, self._link, self._login = parts.ctx, parts.link, parts.login
        self._chat, self._cache = parts.chat, parts.cache
        self._who = who

    def handle(self, event: events.GetTokenEvent) -> None:
        match event:
            case events.RefreshAsked(force):
                self._refresh_asked(force=force)
            case events.TurnCame(ref, stored):
                self._turn_came(ref, stored)
            case _ if not self._login.awaits(event.ref):
                pass
            case events.GetTokenReturned(_, value):
                self._returned(value)
            case events.GetTokenFailed(_, reason):
                self._failed(WidgetError(Fault.GETTOKEN_FAILED, f"getToken failed: {reason}"))
            case events.GetTokenTimedOut():
                self._failed(WidgetError(Fault.GETTOKEN_TIMEOUT, "getToken took longer than 10 seconds."))
            case _:
                assert_never(event)

    def _refresh_asked(self, *, force: bool) -> None:
        self._link.forgive()
        if force:
            self._who.forget("refresh")
        self._login.ask_afresh(self._cache.token)
        if isinstance(self._link.stage, Stopped):
            self._who.become(self._who.visitor)

    def _turn_came(self, ref: int, stored: str | None) -> None:
        found = self._login.turn_came(ref, stored)
        if found is not None and not self._who.adopt(found):
            self._login.again(found)

    def _returned(self, value: str | events.Unusable | None) -> None:
        self._login.answered()
        if value is None:
            self._nobody_logged_in()
            return
        try:
            member = self._login.read(value)
            tokens.check_time(member.claims, now=self._ctx.time_for(member.claims.issued_at))
        except WidgetError as error:
            self._useless_token(error)
            return
        self._ctx.emit("token:received", uid=member.uid, expires_at=member.claims.expires_at)
        self._cache.held = None
        self._cache.keep(member.token)
        self._who.take(member)

    def _nobody_logged_in(self) -> None:
        self._ctx.emit("token:none")
        if isinstance(self._link.principal, Custom):
            self._who.leave_member("logged_out")
        elif self._who.member is None:
            self._forget_unused()

    def _forget_unused(self) -> None:
        """Delete the cached token of a custom login that is not in use, and the conversation of its member.

        Otherwise the widget could return to this login later.
        """
        self._chat.forget_members()
        cached = None if self._cache.token is None else self._cache.member(self._cache.token)
        if isinstance(cached, Custom):
            self._cache.held = None
            self._cache.drop("logged_out")

    def _useless_token(self, error: WidgetError) -> None:
        self._ctx.report(error)
        worth_it = error.code in {Fault.TOKEN_KEY_MISMATCH, Fault.TOKEN_EXPIRED}
        if not (worth_it and self._login.useless() and self._login.ask("rejected", self._cache.token)):
            self._go_on_without()

    def _failed(self, error: WidgetError) -> None:
        self._login.failed(error)
        self._go_on_without()

    def _go_on_without(self) -> None:
        """Continue without a new token.

        A connected member stays connected until the current token expires. If no member is connected, the widget
        becomes the visitor.
        """
        if isinstance(self._link.stage, Idle):
            self._who.leave_member("not_renewed")
