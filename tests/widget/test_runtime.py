"""Tests of the runtime, which turns effects into calls of the ports, and the results of these calls into events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from tests.widget.driver import KEY, NOW, PID, FixedChance
from tests.widget.world import SETTINGS, TOKEN, URI, World, run

from chatkey_widget import effects, events, runtime
from chatkey_widget.errors import Fault
from chatkey_widget.login import LOCK_SECONDS
from chatkey_widget.machine import Machine
from chatkey_widget.ports import (
    Answer,
    HostFailed,
    KeyUnavailable,
    Unreachable,
    WireListener,
)
from chatkey_widget.runtime import Runtime


class Wishing(Machine):
    """A state machine that returns prepared effects for one event, and records all other events."""

    def __init__(self, *wishes: effects.Effect) -> None:
        super().__init__(SETTINGS, FixedChance())
        self.told: list[events.Event] = []
        self._wishes = list(wishes)
        self._heard = asyncio.Event()

    def drive(self, world: World) -> Runtime:
        """Run this state machine in a runtime, which carries out the prepared effects."""
        driven = Runtime(self, SETTINGS, world.ports())
        driven.feed(events.Started(secure=True))
        return driven

    def wish(self, *wishes: effects.Effect) -> None:
        self._wishes = list(wishes)

    def handle(self, event: events.Event, now: float) -> list[effects.Effect]:
        """Return the prepared effects if there are any. Otherwise record the event."""
        if self._wishes:
            wishes, self._wishes = self._wishes, []
            return wishes
        self.told.append(event)
        self._heard.set()
        return []

    async def until(self, fact: Callable[[], object]) -> None:
        async with asyncio.timeout(5):
            while not fact():
                self._heard.clear()
                await self._heard.wait()


@pytest.fixture
async def timers(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.TimerHandle]:
    loop, all_timers = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
    call_later = loop.call_later

    def noted(delay: float, callback: Callable[..., object], *arguments: object) -> asyncio.TimerHandle:
        all_timers.append(call_later(delay, callback, *arguments))
        return all_timers[-1]

    monkeypatch.setattr(loop, "call_later", noted)
    return all_timers


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A simulated browser. The page has no user, and tabs see changes of the storage at once."""
    monkeypatch.setattr(runtime, "SPREAD_SECONDS", 0.0)
    return World()


@pytest.mark.contract("4/paths", "4.9/proof", "5.2/visitor")
async def test_a_visitor_is_connected_through_the_ports(world: World) -> None:
    """The runtime must load configuration and token, open the socket, and send the proof first, at the addresses of the
    contract.
    """
    driven = run(world)

    await world.until(lambda: "ready" in world.names())

    assert world.asked[0] == f"https://chat.test/v1/public/provider/{PID}"
    assert f"https://chat.test/v1/public/provider/{PID}/token?uid={KEY.uid}&t={int(NOW)}000" in world.asked
    connect = world.sent[0]
    assert connect["type"] == "connect"
    assert str(connect["proof"]).count(".") == 2
    assert str(connect["proof"]).endswith("A" * 86)
    driven.feed(events.ShutdownAsked())


@pytest.mark.contract("D-12/tabs")
async def test_get_token_is_called_under_the_browsers_lock_and_stored_before_it_is_let_go(world: World) -> None:
    """The next tab that gets the lock must find the token in the storage."""
    stored_at_release: list[str | None] = []
    world.page = lambda: TOKEN
    driven = run(world)

    await world.until(lambda: "released" in world.held)
    stored_at_release.append(world.stored)

    assert world.held == [f"wf_get_token:{PID}", "released"]
    assert world.patience == 2 * LOCK_SECONDS
    assert stored_at_release == [TOKEN]
    driven.feed(events.ShutdownAsked())


async def test_a_token_that_another_tab_stored_spares_the_call(world: World) -> None:
    """F043: the runtime must read the storage again after it has got the lock."""
    world.other_tab = TOKEN
    driven = run(world)

    await world.until(lambda: "released" in world.held and "ready" in world.names())

    assert "token:adopted" in world.names()
    assert "getToken load" not in world.asked
    driven.feed(events.ShutdownAsked())


