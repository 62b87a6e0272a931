"""Tests of several tabs of one browser.

The tabs must share a cached token, call `getToken` one at a time, and log out together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, GRACE, KEY, OTHER_JKT, VISITOR

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.login import LOCK_SECONDS

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget


@dataclass
class Tabs:
    """Tabs with a common cache.

    A tab receives the changes of other tabs late. A lock allows only one tab at a time to call `getToken`.
    """

    make_widget: MakeWidget
    count: int
    user: str | None = "ada"
    stored: str | None = None
    slow: bool = False
    calls: list[effects.CallGetToken] = field(default_factory=list)
    all: list[Driver] = field(default_factory=list)
    _waiting: list[effects.AwaitTurn] = field(default_factory=list)
    _news: list[tuple[Driver, events.Event]] = field(default_factory=list)
    _seen: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for _ in range(self.count):
            tab = self.make_widget(custom_login=True, turn=self._turn, page=self._asked, cached=self.stored)
            self.all.append(tab)
            self.each(lambda tab: tab.start(), tab)
        self.settle()

    def each(self, act: Callable[[Driver], object], *tabs: Driver) -> None:
        """Let these tabs act before any of them receives events of other tabs. By default, all tabs act."""
        for tab in tabs or self.all:
            act(tab)
            self._share(tab)

    def settle(self) -> None:
        while self._news:
            tab, event = self._news.pop(0)
            match event:
                case events.StoredTokenChanged():
                    tab.feed(events.StoredTokenChanged(self.stored))
                case _ if self.stored is None:
                    tab.feed(event)
                case _:
                    pass
            self._share(tab)

    @property
    def identities(self) -> list[tuple[object, object]]:
        return [tab.identity for tab in self.all]

    @property
    def reasons(self) -> list[str]:
        return [call.reason for call in self.calls]

    def answer(self) -> None:
        """Give the lock to each waiting tab, one after another."""
        while self._waiting:
            turn = self._waiting.pop(0)
            (tab,) = (tab for tab in self.all if any(effect is turn for effect in tab.done))
            if effects.AbortGetToken(turn.ref) not in tab.done:
                tab.feed(self._come(turn))
                self._share(tab)
                self.settle()

    def _turn(self, turn: effects.AwaitTurn) -> events.Event | None:
        if self.slow:
            self._waiting.append(turn)
            return None
        return self._come(turn)

    def _come(self, turn: effects.AwaitTurn) -> events.Event:
        """Return the event with which a tab gets the lock. It contains the token that is currently in the cache."""
        for tab in self.all:
            self._share(tab)
        return events.TurnCame(turn.ref, self.stored)

    def _asked(self, call: effects.CallGetToken) -> events.Event:
        self.calls.append(call)
        return events.GetTokenReturned(call.ref, self.user and self.all[0].custom(uid=self.user, jti=len(self.calls)))

    def _share(self, tab: Driver) -> None:
        """Apply the effects of a tab to the cache, and queue events for the other tabs."""
        news: list[events.Event] = []
        for effect in tab.done[self._seen.get(id(tab), 0) :]:
            before = self.stored
            match effect:
                case effects.StoreToken(token):
                    self.stored = token
                case effects.DropToken(token) if token == self.stored:
                    self.stored = None
                case effects.AnnounceLogout():
                    self.stored = None
                    news.append(events.LogoutAsked(heard=True))
                case _:
                    pass
            if self.stored != before:
                news.append(events.StoredTokenChanged(self.stored))
        self._seen[id(tab)] = len(tab.done)
        for other in self.all:
            other.stored = self.stored
            self._news += [(other, event) for event in news if other is not tab]


@pytest.fixture
def make_tabs(make_widget: MakeWidget) -> Callable[..., Tabs]:
    """Return a function that opens tabs of one browser, one after another."""

    def make(count: int = 4, **options: object) -> Tabs:
        return Tabs(make_widget, count, **options)  # type: ignore[arg-type]

    return make


def sleep(seconds: float) -> Callable[[Driver], None]:
    return lambda tab: tab.sleep(seconds)


@pytest.mark.contract("D-12/tabs")
def test_tabs_that_were_opened_together_ask_once(make_tabs: Callable[..., Tabs]) -> None:
    """F043: the first tab must call `getToken`.

    The other tabs must use the first tab's token, and become the same member.
    """
    tabs = make_tabs()

    assert tabs.identities == [ADA] * 4
    assert tabs.reasons == ["load"]


@pytest.mark.contract("D-12/tabs", "3/renewal")
def test_one_tab_renews_for_all(make_tabs: Callable[..., Tabs]) -> None:
    """F043: a minute before expiry, one tab must call `getToken`, and all tabs must send the new token."""
    tabs = make_tabs()

    tabs.each(lambda tab: tab.advance(3541))
    tabs.settle()

    assert tabs.reasons == ["load", "renew"]
    assert [[frame["token"] for frame in tab.frames(Kind.REFRESH)] for tab in tabs.all] == [[tabs.stored]] * 4


@pytest.mark.contract("D-12/tabs", "D-12/no-hammering")
@pytest.mark.parametrize("slow", [False, True])
def test_tabs_that_slept_past_the_end_of_their_token_ask_once_and_stay_logged_in(
    make_tabs: Callable[..., Tabs], *, slow: bool
) -> None:
    """F043: the first tab to resume gets a new token.

    The last tab to resume must not delete this token, or treat it as a logout.
    """
    tabs = make_tabs()
    tabs.slow = slow

    tabs.each(sleep(10_800))
    tabs.settle()
    tabs.answer()

    assert tabs.identities == [ADA] * 4
    assert tabs.reasons == ["load", "renew"]
    assert [tab.emitted("logout") for tab in tabs.all] == [[]] * 4


@pytest.mark.contract("D-12/tabs")
def test_tabs_that_slept_while_their_user_left_are_visitors(make_tabs: Callable[..., Tabs]) -> None:
    tabs = make_tabs()
    tabs.user = None

    tabs.each(sleep(10_800))
    tabs.settle()

    assert tabs.identities == [VISITOR] * 4
    assert tabs.stored is None


@pytest.mark.contract("D-12/no-hammering")
def test_refused_tokens_of_other_tabs_do_not_cause_endless_calls(
    make_tabs: Callable[..., Tabs], make_widget: MakeWidget
) -> None:
    """WDG-007 in four tabs: the server refuses every token, and each tab uses the tokens of the other tabs.

    The calls of `getToken` must end.
    """

    def refusing(**options: object) -> Driver:
        return make_widget(
            verdict=lambda c: ("token_signature", Close.TOKEN) if c["type"] == "user" else None, **options
        )

    tabs = Tabs(refusing, 4)

    tabs.each(lambda tab: tab.advance(300))
    tabs.settle()

    assert len(tabs.calls) <= 2 * 4
    assert tabs.identities == [VISITOR] * 4


@pytest.mark.contract("D-12/tabs")
def test_a_rotated_secret_logs_nobody_out_in_any_tab(make_tabs: Callable[..., Tabs]) -> None:
    """F112: the server refuses one tab after another.

    One new token must make all tabs members again, even if the token is late.
    """
    tabs = make_tabs()
    tabs.slow = True

    for tab in tabs.all:
        tabs.each(lambda tab: tab.close(Close.TOKEN), tab)
        tabs.settle()
    tabs.answer()

    assert tabs.identities == [ADA] * 4
    assert tabs.reasons == ["load", "rejected"]
    assert [tab.emitted("logout") for tab in tabs.all] == [[]] * 4


@pytest.mark.contract("D-12/tabs", "2.8/deleted-by-logout")
def test_a_logout_applies_once_in_all_tabs(make_tabs: Callable[..., Tabs]) -> None:
    """F190, WDG-011: each tab must log out once, whichever event the tab receives first."""
    tabs = make_tabs()

    tabs.each(lambda tab: tab.feed(events.LogoutAsked()), tabs.all[0])
    tabs.settle()

    assert tabs.identities == [VISITOR] * 4
    assert [tab.emitted("logout") for tab in tabs.all] == [[{"heard": False}], *[[{"heard": True}]] * 3]
    assert tabs.stored is None


@pytest.mark.contract("D-12/tabs")
def test_a_logout_does_not_affect_a_login_right_after_it(make_tabs: Callable[..., Tabs]) -> None:
    """F196: one user logs out, and then another user logs in.

    The other tabs receive both events late, and must become the second user.
    """
    tabs = make_tabs()
    tabs.user = "bob"

    tabs.each(lambda tab: tab.feed(events.LogoutAsked(), events.RefreshAsked()), tabs.all[0])
    tabs.settle()

    assert tabs.identities == [("member", "bob")] * 4


def test_a_logout_deletes_a_token_this_tab_has_not_heard_of(make_tabs: Callable[..., Tabs]) -> None:
    """F189: another tab stored the token a moment ago."""
    tabs = make_tabs(2, user=None)
    first, second = tabs.all
    tabs.user = "ada"

    tabs.each(lambda tab: tab.feed(events.RefreshAsked()), second)
    tabs.each(lambda tab: tab.feed(events.LogoutAsked()), first)
    tabs.settle()

    assert tabs.stored is None
    assert tabs.identities == [VISITOR] * 2


@pytest.mark.contract("D-12/tabs")
def test_a_logout_elsewhere_drops_a_call_that_began_before_it(make_widget: MakeWidget) -> None:
    """F191 across tabs: the visitor's `getToken` call must be aborted. The page must not receive a logout event."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    ref = widget.last(effects.CallGetToken).ref

    widget.feed(events.LogoutAsked(heard=True), events.GetTokenReturned(ref, widget.custom()))

    assert widget.last(effects.AbortGetToken).ref == ref
    assert widget.identity == VISITOR
    assert widget.emitted("logout") == []


