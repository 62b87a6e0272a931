"""Tests of the network between widget and service: unstable networks, captive portals, proxies, and slow or hostile
services.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, SETTINGS, VISITOR, Driver, SeededChance

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.backoff import CROWD_BASE, GET_TOKEN_CAP, SOCKET_CAP, equal_jitter, full_jitter
from chatkey_widget.configuration import appearance
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.widget.driver import MakeWidget


@dataclass
class Unplugged(Driver):
    offline: bool = True

    def _answers(self, effect: effects.Effect) -> list[events.Event]:
        match effect:
            case effects.LoadConfiguration() if self.offline:
                return [events.ConfigurationFailed(0, message="No network.")]
            case effects.LoadVisitorToken(ref, _) if self.offline:
                return [events.TokenFailed(ref, 0, message="No network.")]
            case _:
                return super()._answers(effect)


def nonces(widget: Driver) -> list[object]:
    claims = [detail["claims"] for detail in widget.emitted("socket:proof")]
    return [claim["nonce"] for claim in claims if isinstance(claim, dict)]


def unanswered(widget: Driver, frame: Mapping[str, object]) -> None:
    """Send a frame to the widget, and answer only the resulting signature request."""
    ref = widget.last(effects.OpenSocket).ref
    done = widget.machine.handle(events.FrameReceived(ref, frame), widget.now)
    widget.done += done
    for effect in done:
        if isinstance(effect, effects.SignProof):
            widget.done += widget.machine.handle(events.ProofSigned(effect.ref, bytes(64)), widget.now)


def greet(widget: Driver) -> None:
    hello = {"type": "hello", "nonce": "n-1", "server_time": widget.server_now, "auth_timeout": 10, "ping": 25}
    unanswered(widget, hello)


def accept(widget: Driver) -> None:
    """Send `ready` for the member whose proof the service has received."""
    ready = {"type": "ready", "identity": "member", "uid": "ada", "expires_at": widget.server_now + 3600}
    unanswered(widget, ready | {"server_time": widget.server_now})


def drop(widget: Driver, code: int) -> None:
    """Close the current socket, which may still be opening. Then wait until the widget reconnects."""
    widget.socket = widget.last(effects.OpenSocket).ref
    widget.close(code)
    widget.advance(widget.timers["reconnect"] - widget.now)


# the network comes and goes


@pytest.mark.contract("D-10/reconnect", "D-12/no-hammering")
@pytest.mark.parametrize("seed", range(5))
def test_a_flapping_network_costs_one_socket_a_time_and_no_call_of_get_token(
    make_widget: MakeWidget, seed: int
) -> None:
    """F094: the test causes 20 outages in a minute.

    Each proof must have a new nonce, and the token must stay the same.
    """
    widget = make_widget(custom_login=True, chance=SeededChance(seed))
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())
    widget.start()
    sockets, proofs = widget.counts()["OpenSocket"], len(nonces(widget))

    for _ in range(20):
        if widget.socket is not None:
            widget.close(1006)
        widget.advance(2)
        widget.feed(events.Woken("online"))
        widget.advance(1)
    widget.advance(60)

    assert widget.identity == ADA
    assert widget.view.link == "online"
    assert widget.counts()["CallGetToken"] == 1
    assert 0 < widget.counts()["OpenSocket"] - sockets <= 20
    assert len(nonces(widget)) - proofs <= 20
    assert len(set(nonces(widget))) == len(nonces(widget))


def test_repeated_wake_ups_do_not_delay_the_next_attempt(make_widget: MakeWidget) -> None:
    """F094: a sign that the network is back may only shorten the wait for the next attempt."""
    widget = make_widget(answers_frames=False).start()
    widget.socket = widget.last(effects.OpenSocket).ref
    widget.close(1006)
    widget.chance.value = 0.9

    for _ in range(10):
        widget.feed(events.Woken("online"))
        widget.advance(0.1)

    assert widget.counts()["OpenSocket"] == 2


def test_after_a_network_outage_widgets_reconnect_at_random_moments(visitor: Driver) -> None:
    """F094: all widgets of an office come online together. They must reconnect at random moments within a second."""
    visitor.close(1006)
    visitor.chance.value = 0.4

    visitor.feed(events.Woken("online"))

    assert visitor.timers["reconnect"] - visitor.now == pytest.approx(0.4)


def test_a_network_that_is_back_during_a_failing_attempt_is_tried_again_soon(make_widget: MakeWidget) -> None:
    """F094: the attempt begins without a network. The network comes back before the attempt has failed."""
    widget = make_widget(answers_frames=False).start()
    widget.chance.value = 0.9
    for _ in range(8):
        fail_to_open(widget)
        widget.advance(SOCKET_CAP)
    widget.feed(events.Woken("online"))

    fail_to_open(widget)
    soon = widget.timers["reconnect"] - widget.now
    widget.advance(1)
    fail_to_open(widget)
    later = widget.timers["reconnect"] - widget.now

    assert soon == pytest.approx(0.9)
    assert later == pytest.approx(0.9 * SOCKET_CAP)


def test_waking_up_before_a_restart_does_not_shorten_the_wait_after_it(visitor: Driver) -> None:
    """F143: if the page becomes visible, only the current wait may become shorter.

    Later waits must keep their length.
    """
    visitor.chance.value = 0.9
    visitor.feed(events.Woken("visible"))

    visitor.close(1012)

    assert visitor.timers["reconnect"] - visitor.now == pytest.approx(0.9 * CROWD_BASE)


def fail_to_open(widget: Driver) -> None:
    widget.socket = widget.last(effects.OpenSocket).ref
    widget.close(1006)


def test_attempts_go_on_after_days_without_a_connection() -> None:
    """After any number of failures, the wait must stay at its maximum."""
    assert full_jitter(100_000, fraction=1.0) == SOCKET_CAP
    assert equal_jitter(100_000, fraction=1.0) == GET_TOKEN_CAP


def test_a_notice_about_the_connection_disappears_when_it_is_back(make_widget: MakeWidget) -> None:
    widget = make_widget(answers_frames=False).start()
    for _ in range(3):
        drop(widget, 1006)
    lost = widget.view.notice
    widget.answers_frames = True

    drop(widget, 1006)

    assert lost == "The connection was lost. Reconnecting…"
    assert widget.view.notice is None


def test_offline_at_the_start_begins_by_itself_once_there_is_a_network() -> None:
    """F091: the widget is offline for ten minutes.

    At the first sign of a network, it must load token and configuration within a second.
    """
    widget = Unplugged(SETTINGS)
    widget.start()
    widget.advance(600)
    before = widget.view.link, widget.view.appearance.socials
    asked = widget.counts()["LoadVisitorToken"]

    widget.offline = False
    widget.feed(events.Woken("online"))
    widget.advance(1)

    assert before == ("offline", ())
    assert asked < 30
    assert widget.errors() == [Fault.CONFIGURATION_UNREACHABLE, Fault.TOKEN_UNREACHABLE]
    assert (widget.identity, widget.view.link) == (VISITOR, "online")
    assert widget.view.appearance.socials == ("google", "github")


# the crowd after a restart


@pytest.mark.contract("D-16/restart-1012", "D-10/reconnect")
@pytest.mark.parametrize("code", [Close.RESTART, Close.TRY_LATER])
def test_widgets_disconnected_together_reconnect_at_scattered_times(code: Close) -> None:
    """F143: of 200 widgets, about a tenth must reconnect in each of the next ten seconds."""
    crowd = [Driver(SETTINGS, chance=SeededChance(seed)).start() for seed in range(200)]

    for widget in crowd:
        widget.close(code)
    arrivals = sorted(float(str(widget.emitted("socket:waiting")[-1]["seconds"])) for widget in crowd)

    busiest = max(sum(at <= other < at + 1 for other in arrivals) for at in arrivals)
    assert arrivals[-1] <= CROWD_BASE
    assert busiest <= 20 + 5 * 18**0.5  # each comes in a given second with probability 1/10: mean plus 5 sigma


# proxies and portals


@pytest.mark.contract("D-10/reconnect", "D-12/no-hammering")
def test_a_socket_that_is_dropped_as_soon_as_it_is_accepted_is_tried_ever_more_rarely(visitor: Driver) -> None:
    """F092: only a connection that lasts may reset the count of failures."""
    for _ in range(6):
        drop(visitor, 1006)

    assert [waiting["seconds"] for waiting in visitor.emitted("socket:waiting")] == [1, 2, 4, 8, 16, 30]


@pytest.mark.contract("D-10/sockets")
def test_a_service_that_says_why_it_takes_no_socket_is_quoted(make_widget: MakeWidget) -> None:
    """The service says that there are too many sockets. The widget must report this reason once, and keep trying."""
    widget = make_widget(answers_frames=False).start()
    error = {"type": "error", "code": "too_many_sockets", "message": "Too many.", "retryable": True}

    for _ in range(5):
        unanswered(widget, error)
        drop(widget, Close.RATE_LIMITED)

    assert widget.errors() == ["too_many_sockets"]
    assert widget.emitted("error")[0]["retryable"] is True
    assert widget.counts()["OpenSocket"] == 6


def test_a_provider_the_widget_does_not_know_is_not_offered() -> None:
    """F088: known providers must be offered in the configured order."""
    data = {"auth": {"oauth_providers": ["github", "myspace", 5, None, "google"]}}

    assert appearance(data).socials == ("github", "google")


def test_a_400_at_the_exchange_is_reported_with_its_code(make_widget: MakeWidget) -> None:
    """F089: status 400 means a fault of the widget or the service.

    The widget must report the service's code and keep the login.
    """
    widget = make_widget(answers_tokens=False)
    widget.stored = identity_token = widget.identity_token()
    widget.start()

    ref = widget.last(effects.ExchangeIdentityToken).ref
    widget.feed(events.TokenFailed(ref, 400, "parameter_invalid", "jkt is odd."))

    assert [(error["code"], error["phase"], error["message"]) for error in widget.emitted("error")] == [
        ("parameter_invalid", "token", "jkt is odd.")
    ]
    assert widget.stored == identity_token
    assert widget.view.link == "offline"


# slow and unusual services


@pytest.mark.contract("D-10/auth-timeout", "D-10/nonce")
def test_a_delay_of_three_seconds_per_frame_is_tolerated(make_widget: MakeWidget) -> None:
    """F095: the widget must connect with one socket and one proof. No timeout may end the connection."""
    widget = make_widget(custom_login=True, answers_frames=False)
    widget.stored = widget.custom()
    widget.start()

    for step in (greet, accept):
        widget.advance(3)
        step(widget)

    assert widget.identity == ADA
    assert widget.counts()["OpenSocket"] == len(widget.connects()) == 1
    assert widget.emitted("socket:lost") == []


def test_pings_are_at_least_a_second_apart(make_widget: MakeWidget) -> None:
    widget = make_widget(custom_login=True, answers_frames=False)
    widget.stored = widget.custom()
    widget.start()
    hello = {"type": "hello", "nonce": "n-1", "server_time": widget.server_now, "auth_timeout": 10, "ping": 0}

    unanswered(widget, hello)
    accept(widget)

    assert [timer.seconds for timer in widget.all(effects.SetTimer) if timer.name == "heartbeat"] == [1.0]


@pytest.mark.contract("4.9/one-time", "D-10/nonce")
def test_a_second_challenge_in_one_connection_gets_no_second_proof(make_widget: MakeWidget) -> None:
    """F126: each connection has one nonce. The widget must make only one proof for this nonce."""
    widget = make_widget(answers_frames=False).start()
    greet(widget)

    greet(widget)

    assert nonces(widget) == ["n-1"]
    assert len(widget.connects()) == 1


# a newer token at the wrong moment


@pytest.mark.contract("D-10/refresh")
def test_a_token_that_comes_while_an_older_one_is_judged_follows_at_once(make_widget: MakeWidget) -> None:
    """F065: the widget has sent a proof for the older token.

    When the socket is ready, the widget must send the newer token in a `refresh` frame.
    """
    widget = make_widget(custom_login=True, answers_frames=False)
    widget.stored = older = widget.custom()
    widget.start()
    greet(widget)
    newer = widget.custom(exp=widget.server_now + 7200)

    widget.feed(events.StoredTokenChanged(newer))
    accept(widget)

    assert widget.connects() == [older]
    assert [frame["token"] for frame in widget.frames(Kind.REFRESH)] == [newer]


def test_a_token_that_arrives_before_the_proof_is_used_for_it(make_widget: MakeWidget) -> None:
    """The widget must open the socket with the newest token, without a `refresh` frame."""
    widget = make_widget(custom_login=True, answers_frames=False)
    widget.stored = widget.custom()
    widget.start()
    newer = widget.custom(exp=widget.server_now + 7200)

    widget.feed(events.StoredTokenChanged(newer))
    greet(widget)
    accept(widget)

    assert widget.connects() == [newer]
    assert widget.frames(Kind.REFRESH) == []


def test_the_refusal_of_an_older_token_does_not_affect_the_newer(make_widget: MakeWidget) -> None:
    """The widget must try the newer token on a new socket, without calling `getToken`."""
    widget = make_widget(custom_login=True, answers_frames=False)
    widget.stored = widget.custom()
    widget.start()
    greet(widget)
    newer = widget.custom(exp=widget.server_now + 7200)
    widget.feed(events.StoredTokenChanged(newer))
    widget.socket = widget.last(effects.OpenSocket).ref
    widget.answers_frames = True

    widget.close(Close.TOKEN)
    widget.advance(1)

    assert widget.connects()[-1] == newer
    assert widget.identity == ADA
    assert widget.all(effects.CallGetToken) == []
    assert widget.errors() == []


# answers from a cache in the page


@pytest.mark.parametrize(("code", "close"), [("token_expired", Close.TOKEN_EXPIRED), ("token_signature", Close.TOKEN)])
def test_a_refused_token_of_the_service_is_not_blamed_on_get_token(
    make_widget: MakeWidget, code: str, close: Close
) -> None:
    """F206: the likely cause is a service worker that answers from its cache. The error must name this cause."""
    widget = make_widget(verdict=lambda _: (code, close)).start()

    widget.advance(60)

    told = widget.emitted("error")
    assert [error["code"] for error in told] == [code]
    assert "service worker" in str(told[0]["remediation"])


def test_an_expired_social_sign_in_is_reported(grace: Driver) -> None:
    """The page's code is not at fault. The error must ask the person to sign in again."""
    grace.answers_tokens = False
    grace.close(1006)
    grace.advance(31)
    ref = grace.last(effects.ExchangeIdentityToken).ref

    grace.feed(events.TokenFailed(ref, 401, "token_expired", "The token expired."))

    told = grace.emitted("error")[-1]
    assert (told["code"], told["phase"]) == ("token_expired", "socket")
    assert "sign in again" in str(told["remediation"])
