"""Custom login: when `getToken` is asked, what is done with its answers, and what is never done."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.conftest import KEY, NOW, OTHER_JKT, PID, jwt

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.conftest import Driver, MakeWidget

VISITOR = ("visitor", KEY.uid)
ADA = ("member", "ada")


def calls(widget: Driver) -> list[tuple[str, int]]:
    """Return reason and attempt of every `getToken` call."""
    return [(call.reason, call.attempt) for call in widget.all(effects.CallGetToken)]


def sockets(widget: Driver) -> int:
    return widget.counts()["OpenSocket"]


@pytest.mark.contract("3/get-token", "2.4/unchanged", "D-12/visitor-beside", "4.8/get-token-argument")
def test_a_token_makes_a_member_and_is_used_unchanged_and_cached(member: Driver) -> None:
    """The visitor is connected at once; with the token comes a new connection as the member."""
    token = member.stored

    assert token is not None
    assert member.last(effects.SendConnect).token == token
    assert member.last(effects.StoreToken).token == token
    assert member.identity == ADA
    assert calls(member) == [("load", 1)]
    assert member.last(effects.CallGetToken).jkt == KEY.jkt


@pytest.mark.contract("3/get-token-null", "4.8/get-token-argument")
def test_null_leaves_the_visitor_and_is_not_asked_again(make_widget: MakeWidget) -> None:
    """F030, WDG-006: no error, no second call, until the page says that its user may have changed."""
    widget = make_widget(custom_login=True).start()

    widget.advance(4000)
    on_its_own = calls(widget)
    widget.feed(events.RefreshAsked())

    assert on_its_own == [("load", 1)]
    assert calls(widget) == [("load", 1), ("refresh", 1)]
    assert widget.identity == VISITOR
    assert widget.errors() == []


@pytest.mark.contract("D-12/get-token-bounds", "D-12/always-chat")
@pytest.mark.parametrize(
    ("value", "code"),
    [
        pytest.param(events.Unusable("undefined"), Fault.TOKEN_WRONG_TYPE, id="F031"),
        pytest.param(events.Unusable("an object with a member 'token'"), Fault.TOKEN_WRONG_TYPE, id="F032"),
        pytest.param("", Fault.TOKEN_EMPTY, id="F033-empty"),
        pytest.param("null", Fault.TOKEN_MALFORMED, id="F033-null"),
        pytest.param("undefined", Fault.TOKEN_MALFORMED, id="F033-undefined"),
        pytest.param("[object Object]", Fault.TOKEN_MALFORMED, id="F033-object"),
        pytest.param('{"token":"x"}', Fault.TOKEN_MALFORMED, id="F034"),
        pytest.param(jwt(pid=PID, uid="a", type="user", cnf={"jkt": KEY.jkt}), Fault.TOKEN_CLAIMS, id="F058"),
        pytest.param(jwt(pid="b", uid="a", type="user", exp=NOW + 60), Fault.TOKEN_CLAIMS, id="F045"),
        pytest.param(jwt(pid=PID, uid="a", type="visitor", exp=NOW + 60), Fault.TOKEN_CLAIMS, id="F107"),
        pytest.param("x" * 10_000, Fault.TOKEN_TOO_LARGE, id="F049"),
    ],
)
def test_a_useless_answer_is_named_and_leaves_the_visitor(
    make_widget: MakeWidget, value: str | events.Unusable, code: Fault
) -> None:
    """WDG-006: one error, one call, no token stored or sent, the visitor chats."""
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenReturned(call.ref, value)).start()

    widget.advance(600)

    assert widget.errors() == [code]
    assert calls(widget) == [("load", 1)]
    assert widget.all(effects.StoreToken) == []
    assert widget.identity == VISITOR


def test_an_identity_token_is_no_answer_of_get_token(make_widget: MakeWidget) -> None:
    """F108 in the page: the token kinds are told apart by `type` (D-05)."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.identity_token())

    widget.start()

    assert widget.errors() == [Fault.TOKEN_CLAIMS]
    assert widget.identity == VISITOR


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"cnf": {"jkt": OTHER_JKT}}, Fault.TOKEN_KEY_MISMATCH, id="F044"),
        pytest.param({"exp": int(NOW) - 1, "iat": int(NOW) - 3601}, Fault.TOKEN_EXPIRED, id="F051"),
    ],
)
def test_another_key_or_time_gets_one_second_try(
    make_widget: MakeWidget, changes: dict[str, object], code: Fault
) -> None:
    """A backend that caches too long is asked once more, and then left alone."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(**changes))
    widget.start()

    widget.advance(600)

    assert widget.errors() == [code, code]
    assert calls(widget) == [("load", 1), ("rejected", 1)]
    assert widget.identity == VISITOR


def test_the_second_try_may_succeed(make_widget: MakeWidget) -> None:
    """The positive twin of the above."""
    widget = make_widget(custom_login=True)
    answers = [{"cnf": {"jkt": OTHER_JKT}}, {}]
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(**answers.pop(0)))

    widget.start()

    assert widget.identity == ADA


@pytest.mark.contract("3/get-token-failed", "D-12/get-token-bounds", "D-12/always-chat")
def test_a_throw_is_tried_again_with_backoff(make_widget: MakeWidget) -> None:
    """F037: 1, 2, 4 … 60 seconds, the attempt counted up, the visitor connected meanwhile."""
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500")).start()

    widget.advance(1 + 2 + 4 + 8 + 16 + 32 + 60 + 60)

    assert calls(widget) == [("load", attempt) for attempt in range(1, 10)]
    assert set(widget.errors()) == {Fault.GETTOKEN_FAILED}
    assert widget.identity == VISITOR
    assert sockets(widget) == 1


def test_the_waits_are_scattered_by_chance(make_widget: MakeWidget) -> None:
    """F037: a crowd of pages does not come back to the backend in one moment, nor at once."""
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500"))
    widget.chance.value = 0.0

    widget.start()
    shortest = widget.timers["getToken"] - widget.now
    widget.chance.value = 0.5
    widget.advance(shortest)
    second = widget.timers["getToken"] - widget.now

    assert (shortest, second) == (0.5, 1.5)


def test_recovering_after_throws_makes_the_member(make_widget: MakeWidget) -> None:
    """As soon as the backend is well again."""
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500")).start()
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.advance(1)

    assert widget.identity == ADA


@pytest.mark.contract("D-12/get-token-bounds")
def test_a_late_answer_is_ignored(make_widget: MakeWidget) -> None:
    """F038, F039, WDG-006: after the time-out the visitor stays, whatever still comes."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    ref = widget.last(effects.CallGetToken).ref

    widget.feed(events.GetTokenTimedOut(ref), events.GetTokenReturned(ref, widget.custom()))

    assert widget.errors() == [Fault.GETTOKEN_TIMEOUT]
    assert widget.identity == VISITOR


