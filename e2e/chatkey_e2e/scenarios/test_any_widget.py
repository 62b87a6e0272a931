"""Tests the contract's requirements for any widget: storage, requests, frames and messages, seen from outside the page.

These tests do not use the handle, events or texts of our widget. They find the parts of a widget with selectors, which
a target can supply.
"""

import hashlib
from base64 import urlsafe_b64encode
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from playwright.sync_api import BrowserContext

from chatkey_e2e import needs
from chatkey_e2e.business import Business
from chatkey_e2e.clerk import Clerk
from chatkey_e2e.kept import keys
from chatkey_e2e.pages.driven import DrivenWidget
from chatkey_e2e.plugin import Advance, MakeBusiness, MakeDriven
from chatkey_e2e.scenarios.keys import key_of, thumbprint
from chatkey_e2e.scenarios.openers import EVIL, FRAME, blank
from chatkey_e2e.witness import claims_of
from chatkey_protocol.frames import Kind
from chatkey_protocol.names import PROOF_TYP
from chatkey_stack.stack import Stack

pytestmark = pytest.mark.any_widget


@pytest.fixture
def business(request: pytest.FixtureRequest, make_business: MakeBusiness, social: str) -> Business:
    """A business with custom login, and with the social logins that the scenario needs."""
    return make_business(service_keys=needs.socials_of(request.node, social))


@pytest.mark.smoke
@pytest.mark.contract("3/first-open", "2.3/silent", "2.3/uid-derived", "5.5/proof-matches", "1/visitor-always")
def test_the_first_open_connects_a_visitor_named_after_its_key(driven: DrivenWidget) -> None:
    """When first opened, the widget must get configuration and token, and connect with a proof signed by its key."""
    uid = driven.visit()

    connection = driven.connections[-1]
    assert uid == f"v_{thumbprint(key_of(connection))}"
    assert claims_of(connection["token"])["type"] == "visitor"
    assert driven.asked(driven.business.visitor_token_path) == 1


@pytest.mark.smoke
@pytest.mark.contract("1/mode-custom", "2.4/unchanged", "3/get-token", "2.4/cnf.jkt")
def test_whoever_signs_in_at_the_shop_is_connected_as_its_member(driven: DrivenWidget) -> None:
    """The token from `getToken` must open a socket as the member, and be bound to the key that the visitor had."""
    driven.visit()
    key = thumbprint(key_of(driven.connections[-1]))

    uid = driven.enter_shop()

    connection = driven.connections[-1]
    assert uid == driven.business.ada
    assert claims_of(connection["token"])["cnf"] == {"jkt": key}
    assert thumbprint(key_of(connection)) == key


@pytest.mark.smoke
@pytest.mark.contract("D-10/messages", "1/same-chat")
def test_a_message_is_sent_and_is_there_after_a_reload(driven: DrivenWidget) -> None:
    """A message must be sent as one frame with an id, and must still be in the conversation after a reload."""
    driven.visit()

    driven.send("Do you ship to Norway?")
    driven.wait_until_stored()
    driven.reload()

    assert driven.lines(1) == ["Do you ship to Norway?"]
    assert len(driven.witness.frames(Kind.MESSAGE)) == 1


@pytest.mark.contract("D-10/proof", "D-10/nonce", "4.9/one-time")
def test_each_connection_is_proved_anew(driven: DrivenWidget) -> None:
    """A proof must contain the socket's address, nonce and token hash. No nonce or `jti` is used twice."""
    driven.visit()
    driven.reload()

    proofs = [claims_of(connection["proof"]) for connection in driven.connections]
    headers = [jwt.get_unverified_header(connection["proof"]) for connection in driven.connections]
    for connection, proof, header in zip(driven.connections, proofs, headers, strict=True):
        assert (header["typ"], header["alg"]) == (PROOF_TYP, "ES256")
        assert header["jwk"].keys() == {"kty", "crv", "x", "y"}
        assert proof["htu"] == driven.witness.sockets[0].url.partition("?")[0]
        digest = hashlib.sha256(connection["token"].encode()).digest()
        assert proof["ath"] == urlsafe_b64encode(digest).rstrip(b"=").decode()
    for name in ("nonce", "jti"):
        assert len({proof[name] for proof in proofs}) == len(proofs) == 2