@pytest.mark.contract("D-12/tabs")
def test_a_token_of_another_tab_does_not_stop_what_the_page_asked_for(member: Driver) -> None:
    """F196: the page reports a new user.

    If another tab got a token for the previous user, the widget must not use it as the answer.
    """
    answers: list[str] = []
    member.page = lambda call: None
    member.feed(events.RefreshAsked())
    ref = member.last(effects.CallGetToken).ref

    member.feed(events.StoredTokenChanged(member.custom(jti=2)))
    answers.append(member.custom(uid="bob"))
    member.feed(events.GetTokenReturned(ref, answers[-1]))

    assert member.all(effects.AbortGetToken) == []
    assert member.identity == ("member", "bob")
    assert member.stored == answers[-1]


def test_garbage_in_the_cache_does_not_keep_a_tab_from_asking(make_widget: MakeWidget) -> None:
    """F017: when the tab gets the lock, the cached value is unusable. The widget must call `getToken`."""
    widget = make_widget(custom_login=True)
    garbage = widget.custom(cnf={"jkt": OTHER_JKT})
    widget.turn = lambda turn: events.TurnCame(turn.ref, garbage)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.start()

    assert widget.identity == ADA
    assert (len(widget.all(effects.AwaitTurn)), len(widget.all(effects.CallGetToken))) == (2, 1)