@pytest.mark.contract("D-12/tabs")
def test_only_one_call_is_in_flight(member: Driver) -> None:
    """F042, WDG-008: whatever else would ask meanwhile waits for the answer that is coming."""
    member.page = lambda _: None
    member.feed(events.RefreshAsked())

    member.frame(type="reauth", deadline=member.server_now + 30)
    member.advance(300)

    assert calls(member) == [("load", 1), ("refresh", 1)]


@pytest.mark.contract("D-12/get-token-bounds")
def test_the_answer_of_a_call_that_was_replaced_is_ignored(make_widget: MakeWidget) -> None:
    """F196: the page said meanwhile that its user may have changed; only the newer call's answer counts."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    replaced = widget.last(effects.CallGetToken).ref
    widget.feed(events.RefreshAsked())

    widget.feed(events.GetTokenReturned(replaced, widget.custom(uid="bob")))
    meanwhile = widget.identity
    widget.feed(events.GetTokenReturned(widget.last(effects.CallGetToken).ref, widget.custom()))

    assert (meanwhile, widget.identity) == (VISITOR, ADA)


def test_a_late_failure_is_ignored(make_widget: MakeWidget) -> None:
    """Once the page has answered, its call cannot fail any more."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    ref = widget.last(effects.CallGetToken).ref

    widget.feed(events.GetTokenReturned(ref, widget.custom()))
    widget.feed(events.GetTokenTimedOut(ref), events.GetTokenFailed(ref, "late"))

    assert widget.errors() == []
    assert widget.identity == ADA


def test_a_retry_that_was_planned_is_not_made_besides_another_call(member: Driver) -> None:
    """F042: what the retry was planned for has come another way meanwhile."""
    member.page = lambda call: events.GetTokenFailed(call.ref, "503")
    member.frame(type="reauth", deadline=member.server_now + 30)
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom())

    member.frame(type="reauth", deadline=member.server_now + 30)
    member.advance(10)

    assert calls(member) == [("load", 1), ("renew", 1), ("renew", 2)]