async def test_a_renewal_asks_the_page_although_the_old_token_is_stored(world: World) -> None:
    """The runtime may skip the call only if the stored token is new to this tab."""
    world.page = lambda: TOKEN
    driven = run(world)
    await world.until(lambda: world.names().count("socket:ready") and world.stored == TOKEN)
    await world.until(lambda: driven.machine.debug()["stage"] == "ready")

    assert world.listener is not None
    world.listener.received(json.dumps({"type": "reauth", "deadline": NOW + 30}))
    await world.until(lambda: world.held.count("released") == 2)

    assert "getToken renew" in world.asked
    driven.feed(events.ShutdownAsked())


async def test_a_refresh_asks_the_page_whatever_another_tab_stored(world: World) -> None:
    """The page itself reports that its user may have changed (F196), so a stored token must not replace the call."""
    driven = run(world)
    await world.until(lambda: "ready" in world.names() and "released" in world.held)
    world.stored = TOKEN

    driven.feed(events.RefreshAsked())
    await world.until(lambda: world.held.count("released") == 2)

    assert "getToken refresh" in world.asked
    driven.feed(events.ShutdownAsked())


@pytest.mark.contract("D-12/tabs")
async def test_simultaneous_refreshes_cause_one_call(world: World) -> None:
    """WDG-008: two components of the page report at the same time that the user may have changed.

    The runtime must call `getToken` once.
    """
    driven = run(world)
    await world.until(lambda: "ready" in world.names() and "released" in world.held)

    driven.feed(events.RefreshAsked())
    driven.feed(events.RefreshAsked())
    await world.until(lambda: world.held.count("released") == 2)

    assert world.asked.count("getToken refresh") == 1
    driven.feed(events.ShutdownAsked())


@pytest.mark.contract("D-12/get-token-bounds")
async def test_a_get_token_that_never_settles_times_out_and_is_cancelled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F038, WDG-006: the runtime must cancel the page's promise, which triggers the abort signal."""
    monkeypatch.setattr(runtime, "GET_TOKEN_SECONDS", 0.0)
    never = asyncio.get_running_loop().create_future()
    world.page = lambda: never
    driven = run(world)

    await world.until(lambda: Fault.GETTOKEN_TIMEOUT in world.errors())

    assert never.cancelled()
    driven.feed(events.ShutdownAsked())


async def test_an_aborted_get_token_is_cancelled(world: World) -> None:
    """F191: a logout must also cancel the page's call."""
    never = asyncio.get_running_loop().create_future()
    world.page = lambda: never
    driven = run(world)
    await world.until(lambda: "getToken load" in world.asked and "ready" in world.names())

    driven.feed(events.LogoutAsked())

    assert never.cancelled()
    assert "announce" in world.asked
    driven.feed(events.ShutdownAsked())


async def test_a_get_token_that_throws_is_reported_with_its_reason(world: World) -> None:
    """F036, F037, WDG-006: this must hold for exceptions and for rejected promises."""
    world.page = lambda: HostFailed("Error: 500")
    driven = run(world)

    await world.until(world.errors)

    detail = next(detail for name, detail in world.told if name == "error")
    assert detail["code"] == Fault.GETTOKEN_FAILED
    assert detail["message"] == "getToken failed: Error: 500"
    assert detail["retryable"] is True
    driven.feed(events.ShutdownAsked())