@pytest.mark.contract("D-12/tabs")
def test_a_token_that_has_ended_may_be_deleted_by_any_tab(member: Driver) -> None:
    """F190: deleting an expired token is not a logout. The call for the next token must continue."""
    member.page = lambda _: None
    member.sleep(10_800)

    member.feed(events.StoredTokenChanged(None))
    in_between = member.emitted("logout"), len(member.all(effects.AbortGetToken))
    member.feed(events.GetTokenReturned(member.last(effects.CallGetToken).ref, member.custom()))

    assert in_between == ([], 0)
    assert member.identity == ADA


def waiting_for_the_time(widget: Driver, token: str) -> Driver:
    """Start a widget with a cached token on a page with a wrong clock.

    The widget cannot decide whether the token has expired until it knows the service's time.
    """
    widget.stored = token
    return widget.start()


def told_the_time(widget: Driver) -> events.TokenLoaded:
    """Return the event with the visitor's token. The widget learns the service's time from this event."""
    token = widget.custom(uid=KEY.uid, type="visitor")
    return events.TokenLoaded(widget.last(effects.LoadVisitorToken).ref, token, "wss://chat.test/v1/socket")


@pytest.fixture
def in_doubt(make_widget: MakeWidget) -> Driver:
    """A widget on a page whose clock is a day ahead. The service has not responded, and `getToken` returns `null`."""
    return make_widget(custom_login=True, server_ahead=-86_400, answers_tokens=False)


def test_a_cached_token_that_is_deleted_while_it_waits_for_the_time_is_not_taken(in_doubt: Driver) -> None:
    """F190: the page's clock is wrong. Another tab logs out before this widget knows the service's time."""
    widget = waiting_for_the_time(in_doubt, in_doubt.custom())
    widget.stored = None

    widget.feed(events.StoredTokenChanged(None), told_the_time(widget))

    assert widget.identity == VISITOR
    assert [call.reason for call in widget.all(effects.CallGetToken)] == ["load"]


def test_a_page_without_a_user_ends_a_cached_login_that_waits_for_the_time(in_doubt: Driver) -> None:
    """F195: the page's clock is wrong. `getToken` returns `null` before the widget knows the service's time."""
    widget = waiting_for_the_time(in_doubt, in_doubt.custom())

    widget.feed(events.RefreshAsked())
    widget.feed(told_the_time(widget))

    assert widget.identity == VISITOR
    assert widget.stored is None


def test_a_page_without_a_user_ends_no_social_login_that_waits_for_the_time(in_doubt: Driver) -> None:
    """D-12: `getToken` concerns only custom logins."""
    widget = waiting_for_the_time(in_doubt, token := in_doubt.identity_token())

    widget.feed(events.RefreshAsked())
    widget.answers_tokens = True
    widget.feed(told_the_time(widget))

    assert (widget.identity, widget.stored) == (GRACE, token)


