"""Tests of the agent panel: sign-in, the pages' content security, and the WebSocket."""

from __future__ import annotations

import re
from typing import Any

import pytest
from prometheus_client import REGISTRY

from chatkey_protocol.codes import Close
from chatkey_server.socket import close_all

BASE = "http://localhost:8800"
SAME_ORIGIN = {"Origin": BASE}
PASSWORD = "correct horse battery"

Fixture = Any


async def sign_in(client: Fixture, password: str = PASSWORD, origin: str | None = BASE, name: str = "eve") -> Any:
    headers = {"Origin": origin} if origin is not None else {}
    return await client.post("/agent/sign-in", data={"username": name, "password": password}, headers=headers)


class TestSigningIn:
    async def test_without_a_sign_in_only_the_form_is_shown(self, client: Fixture) -> None:
        page = await client.get("/agent")

        assert page.status_code == 200
        assert 'name="password"' in page.text
        assert "panel.js" not in page.text
        assert "lab agent" not in page.text

    async def test_the_cookie_is_for_the_panel_only_and_hidden_from_scripts(self, eve: Fixture) -> None:
        cookie = (await sign_in(eve)).headers["set-cookie"]

        assert {"httponly", "path=/agent", "samesite=lax"} <= {part.strip().lower() for part in cookie.split(";")}
        assert "eve" not in cookie

    @pytest.mark.parametrize("changes", [{"base_url": "https://chat.test"}])
    async def test_over_https_the_cookie_is_secure_and_sent_in_a_foreign_frame(
        self, make_client: Fixture, make_agent: Fixture, changes: dict[str, str]
    ) -> None:
        async with make_client(**changes, panel_frame_ancestors="https://demo.test") as client:
            await make_agent("eve")
            cookie = (await sign_in(client, origin="https://chat.test")).headers["set-cookie"].lower()

        assert "secure" in cookie
        assert "samesite=none" in cookie

    @pytest.mark.parametrize(
        ("name", "password"), [("eve", "wrong password"), ("adam", PASSWORD), ("eve", ""), ("", "")]
    )
    async def test_a_wrong_name_and_a_wrong_password_get_the_same_refusal(
        self, eve: Fixture, name: str, password: str
    ) -> None:
        answer = await sign_in(eve, password, name=name)

        assert answer.status_code == 401
        assert "The name or the password is wrong." in answer.text
        assert "set-cookie" not in answer.headers

    @pytest.mark.parametrize("origin", [None, "null", "https://evil.test", "http://localhost:8801"])
    async def test_a_form_on_another_site_cannot_sign_anyone_in(self, eve: Fixture, origin: str | None) -> None:
        answer = await sign_in(eve, origin=origin)

        assert answer.status_code == 403
        assert f"{BASE}/agent" in answer.text
        assert "set-cookie" not in answer.headers

    async def test_guessing_is_slowed_down(self, eve: Fixture, clock: Fixture) -> None:
        guesses = [(await sign_in(eve, "")).status_code for _ in range(11)]

        assert guesses == [401] * 10 + [429]
        clock.advance(60)
        assert (await sign_in(eve)).status_code == 303

    @pytest.mark.parametrize(
        ("form", "status", "words"),
        [
            (b"username=eve&username=adam&password=correct", 400, "The parameter username occurs more than once"),
            (b"username=eve&password=a&password=b", 400, "The parameter password occurs more than once"),
            (b"username=eve", 400, "The form has no password; fill it in."),
            (b"password=correct", 400, "The form has no username; fill it in."),
            (b"", 400, "The form has no username; fill it in."),
            (b"&" * 40 + b"username=eve", 400, "more than 32 parameters"),
            (b"username=eve&password=%FF%00", 401, "The name or the password is wrong."),
        ],
    )
    async def test_an_ambiguous_or_incomplete_form_is_refused_on_the_page(
        self, eve: Fixture, form: bytes, status: int, words: str
    ) -> None:
        headers = {**SAME_ORIGIN, "Content-Type": "application/x-www-form-urlencoded"}

        answer = await eve.post("/agent/sign-in", content=form, headers=headers)

        assert answer.status_code == status
        assert words in answer.text
        assert 'name="password"' in answer.text
        assert "set-cookie" not in answer.headers

    @pytest.mark.parametrize(
        "body",
        [
            {"files": {"username": ("eve", b"eve"), "password": ("p", PASSWORD.encode())}},
            {"data": {"username": "eve"}, "files": {"password": ("p", PASSWORD.encode())}},
            {"json": {"username": "eve", "password": PASSWORD}},
            {"content": f"username=eve&password={PASSWORD}".encode()},
        ],
        ids=["multipart", "multipart with a field", "json", "of no kind"],
    )
    async def test_a_form_of_another_content_type_is_refused(self, eve: Fixture, body: dict[str, Any]) -> None:
        answer = await eve.post("/agent/sign-in", headers=SAME_ORIGIN, **body)

        assert answer.status_code == 415
        assert "application/x-www-form-urlencoded" in answer.text
        assert "set-cookie" not in answer.headers

    async def test_a_form_on_another_site_cannot_sign_anyone_out(self, eve: Fixture) -> None:
        await sign_in(eve)

        foreign = await eve.post("/agent/sign-out", headers={"Origin": "https://evil.test"})

        assert foreign.status_code == 403
        assert "panel.js" in (await eve.get("/agent")).text


