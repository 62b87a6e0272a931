"""What is counted for those who run the service, for Prometheus: nothing of a person, a business or a token."""

from __future__ import annotations

import os
from functools import cache
from typing import Final

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
"""Where the workers of one host keep their numbers, by Prometheus' client; each then shows those of all."""

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

SOCKETS: Final = Gauge("chatkey_sockets", "Open sockets.", ["peer"], multiprocess_mode="livesum")
CONNECTS: Final = Counter(
    "chatkey_connects", "Widgets that connected: `ready`, or the code they left with.", ["result"]
)
REFUSALS: Final = Counter("chatkey_refusals", "What was refused, by code.", ["code"])
MESSAGES: Final = Counter("chatkey_messages", "Messages that were acknowledged, by sender.", ["sender"])
HUB_CONNECTED: Final = Gauge("chatkey_hub_connected", "Processes that hear the others.", multiprocess_mode="livesum")
FAN_OUT: Final = Histogram(
    "chatkey_fan_out_seconds", "From saying something through Redis to hearing it, once a second.", buckets=SECONDS
)
DATABASE_WAIT: Final = Histogram(
    "chatkey_database_wait_seconds",
    "Until it had a connection, or its turn to write.",
    ["kind"],
    buckets=SECONDS,
)

# Kept, because to look one up by its label costs more than to count.
sockets: Final = cache(SOCKETS.labels)
connects: Final = cache(CONNECTS.labels)


def refused(code: str) -> None:
    """Count a refusal."""
    REFUSALS.labels(code).inc()


def exposition() -> bytes:
    """Write all of it in Prometheus' text format: of this process, or of all workers of this host."""
    if FOLDER_VARIABLE not in os.environ:
        return generate_latest(REGISTRY)
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]  # prometheus_client leaves it out
    return generate_latest(together)
