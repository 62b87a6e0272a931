"""Tests of the requests that the control API refuses. An error must have the right code and name the fault."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.oauth.lab.answers import data, error

CLIENT = {"provider": "google", "client_id": "new", "redirect_uris": ["https://a.example/"]}
TIMES: list[Any] = [{}, [], {"advance": "soon"}, {"advance": 1, "back": 2}, {"advance": -1}, {"advance": 1e300}]
NO_RULE = "the parameters are account, client_id, cookie, flow, login_hint, provider, state."


def uris(*redirect_uris: str) -> dict[str, Any]:
    return CLIENT | {"redirect_uris": redirect_uris}


@pytest.mark.parametrize(
    ("asked", "body", "status", "code", "told"),
    [
        (
            "POST /clients",
            CLIENT | {"provider": "myspace"},
            404,
            "provider_unknown",
            "'myspace' is not one of google, ",
        ),
        ("POST /clients", uris(), 400, "client_invalid", "redirect_uris"),
        ("POST /clients", uris("/relative"), 400, "client_invalid", "redirect_uris"),
        ("POST /clients", uris("https://a.example/#x"), 400, "client_invalid", "redirect_uris"),
        ("POST /clients", uris("https://a.example/\r\n"), 400, "client_invalid", "redirect_uris"),
        ("POST /clients", uris("javascript:alert(1)"), 400, "client_invalid", "redirect_uris"),
        ("POST /clients", uris("https://a.example/", "data:text/html,x"), 400, "client_invalid", "redirect_uris"),
        ("POST /clients", uris("myapp://callback"), 400, "client_invalid", "with a dot in it"),
        ("POST /clients", CLIENT | {"client_id": ""}, 400, "request_invalid", "client_id"),
        ("POST /clients", CLIENT | {"client_id": 5}, 400, "request_invalid", "client_id"),
        ("DELETE /clients/google/new", None, 404, "client_unknown", "client_id: google has no client 'new'; GET /lab/"),
        ("PUT /people/new", {"id": "other"}, 400, "person_invalid", "the body has 'other', but the address has 'new'"),
        ("PUT /people/new", {"id": "UPPER"}, 400, "request_invalid", "id"),
        ("PUT /people/new", {}, 400, "request_invalid", "id"),
        (
            *("PUT /people/new", {"id": "new", "subjects": {"github": "rhea"}}),
            *(400, "person_invalid", "subjects.github: 'rhea' is not a number"),
        ),
        (
            *("PUT /people/new", {"id": "new", "subjects": {"myspace": "1"}}),
            *(400, "person_invalid", "subjects.myspace: there is no such provider"),
        ),
        ("DELETE /people/new", None, 404, "person_unknown", ""),
        (
            "DELETE /people/rhea?name=x",
            None,
            400,
            "request_invalid",
            "name: no such parameter; there are no parameters.",
        ),
        ("POST /faults", {}, 400, "request_invalid", "fault"),
        ("POST /faults", {"fault": "status-50"}, 400, "fault_invalid", "fault: 'status-50'"),
        (
            "POST /faults",
            {"fault": "slow", "with": {"second": 1}},
            400,
            "fault_invalid",
            "second: slow has no such option",
        ),
        ("POST /faults", {"fault": "slow", "with": {"seconds": "long"}}, 400, "fault_invalid", "with.seconds: "),
        ("POST /faults", {"fault": "slow", "scope": {"provider": "ms"}}, 400, "fault_invalid", "scope.provider: 'ms'"),
        ("POST /faults", {"fault": "slow", "scope": {"providers": "x"}}, 400, "request_invalid", "scope"),
        ("POST /faults", {"fault": "slow", "times": 0}, 400, "request_invalid", "times"),
        ("POST /faults", {"fault": "slow", "seconds": 1}, 400, "request_invalid", "seconds"),
        ("DELETE /faults/r_0", None, 404, "rule_unknown", ""),
        ("POST /providers/myspace/keys", None, 404, "provider_unknown", "name: 'myspace' is not one of google, "),
        ("POST /providers/github/keys", None, 400, "keys_none", "name: github does not sign tokens, so it has no keys"),
        ("PUT /switches/google.isss", {"on": True}, 404, "switch_unknown", "google has no switch 'isss'. Available: "),
        ("PUT /switches/myspace.iss", {"on": True}, 404, "switch_unknown", "there is no provider 'myspace'"),
        ("PUT /switches/google.iss", {"on": "yes"}, 400, "request_invalid", "on"),
        ("PUT /switches/google.iss", {"off": True}, 400, "request_invalid", "o"),
        (
            "PUT /auto-approve",
            {"account": "who"},
            404,
            "person_unknown",
            "account: there is no person 'who'. Available: ",
        ),
        ("GET /requests?wait=-1", None, 400, "request_invalid", ""),
        ("GET /requests?wait=31", None, 400, "request_invalid", ""),
        ("GET /requests?wait=long", None, 400, "request_invalid", ""),
        ("GET /requests?provder=google", None, 400, "request_invalid", "no such parameter; the parameters are after, "),
        ("GET /requests?provider=goggle", None, 404, "provider_unknown", "provider: 'goggle' is not one of google, "),
        ("GET /flows?provider=goggle", None, 404, "provider_unknown", "provider: 'goggle' is not one of google, "),
        ("GET /flows?login=rhea", None, 400, "request_invalid", NO_RULE),
        ("GET /flows/f_0000000000000000", None, 404, "flow_unknown", ""),
        ("GET /flows/f_0/page", None, 404, "flow_unknown", ""),
        ("GET /clock?now=1", None, 400, "request_invalid", "now: no such parameter; there are no parameters."),
        *(("POST /clock", body, 400, "request_invalid", "/lab/schema/openapi.json") for body in TIMES),
        ("GET /nothing", None, 404, "not_found", ""),
        ("DELETE /clock", None, 405, "method_not_allowed", ""),
    ],
)
async def test_a_request_is_refused_and_changes_nothing(  # noqa: PLR0917 - pytest names them
    lab: httpx.AsyncClient, asked: str, body: Any, status: int, code: str, told: str
) -> None:
    method, path = asked.split(" ")
    before = data(await lab.get("/lab")), data(await lab.get("/lab/clock"))

    answer = await lab.request(method, f"/lab{path}", **({} if body is None else {"json": body}))

    assert error(answer)[:2] == (status, code)
    assert told in error(answer)[2]
    assert (data(await lab.get("/lab")), data(await lab.get("/lab/clock"))) == before