class TestLab:
    @pytest.mark.contract("D-14/panel")
    async def test_with_the_lab_one_can_sign_in_without_a_password(self, lab: Fixture) -> None:
        page = await lab.get("/agent")
        answer = await lab.post("/agent/lab", headers=SAME_ORIGIN)

        assert "Continue as lab agent" in page.text
        assert answer.status_code == 303
        assert "lab agent" in (await lab.get("/agent")).text

    @pytest.mark.contract("D-14/lab", "D-14/panel")
    async def test_without_the_lab_signing_in_without_a_password_is_404(self, client: Fixture) -> None:
        assert (await client.post("/agent/lab", headers=SAME_ORIGIN)).status_code == 404


class TestPages:
    async def test_the_policy_of_the_pages_admits_only_their_own_files(self, eve: Fixture) -> None:
        await sign_in(eve)
        page = await eve.get("/agent")

        policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "connect-src": "'self' ws://localhost:8800",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", page.text)

    async def test_frame_ancestors_is_a_setting(self, make_client: Fixture) -> None:
        async with make_client(panel_frame_ancestors="https://demo.test") as client:
            page = await client.get("/agent")

        assert page.headers["content-security-policy"].endswith("frame-ancestors https://demo.test")

    @pytest.mark.parametrize(
        ("name", "media_type"),
        [("panel.css", "text/css"), ("panel.js", "text/javascript"), ("addresses.js", "text/javascript")],
    )
    async def test_the_files_of_the_pages_are_served(self, client: Fixture, name: str, media_type: str) -> None:
        answer = await client.get(f"/agent/{name}")

        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, media_type)

    @pytest.mark.parametrize("name", ["panel.js", "addresses.js"])
    async def test_the_script_puts_text_into_the_page_as_text_only(self, client: Fixture, name: str) -> None:
        script = (await client.get(f"/agent/{name}")).text

        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


