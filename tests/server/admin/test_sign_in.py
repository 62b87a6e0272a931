"""Tests of the sign-in to the admin panel: permissions, cookies, and the order of checks."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from piccolo_api.crud.endpoints import PiccoloCRUD

from chatkey_server.panel.admin.bodies import MOST_BODY_BYTES
from chatkey_server.storage import accounts
from chatkey_server.storage.tables import Administrator, AdminSession, Agent

Fixture = Any
PASSWORD = "correct horse battery"


def attributes(cookie: str) -> set[str]:
    return {part.strip().lower() for part in cookie.split(";")[1:]}


@pytest.mark.contract("D-19/sign-in")
async def test_the_page_is_public_and_everything_behind_it_needs_a_sign_in(stranger: Fixture) -> None:
    page = await stranger.ask("GET", "")
    behind = [
        (await stranger.ask(method, f"api/{path}", body)).status_code
        for method, path, body in (
            ("GET", "tables/providers/", None),
            ("GET", "tables/social_logins/1/", None),
            ("GET", "forms/rotate-secret/", None),
            ("GET", "openapi.json", None),
            ("POST", "tables/domains/", {"provider": "p", "domain": "evil.test"}),
            ("PATCH", "tables/providers/p/", {"name": "mine"}),
            ("DELETE", "tables/domains/1/", None),
            ("POST", "forms/rotate-secret/", {"provider": "p"}),
            ("POST", "change-password/", {}),
        )
    ]

    assert page.status_code == 200
    assert "<title>chatkey admin</title>" in page.text
    assert behind == [401] * 9


async def test_an_administrator_signs_in_and_out(stranger: Fixture) -> None:
    answer = await stranger.sign_in()
    user = await stranger.ask("GET", "api/user/")
    out = await stranger.ask("POST", "public/logout/")

    name, _, cookie = answer.headers["set-cookie"].partition("=")
    assert (answer.status_code, user.json()["username"], out.status_code) == (200, "ada", 200)
    assert name == "chatkey_admin"
    assert {"httponly", "path=/", "samesite=strict"} <= attributes(cookie)
    assert (await stranger.ask("GET", "api/user/")).status_code == 401


async def test_the_stored_form_of_a_session_token_does_not_sign_in(stranger: Fixture) -> None:
    await stranger.sign_in()
    token = stranger.client.cookies["chatkey_admin"]
    stored = [row["token"] for row in await AdminSession.select(AdminSession.token)]
    stranger.client.cookies["chatkey_admin"] = stored[0]

    assert stored != [token]
    assert (await stranger.ask("GET", "api/user/")).status_code == 401


@pytest.mark.parametrize("password", ["wrong password", "", "p" * 2000])
async def test_a_wrong_password_is_refused(stranger: Fixture, password: str) -> None:
    answer = await stranger.sign_in(password)

    assert answer.status_code in {401, 422}
    assert "chatkey_admin" not in answer.headers.get("set-cookie", "")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *[(text, 400) for text in ('"x"', "null", "[]", "[" * 60_000, "9" * 5000, '{"username": 1}', '{"a":1,"a":1}')],
        *[("username=ada&password=x", 415), ("", 422), ("{}", 422), ('{"username": "\\u0000", "password": "x"}', 400)],
    ],
)
async def test_a_sign_in_that_cannot_be_read_is_refused_and_a_good_one_works(
    stranger: Fixture, body: str, status: int, heard: list[dict[str, Any]]
) -> None:
    headers = {"Origin": "http://localhost:8800", "X-CSRFToken": stranger.client.cookies["csrftoken"]}
    media_type = "application/x-www-form-urlencoded" if body.startswith("user") else "application/json"

    refused = await stranger.client.post(
        "/admin/public/login/", content=body, headers={**headers, "Content-Type": media_type}
    )

    assert refused.status_code == status
    assert [event for event in heard if event["level"] == "error"] == []
    assert (await stranger.sign_in()).status_code == 200


async def test_an_agent_cannot_sign_in_as_an_administrator(stranger: Fixture) -> None:
    await accounts.add(Agent, "eve", PASSWORD)

    assert (await stranger.sign_in(username="eve")).status_code == 401


async def test_guessing_is_slowed_down_and_nobody_is_locked_out(stranger: Fixture, clock: Fixture) -> None:
    guesses = [(await stranger.sign_in("a wrong guess")).status_code for _ in range(11)]
    refused = await stranger.sign_in()
    clock.advance(60)

    assert guesses == [401] * 10 + [429]
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "6")
    assert (await stranger.sign_in()).status_code == 200


@pytest.mark.contract("D-19/sign-in")
@pytest.mark.parametrize("origin", ["https://evil.test", "null", "http://localhost:8801", ""])
async def test_another_site_can_neither_sign_in_nor_change_anything(panel: Fixture, origin: str) -> None:
    answers = [
        await panel.ask("POST", "public/login/", {"username": "ada", "password": PASSWORD}, Origin=origin),
        await panel.ask("PATCH", "api/tables/providers/prov/", {"name": "mine"}, Origin=origin),
        await panel.ask("POST", "api/forms/rotate-secret/", {"provider": "prov"}, Origin=origin),
    ]

    assert [answer.status_code for answer in answers] == [403] * 3
    assert answers[0].json()["error"]["code"] == "origin_not_allowed"
    assert (await panel.rows("providers"))[0]["name"] == "Birch & Bone"


@pytest.mark.parametrize("token", ["", "another"])
async def test_a_change_needs_the_token_of_the_page(panel: Fixture, token: str) -> None:
    headers = {"X-CSRFToken": token}
    changed = await panel.ask("PATCH", "api/tables/providers/prov/", {"name": "mine"}, **headers)
    rotated = await panel.ask("POST", "api/forms/rotate-secret/", {"provider": "prov"}, **headers)

    assert (changed.status_code, rotated.status_code) == (403, 403)
    assert (await panel.rows("providers"))[0]["name"] == "Birch & Bone"


async def test_a_removed_administrator_is_out_at_once(panel: Fixture) -> None:
    await accounts.remove(Administrator, "ada")

    assert (await panel.ask("GET", "api/user/")).status_code == 401
    assert await AdminSession.count() == 0


async def test_a_new_password_ends_every_session(panel: Fixture) -> None:
    wrong, short, good = [
        await panel.ask(
            "POST",
            "api/change-password/",
            {"current_password": current, "new_password": new, "confirm_new_password": new},
        )
        for current, new in (("not this", "another password"), (PASSWORD, "short"), (PASSWORD, "another password"))
    ]

    assert (wrong.status_code, wrong.json()) == (422, {"detail": "Incorrect password."})
    assert (short.status_code, short.json()) == (422, {"detail": "Password must be at least 8 characters long."})
    assert good.status_code == 303
    assert (await panel.ask("GET", "api/user/")).status_code == 401
    assert (await panel.sign_in()).status_code == 401
    assert (await panel.sign_in("another password")).status_code == 200


async def test_over_https_the_cookie_has_the_host_prefix(make_client: Fixture) -> None:
    async with make_client(base_url="https://chat.test") as client:
        await accounts.add(Administrator, "ada", PASSWORD)
        client.base_url = "https://chat.test"
        page = await client.get("/admin/")
        answer = await client.post(
            "/admin/public/login/",
            json={"username": "ada", "password": PASSWORD},
            headers={"Origin": "https://chat.test", "X-CSRFToken": page.cookies["csrftoken"]},
        )
        user = await client.get("/admin/api/user/")

    name, _, cookie = answer.headers["set-cookie"].partition("=")
    assert name == "__Host-chatkey_admin"
    assert {"secure", "httponly", "path=/", "samesite=strict"} <= attributes(cookie)
    assert not any(attribute.startswith("domain") for attribute in attributes(cookie))
    assert "secure" in attributes(page.headers["set-cookie"])
    assert user.json()["username"] == "ada"


async def test_every_answer_has_a_policy_that_blocks_other_origins(client: Fixture) -> None:
    page = await client.get("/admin/")
    script = page.text.partition('src="./assets/')[2].partition('"')[0]
    answers = [page, await client.get(f"/admin/assets/{script}"), await client.get("/admin/api/user/")]

    for answer in answers:
        policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert (answer.headers["x-content-type-options"], answer.headers["referrer-policy"]) == (
            "nosniff",
            "same-origin",
        )
    assert [answer.status_code for answer in answers] == [200, 200, 401]
    assert [answer.headers.get("cache-control") for answer in answers] == ["no-store", None, "no-store"]
    assert "https://" not in page.text


@pytest.mark.parametrize("path", ["api/docs/", "public/docs/", "docs"])
async def test_pages_with_scripts_of_other_origins_are_404(panel: Fixture, path: str) -> None:
    assert (await panel.ask("GET", path)).status_code == 404


async def test_the_panel_has_exactly_one_address(client: Fixture) -> None:
    answer = await client.get("/admin")

    assert (answer.status_code, answer.headers["location"]) == (308, "/admin/")
    assert (await client.get("/administrator")).status_code == 404


async def test_a_body_above_the_limit_is_refused(stranger: Fixture) -> None:
    answer = await stranger.sign_in("p" * MOST_BODY_BYTES)

    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


async def test_without_its_database_the_panel_says_so_and_goes_on_when_it_is_back(stranger: Fixture) -> None:
    await stranger.sign_in()
    file = stranger.services.settings.database_url.removeprefix("sqlite:///")

    shutil.move(file, f"{file}.hidden")
    away = await stranger.ask("GET", "api/tables/providers/")
    changed = await stranger.ask("POST", "api/tables/domains/", {"provider": "prov", "domain": "shop.test"})
    shutil.move(f"{file}.hidden", file)
    back = await stranger.ask("GET", "api/tables/providers/")

    assert (away.status_code, away.json()["error"]["code"]) == (503, "unavailable")
    assert (changed.status_code, changed.json()["error"]["code"]) == (503, "unavailable")
    assert back.status_code == 200


async def test_a_failure_of_piccolo_is_answered_with_500_and_logged_without_the_request(
    panel: Fixture, heard: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PiccoloCRUD, "_apply_filters", None)

    answer = await panel.ask("GET", "api/tables/social_logins/")

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "admin.failed" in [event["event"] for event in heard]


async def test_there_is_no_socket(client: Fixture) -> None:
    sent: list[dict[str, Any]] = []
    headers = [(b"origin", b"http://localhost:8800"), (b"cookie", b"chatkey_admin=x")]
    scope = {"type": "websocket", "path": "/admin/", "raw_path": b"/admin/", "headers": headers, "query_string": b""}

    async def receive() -> dict[str, str]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await client.app(scope, receive, send)

    assert [message["type"] for message in sent] == ["websocket.close"]


async def sign_in_at(client: Fixture, path: str, password: str) -> Any:
    headers = {"Origin": "http://localhost:8800", "X-CSRFToken": client.cookies.get("csrftoken", "")}
    return await client.post(path, json={"username": "ada", "password": password}, headers=headers)


@pytest.mark.parametrize(
    "path",
    [
        "/admin/public/login/x",
        "/admin/public/login//",
        "/admin/public/login/%2f",
        "/admin/public/login/%2e",
        "/admin/public//login/",
        "/admin//public/login/",
        "/admin/./public/login/",
        "/admin/x/../public/login/",
        "/admin/public/login",
        "/admin/public/Login/",
        "/admin/public/login/;x",
        "/admin/public/login/login/",
        "/%61dmin/public/login/",
    ],
)
async def test_other_spellings_of_the_path_share_the_limit_of_guesses(stranger: Fixture, path: str) -> None:
    elsewhere = [(await sign_in_at(stranger.client, path, "a wrong guess")).status_code for _ in range(15)]
    right = await sign_in_at(stranger.client, path, PASSWORD)

    assert right.status_code in {307, 404, 405, 429}
    assert "chatkey_admin" not in right.headers.get("set-cookie", "")
    assert set(elsewhere) <= {307, 401, 404, 405, 429}
    assert elsewhere.count(401) <= 10


async def test_guesses_at_the_old_password_in_a_change_are_limited(panel: Fixture) -> None:
    guess = {"current_password": "a wrong guess", "new_password": "x" * 12, "confirm_new_password": "x" * 12}

    answers = [(await panel.ask("POST", "api/change-password/", guess)).status_code for _ in range(11)]

    assert 429 not in answers[:8]
    assert answers[-1] == 429


async def test_a_reset_of_the_lab_lets_one_guess_anew(make_client: Fixture) -> None:
    async with make_client(lab=True) as client:
        await accounts.add(Administrator, "ada", PASSWORD)
        await client.get("/admin/")
        for _ in range(11):
            await sign_in_at(client, "/admin/public/login/", "a wrong guess")

        await client.post("/lab/reset", json={})

        assert (await sign_in_at(client, "/admin/public/login/", PASSWORD)).status_code == 200
