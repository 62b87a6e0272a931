"""Tests of the person that the widget shows and reports to the page, after the server has accepted the person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, VISITOR, click, post

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault
from chatkey_widget.texts import LANGUAGES, Texts
from chatkey_widget.texts.english import ENGLISH
from chatkey_widget.view import Person

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget


@pytest.fixture
def unjudged(make_widget: MakeWidget) -> Driver:
    """A widget that has sent a member's token. The server has not responded yet."""
    widget = make_widget(custom_login=True, answers_frames=False)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())
    return widget.start()


def test_a_member_has_no_name_on_the_screen_before_the_server_agreed(unjudged: Driver) -> None:
    """F202: the panel must say that a sign-in is in progress, without a name."""
    assert unjudged.view.person == Person(member=True)


def test_a_member_keeps_the_name_while_the_connection_is_lost(member: Driver) -> None:
    """The server has accepted the member. A lost connection does not change that."""
    member.answers_frames = False

    member.close(1006)

    assert member.view.link == "offline"
    assert member.view.person.name == "Ada Lovelace"


def test_the_next_member_has_no_name_before_the_server_agreed(member: Driver) -> None:
    member.answers_frames = False
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(uid="grace", name="Grace Hopper"))

    member.feed(events.RefreshAsked())

    assert member.view.person == Person(member=True)


def test_a_member_who_was_here_before_has_no_name_before_the_server_agrees_again(member: Driver) -> None:
    """After the logout, the member has a new token. The server has not accepted the new token yet."""
    member.answers_frames = False

    member.feed(events.LogoutAsked(), events.RefreshAsked())

    assert member.view.person == Person(member=True)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ada\0Lovelace", "Ada Lovelace"),
        ("Ada\r\nLovelace\t", "Ada Lovelace"),
        ("Ada\u2028Lovelace", "Ada Lovelace"),
        ("Ada \ud83d", "Ada"),
        ("\x7f\x9f", "ada"),
        ("أدا 🌿", "أدا 🌿"),
    ],
)
def test_a_name_is_one_line_of_text_everywhere(make_widget: MakeWidget, name: str, shown: str) -> None:
    """F203: the rule must hold on the screen, in the page's events, and in a message's header.

    The server normalises names in the same way.
    """
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(name=name))
    widget.start()

    widget.feed(events.MessageWritten("Hello"))

    assert widget.view.person.name == shown
    assert widget.emitted("identity:changed")[-1]["name"] == shown
    assert widget.frames(Kind.MESSAGE)[-1]["headers"] == {"name": shown}


@pytest.mark.parametrize(
    ("avatar", "told"),
    [
        ("https://shop.test/ada.png", "https://shop.test/ada.png"),
        ("http://localhost:9711/ada.png", "http://localhost:9711/ada.png"),
        ("javascript:alert(document.domain)", None),
        ("data:text/html,<script>alert(1)</script>", None),
        ("//shop.test/ada.png", None),
    ],
)
def test_only_the_address_of_a_picture_is_an_avatar(make_widget: MakeWidget, avatar: str, told: str | None) -> None:
    """F204: a page must be able to use the avatar as a picture's URL without checking it."""
    widget = make_widget(custom_login=True)
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(avatar=avatar))

    widget.start()

    assert widget.emitted("identity:changed")[-1]["avatar"] == told
    assert widget.view.person.avatar == told


# messages dropped with a member


def test_a_message_dropped_with_its_member_is_reported(unjudged: Driver) -> None:
    """F201: the person writes a message before the server has checked the member's token.

    Then the server refuses the token twice.

    The widget must inform the person. The visitor's conversation must not contain the message.
    """
    widget = unjudged
    widget.feed(events.MessageWritten("Is the oak table in stock?"))
    widget.verdict = lambda claims: ("token_claims", Close.TOKEN) if claims["type"] == "user" else None
    widget.answers_frames = True
    widget.advance(60)

    assert widget.identity == VISITOR
    assert widget.view.lines == ()
    assert widget.errors()[-1] == Fault.MESSAGE_DROPPED
    assert [back.text for back in widget.all(effects.GiveBack)] == ["Is the oak table in stock?"]
    assert widget.view.notice == ENGLISH.notices["message_dropped"]


def test_a_logout_with_a_pending_message_is_reported(member: Driver) -> None:
    """The screen no longer shows the member's conversation.

    The widget does not know whether the server has the message.
    """
    member.feed(events.MessageWritten("Is the oak table in stock?"), events.LogoutAsked())

    assert member.errors() == [Fault.MESSAGE_DROPPED]
    assert [back.text for back in member.all(effects.GiveBack)] == ["Is the oak table in stock?"]


@pytest.mark.parametrize("texts", LANGUAGES.values(), ids=LANGUAGES)
def test_nobody_who_was_never_signed_in_reads_that_they_are_signed_out(texts: Texts) -> None:
    """F201: the sentence must suit a person whose sign-in the server never accepted."""
    sentence = texts.notices["message_dropped"].lower()

    assert not [word for word in ("signed in", "angemeldet", "تسجيل", "مسجّل") if word in sentence]


@pytest.mark.parametrize("force", [False, True], ids=["another-member", "force"])
def test_another_person_does_not_get_the_text_of_a_dropped_message(member: Driver, *, force: bool) -> None:
    """F201: what a member wrote must not be in the message box of the next member."""
    member.feed(events.MessageWritten("My number is 0170"))
    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom(uid="bob"))

    member.feed(events.RefreshAsked(force=force))

    assert member.identity == ("member", "bob")
    assert member.all(effects.GiveBack) == []
    assert member.errors() == [Fault.MESSAGE_DROPPED]
    assert member.view.notice == ENGLISH.notices["message_lost"]


def test_a_logout_without_pending_messages_reports_nothing(member: Driver) -> None:
    member.feed(events.MessageWritten("Is the oak table in stock?"))
    member.frame(type="ack", id=member.frames(Kind.MESSAGE)[-1]["id"], seq=1, sent_at=200)

    member.feed(events.LogoutAsked())

    assert member.errors() == []
    assert member.view.notice is None


def test_messages_of_a_visitor_survive_signing_in_and_out(make_widget: MakeWidget) -> None:
    widget = make_widget().start()
    widget.feed(events.MessageWritten("Is the oak table in stock?"))

    post(widget, click(widget))
    widget.feed(events.LogoutAsked())

    assert widget.errors() == []
    assert [line.body for line in widget.view.lines] == ["Is the oak table in stock?"]


def test_a_member_who_comes_back_finds_the_message(member: Driver) -> None:
    """While `getToken` fails, the widget must keep the member's messages, and must not show a notice about them."""
    member.page = lambda call: events.GetTokenFailed(call.ref, "offline")
    member.answers_frames = False
    member.feed(events.MessageWritten("Is the oak table in stock?"))
    member.advance(3600)
    assert Fault.MESSAGE_DROPPED not in member.errors()

    member.page = lambda call: events.GetTokenReturned(call.ref, member.custom())
    member.answers_frames = True
    member.advance(120)

    assert member.identity == ADA
    assert [line.body for line in member.view.lines] == ["Is the oak table in stock?"]
