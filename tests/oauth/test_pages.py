"""Tests of the provider's pages: their text, escaping, and content security policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.oauth.visitor import Visitor
from tests.page import Page

from chatkey_oauth.engine.call import Call
from chatkey_oauth.engine.people import SEEDED, Person
from chatkey_oauth.providers import NAMES
from chatkey_oauth.ready_made import READY_MADE
from chatkey_protocol.logos import LOGOS

if TYPE_CHECKING:
    from chatkey_oauth.app import App
    from chatkey_oauth.engine.http import Answer

EVERY = pytest.mark.parametrize("name", NAMES)
NASTY = "</title><script>alert(1)</script>\"'<img src=x onerror=y>&$label ${style}"


def accounts(answer: Answer) -> list[tuple[str | None, bool]]:
    """Return the offered accounts. For each account, say whether it is selected."""
    return [(radio["value"], "checked" in radio) for radio in Page(answer.body).named("input", type="radio")]


@EVERY
def test_the_page_says_who_asks_for_what_and_where_it_leads(visitor: Visitor) -> None:
    page = Page(visitor.ask().body)

    assert "to continue to ours" in page.text
    assert "ours will receive" in page.text
    assert "Then you go to chat.example" in page.text
    assert "e-mail" in page.text


@EVERY
def test_the_page_has_the_providers_sign_or_its_initial(visitor: Visitor, name: str) -> None:
    page = Page(visitor.ask().body)
    drawn = [attributes.get("d") for tag, attributes in page.tags if tag == "path"]
    marks = [attributes for _, attributes in page.tags if attributes.get("class") in {"sign", "mark"}]

    assert drawn == [shape.path for shape in LOGOS.get(name, ())]
    assert [(mark["class"], mark["aria-hidden"]) for mark in marks] == [("sign" if drawn else "mark", "true")]


@EVERY
def test_every_person_can_be_chosen_and_the_first_is_preselected(visitor: Visitor) -> None:
    radios = accounts(visitor.ask())

    assert [value for value, _ in radios] == [person.id for person in SEEDED]
    assert [value for value, checked in radios if checked] == ["rhea"]


@pytest.mark.parametrize(
    ("name", "hint", "chosen"),
    [
        ("google", {"login_hint": "omar@corp.example"}, "omar"),
        ("github", {"login": "noname99"}, "noname"),
        ("google", {"login_hint": "nobody@nowhere.example"}, "rhea"),
    ],
)
def test_a_hint_chooses(visitor: Visitor, hint: dict[str, str], chosen: str) -> None:
    radios = accounts(visitor.ask(**hint))

    assert radios[0] == (chosen, True)
    assert len(radios) == len(SEEDED)


def test_the_person_who_signed_in_last_in_this_browser_is_preselected(google: Visitor) -> None:
    answer = google.get(google.site.authorize, google.request(), cookie="chatkey_fake_google=emoji")

    assert accounts(answer)[0] == ("emoji", True)


@EVERY
def test_no_name_breaks_out_of_the_page(visitor: Visitor, name: str) -> None:
    ours = visitor.fake.world.clients.get(name, "ours")
    assert ours is not None
    visitor.fake.world.clients.add(msgspec.structs.replace(ours, name=NASTY))
    visitor.fake.world.people.put(Person(id="nasty", name=NASTY, email=NASTY))

    page = Page(visitor.ask(state=NASTY, login_hint=NASTY).body)

    assert page.named("img") == []
    assert page.named("script") == [{}]
    assert page.text.count(NASTY) == 4
    consent = "/microsoft/common/consent" if name == "microsoft" else f"/{name}/consent"
    assert page.action.startswith(f"{consent}?{visitor.site.client}=ours&")


@EVERY
def test_the_form_of_the_page_leads_to_the_callback(visitor: Visitor, name: str) -> None:
    page = Page(visitor.ask(state="a b&c").body)
    path, _, query = page.action.partition("?")

    answer = visitor.send("POST", path.removeprefix(f"/{name}"), query, body=b"account=rhea&decision=approve")

    assert "state=a+b%26c" in dict(answer.headers)["location"]


@EVERY
def test_pages_run_only_their_own_script_load_nothing_and_are_framed_and_kept_by_nobody(visitor: Visitor) -> None:
    own_script: dict[str, str | None] = {}
    for answer, scripts in ((visitor.ask(), [own_script]), (visitor.ask(client_id="nobody"), [])):
        headers = dict(answer.headers)
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert policy.endswith("base-uri 'none'; frame-ancestors 'none'")
        assert "form-action" not in policy
        assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "no-referrer")
        assert "cross-origin-opener-policy" not in headers
        page = Page(answer.body)
        assert page.named("link") == page.named("img") == []
        assert page.named("script") == scripts
        assert policy.count("script-src 'sha256-") == len(scripts)


def test_an_avatar_is_an_svg_with_an_escaped_initial(google: Visitor) -> None:
    google.fake.world.people.put(Person(id="odd", name="<&>"))

    named, odd, unknown = (google.get(f"/avatars/{who}.svg") for who in ("rhea", "odd", "who"))

    assert dict(named.headers)["content-type"] == "image/svg+xml"
    assert b">R</text>" in named.body
    assert b">?</text>" in odd.body
    assert unknown.status == 404


def test_the_front_page_names_every_provider(fake: App) -> None:
    page = Page(fake.answer(Call("GET", "/")).body)

    assert all(f"https://id.localhost/{name}" in page.text for name in NAMES)


def test_the_front_page_shows_ids_and_ready_made_secrets_to_copy(make_fake: Callable[..., App]) -> None:
    fake = make_fake(lab=True)
    known = next(client for client in READY_MADE if client.provider == "gitlab")
    fake.world.clients.add(known)

    page = Page(fake.answer(Call("GET", "/")).body)

    copied = {attributes.get("data-copy") for tag, attributes in page.tags if tag == "button"}
    assert {"https://id.localhost/gitlab", known.client_id, known.client_secret, "ours"} <= copied
    assert "ours-secret" not in page.text


@pytest.mark.parametrize(("lab", "links"), [(True, ["/lab"]), (False, [])])
def test_the_front_page_leads_to_the_lab_where_there_is_one(
    make_fake: Callable[..., App], lab: bool, links: list[str]
) -> None:
    page = Page(make_fake(lab=lab).answer(Call("GET", "/")).body)

    assert [attributes["href"] for tag, attributes in page.tags if tag == "a"] == links


@pytest.mark.parametrize("path", ["/nothing", "/lab", "/googlex/token", "//google"])
def test_other_paths_get_404(fake: App, path: str) -> None:
    assert fake.answer(Call("GET", path)).status == 404


def test_the_seeded_people_cover_the_difficult_cases() -> None:
    people = {person.id: person for person in SEEDED}

    assert len(people) == len(SEEDED) >= 12
    assert people["noemail"].email is None
    assert not people["unverified"].email_verified
    assert people["rhea"].email == people["twin"].email
    assert len(people["long"].name or "") == 300
    assert people["noname"].name is None
    assert (people["script"].name or "").startswith("<script>")
