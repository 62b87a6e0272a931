"""Tests of adding, changing and removing applications and people."""

from __future__ import annotations

import httpx
from tests.oauth.lab.answers import data, error
from tests.oauth.visitor import Visitor


async def test_a_registered_client_can_log_in_until_it_is_forgotten(lab: httpx.AsyncClient, google: Visitor) -> None:
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


async def test_a_person_is_added_changed_and_forgotten(lab: httpx.AsyncClient, google: Visitor) -> None:
    new = {"id": "new", "name": "New Person", "email": "old@example.com", "subjects": {"google": "42"}}

    data(await lab.put("/lab/people/new", json=new))
    token = google.access_token("new")
    before = google.profile(token).body
    data(await lab.put("/lab/people/new", json=new | {"email": "changed@example.com"}))
    after = google.profile(token).body
    data(await lab.delete("/lab/people/new"))

    assert b'"sub":"42"' in before
    assert b"old@example.com" in before
    assert b"changed@example.com" in after
    assert google.profile(token).status == 401
    assert error(await lab.delete("/lab/people/new"))[:2] == (404, "person_unknown")
