"""Rate limits, which are tested only if the target declares that it keeps the rates of [limits]."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Final
from urllib.parse import urlencode

from chatkey_conform.case import Family
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.subject.answer import Answer
from chatkey_conform.subject.subject import Subject
from chatkey_conform.suite.frames import PING, frame

FAMILY = Family("rates", "Rates", "limits.md#limits")
MOST_ASKED: Final = 800
MOST_SOCKETS: Final = 60
LONGEST_FLOOD: Final = 0.5
"""In minutes."""


@FAMILY.judges("D-03/rate-limit", alone=True, needs=["rate-limits"])
def too_many_token_requests_are_429_with_retry_after(subject: Subject) -> None:
    """Requests above the rate are refused with 429 `rate_limited` and `Retry-After`."""
    shop = subject.shop()
    refused = _first_refused(subject, f"{shop.path}/token?uid={shop.key.uid}", "token_rate")

    refused.refused(429, "rate_limited")
    expect_that(
        refused.retry_after is not None, f"Retry-After is {refused.header('retry-after')!r}, expected seconds or a date"
    )
    exposed = refused.header("access-control-expose-headers").lower()
    expect_that("retry-after" in exposed, "Access-Control-Expose-Headers lacks Retry-After, so pages cannot read it")
    expect(subject.get(f"{shop.path}/token", uid=shop.key.uid).status, 200, "The status after waiting for Retry-After")


@FAMILY.judges("D-03/rate-limit", "D-03/start-pages", alone=True, needs=["rate-limits"])
def too_many_starts_are_a_page_with_429_and_retry_after(subject: Subject) -> None:
    """Requests to start a login above the rate limit get an HTML page, 429 and `Retry-After`."""
    shop = subject.shop()
    query = urlencode({"origin": shop.origin})
    refused = _first_refused(subject, f"{shop.path}/oauth/{shop.social}?{query}", "oauth_rate")

    refused.page(429)
    expect_that(
        refused.retry_after is not None, f"Retry-After is {refused.header('retry-after')!r}, expected seconds or a date"
    )


def _first_refused(subject: Subject, target: str, limit: str) -> Answer:
    """Send requests until one is answered with 429. Raises `Broken` if none is."""
    rate = int(getattr(subject.limits, limit))
    if not 0 < rate <= MOST_ASKED:
        raise OtherLimit(f"not tested with {limit} = {rate}")
    begun = time.monotonic()
    for asked in range(1, MOST_ASKED * 4):
        answer = subject.request("GET", target, patient=False)
        if answer.status == 429:
            return answer
        minutes = (time.monotonic() - begun) / 60
        expect_that(
            asked <= rate * (minutes + 2) + 5, f"{asked} requests in a row are granted; {limit} is {rate} per minute"
        )
        if minutes > LONGEST_FLOOD:
            break
    raise OtherLimit(f"not tested with {limit} = {rate}: the service answers too slowly to exceed it")


@FAMILY.judges("D-10/rate", alone=True, needs=["rate-limits"], rows=["WSK-043"])
def too_many_frames_within_a_second_end_the_connection(subject: Subject) -> None:
    """Frames above the rate end the connection with 4429."""
    rate = subject.limits.frames_per_second
    if not 0 < rate <= MOST_ASKED:
        raise OtherLimit(f"not tested with frames_per_second = {rate}")
    with subject.joined(subject.shop()) as peer:
        for _ in range(20 * rate):
            peer.say({"type": "ping"}, hurried=True)
        ended = peer.end()

    expect(ended.close, 4429, "The close code after too many frames")
    expect(ended.frames[-1].get("code") if ended.frames else "", "rate_limited", "code of the last frame")


@FAMILY.judges("D-10/rate", alone=True, needs=["rate-limits"], page="socket.md#refusals")
def too_many_pings_beneath_the_frames_end_the_connection(subject: Subject) -> None:
    """WebSocket pings above the rate end the connection with 4429 and no `error` frame."""
    rate = subject.limits.frames_per_second
    if not 0 < rate <= MOST_ASKED:
        raise OtherLimit(f"not tested with frames_per_second = {rate}")
    with subject.joined(subject.shop()) as peer:
        peer.send_raw(frame(PING) * 20 * rate)
        peer.end().closed(4429)


@FAMILY.judges("D-10/sockets", alone=True, needs=["rate-limits"], rows=["WSK-045"])
def one_identity_has_so_many_sockets_and_no_more(subject: Subject) -> None:
    """A socket above the limit for one identity is closed with 4429, and closed sockets do not count."""
    most = subject.limits.sockets_per_identity
    if not 0 < most <= MOST_SOCKETS:
        raise OtherLimit(f"not tested with sockets_per_identity = {most}")
    shop = subject.shop()
    token = shop.token()
    with ExitStack() as ending:
        for _ in range(most):
            ending.enter_context(subject.joined(shop, token))
        subject.try_token(token, shop.key).refused("too_many_sockets", 4429)
    threading.Event().wait(1)  # the service may notice the closes a little later
    with subject.joined(shop, token) as peer:
        peer.granted({"type": "ping"}, "pong")