@pytest.mark.parametrize(
    ("refuse", "code"),
    [
        (KeyUnavailable("crypto.subtle is missing."), Fault.KEY_UNAVAILABLE),
        (RuntimeError("a bug"), Fault.WIDGET_FAILED),
    ],
)
async def test_faults_of_the_key_are_reported(world: World, refuse: Exception, code: Fault) -> None:
    """The page and `debug()` must report internal errors of the widget. The console must show the traceback."""
    shown: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: shown.append(context))
    world.refuse = refuse
    driven = run(world)

    await world.until(world.errors)

    assert world.errors() == [code]
    (error,) = [detail for name, detail in world.told if name == "error"]
    assert str(refuse) in str(error["message"])
    assert driven.machine.debug()["troubles"][0]["detail"]["code"] == code  # type: ignore[index]
    assert len(shown) == (code is Fault.WIDGET_FAILED)
    driven.feed(events.ShutdownAsked())


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (Answer(404, {"data": None, "error": {"code": "provider_unknown", "message": "No."}}), 404, "provider_unknown"),
        (Answer(200, None), 200, None),
        (Answer(200, {"data": {"auth_token": 5}}), 200, None),
        (Answer(502, "<html>"), 502, None),
        (Answer(500, {"error": {"code": 5}}), 500, None),
        (Answer(500, {"data": {"auth_token": TOKEN, "socket_uri": URI}}), 500, None),
        (Answer(300, {"data": {"auth_token": TOKEN, "socket_uri": URI}}), 300, None),
        (Answer(429, {"error": {"code": "rate_limited", "message": "No."}}, retry_after=7.0), 429, "rate_limited"),
    ],
)
async def test_an_answer_without_a_token_is_a_failure(
    world: World, answer: Answer, status: int, code: str | None
) -> None:
    """F086, F087: proxies and captive portals send such responses."""
    machine = Wishing(effects.LoadVisitorToken(7, "v"), effects.LoadConfiguration())
    world.answer = answer

    machine.drive(world)
    await machine.until(lambda: len(machine.told) == 2)

    token, configuration = machine.told
    assert isinstance(token, events.TokenFailed)
    assert (token.ref, token.status, token.code, token.retry_after) == (7, status, code, answer.retry_after)
    if answer.status != 200 or answer.body is None:
        assert isinstance(configuration, events.ConfigurationFailed)
        assert (configuration.status, configuration.code) == (status, code)
        assert configuration.retry_after == answer.retry_after


async def test_the_service_is_quoted(world: World) -> None:
    machine = Wishing(effects.LoadVisitorToken(7, "v"))
    world.answer = Answer(404, {"data": None, "error": {"code": "provider_unknown", "message": "There is none."}})

    machine.drive(world)
    await machine.until(lambda: machine.told)

    assert machine.told == [events.TokenFailed(7, 404, "provider_unknown", "There is none.")]


async def test_a_provider_id_stays_one_segment_of_the_address(world: World) -> None:
    machine = Wishing(effects.LoadConfiguration())
    driven = Runtime(machine, replace(SETTINGS, provider_id="a/b"), world.ports())

    driven.feed(events.Started(secure=True))
    await machine.until(lambda: machine.told)

    assert world.asked == ["https://chat.test/v1/public/provider/a%2Fb"]


async def test_the_key_comes_with_what_the_browser_has_kept(world: World) -> None:
    world.lost, world.stored = "It was damaged.", TOKEN
    machine = Wishing(effects.KeepSignIn("google nonce"), effects.PrepareKey())

    machine.drive(world)
    await machine.until(lambda: machine.told)

    assert machine.told == [events.KeyReady(KEY, TOKEN, None, "It was damaged.", "google nonce")]


async def test_a_service_that_does_not_answer_is_unreachable(world: World) -> None:
    """F091: the event must have status 0."""
    world.refuse = Unreachable("https://chat.test could not be reached.")
    machine = Wishing(effects.LoadConfiguration(), effects.LoadVisitorToken(1, "v"))

    machine.drive(world)
    await machine.until(lambda: len(machine.told) == 2)

    message = "https://chat.test could not be reached."
    assert machine.told == [events.ConfigurationFailed(0, message=message), events.TokenFailed(1, 0, message=message)]


