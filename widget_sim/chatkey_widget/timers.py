"""The timers of a widget by name: which part sets them, and so which part is told that they came due."""

from typing import Literal

LinkTimer = Literal["connect", "doubt", "heartbeat", "probe", "reconnect", "refresh", "stable"]
LoginTimer = Literal["getToken", "renew"]
ChatTimer = Literal["again", "call", "gap", "second"]
Timer = LinkTimer | LoginTimer | ChatTimer | Literal["configuration"]