@pytest.mark.contract("2.3/uid-derived", "2.8/key-pair")
def test_a_reload_is_the_same_visitor(driven: DrivenWidget) -> None:
    """After a reload, the same browser must have the same key and therefore the same uid."""
    assert driven.visit() == driven.reload()


@pytest.mark.contract("2.3/indexeddb", "5.5/key-at-load")
def test_the_key_is_kept_in_indexed_db(driven: DrivenWidget) -> None:
    """After the first visit, IndexedDB must contain a P-256 private key."""
    driven.visit()

    kept = keys(driven.page)

    assert ["private", "P-256"] in [key[:2] for key in kept]


@pytest.mark.contract("2.8/key-pair")
def test_no_private_key_that_is_kept_can_be_exported(driven: DrivenWidget) -> None:
    """IndexedDB must contain a P-256 private key, and no extractable private key."""
    driven.visit()

    kept = keys(driven.page)

    assert ["private", "P-256", False] in kept
    assert [key for key in kept if key[0] == "private" and key[2]] == []


@pytest.mark.contract("2.6/memory-only")
def test_the_token_of_a_visitor_is_kept_nowhere(driven: DrivenWidget) -> None:
    """The visitor's token must not be in a storage, a database, a cache, a cookie, the page or any address."""
    driven.visit()

    assert [leak for leak in driven.witness.leaks([driven.page.context]) if "'visitor'" in leak] == []
    assert [socket.url for socket in driven.witness.sockets if "token" in socket.url.partition("?")[2]] == []


@pytest.mark.contract("2.8/member-token-key", "3/reuse-across-loads")
def test_the_token_of_a_member_is_cached_and_used_again(driven: DrivenWidget) -> None:
    """The member's token must be stored unchanged, and used by the next load without calling `getToken`."""
    driven.visit()
    driven.enter_shop()
    token, calls = driven.connections[-1]["token"], driven.business.token_calls

    driven.reload()

    stored = driven.stored_token()
    assert stored == token == driven.connections[-1]["token"]
    assert driven.business.token_calls == calls


@pytest.mark.contract("D-06/dropped-before-connect")
def test_a_cached_token_of_another_key_is_never_sent(driven: DrivenWidget, stack: Stack) -> None:
    """A cached token for another key must be deleted before the widget connects, and `getToken` must be called."""
    driven.visit()
    foreign = driven.business.mint(now=stack.service_lab.now(), uid="u-1002", cnf={"jkt": "x" * 42 + "A"})
    driven.store_token(foreign)

    driven.reload()
    driven.wait_for_visitor()

    assert foreign not in driven.witness.socket_tokens


@pytest.mark.contract("D-12/tabs", "2.3/uid-derived")
def test_two_tabs_are_one_visitor_on_two_sockets(context: BrowserContext, make_driven: MakeDriven) -> None:
    """Two tabs must share the key, and each tab must show the messages that the other tab sends."""
    one, two = (make_driven(context.new_page()) for _ in range(2))

    uids = {one.visit(), two.visit()}
    one.send("Which of us is me?")

    assert len(uids) == 1
    assert two.lines(1) == ["Which of us is me?"]


@pytest.mark.needs("agent")
@pytest.mark.contract("1/same-chat", "D-10/messages")
def test_an_agents_answer_comes_by_itself_and_is_there_after_a_reload(driven: DrivenWidget, clerk: Clerk) -> None:
    """The agent must receive the visitor's message. The visitor must receive the answer, also after a reload."""
    uid = driven.visit()
    driven.send("Is the oak table in stock?")
    driven.wait_until_stored()

    said = clerk.answer(uid, "Two of them.")
    live = driven.lines(2)
    driven.reload()

    assert said == [("customer", "Is the oak table in stock?"), ("agent", "Two of them.")]
    assert live == driven.lines(2) == ["Is the oak table in stock?", "Two of them."]


@pytest.mark.needs("agent")
@pytest.mark.contract("D-10/messages")
def test_an_agent_answers_a_member_who_is_away(driven: DrivenWidget, clerk: Clerk) -> None:
    """If an agent answers a member who is away, the member must see the answer after coming back."""
    driven.visit()
    member = driven.enter_shop()
    driven.send("Do you ship to Norway?")
    driven.wait_until_stored()
    driven.page.goto("about:blank")

    clerk.answer(member, "We do.")
    driven.visit()

    assert driven.wait_for_member() == member
    assert driven.lines(2) == ["Do you ship to Norway?", "We do."]
    assert clerk.read(member) == [("customer", "Do you ship to Norway?"), ("agent", "We do.")]


