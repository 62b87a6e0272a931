"""The parts of one widget that the decisions use. No part depends on the decisions."""

from dataclasses import dataclass
from typing import Self

from chatkey_widget.cache import Cache
from chatkey_widget.chat import Chat
from chatkey_widget.configuration import Configuration
from chatkey_widget.context import Context
from chatkey_widget.login import Login
from chatkey_widget.panel import Panel
from chatkey_widget.service_link import ServiceLink
from chatkey_widget.social import SocialFlow


@dataclass(frozen=True, slots=True)
class Parts:
    ctx: Context
    link: ServiceLink
    login: Login
    flow: SocialFlow
    chat: Chat
    cache: Cache
    configuration: Configuration
    panel: Panel

    @classmethod
    def of(cls, ctx: Context) -> Self:
        link = ServiceLink(ctx)
        return cls(ctx, link, Login(ctx), SocialFlow(ctx), Chat(ctx, link), Cache(ctx), Configuration(ctx), Panel(ctx))
