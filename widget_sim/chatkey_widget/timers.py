"""The names of a widget's timers, grouped by the part that sets and handles them."""

from typing import Literal

LinkTimer = Literal["connect", "doubt", "heartbeat", "probe", "reconnect", "refresh", "stable"]
LoginTimer = Literal["getToken", "renew"]
ChatTimer = Literal["again", "call", "gap", "next", "second", "sound"]
Timer = LinkTimer | LoginTimer | ChatTimer | Literal["configuration", "key"]
