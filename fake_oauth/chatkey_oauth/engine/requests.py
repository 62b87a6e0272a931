"""What the authorization endpoint is about, as plain values: the request, the decision, and the way back."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.grants import Challenge
from chatkey_oauth.engine.http import Answer
from chatkey_oauth.engine.people import Person


class AuthorizationRequest(msgspec.Struct, frozen=True):
    """An authorization request that may be shown to a person. `query` has all parameters as they came."""

    client: Client
    redirect_uri: str
    response_mode: str
    scopes: tuple[str, ...]
    challenge: Challenge | None
    query: Mapping[str, str]


class Decision(msgspec.Struct, frozen=True):
    """Who approves which scopes. What they `chose` beside that is kept with a first approval."""

    person: Person
    scopes: tuple[str, ...]
    chose: Mapping[str, str]


class Callback(msgspec.Struct, frozen=True):
    """The way back to the client: where to, with which parameters, and how. `page` is shown instead of going there."""

    redirect_uri: str
    params: Mapping[str, str]
    mode: str = "query"
    fragment: str = ""
    page: Answer | None = None
