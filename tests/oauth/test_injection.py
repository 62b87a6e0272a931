"""Tests that text from a URL, a form, a name or a fault never becomes a header, a tag or a script."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.oauth.visitor import Visit, Visitor
from tests.page import Page

from chatkey_oauth.engine.asgi import send_answer
from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.clients import Client
from chatkey_oauth.engine.http import Answer, redirect
from chatkey_oauth.engine.people import Person
from chatkey_oauth.faults.errors import FaultError
from chatkey_oauth.faults.rules import Order, Scope
from chatkey_oauth.lab import pages as lab_pages
from chatkey_oauth.providers import NAMES

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from chatkey_oauth.app import App

FUZZ = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
EVERY = pytest.mark.parametrize("name", NAMES)
HARMLESS = "harmless"
SIGN = ("svg", "class", "viewbox", "aria-hidden")
"""The tag and the attributes of the provider's logo, the only drawing on a page."""
NASTY = (
    "\r\nset-cookie: a=b",
    "\nlocation: https://evil.test/",
    "\r\n\r\n<script>alert(1)</script>",
    '"><script>alert(1)</script>',
    "'><img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "</style></title></textarea><svg onload=alert(1)>",
    "<!--",
    "]]>",
    "&lt;script&gt;",
    "$action ${script} $$",
    "\0\x1b\x7f\u2028\u2029",
    "javascript:alert(1)",
    "\udcff\udcfe",
)
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=40), st.text("\r\n<>\"'&/;:= \0script$`\\", max_size=30))


def sent(answer: Answer) -> list[tuple[bytes, bytes]]:
    """Return the headers that the ASGI server receives for an answer."""
    messages: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        messages.append(message)

    asyncio.run(send_answer(send, answer))
    headers: list[tuple[bytes, bytes]] = messages[0]["headers"]
    return headers


def unsplit(answer: Answer) -> None:
    """Assert that the headers sent are exactly those of the answer, and contain no control characters."""
    headers = sent(answer)
    assert [name.decode() for name, _ in headers] == [*(name for name, _ in answer.headers), "content-length"]
    assert not any(set(value) & {*range(32), 127} for _, value in headers)


def outline(answer: Answer) -> tuple[object, ...]:
    """Return the tags and the inline code of a page, which must not depend on user input."""
    page = Page(answer.body)
    return page.shape, page.blocks


def is_page(answer: Answer) -> bool:
    return dict(answer.headers).get("content-type", "").startswith("text/html")


def ask(visitor: Visitor, path: str, body: bytes = b"", **changes: str) -> Answer:
    """Open the authorization endpoint.

    If there is a body, submit the consent form instead. Parameters are not validated.
    """
    query = urlencode(visitor.request(**changes), errors="surrogatepass")
    return visitor.send(
        "POST" if body else "GET", path, query, body, {"content_type": "application/x-www-form-urlencoded"}
    )


PARAMETERS = (
    "state",
    "scope",
    "login_hint",
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "nonce",
    "prompt",
)


@EVERY
@FUZZ
@given(parameter=st.sampled_from(PARAMETERS), text=texts)
def test_no_parameter_of_a_request_becomes_markup_or_a_header(visitor: Visitor, parameter: str, text: str) -> None:
    for path, body in ((visitor.site.authorize, b""), ("/consent", b"account=rhea&decision=approve")):
        answer = ask(visitor, path, body, **{parameter: text})
        usual = ask(visitor, path, body, **{parameter: HARMLESS})

        unsplit(answer)
        if is_page(answer) and answer.status == usual.status == 200 and parameter != "scope":
            assert outline(answer) == outline(usual)
        if is_page(answer):
            tags = Page(answer.body).shape
            assert not {"img", "iframe"} & {tag[0] for tag in tags}
            assert [tag for tag in tags if tag[0] == "svg"] in ([], [SIGN])
            assert [tag for tag in tags if tag[0] == "script"] in ([], [("script",)])


@EVERY
@FUZZ
@example(text=NASTY[0])
@given(text=texts)
def test_a_state_comes_back_as_it_was_and_nothing_else_with_it(visitor: Visitor, text: str) -> None:
    usual = dict(ask(visitor, "/consent", b"account=rhea&decision=approve", state=HARMLESS).headers)

    answer = ask(visitor, "/consent", b"account=rhea&decision=approve", state=text)

    unsplit(answer)
    if answer.status == 302 and text:
        asked, parts = urlsplit(usual["location"]), urlsplit(dict(answer.headers)["location"])
        params = parse_qs(parts.query, keep_blank_values=True, errors="surrogatepass")
        assert (parts.scheme, parts.netloc, parts.path) == (asked.scheme, asked.netloc, asked.path)
        assert params.keys() == parse_qs(asked.query, keep_blank_values=True).keys()
        assert params["state"] == [text]