@pytest.mark.contract("3/reuse-across-loads", "2.8/exp-before-reuse", "D-12/visitor-beside", "4.2/not-for-members")
def test_a_cached_token_connects_the_member_directly(make_widget: MakeWidget) -> None:
    """WDG-009: no visitor token, no getToken, one socket."""
    widget = make_widget(custom_login=True)
    widget.stored = widget.custom()

    widget.start()

    assert widget.identity == ADA
    assert calls(widget) == []
    assert widget.all(effects.LoadVisitorToken) == []
    assert sockets(widget) == 1


def test_a_cached_member_waits_for_the_sockets_address(make_widget: MakeWidget) -> None:
    """The key may be ready before the configuration, which tells where to connect."""
    widget = make_widget(custom_login=True)
    widget.machine.handle(events.Started(secure=True), widget.now)
    widget.feed(events.KeyReady(KEY, widget.custom()))
    before = sockets(widget)

    widget.feed(events.ConfigurationLoaded({"socket_uri": "wss://chat.test/v1/socket"}))

    assert (before, sockets(widget)) == (0, 1)
    assert widget.identity == ADA


@pytest.mark.contract("D-06/dropped-before-connect", "2.8/exp-before-reuse")
@pytest.mark.parametrize(
    "cached",
    [
        pytest.param({"exp": int(NOW) - 10}, id="WDG-001"),
        pytest.param({"exp": int(NOW) + 5}, id="WDG-002"),
        pytest.param({"exp": "soon"}, id="WDG-003-exp"),
        pytest.param({"exp": int(NOW) * 1000}, id="WDG-003-ms"),
        pytest.param({"exp": ...}, id="WDG-003-missing"),
        pytest.param({"cnf": {"jkt": OTHER_JKT}}, id="WDG-005"),
        pytest.param({"pid": "prov_2"}, id="F020"),
        pytest.param({"type": "visitor"}, id="type"),
    ],
)
def test_a_cached_token_that_will_not_do_is_dropped_before_anything_connects(
    make_widget: MakeWidget, cached: dict[str, object]
) -> None:
    """F010, F068: it is deleted, getToken is asked with this key, and the token never reaches a socket."""
    widget = make_widget(custom_login=True)
    useless = widget.stored = widget.custom(**cached)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(uid="bob"))

    widget.start()

    order = [type(effect).__name__ for effect in widget.done]
    assert order.index("DropToken") < order.index("OpenSocket")
    assert calls(widget) == [("load", 1)]
    assert useless not in [connect.token for connect in widget.all(effects.SendConnect)]
    assert widget.identity == ("member", "bob")


@pytest.mark.parametrize("garbage", ["{", "null", "", "x" * 1_000_000])
def test_garbage_in_the_cache_is_dropped(make_widget: MakeWidget, garbage: str) -> None:
    """F017, WDG-003: then everything goes its normal way."""
    widget = make_widget(custom_login=True, cached=garbage).start()

    assert widget.stored is None
    assert calls(widget) == [("load", 1)]
    assert widget.identity == VISITOR
    assert widget.errors() == []


@pytest.mark.contract("D-12/clock-skew")
def test_a_fast_page_clock_does_not_throw_a_good_cached_token_away(make_widget: MakeWidget) -> None:
    """F053, WDG-013: a token that looks old waits for the first word of the service, which tells the time."""
    widget = make_widget(custom_login=True, server_ahead=-86_400)
    widget.stored = widget.custom()

    widget.start()

    assert widget.identity == ADA
    assert calls(widget) == []
    assert sockets(widget) == 1


@pytest.mark.contract("D-12/clock-skew", "2.8/exp-before-reuse")
def test_a_slow_page_clock_does_not_keep_a_dead_cached_token(make_widget: MakeWidget) -> None:
    """A token that looks good but ended by the server's time is never sent; getToken is asked once."""
    widget = make_widget(custom_login=True, server_ahead=86_400)
    widget.stored = widget.custom(iat=int(NOW), exp=int(NOW) + 3600)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.start()

    assert calls(widget) == [("renew", 1)]
    assert widget.identity == ADA
    assert len(widget.all(effects.SendConnect)) == 1


def test_a_new_token_is_good_on_a_page_with_a_wrong_clock(make_widget: MakeWidget) -> None:
    """Before the server's time is known, the token's own `iat` is believed."""
    widget = make_widget(custom_login=True, server_ahead=-86_400, answers_tokens=False)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.start()

    assert widget.identity == ADA
    assert widget.errors() == []


