"""Tests which requests the callback accepts (contract 4.5, D-03)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import respx

from chatkey_server import logs

if TYPE_CHECKING:
    from tests.server.in_process import ServerClient


PATH = "/v1/public/oauth/github/callback"
CODE = "9f86d081884c7d659a2f"
FORM = "application/x-www-form-urlencoded"

Start = Callable[..., Awaitable[str]]
Delivered = Callable[[httpx.Response], "dict[str, Any] | None"]


@pytest.mark.contract("D-03/parameter-400")
@pytest.mark.parametrize("name", ["state", "code", "iss", "error"])
async def test_a_parameter_given_twice_is_400(client: ServerClient, start: Start, name: str) -> None:
    query = httpx.QueryParams([("state", await start()), ("code", CODE), (name, "x"), (name, "x")])

    answer = await client.get(PATH, params=query)

    assert answer.status_code == 400
    assert "parameter_repeated" in answer.text


async def test_a_parameter_in_both_query_and_form_is_400(
    client: ServerClient, start: Start, github: respx.MockRouter
) -> None:
    state = await start()

    answer = await client.post(PATH, params={"code": "of-the-query"}, data={"state": state, "code": CODE})

    assert answer.status_code == 400
    assert "parameter_repeated" in answer.text
    assert github["token"].call_count == 0


async def test_a_body_of_a_get_is_not_read(client: ServerClient, start: Start) -> None:
    body = httpx.QueryParams({"state": await start(), "code": CODE})

    answer = await client.request("GET", PATH, content=str(body), headers={"Content-Type": FORM})

    assert answer.status_code == 400
    assert "parameter_missing" in answer.text


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data; boundary=x", ""])
async def test_a_post_of_another_content_type_is_415(
    client: ServerClient, start: Start, delivered: Delivered, content_type: str
) -> None:
    body = str(httpx.QueryParams({"state": await start(), "code": CODE}))

    answer = await client.post(PATH, content=body, headers={"Content-Type": content_type})

    assert answer.status_code == 415
    assert delivered(answer) is None


@pytest.mark.parametrize("content_type", [FORM, FORM + ";charset=UTF-8", "Application/X-WWW-Form-URLencoded"])
async def test_a_form_may_name_its_charset(
    client: ServerClient, start: Start, github: respx.MockRouter, content_type: str
) -> None:
    body = str(httpx.QueryParams({"state": await start(), "code": CODE}))

    answer = await client.post(PATH, content=body, headers={"Content-Type": content_type})

    assert answer.status_code == 200


async def test_a_huge_form_is_413_and_a_page(client: ServerClient) -> None:
    """The response must be a page, because a person sees it."""
    answer = await client.post(PATH, content=b"x" * 70_000, headers={"Content-Type": FORM})

    assert (answer.status_code, answer.headers["content-type"]) == (413, "text/html; charset=utf-8")
    assert "too_large" in answer.text


@pytest.mark.contract("D-20/limits")
@pytest.mark.parametrize(("more", "status"), [(0, 502), (1, 400)])
async def test_a_form_has_the_size_limit_of_a_query(client: ServerClient, start: Start, more: int, status: int) -> None:
    given = f"state={await start()}&error=server_error&x="

    answer = await client.post(PATH, content=given.ljust(16_384 + more, "1"), headers={"Content-Type": FORM})

    assert answer.status_code == status


@pytest.mark.contract("D-03/parameter-400")
@pytest.mark.parametrize(("more", "status"), [(30, 502), (31, 400)])
@pytest.mark.parametrize("in_query", [0, 3])
async def test_query_and_form_have_32_parameters_together_and_no_more(
    client: ServerClient, start: Start, in_query: int, more: int, status: int
) -> None:
    given = f"state={await start()}&error=server_error" + "&x=1" * (more - in_query)
    query = "&".join(["y=1"] * in_query)

    answer = await client.post(f"{PATH}?{query}", content=given, headers={"Content-Type": FORM})

    assert answer.status_code == status


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
async def test_other_methods_are_405(client: ServerClient, method: str) -> None:
    answer = await client.request(method, PATH)

    assert answer.status_code == 405
    assert {"GET", "POST"} <= set(answer.headers["allow"].replace(" ", "").split(","))


@pytest.mark.contract("D-03/social-unknown")
@pytest.mark.parametrize("social", ["apple", "myspace", "GITHUB"])
async def test_the_callback_of_an_unknown_social_is_404(
    client: ServerClient, delivered: Delivered, social: str
) -> None:
    answer = await client.get(f"/v1/public/oauth/{social}/callback", params={"state": "x", "code": CODE})

    assert answer.status_code == 404
    assert delivered(answer) is None


@pytest.mark.contract("D-02/no-secret-in-errors")
async def test_nothing_secret_reaches_the_log(
    client: ServerClient, start: Start, github: respx.MockRouter, delivered: Delivered
) -> None:
    events: list[str] = []
    with logs.listening(lambda event: events.append(repr(dict(event)))):
        state = await start()
        answer = await client.get(PATH, params={"state": state, "code": CODE})
        await client.get(PATH, params={"state": state, "code": CODE})

    delivery = delivered(answer)
    assert delivery is not None
    told = "\n".join(events)
    for word in ("oauth.start", "oauth.callback", "oauth.refused"):
        assert word in told
    for secret in (state, CODE, delivery["message"]["token"], "our-github-secret", "gho_A1"):
        assert secret not in told