async def test_a_service_that_answers_too_late_is_unreachable(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """F086, F087: the runtime must cancel a request that hangs. The event must contain the timeout in seconds."""
    never = asyncio.get_running_loop().create_future()
    machine = Wishing(effects.LoadConfiguration())
    monkeypatch.setattr(world, "get", lambda _: never)
    monkeypatch.setattr(runtime, "HTTP_SECONDS", 0.0)

    machine.drive(world)
    await machine.until(lambda: machine.told)

    message = f"https://chat.test/v1/public/provider/{PID} did not answer within 0 s."
    assert machine.told == [events.ConfigurationFailed(0, message=message)]
    assert never.cancelled()


@pytest.mark.parametrize("text", [None, "", "null", "[]", "{", "[" * 100_000, '{"a":' * 100_000, "9" * 5000])
async def test_a_frame_that_is_no_object_is_passed_on_as_unreadable(world: World, text: str | None) -> None:
    """F141: binary, malformed or endlessly nested data must not raise an exception in the page."""
    machine = Wishing(effects.OpenSocket(1, URI))
    machine.drive(world)
    assert world.listener is not None

    world.listener.received(text)

    assert machine.told == [events.FrameReceived(1, None)]


async def test_a_socket_that_cannot_be_opened_is_tried_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser raises an exception if the page's policy forbids the socket."""

    def refuse(uri: str, listener: WireListener) -> World:
        raise Unreachable(uri)

    machine = Wishing(effects.OpenSocket(1, URI))
    monkeypatch.setattr(world, "open", refuse)

    machine.drive(world)

    assert machine.told == [events.SocketClosed(1, 1006)]


async def test_events_that_effects_cause_keep_their_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listener may call the widget.

    The resulting event must wait until the runtime has carried out all effects of the current event.
    """
    driven = run(world)
    await world.until(lambda: "ready" in world.names())
    emit, more = world.emit, ["two"]

    def meddling(name: str, detail: Mapping[str, object]) -> None:
        emit(name, detail)
        if name == "message:sent" and more:
            driven.feed(events.MessageWritten(more.pop()))

    monkeypatch.setattr(world, "emit", meddling)
    driven.feed(events.MessageWritten("one"))

    assert [frame["body"] for frame in world.sent if frame["type"] == "message"] == ["one", "two"]
    driven.feed(events.ShutdownAsked())


async def test_a_blocked_popup_is_known_within_the_click(world: World) -> None:
    """F161: `feed` must return only after the browser has tried to open the window."""
    driven = run(world)
    await world.until(lambda: "ready" in world.names())
    world.popup_opens = "nothing"
    driven.feed(events.ConfigurationLoaded({"auth": {"oauth_providers": ["google"]}}))

    driven.feed(events.SocialClicked("google"))

    assert "popup" in world.asked
    assert world.errors() == [Fault.POPUP_BLOCKED]
    driven.feed(events.ShutdownAsked())


async def test_after_a_logout_the_next_sign_in_lets_the_person_choose_the_account(world: World) -> None:
    driven = run(world)
    await world.until(lambda: "ready" in world.names())
    driven.feed(events.ConfigurationLoaded({"auth": {"oauth_providers": ["google"]}}))
    driven.feed(events.SocialClicked("google"))
    before = world.popup_url

    driven.feed(events.LogoutAsked())
    driven.feed(events.SocialClicked("google"))

    assert ("prompt=" in before, world.popup_url.endswith("&prompt=select_account")) == (False, True)
    driven.feed(events.ShutdownAsked())


async def test_shutdown_ends_everything_it_started(world: World, timers: list[asyncio.TimerHandle]) -> None:
    """F073: shutdown must end the socket, timers, tasks and screen, and remove the listeners on the page's events."""
    before = asyncio.all_tasks()
    never = asyncio.get_running_loop().create_future()
    world.page = lambda: never
    driven = run(world)
    await world.until(lambda: "ready" in world.names())

    driven.feed(events.ShutdownAsked())
    await asyncio.gather(*(asyncio.all_tasks() - before), return_exceptions=True)

    assert 1000 in world.closed
    assert world.removed == 1
    assert timers
    assert all(timer.cancelled() for timer in timers)
    assert asyncio.all_tasks() == before
    assert never.cancelled()


async def test_shutdown_cancels_unanswered_requests(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """F073: shutdown must cancel running requests."""
    never = asyncio.get_running_loop().create_future()

    def ask(url: str) -> asyncio.Future[Answer]:
        world.asked.append(url)
        world.news.set()
        return never

    monkeypatch.setattr(world, "get", ask)
    driven = run(world)
    await world.until(lambda: world.asked)

    driven.feed(events.ShutdownAsked())

    assert never.cancelled()


async def test_a_timer_is_limited_to_a_day(world: World, timers: list[asyncio.TimerHandle]) -> None:
    """Browsers fire a timer of more than 2^31 ms at once."""
    machine = Wishing(effects.SetTimer("renew", 1e9), effects.SetTimer("call", -5), effects.TearDown())
    now = asyncio.get_running_loop().time()

    machine.drive(world)

    renew, past = timers
    assert 86_399 < renew.when() - now <= 86_401
    assert past.when() - now <= 0.1


async def test_an_identity_token_is_exchanged_for_one_of_this_key(world: World) -> None:
    """The request must go to the member token endpoint, with the key's thumbprint."""
    machine = Wishing(effects.ExchangeIdentityToken(7, "a.b.c", KEY.jkt))

    machine.drive(world)
    await machine.until(lambda: machine.told)

    assert world.asked == [
        f"https://chat.test/v1/public/provider/{PID}/member/token?auth=a.b.c&jkt={KEY.jkt}&t={int(NOW)}000"
    ]
    answered = machine.told[0]
    assert isinstance(answered, events.TokenLoaded)
    assert (answered.ref, answered.socket_uri) == (7, URI)


async def test_only_the_dropped_token_is_removed_from_the_storage(world: World) -> None:
    """Meanwhile, another tab may have stored a newer token. The newer token must stay."""
    world.stored = TOKEN

    Wishing(effects.DropToken("another")).drive(world)
    kept = world.stored
    Wishing(effects.DropToken(TOKEN)).drive(world)

    assert kept == TOKEN
    assert world.stored is None


async def test_a_closed_socket_is_reported_with_its_code_and_sends_nothing_more(world: World) -> None:
    """In a browser, sending on a closed socket would raise an exception."""
    machine = Wishing(effects.OpenSocket(1, URI))
    driven = machine.drive(world)
    assert world.listener is not None

    world.listener.closed(1006)
    machine.wish(effects.Send(1, {"type": "ping"}), effects.CloseSocket(1, 1000))
    driven.feed(events.Woken("online"))

    assert machine.told == [events.SocketClosed(1, 1006)]
    assert world.sent == []
    assert world.closed == []


async def test_a_popup_that_opens_is_not_called_blocked(world: World) -> None:
    machine = Wishing(effects.OpenPopup(1, "https://chat.test/start", "sign-in"))

    machine.drive(world)

    assert world.asked == ["popup"]
    assert machine.told == []
    assert world.popup is not None
    world.popup.reached()
    world.popup.closed(True)
    assert machine.told == [events.PopupReached(1), events.PopupClosed(1, blank=True)]


async def test_a_socket_that_opens_is_told(world: World) -> None:
    machine = Wishing(effects.OpenSocket(1, URI))

    machine.drive(world)
    await machine.until(lambda: machine.told)

    assert machine.told[0] == events.SocketOpened(1)


async def test_a_timer_fires_once_with_its_name(world: World) -> None:
    """The runtime must forget a timer that has fired, so that it never cancels this timer."""
    machine = Wishing(effects.SetTimer("call", 0))

    driven = machine.drive(world)
    await machine.until(lambda: machine.told)
    machine.wish(effects.CancelTimer("call"))
    driven.feed(events.Woken("online"))

    assert machine.told == [events.TimerFired("call")]
