"""Tests of custom login: when the widget calls `getToken`, and what it does with the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, KEY, NOW, OTHER_JKT, PID, VISITOR, jwt

from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget


@pytest.mark.contract("3/get-token", "2.4/unchanged", "D-12/visitor-beside", "4.8/get-token-argument")
def test_a_token_makes_a_member_and_is_used_unchanged_and_cached(member: Driver) -> None:
    """The widget first connects as the visitor. With the token, it must open a new connection as the member."""
    token = member.stored

    assert token is not None
    assert member.connects()[-1] == token
    assert member.last(effects.StoreToken).token == token
    assert member.identity == ADA
    assert member.calls() == [("load", 1)]
    assert member.last(effects.CallGetToken).jkt == KEY.jkt


@pytest.mark.contract("3/get-token-null", "4.8/get-token-argument")
def test_null_leaves_the_visitor_and_is_not_asked_again(make_widget: MakeWidget) -> None:
    """F030, WDG-006: the widget must report no error.

    It must not call `getToken` again until the page reports that its user may have changed.
    """
    widget = make_widget(custom_login=True).start()

    widget.advance(4000)
    on_its_own = widget.calls()
    widget.feed(events.RefreshAsked())

    assert on_its_own == [("load", 1)]
    assert widget.calls() == [("load", 1), ("refresh", 1)]
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
        pytest.param(
            jwt(pid=PID, uid="google:1", type="identity", cnf={"jkt": KEY.jkt}, exp=NOW + 60),
            Fault.TOKEN_CLAIMS,
            id="F108",
        ),
        pytest.param("x" * 10_000, Fault.TOKEN_TOO_LARGE, id="F049"),
    ],
)
def test_a_useless_answer_is_named_and_leaves_the_visitor(
    make_widget: MakeWidget, value: str | events.Unusable, code: Fault
) -> None:
    """WDG-006: the widget must report one error after one call.

    It must not store or send the token, and the visitor must be able to chat.
    """
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenReturned(call.ref, value)).start()

    widget.advance(600)

    assert widget.errors() == [code]
    assert widget.calls() == [("load", 1)]
    assert widget.all(effects.StoreToken) == []
    assert widget.identity == VISITOR


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"cnf": {"jkt": OTHER_JKT}}, Fault.TOKEN_KEY_MISMATCH, id="F044"),
        pytest.param({"exp": int(NOW) - 1, "iat": int(NOW) - 3601}, Fault.TOKEN_EXPIRED, id="F051"),
    ],
)
def test_a_wrong_key_or_time_gets_one_second_try(
    make_widget: MakeWidget, changes: dict[str, object], code: Fault
) -> None:
    """A backend may cache tokens for too long. The widget must call `getToken` once more, and then stop."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(**changes))
    widget.start()

    widget.advance(600)

    assert widget.errors() == [code, code]
    assert widget.calls() == [("load", 1), ("rejected", 1)]
    assert widget.identity == VISITOR


def test_the_second_try_may_succeed(make_widget: MakeWidget) -> None:
    widget = make_widget(custom_login=True)
    answers = [{"cnf": {"jkt": OTHER_JKT}}, {}]
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(**answers.pop(0)))

    widget.start()

    assert widget.identity == ADA


@pytest.mark.contract("3/get-token-failed", "D-12/get-token-bounds", "D-12/always-chat")
def test_a_throw_is_tried_again_with_backoff(make_widget: MakeWidget) -> None:
    """F037: the widget must retry after 1, 2, 4 … 60 seconds and increment the attempt each time.

    The visitor must stay connected.
    """
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500")).start()

    widget.advance(1 + 2 + 4 + 8 + 16 + 32 + 60 + 60)

    assert widget.calls() == [("load", attempt) for attempt in range(1, 10)]
    assert set(widget.errors()) == {Fault.GETTOKEN_FAILED}
    assert widget.identity == VISITOR
    assert widget.sockets() == 1


def test_the_waits_are_random(make_widget: MakeWidget) -> None:
    """F037: if the waits were not random, many pages would call the backend at the same moment."""
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500"))
    widget.chance.value = 0.0

    widget.start()
    shortest = widget.timers["getToken"] - widget.now
    widget.chance.value = 0.5
    widget.advance(shortest)
    second = widget.timers["getToken"] - widget.now

    assert (shortest, second) == (0.5, 1.5)


