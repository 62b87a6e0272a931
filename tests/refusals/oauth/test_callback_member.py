"""Tests of the results of a login: the identity token and the member's record (contract 2.5, 2.7, D-11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from typing import TYPE_CHECKING

import pytest

from chatkey_oauth.client import Person

if TYPE_CHECKING:
    from tests.refusals.kit.shipped import Service
    from tests.refusals.kit.shop import Shop
    from tests.refusals.oauth.sign_in import MakeSignIn

    from chatkey_conform.making.honest import Maker
    from chatkey_oauth.client import FakeOAuth
    from chatkey_peer.key import BrowserKey

    Known = Callable[..., str]


@pytest.fixture
def known(provider: FakeOAuth) -> Iterator[Known]:
    """Add people to the social providers, and return their accounts."""
    made: list[str] = []

    def know(**members: object) -> str:
        made.append(f"guest-{len(made)}")
        provider.put_person(Person(id=made[-1], **members))  # type: ignore[arg-type]
        return made[-1]

    yield know
    for account in made:
        provider.remove_person(account)


@pytest.mark.row("OAC-044")
@pytest.mark.parametrize("sub", ["a:b", ":", "github:42", "a::b:"])
def test_a_subject_with_colons_is_not_split(service: Service, sign_in: MakeSignIn, known: Known, sub: str) -> None:
    account = known(name="Colin Colon", subjects={"google": sub})
    login = sign_in()

    claims = login.accept(login.approve(account))

    assert claims["uid"] == f"google:{sub}"
    (member,) = [member for member in login.members() if member["uid"] == claims["uid"]]
    assert (member["login"], member["auth_provider"]) == ("social", "google")
    token = login.shop.exchange(login.shop.identity_token(uid=claims["uid"])).json()["data"]["auth_token"]
    assert service.try_token(token, login.shop.key).frames[-1]["uid"] == claims["uid"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param(None, None, id="OAC-046-missing"),
        pytest.param("", None, id="OAC-046-empty"),
        pytest.param("x" * 10_240, "x" * 255, id="OAC-046-10k"),
        pytest.param("<b onclick=alert(1)>Bold</b>", "<b onclick=alert(1)>Bold</b>", id="OAC-046-markup"),
        pytest.param("</script><script>x()</script>", "</script><script>x()</script>", id="OAC-046-script"),
        pytest.param("Rhea\r\nQuill\0", "Rhea Quill", id="OAC-046-controls"),
        pytest.param("نور 😀", "نور 😀", id="OAC-046-letters"),
    ],
)
def test_a_name_is_one_line_of_text_or_left_out(
    sign_in: MakeSignIn, known: Known, name: str | None, shown: str | None
) -> None:
    account = known(name=name, username="guest-name")
    login = sign_in()

    page = login.arrive(login.approve(account))
    claims = login.claims_of(page)

    assert claims.get("name") == shown
    assert f"<bdi>Welcome{f', {shown}' if shown else ''}.</bdi>" in unescape(page.text)
    assert page.text.count("<script") == 1
    assert "<b " not in page.text


@pytest.mark.row("OAC-062")
def test_one_subject_at_two_businesses_is_two_members(service: Service, sign_in: MakeSignIn) -> None:
    first, second = service.shop(), service.shop()

    logins = [sign_in(shop=shop) for shop in (first, second)]
    uids = {login.accept()["uid"] for login in logins}

    assert len(uids) == 1
    for login in logins:
        (member,) = login.members()
        assert (member["provider"], member["uid"]) == (login.shop.id, *uids)
    assert second.exchange(logins[0].shop.identity_token(uid=uids.pop())).status_code == 401


@pytest.mark.row("OAC-063")
def test_callbacks_of_a_new_member_at_the_same_time_make_one_record(service: Service, sign_in: MakeSignIn) -> None:
    shop = service.shop()
    logins = [sign_in(shop=shop) for _ in range(8)]
    given = [login.approve() for login in logins]

    with ThreadPoolExecutor(len(logins)) as pool:
        pages = list(pool.map(lambda login, params: login.arrive(params), logins, given))

    assert [page.status for page in pages] == [200] * len(logins)
    assert len(logins[0].members()) == 1


@pytest.mark.row("OAC-063")
def test_only_one_of_many_callbacks_with_the_same_state_succeeds(service: Service, sign_in: MakeSignIn) -> None:
    login = sign_in(shop=service.shop())
    given = login.approve()

    with ThreadPoolExecutor(8) as pool:
        pages = list(pool.map(lambda _: login.arrive(given), range(8)))

    assert sorted((page.status, page.code) for page in pages) == [(200, None), *[(400, "state_used")] * 7]
    assert len(login.members()) == 1


@pytest.mark.row("OAC-064")
@pytest.mark.contract("2.5/24h", "D-05/identity", "4.5/page", "6/post-message", "D-09/message", "D-07/nonce-returned")
def test_the_identity_token_is_what_the_contract_says(shop: Shop, sign_in: MakeSignIn, make: Maker) -> None:
    login = sign_in()

    page = login.finish()

    header, payload, signature = page.token.split(".")
    assert make.unb64(signature) == make.mac(f"{header}.{payload}", shop.secret)
    assert make.unb64(header) == b'{"alg":"HS256","typ":"JWT"}'
    claims = login.claims_of(page)
    (member,) = [member for member in login.members() if member["uid"] == claims["uid"]]
    assert shop.now - claims["iat"] in {0, 1}
    assert claims == {
        "pid": shop.id,
        "uid": member["uid"],
        "type": "identity",
        "iat": claims["iat"],
        "exp": claims["iat"] + 86_400,
        "cnf": {"jkt": shop.key.jkt},
        "name": "Rhea Quill",
        "email": "rhea@example.com",
        "data": {"auth_provider": "google", "avatar": member["avatar"]},
    }


@pytest.mark.row("OAC-064")
@pytest.mark.contract("D-07/bound-identity", "4.3/exchange")
def test_the_identity_token_is_refused_with_another_key_or_after_a_day(
    service: Service, shop: Shop, sign_in: MakeSignIn, key: BrowserKey
) -> None:
    """F184: a thief may have the identity token, but does not have the key to which the token is bound."""
    token = sign_in().finish().token

    assert shop.exchange(token).status_code == 200
    assert shop.exchange(token, key.jkt).json()["error"]["code"] == "token_key_mismatch"
    service.advance(86_400 + 60)
    assert shop.exchange(token).json()["error"]["code"] == "token_expired"


@pytest.mark.row("OAC-065")
def test_messages_of_the_visitor_do_not_become_the_members(service: Service, sign_in: MakeSignIn) -> None:
    shop = service.shop()
    assert wrote(service, shop, shop.visitor_token(), "before the login") == ["before the login"]

    login = sign_in(shop=shop)
    login.accept()
    token = shop.exchange(sign_in(shop=shop).finish().token).json()["data"]["auth_token"]

    assert wrote(service, shop, token, "after the login") == ["after the login"]
    assert wrote(service, shop, shop.visitor_token(), "again") == ["before the login", "again"]
    assert [member["login"] for member in login.members()] == ["social"]


def wrote(service: Service, shop: Shop, token: str, body: str) -> list[str]:
    """Connect with a token, send a message, and return the bodies of all messages in the conversation."""
    with service.socket() as peer:
        assert peer.connect(token, peer.prove(shop.key, token)).granted
        assert peer.ask({"type": "message", "id": f"m-{body}".replace(" ", "-"), "body": body})["type"] == "ack"
        history = peer.ask({"type": "history", "id": "h"})
    return [message["body"] for message in history["messages"]]
