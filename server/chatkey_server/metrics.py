"""The metrics for Prometheus. Labels are bounded and contain no data of people, businesses or tokens."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import Final, get_args

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from chatkey_protocol.codes import Code
from chatkey_protocol.frames import EndReason

FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable for the folder in which the workers of one host share their numbers."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

disable_created_metrics()  # type: ignore[no-untyped-call]  # several workers expose none either

SOCKETS: Final = Gauge("chatkey_sockets", "Open sockets.", ["peer"], multiprocess_mode="livesum")
CONNECTS: Final = Counter(
    "chatkey_connects", "Connection attempts of widgets, by result: `ready`, or the code of the refusal.", ["result"]
)
CONNECT: Final = Histogram(
    "chatkey_connect_seconds", "Time from the accepted WebSocket handshake to the `ready` frame.", buckets=SECONDS
)
REFUSALS: Final = Counter("chatkey_refusals", "Refusals, by code.", ["code"])
CALLS_ENDED: Final = Counter(
    "chatkey_calls_ended", "Calls that ended, by reason: `hung_up`, or the code of another reason.", ["reason"]
)
ACKNOWLEDGEMENT: Final = Histogram(
    "chatkey_acknowledgement_seconds",
    "Time from reading a message frame to sending its acknowledgement.",
    ["peer"],
    buckets=SECONDS,
)
HTTP: Final = Histogram(
    "chatkey_http_seconds",
    "Time from an HTTP request to the first byte of its response, by route template and class of status.",
    ["route", "status"],
    buckets=SECONDS,
)
READY: Final = Gauge(
    "chatkey_ready",
    "1 if this part was ready when the metrics were read, otherwise 0.",
    ["part"],
    multiprocess_mode="livemostrecent",
)
STARTED: Final = Gauge(
    "chatkey_started_seconds",
    "Time at which the newest process of this host started, in Unix time.",
    multiprocess_mode="max",
)
HUB_CONNECTED: Final = Gauge(
    "chatkey_hub_connected", "Processes that are connected to Redis.", multiprocess_mode="livesum"
)
LIMITS_TOGETHER: Final = Gauge(
    "chatkey_limits_together",
    "Processes whose shared limits are counted in Redis.",
    multiprocess_mode="livesum",
)
FAN_OUT: Final = Histogram(
    "chatkey_fan_out_seconds",
    "Time from publishing a heartbeat on Redis to receiving it, measured once a second.",
    buckets=SECONDS,
)
DATABASE_WAIT: Final = Histogram(
    "chatkey_database_wait_seconds",
    "Time that a query waited for a connection, or for its turn to write.",
    ["kind"],
    buckets=SECONDS,
)

UNROUTED: Final = "other"
"""The `route` label of a request that matches no route. It is never the path, which the client chooses."""

# Cached, because looking up a series by its label costs more than counting.
sockets: Final = cache(SOCKETS.labels)
connects: Final = cache(CONNECTS.labels)
acknowledgements: Final = cache(ACKNOWLEDGEMENT.labels)
_refusals: Final = cache(REFUSALS.labels)
_calls_ended: Final = cache(CALLS_ENDED.labels)

# `rate` and `increase` miss the first event of a series that did not exist before.
for _code in Code:
    connects(_code)
    _refusals(_code)
for _reason in ("hung_up", *get_args(EndReason), Code.CALL_LOST, Code.CALL_UNANSWERED, Code.PROVIDER_OFF):
    _calls_ended(_reason)


@cache
def http(route: str, status: int) -> Histogram:
    """Return the histogram for a route template and the class of a status (such as 2xx)."""
    return HTTP.labels(route, f"{status // 100}xx")


def refused(code: str) -> None:
    _refusals(code).inc()


def call_ended(code: str | None) -> None:
    _calls_ended(code or "hung_up").inc()


def note_ready(parts: Mapping[str, bool]) -> None:
    """Record which parts of the service are ready."""
    for part, is_ready in parts.items():
        READY.labels(part).set(is_ready)


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format, for this process or for all workers on this host."""
    if FOLDER_VARIABLE not in os.environ:
        return generate_latest(REGISTRY)
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # prometheus_client leaves it out
    return generate_latest(together)