def test_recovering_after_throws_makes_the_member(make_widget: MakeWidget) -> None:
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500")).start()
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.advance(1)

    assert widget.identity == ADA


@pytest.mark.contract("D-12/get-token-bounds")
def test_a_late_answer_is_ignored(make_widget: MakeWidget) -> None:
    """F038, F039, WDG-006: an answer after the timeout must not change the identity."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    ref = widget.last(effects.CallGetToken).ref

    widget.feed(events.GetTokenTimedOut(ref), events.GetTokenReturned(ref, widget.custom()))

    assert widget.errors() == [Fault.GETTOKEN_TIMEOUT]
    assert widget.identity == VISITOR


@pytest.mark.contract("D-12/tabs")
def test_only_one_call_is_in_flight(member: Driver) -> None:
    """F042, WDG-008: a second reason to call `getToken` must wait for the answer to the running call."""
    member.page = lambda _: None
    member.feed(events.RefreshAsked())

    member.frame(type="reauth", deadline=member.server_now + 30)
    member.advance(300)

    assert member.calls() == [("load", 1), ("refresh", 1)]


@pytest.mark.contract("D-12/get-token-bounds")
def test_the_answer_of_a_call_that_was_replaced_is_ignored(make_widget: MakeWidget) -> None:
    """F196: the page has reported that its user may have changed.

    The widget must use only the answer to the newer call.
    """
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    replaced = widget.last(effects.CallGetToken).ref
    widget.feed(events.RefreshAsked())

    widget.feed(events.GetTokenReturned(replaced, widget.custom(uid="bob")))
    meanwhile = widget.identity
    widget.feed(events.GetTokenReturned(widget.last(effects.CallGetToken).ref, widget.custom()))

    assert (meanwhile, widget.identity) == (VISITOR, ADA)


def test_a_late_failure_is_ignored(make_widget: MakeWidget) -> None:
    """The page has already answered the call. A later failure of the same call must be ignored."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    ref = widget.last(effects.CallGetToken).ref

    widget.feed(events.GetTokenReturned(ref, widget.custom()))
    widget.feed(events.GetTokenTimedOut(ref), events.GetTokenFailed(ref, "late"))

    assert widget.errors() == []
    assert widget.identity == ADA


def test_a_retry_that_was_planned_is_not_made_besides_another_call(member: Driver) -> None:
    """F042: another call must replace the planned retry."""
    member.page = lambda call: events.GetTokenFailed(call.ref, "503")
    member.frame(type="reauth", deadline=member.server_now + 30)
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom())

    member.frame(type="reauth", deadline=member.server_now + 30)
    member.advance(10)

    assert member.calls() == [("load", 1), ("renew", 1), ("renew", 2)]


def test_a_refresh_asked_early_waits_for_the_key(make_widget: MakeWidget) -> None:
    """The page may make calls before the widget runs. These calls are queued."""
    widget = make_widget(custom_login=True, page=lambda _: None)

    widget.feed(events.RefreshAsked(), events.Started(secure=True))

    assert [detail["reason"] for detail in widget.emitted("token:requested")] == ["load", "refresh"]
    assert widget.calls() == [("refresh", 1)]  # getToken had not been called yet
    assert len(widget.all(effects.AbortGetToken)) == 1


def test_a_member_without_a_name_goes_by_the_uid(make_widget: MakeWidget) -> None:
    """Integrators may omit `name`."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(name=...))

    widget.start()

    assert (widget.view.person.member, widget.view.person.name) == (True, "ada")


def test_the_sign_in_page_closes_for_a_member(make_widget: MakeWidget) -> None:
    """The sign-in page is open when the page's `getToken` returns a token."""
    widget = make_widget(custom_login=True).start()
    widget.feed(events.PageChosen("sign-in"))
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.feed(events.RefreshAsked())

    assert widget.view.page == "chat"


@pytest.mark.contract("4.1/edge-cache")
def test_a_newer_configuration_opens_no_other_socket(member: Driver) -> None:
    """The widget reloads the configuration while the panel is open. The connection must stay open."""
    opened = member.sockets()
    member.advance(100)

    member.feed(events.PanelToggled(open=True))

    assert member.counts()["LoadConfiguration"] == 2
    assert member.sockets() == opened
