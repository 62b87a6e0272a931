"""Tests of the limits for one request and one client address. Each limit is a setting, which the error must name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.refusals.kit.shipped import MakeService, Service
    from tests.refusals.kit.shop import Shop

HEAD, QUERY, BODY, TOKEN = 16_384, 2048, 16_384, 1024
RATE = 5
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CALLBACK = "/v1/public/oauth/google/callback"


@pytest.fixture(scope="module")
def strict_service(make_service: MakeService) -> Iterator[Service]:
    with make_service(
        LIMIT_HEAD_BYTES=str(HEAD),
        LIMIT_QUERY_BYTES=str(QUERY),
        LIMIT_BODY_BYTES=str(BODY),
        LIMIT_TOKEN_BYTES=str(TOKEN),
        LIMIT_REQUEST_TIMEOUT="1",
        LIMIT_TOKEN_RATE=str(RATE),
        LIMIT_OAUTH_RATE=str(RATE),
    ) as made:
        yield made


@pytest.fixture
def strict(strict_service: Service) -> Service:
    """The server with low limits. Its counters are reset to zero."""
    strict_service.reset()
    return strict_service


@pytest.fixture
def small(strict: Service) -> Shop:
    return strict.shop()


def start(shop: Shop) -> str:
    return f"{shop.path}/oauth/google?origin=https%3A%2F%2Fshop.example"


# limits of size


@pytest.mark.contract("D-20/limits")
@pytest.mark.parametrize("by", ["length", "chunks"])
def test_a_body_of_the_limit_is_read_and_one_byte_more_is_not(strict: Service, by: str) -> None:
    def post(size: int) -> httpx.Response:
        body = b"x" * size
        return strict.http.post(CALLBACK, content=body if by == "length" else iter([body]), headers=FORM)

    read, refused = post(BODY), post(BODY + 1)

    assert (read.status_code, read.headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert "the limit is 2048" in read.text  # the body was read, but is too long for a form
    assert (refused.status_code, refused.headers["content-type"]) == (413, "text/html; charset=utf-8")
    assert "too_large" in refused.text


@pytest.mark.contract("D-20/limits")
def test_a_token_of_the_limit_is_read_and_a_longer_one_is_not(strict: Service, small: Shop) -> None:
    tokens = [small.sign(small.identity_claims(x="x" * size)) for size in (450, 650)]
    assert [len(token) <= TOKEN for token in tokens] == [True, False]

    read, refused = (small.exchange(token) for token in tokens)

    assert read.status_code == 200
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "token_too_large")
    assert f"the limit is {TOKEN}" in refused.json()["error"]["message"]


def test_the_socket_has_the_same_limit_for_tokens(strict: Service, small: Shop) -> None:
    assert strict.try_token(small.token(x="x" * 450), small.key).granted
    strict.try_token(small.token(x="x" * 650), small.key).refused("token_too_large", 4401)


def headed(size: int, shop: Shop) -> bytes:
    """Return a request of `size` bytes."""
    headers = ["Host: localhost", "Connection: close", *(f"X-{number}: {'x' * 500}" for number in range(20))]
    head = "\r\n".join([f"GET {shop.path} HTTP/1.1", *headers, "X: ", "", ""])
    return head.replace("X: ", f"X: {'x' * (size - len(head))}").encode()


@pytest.mark.contract("D-20/limits")
def test_a_head_of_the_limit_is_read_and_one_byte_more_is_not(strict: Service, small: Shop) -> None:
    read, refused = (strict.raw(headed(size, small)) for size in (HEAD, HEAD + 1))

    assert read.startswith(b"HTTP/1.1 200 ")
    assert refused.startswith(b"HTTP/1.1 431 ")


# limits of rate


@pytest.mark.contract("D-03/rate-limit")
@pytest.mark.parametrize("endpoint", ["token", "member/token"])
def test_tokens_are_counted_for_each_address_and_retry_after_is_true(
    strict: Service, small: Shop, endpoint: str
) -> None:
    query = {"uid": small.key.uid, "auth": small.identity_token(), "jkt": small.key.jkt}

    def ask(**options: object) -> httpx.Response:
        return strict.http.get(f"{small.path}/{endpoint}", params=query, **options)  # type: ignore[arg-type]

    granted = [ask().status_code for _ in range(RATE)]
    refused = ask()
    wait = int(refused.headers["retry-after"])

    assert granted == [200] * RATE
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert refused.json()["data"] is None
    assert 1 <= wait <= 60 / RATE
    assert refused.headers["access-control-allow-origin"] == "*"
    assert refused.headers["access-control-expose-headers"] == "Retry-After"
    strict.advance(wait)
    assert [ask().status_code, ask().status_code] == [200, 429]


@pytest.mark.row("HTP-041")
@pytest.mark.contract("D-20/forwarded")
@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP"])
def test_an_address_claimed_in_a_header_does_not_count(strict: Service, small: Shop, header: str) -> None:
    path = f"{small.path}/token?uid={small.key.uid}"

    answers = [strict.http.get(path, headers={header: f"192.0.2.{number}"}) for number in range(RATE + 1)]

    assert [answer.status_code for answer in answers] == [200] * RATE + [429]


@pytest.fixture(scope="module")
def proxied(make_service: MakeService) -> Iterator[Service]:
    """A server that trusts a reverse proxy on this machine, and any proxy in one other network."""
    with make_service(
        TRUSTED_PROXIES="127.0.0.1, 10.0.0.0/8", LAB_TOKEN="a-token-of-the-lab", LIMIT_TOKEN_RATE=str(RATE)
    ) as made:
        yield made


@pytest.mark.row("HTP-041")
@pytest.mark.contract("D-20/forwarded")
def test_behind_a_trusted_proxy_the_nearest_untrusted_address_counts(proxied: Service) -> None:
    shop = proxied.shop()

    def ask(forwarded: str) -> int:
        headers = {"X-Forwarded-For": forwarded, "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}
        answer = proxied.http.get(f"{shop.path}/token?uid={shop.key.uid}", headers=headers)
        assert "evil.example" not in answer.text
        return answer.status_code

    assert [ask("192.0.2.1") for _ in range(RATE + 1)] == [200] * RATE + [429]
    assert ask("192.0.2.2") == 200
    assert ask("192.0.2.9, 192.0.2.1") == 429  # the caller itself sent the first address
    assert ask("192.0.2.1, 10.1.2.3") == 429  # the trusted second proxy sent the first address


def test_one_address_does_not_use_up_the_limit_of_another(strict: Service, small: Shop) -> None:
    path = f"{small.path}/token?uid={small.key.uid}"
    for _ in range(RATE):
        strict.http.get(path)

    neighbour = httpx.HTTPTransport(local_address="127.0.0.2")
    with httpx.Client(base_url=strict.http.base_url, transport=neighbour) as elsewhere:
        answers = strict.http.get(path), elsewhere.get(path)

    assert [answer.status_code for answer in answers] == [429, 200]


@pytest.mark.parametrize("where", ["start", "callback"])
def test_starts_and_callbacks_are_limited_and_the_page_says_so(strict: Service, small: Shop, where: str) -> None:
    path = start(small) if where == "start" else f"{CALLBACK}?code=x&state=x"

    allowed = [strict.http.get(path).status_code for _ in range(RATE)]
    refused = strict.http.get(path)
    wait = int(refused.headers["retry-after"])

    assert allowed == [302 if where == "start" else 400] * RATE
    assert (refused.status_code, refused.headers["content-type"]) == (429, "text/html; charset=utf-8")
    assert "rate_limited" in refused.text
    assert 1 <= wait <= 60 / RATE
    strict.advance(wait)
    assert strict.http.get(path).status_code == allowed[0]


def test_requests_for_the_cached_configuration_are_not_counted(strict: Service, small: Shop) -> None:
    assert {strict.http.get(small.path).status_code for _ in range(3 * RATE)} == {200}