@pytest.mark.contract("D-12/tabs")
@pytest.mark.parametrize(("fraction", "seconds"), [(0.0, LOCK_SECONDS), (0.5, 1.5 * LOCK_SECONDS)])
def test_tabs_stop_waiting_for_a_frozen_tab_at_different_times(
    make_widget: MakeWidget, fraction: float, seconds: float
) -> None:
    """F043: each tab must wait longer than a `getToken` call may take.

    The additional time must be random and differ between tabs.
    """
    widget = make_widget(custom_login=True)
    widget.chance.value = fraction

    widget.start()

    assert widget.last(effects.AwaitTurn).patience == seconds


@pytest.mark.contract("D-12/force")
def test_a_forced_refresh_shows_nothing_of_the_last_user_while_the_page_is_asked(member: Driver) -> None:
    """F196: token, member and conversation must disappear at once in all tabs. Then the new user must appear."""
    member.feed(events.MessageWritten("of ada"))
    member.page = lambda _: None

    member.feed(events.RefreshAsked(force=True))
    meanwhile = member.identity, member.view.lines, member.stored, member.view.person.name
    ref = member.last(effects.CallGetToken).ref
    member.feed(events.GetTokenReturned(ref, member.custom(uid="bob")))

    assert meanwhile == (VISITOR, (), None, None)
    assert len(member.all(effects.AnnounceLogout)) == 1
    assert member.emitted("logout") == []
    assert member.identity == ("member", "bob")


@pytest.mark.contract("D-12/latest-act", "D-12/force")
@pytest.mark.parametrize(("force", "identity"), [(False, GRACE), (True, VISITOR)])
def test_a_forced_refresh_ends_a_social_login_too(
    make_widget: MakeWidget, force: bool, identity: tuple[str, str]
) -> None:
    """F197:

    `force` means that the current person is not the page's user. Without `force`, a social member must stay.
    """
    widget = make_widget(custom_login=True)
    widget.stored = widget.identity_token()
    widget.start()

    widget.feed(events.RefreshAsked(force=force))

    assert widget.identity == identity
    assert (widget.stored is None) is force


def test_a_token_of_another_tab_is_taken_while_the_time_is_in_doubt(member: Driver) -> None:
    """F043, F053: the page's clock was changed.

    The other tab's token is new, so the widget must get the time from the token's `iat`.
    """
    member.page = lambda _: None
    member.server_ahead = 10_800
    member.frame(type="pong", server_time=member.server_now)
    member.server_ahead = 0
    member.sleep(10_800)
    newer = member.custom()

    member.feed(events.StoredTokenChanged(newer))

    assert member.connects()[-1] == newer
    assert member.identity == ADA


def test_a_token_of_another_tab_ends_the_call_under_way(make_widget: MakeWidget) -> None:
    """F043: the widget must ignore the page's later answer."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    ref = widget.last(effects.CallGetToken).ref

    widget.feed(events.StoredTokenChanged(widget.custom()), events.GetTokenReturned(ref, widget.custom(uid="bob")))

    assert widget.last(effects.AbortGetToken).ref == ref
    assert widget.identity == ADA


def test_a_token_found_after_the_logout_is_not_taken(make_widget: MakeWidget) -> None:
    """F191: the person logged out while this tab waited for the lock."""
    widget = make_widget(custom_login=True, turn=lambda _: None).start()
    ref = widget.last(effects.AwaitTurn).ref

    widget.feed(events.LogoutAsked(), events.TurnCame(ref, widget.custom()))

    assert widget.identity == VISITOR
    assert widget.all(effects.CallGetToken) == []


def test_the_lock_of_a_replaced_call_does_not_start_the_next(make_widget: MakeWidget) -> None:
    """The widget may call `getToken` only while it holds the lock for the current call."""
    widget = make_widget(custom_login=True, turn=lambda _: None).start()
    replaced = widget.last(effects.AwaitTurn).ref
    widget.feed(events.RefreshAsked())

    widget.feed(events.TurnCame(replaced, None))
    too_early = widget.calls()
    widget.feed(events.TurnCame(widget.last(effects.AwaitTurn).ref, None))

    assert too_early == []
    assert widget.calls() == [("refresh", 1)]


def test_a_known_token_causes_nothing(member: Driver) -> None:
    member.feed(events.StoredTokenChanged(member.stored))

    assert member.frames(Kind.REFRESH) == []
    assert member.emitted("token:adopted") == []


@pytest.mark.contract("2.8/exp-before-reuse")
def test_a_token_of_another_tab_that_has_ended_is_not_adopted(visitor: Driver) -> None:
    """A frozen tab may receive the event of a login after the token has expired."""
    now = visitor.server_now

    visitor.feed(events.StoredTokenChanged(visitor.custom(iat=now - 7200, exp=now - 3600)))

    assert visitor.identity == VISITOR
    assert visitor.counts()["OpenSocket"] == 1