@pytest.mark.contract("3/renewal", "5.3/renews")
def test_the_token_is_renewed_before_its_end_on_the_same_socket(member: Driver) -> None:
    """One minute before `exp`, getToken is called again, and its token goes out in a `refresh` frame."""
    opened, told = sockets(member), len(member.emitted("identity:changed"))

    member.advance(3539)
    assert calls(member) == [("load", 1)]
    member.advance(2)

    assert calls(member) == [("load", 1), ("renew", 1)]
    assert member.frames(Kind.REFRESH)[-1]["token"] == member.stored
    assert sockets(member) == opened
    assert len(member.emitted("identity:changed")) == told


def test_a_short_lived_token_is_not_renewed_in_a_rush(make_widget: MakeWidget) -> None:
    """F056: not more often than every 10 seconds; the page is warned once."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(exp=widget.server_now + 20))

    widget.start()
    widget.advance(60)

    assert len(calls(widget)) == 7
    assert [warning["code"] for warning in widget.emitted("warning")] == ["short_lifetime"]


@pytest.mark.contract("D-10/refresh")
def test_another_uid_on_renewal_is_another_person(member: Driver) -> None:
    """F046: never an in-band refresh: the old socket is closed, the screen cleared, then a new socket opened."""
    member.feed(events.MessageWritten("of ada"))
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(uid="bob", name="Bob"))
    before = len(member.done)

    member.advance(3541)

    order = [type(effect).__name__ for effect in member.done[before:]]
    assert order.index("CloseSocket") < order.index("OpenSocket")
    assert member.frames(Kind.REFRESH) == []
    assert member.identity == ("member", "bob")
    assert member.view.lines == ()
    assert member.view.person.name == "Bob"


@pytest.mark.contract("2.7/history-apart")
def test_null_on_renewal_ends_the_membership(member: Driver) -> None:
    """The page's user is gone: a visitor again, the cached token deleted, the conversation out of the page's memory."""
    member.feed(events.MessageWritten("from ada"))
    member.page = lambda call: events.GetTokenReturned(call.ref, None)

    member.advance(3541)
    left, stored = member.identity, member.stored
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom())
    member.feed(events.RefreshAsked())

    assert left == VISITOR
    assert stored is None
    assert member.identity == ADA
    assert member.view.lines == ()


def test_failing_renewals_keep_the_member_until_the_token_ends(member: Driver) -> None:
    """F037, F142: the connection lives on to `exp`; then 4419 makes a visitor, without another call on the spot."""
    member.page = lambda call: events.GetTokenFailed(call.ref, "503")
    member.advance(3590)
    assert member.identity == ADA

    before = len(calls(member))
    member.advance(10)
    member.close(Close.TOKEN_EXPIRED)

    assert member.identity == VISITOR
    assert len(calls(member)) == before


def test_a_reauth_asks_the_page_at_once(member: Driver) -> None:
    """F065, F142: the server's deadline is met by a renewal on the same socket."""
    opened = sockets(member)

    member.frame(type="reauth", deadline=member.server_now + 30)

    assert calls(member)[-1] == ("renew", 1)
    assert len(member.frames(Kind.REFRESH)) == 1
    assert sockets(member) == opened


@pytest.mark.contract("D-12/no-hammering")
@pytest.mark.parametrize(
    ("code", "close"),
    [
        ("token_signature", Close.TOKEN),
        ("proof_key_mismatch", Close.FORBIDDEN),
        ("token_provider", Close.TOKEN),
        pytest.param("token_not_yet_valid", Close.TOKEN, id="F054"),
        pytest.param("token_claims", Close.TOKEN, id="F059"),
    ],
)
def test_a_member_refused_for_ever_costs_two_calls(make_widget: MakeWidget, code: str, close: Close) -> None:
    """F138, F044, WDG-007: two tokens, then a visitor who chats, and not a call more."""
    widget = make_widget(custom_login=True, verdict=lambda c: (code, close) if c["type"] == "user" else None)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())
    widget.start()

    widget.advance(300)

    assert calls(widget) == [("load", 1), ("rejected", 1)]
    assert sockets(widget) == 4
    assert widget.errors() == [code, code]
    assert widget.identity == VISITOR
    assert widget.stored is None