class TestSocket:
    @pytest.mark.parametrize(
        ("headers", "code", "close"),
        [
            (SAME_ORIGIN, "sign_in_required", Close.TOKEN),
            ({**SAME_ORIGIN, "Cookie": "chatkey_agent=forged"}, "sign_in_required", Close.TOKEN),
            ({"Origin": "https://evil.test"}, "origin_not_allowed", Close.FORBIDDEN),
            ({}, "origin_not_allowed", Close.FORBIDDEN),
        ],
    )
    async def test_the_socket_needs_the_panels_origin_and_a_signed_in_agent(
        self, eve: Fixture, open_socket: Fixture, headers: dict[str, str], code: str, close: Close
    ) -> None:
        socket = await open_socket(eve, "/agent/socket", headers=headers)

        assert (await socket.next())["code"] == code
        assert await socket.next() == {"type": "closed", "code": close, "reason": code}

    async def test_the_socket_refuses_another_origin_even_with_the_cookie(
        self, eve: Fixture, open_socket: Fixture
    ) -> None:
        await sign_in(eve)
        cookie = "; ".join(f"{name}={value}" for name, value in eve.cookies.items())

        socket = await open_socket(eve, "/agent/socket", headers={"Origin": "https://evil.test", "Cookie": cookie})

        assert (await socket.next())["code"] == "origin_not_allowed"

    @pytest.mark.contract("2.7/agent-panel")
    async def test_the_socket_lists_shows_and_answers_conversations(self, panel: Fixture, people: Fixture) -> None:
        await people.write("ann", "Hello")
        news = await panel.next()
        conversation = news["conversation"]

        listed = await panel.ask({"type": "list"})
        thread = await panel.ask({"type": "thread", "conversation": conversation})
        await panel.send({"type": "answer", "conversation": conversation, "id": "a1", "body": "Good morning"})
        answers = [await panel.next(), await panel.next()]

        assert (news["type"], news["message"]["body"]) == ("message", "Hello")
        assert [(item["name"], item["email"], item["login"]) for item in listed["items"]] == [
            ("Ann", "ann@shop.test", "custom")
        ]
        assert [entry["body"] for entry in thread["messages"]] == ["Hello"]
        assert {answer["type"] for answer in answers} == {"ack", "message"}
        assert [(entry["sender"], entry["name"], entry["body"]) for entry in await people.read()] == [
            ("customer", "Ann", "Hello"),
            ("agent", "eve", "Good morning"),
        ]

    async def test_each_acknowledgement_of_an_answer_is_timed(self, panel: Fixture, people: Fixture) -> None:
        await people.write("ann", "Hello")
        conversation = (await panel.next())["conversation"]
        before = REGISTRY.get_sample_value("chatkey_acknowledgement_seconds_count", {"peer": "agent"}) or 0.0

        await panel.send({"type": "answer", "conversation": conversation, "id": "a1", "body": "Good morning"})
        assert {(await panel.next())["type"] for _ in range(2)} == {"ack", "message"}
        await panel.ask({"type": "answer", "conversation": conversation, "id": "a2", "body": " "})

        after = REGISTRY.get_sample_value("chatkey_acknowledgement_seconds_count", {"peer": "agent"})
        assert after == before + 1

    async def test_an_impossible_frame_gets_an_error_and_the_socket_stays(self, panel: Fixture) -> None:
        nowhere = "00000000-0000-0000-0000-000000000000"

        refused = await panel.ask({"type": "answer", "conversation": nowhere, "id": "a1", "body": "hello?"})

        assert (refused["code"], refused["id"]) == ("not_found", "a1")
        assert (await panel.ask({"type": "list"}))["items"] == []

    @pytest.mark.parametrize("sent", ["{", '{"type":"nonsense"}', b"bytes", '{"type":"thread","conversation":"x"}'])
    async def test_a_bad_frame_ends_the_socket(self, panel: Fixture, sent: str | bytes) -> None:
        await panel.send(sent)

        assert (await panel.next())["code"] == "frame_invalid"
        assert (await panel.next())["code"] == Close.BAD_FRAME

    async def test_a_ping_is_answered(self, panel: Fixture) -> None:
        assert await panel.ask({"type": "ping"}) == {"type": "pong"}

    @pytest.mark.contract("D-16/restart-1012")
    async def test_on_shutdown_the_socket_is_closed_with_1012(self, eve: Fixture, panel: Fixture) -> None:
        await close_all(eve.services)

        assert (await panel.next())["code"] == "restarting"
        assert (await panel.next())["code"] == Close.RESTART
