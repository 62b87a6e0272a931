"""Plain values of the authorization endpoint: the request, the decision and the callback."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.grants import Challenge
from chatkey_oauth.engine.http import Answer
from chatkey_oauth.engine.people import Person


class AuthorizationRequest(msgspec.Struct, frozen=True, gc=False):
    """A valid authorization request for the consent page. `query` has all parameters of the request, unchanged."""

    client: Client
    redirect_uri: str
    response_mode: str
    scopes: tuple[str, ...]
    challenge: Challenge | None
    query: Mapping[str, str]


class Decision(msgspec.Struct, frozen=True, gc=False):
    """The person who approves, and the approved scopes. `chose` is stored with the first approval of this person."""

    person: Person
    scopes: tuple[str, ...]
    chose: Mapping[str, str]


class Callback(msgspec.Struct, frozen=True, gc=False):
    """The callback to the client: redirect URI, parameters and mode.

    If there is a `page`, the browser gets this page instead.
    """

    redirect_uri: str
    params: Mapping[str, str]
    mode: str = "query"
    fragment: str = ""
    page: Answer | None = None
