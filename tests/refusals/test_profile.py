"""Rules of the profile in which two services could differ, tested over the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from chatkey_conform.making.honest import BrowserKey

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    from tests.refusals.kit.peers import Peer
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop

Json = dict[str, Any]
ORIGIN = "https://shop.example"


def told(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# the endpoints


@pytest.mark.contract("4.3/verifies", "7/missing-400")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({}, (400, "parameter_missing"), id="nothing"),
        pytest.param({"auth": "", "jkt": ""}, (400, "parameter_missing"), id="both-empty"),
        pytest.param({"auth": "x"}, (400, "parameter_missing"), id="bad-auth-and-no-jkt"),
        pytest.param({"auth": "x", "jkt": "y"}, (400, "parameter_invalid"), id="bad-auth-and-malformed-jkt"),
        pytest.param({"auth": "x", "jkt": "A" * 43}, (401, "token_malformed"), id="bad-auth"),
    ],
)
def test_of_the_member_token_parameters_come_before_the_token(
    service: Service, shop: Shop, query: dict[str, str], expected: tuple[int, str]
) -> None:
    answer = service.http.get(f"{shop.path}/member/token", params=query)

    assert told(answer) == expected
    assert shop.exchange(shop.identity_token()).status_code == 200


@pytest.mark.contract("D-03/provider-off")
def test_a_provider_that_is_off_comes_before_all_parameters(service: Service) -> None:
    shop = service.shop(enabled=False)

    assert told(service.http.get(f"{shop.path}/member/token")) == (403, "provider_off")
    assert told(service.http.get(f"{shop.path}/token")) == (403, "provider_off")


@pytest.mark.contract("D-03/parameter-400")
def test_an_empty_parameter_is_missing(service: Service, shop: Shop) -> None:
    assert told(service.http.get(f"{shop.path}/token?uid=")) == (400, "parameter_missing")
    assert told(service.http.get(f"{shop.path}/token?uid=x")) == (400, "parameter_invalid")
    assert service.http.get(f"{shop.path}/token?uid={shop.key.uid}").status_code == 200


@pytest.mark.contract("D-03/start-pages")
@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        pytest.param("none/oauth/nobody", {}, (400, "parameter_missing"), id="origin-there-before-provider"),
        pytest.param("none/oauth/nobody", {"origin": "x" * 301}, (400, "parameter_invalid"), id="its-size-too"),
        pytest.param("none/oauth/nobody", {"origin": ORIGIN}, (404, "provider_unknown"), id="provider-before-social"),
        pytest.param(
            "{id}/oauth/nobody", {"origin": "https://a.example"}, (403, "origin_not_allowed"), id="origin-before-social"
        ),
        pytest.param(
            "{id}/oauth/nobody", {"origin": ORIGIN, "jkt": "x"}, (404, "social_unknown"), id="social-before-jkt"
        ),
        pytest.param(
            "{id}/oauth/github", {"origin": ORIGIN, "jkt": "x"}, (404, "social_disabled"), id="enabled-before-jkt"
        ),
        pytest.param("{id}/oauth/google", {"origin": ORIGIN, "jkt": "x"}, (400, "parameter_invalid"), id="jkt"),
        pytest.param("{id}/oauth/google", {"origin": ORIGIN, "nonce": "a b"}, (400, "parameter_invalid"), id="nonce"),
        pytest.param(
            "{id}/oauth/google", {"origin": ORIGIN, "nonce": "n" * 65}, (400, "parameter_invalid"), id="long-nonce"
        ),
    ],
)
def test_the_start_of_a_social_login_is_judged_in_one_order(
    service: Service, shop: Shop, path: str, query: dict[str, str], expected: tuple[int, str]
) -> None:
    """Once its origin is known to be allowed, the opener receives the error. An invalid nonce is left out."""
    page = service.http.get(f"/v1/public/provider/{path.format(id=shop.id)}?{urlencode(query)}")

    assert (page.status_code, expected[1] in page.text) == (expected[0], True)
    stands = query.get("origin") == ORIGIN and "{id}" in path
    assert ("postMessage" in page.text) is stands
    assert '"nonce":' not in page.text
    honest = {"origin": ORIGIN, "nonce": "n" * 64, "jkt": shop.key.jkt}
    assert service.http.get(f"{shop.path}/oauth/google?{urlencode(honest)}").status_code == 302


@pytest.mark.contract("D-05/social")
def test_a_socket_token_does_not_outlive_its_identity_token(service: Service, shop: Shop) -> None:
    now = shop.now
    ends = [now + 60, now + 3600]
    answers = [shop.exchange(shop.identity_token(iat=now - 10, exp=end)) for end in ends]

    peers = [(answer.json()["data"]["auth_token"], end) for answer, end in zip(answers, ends, strict=True)]
    expires = [service.try_token(token, shop.key).last["expires_at"] for token, _ in peers]

    assert expires[0] == ends[0]
    assert now + 115 < expires[1] < now + 125


# how a socket is opened


@pytest.mark.contract("D-10/subprotocol")
@pytest.mark.parametrize("offered", [None, ["wf.v2"], ["wf.v2", "wf.v1"]])
def test_who_does_not_offer_the_subprotocol_is_served_all_the_same(
    service: Service, shop: Shop, offered: list[str] | None
) -> None:
    token = shop.token()
    with service.socket(subprotocols=offered) as peer:
        assert peer.connection.subprotocol == ("wf.v1" if "wf.v1" in (offered or ()) else None)
        assert peer.connect(token, peer.prove(shop.key, token)).granted


@pytest.mark.contract("D-10/insecure-origin")
@pytest.mark.parametrize("origin", ["chrome-extension://abcdefghijklmnop", "null"])
def test_a_page_without_a_web_origin_hears_no_hello_and_a_client_without_any_does(
    service: Service, origin: str
) -> None:
    with service.socket(origin=origin) as page, service.socket() as client:
        assert page.end().refusal == ("origin_not_allowed", 4403)
        assert client.hello["type"] == "hello"


@pytest.mark.contract("D-10/checks")
def test_a_tokens_form_comes_before_its_provider_and_that_before_its_mac(service: Service, shop: Shop) -> None:
    foreign = shop.claims(pid="prov_nobody")
    for token, refusal in (
        (shop.sign(foreign, header={"alg": "none"}), ("token_alg", 4401)),
        (shop.sign({**foreign, "pid": ""}), ("token_claims", 4401)),
        (shop.sign({**foreign, "pid": "a.b"}, key=b"x" * 40), ("provider_unknown", 4403)),
        (shop.sign(shop.claims(exp=1), key=b"x" * 40), ("token_signature", 4401)),
    ):
        assert service.try_token(token, shop.key).refusal == refusal
    assert service.try_token(shop.token(), shop.key).granted


@pytest.mark.contract("D-20/passed-over")
@pytest.mark.parametrize("data", ["x", 5, [], {"auth_provider": 5}])
def test_data_of_another_form_is_refused_of_a_custom_token_too(service: Service, shop: Shop, data: object) -> None:
    assert service.try_token(shop.token(data=data), shop.key).refusal == ("token_claims", 4401)
    for fine in (None, {}, {"more": 1}):
        assert service.try_token(shop.token(data=fine), shop.key).granted


# what keeps a socket open


@pytest.mark.contract("D-10/reauth")
def test_a_token_with_little_left_is_asked_for_at_once_and_so_is_the_next(service: Service, shop: Shop) -> None:
    token = shop.token(exp=shop.now + 25)
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        first = peer.next()
        newer = shop.token(exp=shop.now + 28)
        refreshed = peer.ask({"type": "refresh", "token": newer})
        again = peer.next()

    assert [frame["type"] for frame in (first, refreshed, again)] == ["reauth", "refreshed", "reauth"]
    assert again["deadline"] == refreshed["expires_at"] > first["deadline"]


@pytest.mark.contract("D-10/refresh")
def test_a_login_that_was_switched_off_is_asked_for_at_the_exchange(service: Service) -> None:
    shop = service.shop()
    identity = shop.identity_token()
    token = str(shop.exchange(identity).json()["data"]["auth_token"])
    off = service.run("provider", "social", shop.id, "google", "--off")
    assert off.returncode == 0, off.stderr
    service.advance(61)  # by now the service's cached view of the provider has expired

    assert told(shop.exchange(identity)) == (401, "token_revoked")
    assert service.try_token(token, shop.key).granted
    service.advance(60)
    assert service.try_token(token, shop.key).refusal == ("token_expired", 4419)


# chat


@pytest.fixture
def joined(service: Service, request: pytest.FixtureRequest) -> Any:
    """A business of the test's own, and the connected socket of one of its custom members."""
    shop = service.shop()
    token = shop.token()
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        yield shop, peer