@pytest.mark.contract("D-12/no-hammering")
def test_everyone_refused_for_ever_costs_four_sockets(make_widget: MakeWidget) -> None:
    """F138 at its worst: at most four sockets and two calls in five minutes."""
    widget = make_widget(custom_login=True, verdict=lambda _: ("token_signature", Close.TOKEN))
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())
    widget.start()

    widget.advance(300)

    assert sockets(widget) <= 4
    assert len(calls(widget)) <= 2
    assert widget.view.link == "stopped"


def test_a_rotated_secret_is_survived_without_becoming_a_visitor(member: Driver) -> None:
    """F112, F113: refused once, asked once, a member again; the page never hears of a visitor in between."""
    told, opened, old = len(member.emitted("identity:changed")), sockets(member), member.stored
    member.advance(1)
    member.frame(type="error", code="token_signature", message="No.", retryable=False)

    member.close(Close.TOKEN)
    member.advance(600)

    assert calls(member) == [("load", 1), ("rejected", 1)]
    assert member.stored not in {old, None}
    assert member.all(effects.DropToken) == []  # other tabs would take it for a logout
    assert sockets(member) == opened + 1
    assert member.identity == ADA
    assert len(member.emitted("identity:changed")) == told


def test_waking_after_the_token_ended_renews_before_connecting(member: Driver) -> None:
    """A laptop that slept for three hours: getToken first, then one socket."""
    before = len(member.done)

    member.sleep(10_800)

    order = [type(effect).__name__ for effect in member.done[before:]]
    assert order.index("CallGetToken") < order.index("OpenSocket")
    assert order.count("OpenSocket") == 1
    assert order.count("CallGetToken") == 1
    assert member.identity == ADA
    assert member.errors() == []


@pytest.mark.parametrize("code", [1006, Close.RESTART, Close.NONCE])
def test_reconnecting_does_not_call_get_token(member: Driver, code: int) -> None:
    """F094: the token in hand is still good."""
    for _ in range(5):
        member.close(code)
        member.advance(31)

    assert calls(member) == [("load", 1)]
    assert member.identity == ADA


def test_a_refresh_asked_by_the_page_switches_accounts(member: Driver) -> None:
    """F196: the page says its user changed; what was under way is dropped and the new user is here."""
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(uid="bob"))

    member.feed(events.RefreshAsked())

    assert calls(member)[-1] == ("refresh", 1)
    assert member.identity == ("member", "bob")


def test_a_refresh_asked_early_waits_for_the_key(make_widget: MakeWidget) -> None:
    """Calls that were queued before the widget ran are kept."""
    widget = make_widget(custom_login=True, page=lambda _: None)

    widget.feed(events.RefreshAsked(), events.Started(secure=True))

    assert calls(widget) == [("load", 1), ("refresh", 1)]
    assert len(widget.all(effects.AbortGetToken)) == 1


@pytest.mark.contract("D-12/tabs")
def test_a_token_of_another_tab_is_adopted(make_widget: MakeWidget) -> None:
    """F043: what another tab got while this one waited its turn is used, and not asked for again."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.TokenFound(call.ref, widget.custom())

    widget.start()

    assert widget.identity == ADA
    assert widget.all(effects.StoreToken) == []


def test_renewal_by_another_tab_keeps_the_socket(member: Driver) -> None:
    """The storage event brings the newer token of the same member."""
    opened = sockets(member)
    member.advance(100)

    member.feed(events.StoredTokenChanged(member.custom()))

    assert len(member.frames(Kind.REFRESH)) == 1
    assert sockets(member) == opened


def test_a_member_without_a_name_goes_by_the_uid(make_widget: MakeWidget) -> None:
    """`name` is the integrator's to give or to leave out."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(name=...))

    widget.start()

    assert (widget.view.person.member, widget.view.person.name) == (True, "ada")


def test_a_member_sees_no_sign_in_page(make_widget: MakeWidget) -> None:
    """It was open when the page's own login came."""
    widget = make_widget(custom_login=True).start()
    widget.feed(events.PageChosen("sign-in"))
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.feed(events.RefreshAsked())

    assert widget.view.page == "chat"


@pytest.mark.contract("4.1/edge-cache")
def test_a_newer_configuration_opens_no_other_socket(member: Driver) -> None:
    """It is asked for while the panel is open; the connection is none of its business."""
    opened = sockets(member)
    member.advance(100)

    member.feed(events.PanelToggled(open=True))

    assert member.counts()["LoadConfiguration"] == 2
    assert sockets(member) == opened
