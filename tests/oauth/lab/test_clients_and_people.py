"""Tests of adding, changing and removing applications and people."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from tests.oauth.visitor import Visitor

    Read = Callable[[httpx.Response], Any]


async def test_a_registered_client_can_log_in_until_it_is_forgotten(
    lab: httpx.AsyncClient, data: Read, error: Read, google: Visitor
) -> None:
    client = {"provider": "google", "client_id": "new", "client_secret": "s", "redirect_uris": ["https://a.example/"]}

    made = await lab.post("/lab/clients", json=client)
    known = google.ask(client_id="new", redirect_uri="https://a.example/")
    listed = data(await lab.get("/lab/clients"))
    data(await lab.delete("/lab/clients/google/new"))
    forgotten = google.ask(client_id="new", redirect_uri="https://a.example/")

    assert made.status_code == 201
    assert (known.status, forgotten.status) == (200, 401)
    assert {"provider": "google", "client_id": "new", "redirect_uris": ["https://a.example/"]} in listed
    assert error(await lab.delete("/lab/clients/google/new")) == (
        *(404, "client_unknown"),
        "client_id: google has no client 'new'; GET /lab/clients lists all clients.",
    )


async def test_an_app_is_registered_by_a_scheme_of_its_own(lab: httpx.AsyncClient, google: Visitor) -> None:
    uri = "com.example.app:/callback"
    client = {"provider": "google", "client_id": "app", "client_secret": "s", "redirect_uris": [uri]}

    made = await lab.post("/lab/clients", json=client)

    assert made.status_code == 201
    assert google.ask(client_id="app", redirect_uri=uri).status == 200
    assert google.ask(client_id="app", redirect_uri="javascript:alert(1)").status == 400


@pytest.mark.parametrize(
    ("change", "status", "code", "member"),
    [
        ({"provider": "myspace"}, 404, "provider_unknown", "provider: 'myspace' is not one of google, "),
        ({"redirect_uris": []}, 400, "client_invalid", "redirect_uris"),
        ({"redirect_uris": ["/relative"]}, 400, "client_invalid", "redirect_uris"),
        ({"redirect_uris": ["https://a.example/#x"]}, 400, "client_invalid", "redirect_uris"),
        ({"redirect_uris": ["https://a.example/\r\n"]}, 400, "client_invalid", "redirect_uris"),
        ({"redirect_uris": ["javascript:alert(1)"]}, 400, "client_invalid", "redirect_uris"),
        ({"redirect_uris": ["https://a.example/", "data:text/html,x"]}, 400, "client_invalid", "redirect_uris"),
        ({"redirect_uris": ["myapp://callback"]}, 400, "client_invalid", "with a dot in it"),
        ({"client_id": ""}, 400, "request_invalid", "client_id"),
        ({"client_id": 5}, 400, "request_invalid", "client_id"),
    ],
)
async def test_an_unusable_client_is_refused(
    *, lab: httpx.AsyncClient, error: Read, change: dict[str, Any], status: int, code: str, member: str
) -> None:
    client = {"provider": "google", "client_id": "new", "redirect_uris": ["https://a.example/"]}

    answer = await lab.post("/lab/clients", json=client | change)

    assert error(answer)[:2] == (status, code)
    assert member in error(answer)[2]


async def test_a_person_is_added_changed_and_forgotten(
    lab: httpx.AsyncClient, data: Read, error: Read, google: Visitor
) -> None:
    new = {"id": "new", "name": "New Person", "email": "old@example.com", "subjects": {"google": "42"}}

    data(await lab.put("/lab/people/new", json=new))
    token = google.login("new")["access_token"]
    before = google.profile(token).body
    data(await lab.put("/lab/people/new", json=new | {"email": "changed@example.com"}))
    after = google.profile(token).body
    data(await lab.delete("/lab/people/new"))

    assert b'"sub":"42"' in before
    assert b"old@example.com" in before
    assert b"changed@example.com" in after
    assert google.profile(token).status == 401
    assert error(await lab.delete("/lab/people/new"))[:2] == (404, "person_unknown")


@pytest.mark.parametrize(
    ("body", "code", "member"),
    [
        ({"id": "other"}, "person_invalid", "id: the body has 'other', but the address has 'new'"),
        ({"id": "UPPER"}, "request_invalid", "id"),
        ({}, "request_invalid", "id"),
        ({"id": "new", "subjects": {"github": "rhea"}}, "person_invalid", "subjects.github: 'rhea' is not a number"),
        ({"id": "new", "subjects": {"myspace": "1"}}, "person_invalid", "subjects.myspace: there is no such provider"),
    ],
)
async def test_an_unusable_person_is_refused(
    lab: httpx.AsyncClient, error: Read, body: dict[str, Any], code: str, member: str
) -> None:
    answer = await lab.put("/lab/people/new", json=body)

    assert error(answer)[:2] == (400, code)
    assert member in error(answer)[2]