@pytest.mark.contract("D-10/frame-schema")
@pytest.mark.parametrize(
    "frame",
    [
        {"type": "history", "id": "h-1", "limit": 0},
        {"type": "history", "id": "h-1", "limit": 51},
        {"type": "history", "id": "h-1", "before": 0},
        {"type": "history", "id": "h 1"},
        {"type": "call", "id": "c-1", "action": "foo"},
        {"type": "message", "id": "m-1", "body": 5},
        {"type": "typing", "id": "t-1"},
    ],
    ids=str,
)
def test_a_frame_that_does_not_fit_ends_the_connection_in_spite_of_its_id(
    joined: tuple[Shop, Peer], frame: Json
) -> None:
    _, peer = joined
    peer.say(frame)

    ended = peer.end()

    assert ended.refusal == ("frame_invalid", 4400)
    assert "id" not in ended.last


@pytest.mark.contract("D-10/frame-schema")
@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"type": "message", "body": " \n"}, "parameter_invalid"),
        ({"type": "message", "body": "a\0b"}, "parameter_invalid"),
        ({"type": "message", "body": "x" * 4001}, "too_large"),
        ({"type": "message", "body": "Hello", "headers": {"name": "n" * 256}}, "too_large"),
        ({"type": "search", "query": ""}, "parameter_invalid"),
        ({"type": "search", "query": "q" * 101}, "too_large"),
        ({"type": "call", "action": "end"}, "call_unknown"),
    ],
    ids=str,
)
def test_what_fits_and_cannot_be_done_is_answered_and_the_socket_stays(
    joined: tuple[Shop, Peer], frame: Json, code: str
) -> None:
    _, peer = joined

    answer = peer.ask({**frame, "id": "f-1"})

    assert (answer["type"], answer["code"], answer["id"]) == ("error", code, "f-1")
    assert peer.ask({"type": "ping"})["type"] == "pong"