@pytest.mark.needs("faults")
@pytest.mark.contract("D-10/reconnect", "D-10/messages")
def test_a_message_whose_acknowledgement_was_lost_is_sent_again_under_its_id(
    driven: DrivenWidget, stack: Stack
) -> None:
    """If the connection ends before the ack, the widget must send the message again. The service must store it once."""
    driven.visit()
    driven.open()
    stack.service_lab.arm(where="ack", action="close", code=1012)

    driven.send("Did you get this?")
    driven.wait_for_connection(2)
    driven.until(lambda: len(driven.witness.frames(Kind.MESSAGE)) > 1, "a second copy of the message")

    first, second = driven.witness.frames(Kind.MESSAGE)
    assert first == second
    assert driven.lines(1) == ["Did you get this?"]


@pytest.mark.needs("clock")
@pytest.mark.contract("2.6/refresh", "8/refresh-50")
def test_a_visitor_has_a_fresh_token_after_a_minute(advance: Advance, driven: DrivenWidget) -> None:
    """Before the visitor's token expires, the widget must have a newer token, on the same or a new socket."""
    uid = driven.visit()
    first = claims_of(driven.connections[-1]["token"])

    advance(51)
    driven.until(lambda: claims_of(driven.witness.socket_tokens[-1])["iat"] > first["iat"], "a newer token")

    newer = claims_of(driven.witness.socket_tokens[-1])
    assert newer["uid"] == uid
    assert newer["iat"] < first["exp"]


@pytest.mark.needs("social")
@pytest.mark.contract("3/social-click", "3/no-automatic-oauth", "4.6/exchange", "2.5/uid-form", "4.6/popup")
def test_a_social_login_starts_by_a_click_and_makes_a_member(driven: DrivenWidget, social: str) -> None:
    """A login must start only after a click, with origin, thumbprint and nonce. The token must be exchanged."""
    business = driven.business
    driven.visit()
    key, start = thumbprint(key_of(driven.connections[-1])), business.oauth_start_path(social)
    before = driven.asked(start)

    driven.sign_in(social).approve()
    uid = driven.wait_for_member()

    (request,) = driven.witness.asked(start)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(request.url).query).items()}
    assert before == 0
    assert (asked["origin"], asked["jkt"]) == (business.origin, key)
    assert asked["nonce"]
    assert uid.startswith(f"{social}:")
    assert driven.asked(business.member_token_path) >= 1
    stored = claims_of(driven.stored_token() or "")
    assert (stored["type"], stored["uid"]) == ("identity", uid)


@pytest.mark.needs("social")
@pytest.mark.contract("2.8/deleted-by-logout", "3/logout")
def test_signing_out_is_the_visitor_of_before_and_leaves_no_token(driven: DrivenWidget, social: str) -> None:
    """After signing out, the cached token must be gone, and the widget must connect as the earlier visitor."""
    visitor = driven.visit()
    driven.sign_in(social).approve()
    driven.wait_for_member()

    driven.log_out()

    assert driven.wait_for_visitor() == visitor
    assert driven.stored_token() is None


@pytest.mark.needs("social")
@pytest.mark.contract("D-09/accepted-once")
def test_a_message_of_another_origin_makes_nobody_a_member(driven: DrivenWidget, stack: Stack, social: str) -> None:
    """A forged message with valid content, nonce and token must be ignored if it comes from a frame of another site."""
    business = driven.business
    driven.visit()
    key = thumbprint(key_of(driven.connections[-1]))
    consent = driven.sign_in(social)
    nonce = parse_qs(urlsplit(driven.witness.asked(business.oauth_start_path(social))[-1].url).query)["nonce"][0]
    claims: dict[str, Any] = {"type": "identity", "uid": f"{social}:mallory", "data": {"auth_provider": social}}
    token = business.mint(now=stack.service_lab.now(), cnf={"jkt": key}, **claims)
    message = {"type": "wf:oauth", "providerId": business.provider.id, "social": social, "nonce": nonce}
    with driven.page.expect_event("framenavigated") as navigated:
        driven.page.evaluate(FRAME, blank(driven.page.context, f"{EVIL}/frame"))

    navigated.value.evaluate("(message) => { parent.postMessage(message, '*'); }", {**message, "token": token})
    consent.approve()
    driven.wait_for_member()

    assert token not in driven.witness.identity_tokens