@FUZZ
@example(text=NASTY[3])
@given(text=texts)
@pytest.mark.parametrize("name", ["google", "gitlab", "apple"])
def test_a_form_that_posts_itself_holds_one_script_and_it_is_ours(visitor: Visitor, text: str) -> None:
    changes = {"response_mode": "form_post", "scope": "openid"}
    usual = ask(visitor, "/consent", b"account=rhea&decision=approve", state=HARMLESS, **changes)

    answer = ask(visitor, "/consent", b"account=rhea&decision=approve", state=text or HARMLESS, **changes)

    unsplit(answer)
    assert Page(answer.body).scripts == ["document.forms[0].submit()"]
    assert outline(answer) == outline(usual)


@FUZZ
@example(text=NASTY[5])
@given(text=texts)
def test_no_name_that_a_test_gives_becomes_markup(fake: App, visit: Visit, text: str) -> None:
    visitor = visit("google")
    text = text.encode("utf-8", "replace").decode()

    def pages(words: str) -> list[Answer]:
        person = Person(id="typed", name=words, username=words, email=words, note=words, hosted_domain=words)
        fake.world.people.put(person)
        fake.world.clients.add(Client(provider="google", client_id="c", name=words, redirect_uris=("http://a.b/",)))
        return [visitor.ask(client_id="c", redirect_uri="http://a.b/"), visitor.get("/avatars/typed.svg")]

    usual, answers = pages(HARMLESS), pages(text or HARMLESS)

    for before, answer in zip(usual, answers, strict=True):
        unsplit(answer)
        assert outline(answer) == outline(before)


@FUZZ
@example(text=NASTY[4])
@given(text=texts)
def test_texts_of_a_flow_are_escaped_in_the_lab(fake: App, visit: Visit, text: str) -> None:
    visitor = visit("google")

    def flow_page(words: str) -> Answer:
        fake.flows.clear()
        visitor.get(
            visitor.site.authorize, visitor.request(login_hint=words, state=words), cookie=f"chatkey_flow={HARMLESS}"
        )
        return lab_pages.flow_page(fake.flows.all()[0])

    usual, answer = flow_page(HARMLESS), flow_page(text or HARMLESS)

    assert outline(answer) == outline(usual)


@FUZZ
@example(path="/a\r\nset-cookie: a=b", query="a\r\nb: c", header="a\r\nb: c")
@given(path=texts.map("/".__add__), query=texts, header=texts)
@EVERY
def test_no_path_query_or_header_splits_an_answer(fake: App, name: str, path: str, query: str, header: str) -> None:
    known = {"user-agent": header, "accept": header, "authorization": header, "cookie": header}

    for route in (path, *(key.split(" ")[-1] for key in fake.provider(name).endpoints())):
        unsplit(fake.answer(Call("GET", f"/{name}{route}", query, known)))


@EVERY
def test_a_redirect_to_the_same_page_is_not_split_by_its_query(fake: App, visitor: Visitor, name: str) -> None:
    order = Order(fault="coop-same-origin", with_={"page": "entrance"}, times=None, scope=Scope(provider=name))
    fake.faults.arm(order)

    answer = visitor.send("GET", visitor.site.authorize, f"{urlencode(visitor.request())}&a=\r\nset-cookie: a=b")

    assert answer.status == 302
    unsplit(answer)


OPTIONS = [
    ("redirected", {"to": "http://a.example/{}"}),
    ("wrong-content-type", {"content_type": "text/plain{}", "leg": "token"}),
]


@pytest.mark.parametrize(("fault", "options"), OPTIONS)
@pytest.mark.parametrize("text", ["\n", "\r", "\r\nset-cookie: a=b", "\0"])
def test_an_option_that_would_split_a_header_cannot_be_armed(
    fake: App, fault: str, options: dict[str, str], text: str
) -> None:
    bad = {name: value.format(text) for name, value in options.items()}

    with pytest.raises(FaultError, match=r"^with\."):
        fake.faults.arm(Order(fault=fault, with_=bad))

    assert fake.faults.arm(Order(fault=fault, with_={name: value.format("") for name, value in options.items()}))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_an_id_must_not_end_with_a_line_break(end: str) -> None:
    for kind, members in (
        (Person, {"id": "rhea"}),
        (Client, {"provider": "google", "client_id": "ours", "redirect_uris": ["http://a.b/"]}),
    ):
        good: Any = msgspec.convert(members, kind)
        assert good

        for name in members.keys() - {"redirect_uris"}:
            with pytest.raises(msgspec.ValidationError, match=rf"\$\.{name}"):
                msgspec.convert({**members, name: f"{members[name]}{end}"}, kind)


async def test_a_person_whose_id_is_two_lines_is_refused_by_the_lab(fake: App) -> None:
    transport = httpx.ASGITransport(app=fake)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as lab:
        refused = await lab.put("/lab/people/rhea%0A", json={"id": "rhea\n"})
        taken = await lab.put("/lab/people/rhea", json={"id": "rhea"})

    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "request_invalid")
    assert taken.status_code == 200


def test_a_control_character_in_a_header_goes_out_as_a_space() -> None:
    assert (b"location", b"http://a.b/?c=  d: e ") in sent(redirect("http://a.b/?c=\r\nd: e\0"))
    assert (b"location", b"http://a.b/?c=d") in sent(redirect("http://a.b/?c=d"))