@pytest.mark.contract("D-10/message-id")
def test_an_id_is_the_conversations_and_its_first_body_stands(service: Service, joined: tuple[Shop, Peer]) -> None:
    shop, peer = joined
    first = peer.ask({"type": "message", "id": "m-1", "body": "One"})
    token = shop.token()
    with service.socket() as other:
        assert other.connect(token, other.prove(shop.key, token)).granted
        again = other.ask({"type": "message", "id": "m-1", "body": "Another"})
        stored = other.ask({"type": "history", "id": "h-1", "before": None})["messages"]

    assert again == first
    assert [message["body"] for message in stored] == ["One"]


@pytest.mark.contract("D-10/messages", "1/same-chat")
@pytest.mark.parametrize("login", ["visitor", "custom", "social"])
def test_the_name_shown_is_the_headers_else_the_tokens(service: Service, login: str) -> None:
    shop = service.shop()
    made: dict[str, Callable[[], str]] = {
        "visitor": shop.visitor_token,
        "custom": shop.token,
        "social": lambda: str(shop.exchange(shop.identity_token()).json()["data"]["auth_token"]),
    }
    token = made[login]()
    headers: list[Json] = [{}, {"headers": {}}, {"headers": {"name": None}}, {"headers": {"name": ""}}]
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        for number, more in enumerate([*headers, {"headers": {"name": "Grace"}}]):
            assert peer.ask({"type": "message", "id": f"m-{number}", "body": "Hello", **more})["type"] == "ack"
        shown = [message["name"] for message in peer.ask({"type": "history", "id": "h-1"})["messages"]]

    own = None if login == "visitor" else "Ada Lovelace"
    assert shown == [own, own, own, own, "Grace"]


@pytest.mark.contract("D-10/history-search-call")
@pytest.mark.parametrize(
    ("query", "found"), [("STRASSE", 1), ("straße", 1), ("CAFE\u0301", 1), ("Café", 1), ("Cafe", 0)]
)
def test_a_search_folds_letters_and_not_accents(joined: tuple[Shop, Peer], query: str, found: int) -> None:
    _, peer = joined
    assert peer.ask({"type": "message", "id": "m-1", "body": "Das Café in der Langen Straße"})["type"] == "ack"

    answer = peer.ask({"type": "search", "id": "s-1", "query": query})

    assert len(answer["messages"]) == found


@pytest.mark.contract("D-10/history-search-call")
def test_a_conversation_has_one_call_at_a_time(service: Service, joined: tuple[Shop, Peer]) -> None:
    shop, peer = joined
    first = peer.ask({"type": "call", "id": "c-1", "action": "start"})
    token = shop.token()
    with service.socket() as other:
        assert other.connect(token, other.prove(shop.key, token)).granted
        same = other.ask({"type": "call", "id": "c-2", "action": "start"})
        ended = other.ask({"type": "call", "id": "c-2", "action": "end"})
        heard = [peer.next(), peer.next()]
        next_one = other.ask({"type": "call", "id": "c-1", "action": "start"})

    assert same == {**first, "id": "c-2"}
    assert ended["state"] == "ended"
    assert heard == [{key: value for key, value in frame.items() if key != "id"} for frame in (first, ended)]
    assert next_one["call_id"] != first["call_id"]


@pytest.mark.contract("D-10/proof")
def test_every_close_of_the_profile_has_its_code_as_the_reason(service: Service, shop: Shop) -> None:
    """`Ended.refusal` asserts that code and reason are equal."""
    token = shop.token()

    assert service.try_token(token, BrowserKey()).refusal == ("proof_key_mismatch", 4403)
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token, nonce="old")).refusal == ("proof_nonce", 4440)
