"""Tests of social login in the widget."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.widget.driver import ADA, GRACE, KEY, VISITOR, click, post

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from tests.widget.driver import Driver, MakeWidget


@pytest.mark.contract("2.2/oauth-providers")
def test_only_enabled_providers_are_shown_and_work(visitor: Driver) -> None:
    """The login page must show exactly the configured providers. A click on any other provider must have no effect."""
    assert visitor.view.appearance.socials == ("google", "github")

    visitor.feed(events.SocialClicked("discord"))

    assert visitor.all(effects.OpenPopup) == []


@pytest.mark.contract("3/social-click", "4.6/exchange", "4.3/exchange", "D-06/identity-cached", "2.6/memory-only")
def test_the_identity_token_is_cached_and_exchanged(grace: Driver) -> None:
    """The member must connect with the token from the endpoint. The widget must store only the identity token."""
    stored = grace.last(effects.StoreToken).token

    assert grace.identity == GRACE
    assert grace.last(effects.ExchangeIdentityToken).token == stored
    assert grace.last(effects.ExchangeIdentityToken).jkt == KEY.jkt
    assert grace.connects()[-1] != stored
    assert grace.all(effects.StoreToken) == [effects.StoreToken(stored)]
    assert grace.view.person.name == "Grace Hopper"
    assert grace.view.signing_in is None


@pytest.mark.contract("2.6/refresh", "8/refresh-50")
def test_the_members_token_is_refreshed_every_50_seconds(grace: Driver) -> None:
    """The endpoint must issue a new token and the socket must stay open, just as with a visitor.

    The widget must store nothing.
    """
    opened = grace.counts()["OpenSocket"]

    grace.advance(155)

    assert len(grace.frames(Kind.REFRESH)) == 3
    assert grace.counts()["OpenSocket"] == opened
    assert grace.counts()["StoreToken"] == 1


@pytest.mark.contract("3/reuse-across-loads")
def test_after_a_reload_the_member_is_connected_at_once(make_widget: MakeWidget) -> None:
    """The widget must exchange the cached identity token.

    It must not connect as a visitor, open a popup, or call `getToken`.
    """
    widget = make_widget(custom_login=True)
    widget.stored = widget.identity_token()

    widget.start()

    assert widget.identity == GRACE
    assert widget.last(effects.ExchangeIdentityToken).token == widget.stored
    assert widget.connects()[-1] != widget.stored
    assert widget.all(effects.LoadVisitorToken) == []
    assert widget.all(effects.CallGetToken) == []


def test_an_identity_token_that_the_service_refuses_is_dropped(make_widget: MakeWidget) -> None:
    """F089: after a 401 at the exchange, the widget must become a visitor and must not retry."""
    widget = make_widget(answers_tokens=False)
    widget.stored = widget.identity_token()
    widget.start()
    ref = widget.last(effects.ExchangeIdentityToken).ref
    widget.answers_tokens = True

    widget.feed(events.TokenFailed(ref, 401, "token_signature", "The signature does not verify."))
    widget.advance(300)

    assert widget.errors() == ["token_signature"]
    assert widget.view.notice == "The sign-in failed. Please try again."
    assert widget.stored is None
    assert widget.identity == VISITOR
    assert widget.counts()["ExchangeIdentityToken"] == 1


def test_a_social_member_refused_at_the_socket_gets_one_more_token(make_widget: MakeWidget) -> None:
    """If the server refuses the second token as well, the widget must become a visitor."""
    widget = make_widget(verdict=lambda c: ("token_signature", Close.TOKEN) if c["type"] == "user" else None)
    widget.stored = widget.identity_token()
    widget.start()

    widget.advance(10)

    assert widget.counts()["ExchangeIdentityToken"] == 2
    assert widget.identity == VISITOR
    assert widget.stored is None


@pytest.mark.contract("D-06/identity-cached")
def test_after_the_end_of_the_identity_token_the_widget_is_a_visitor(make_widget: MakeWidget) -> None:
    """After the identity token has expired, the endpoint answers 401."""
    widget = make_widget()
    widget.stored = widget.identity_token()
    widget.start()
    widget.answers_tokens = False
    widget.advance(50)
    ref = widget.last(effects.ExchangeIdentityToken).ref
    widget.answers_tokens = True

    widget.feed(events.TokenFailed(ref, 401, "token_expired", "The identity token ended."))

    assert widget.identity == VISITOR
    assert widget.stored is None


@pytest.mark.contract("D-12/latest-act")
def test_signing_in_wins_over_a_get_token_still_under_way(make_widget: MakeWidget) -> None:
    """F197: the person's click is the more recent action, so the widget must ignore the late answer of `getToken`."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    call = widget.last(effects.CallGetToken)

    post(widget, click(widget))
    widget.feed(events.GetTokenReturned(call.ref, widget.custom()))

    assert widget.identity == GRACE
    assert widget.last(effects.AbortGetToken).ref == call.ref


@pytest.mark.contract("D-12/latest-act")
def test_the_pages_own_login_wins_when_it_comes_later(make_widget: MakeWidget) -> None:
    """`getToken` returns a token after `refreshIdentity()`. The custom-login member must replace the social member."""
    widget = make_widget(custom_login=True).start()
    post(widget, click(widget))
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.feed(events.RefreshAsked())

    assert widget.identity == ADA


def test_a_refresh_without_a_user_leaves_the_social_member(make_widget: MakeWidget) -> None:
    """`getToken` returns null because the page has no user. The social login must stay."""
    widget = make_widget(custom_login=True).start()
    post(widget, click(widget))

    widget.feed(events.RefreshAsked())

    assert widget.identity == GRACE


@pytest.mark.contract("D-11/custom-not-social")
def test_a_custom_uid_that_looks_social_is_not_the_social_member(make_widget: MakeWidget) -> None:
    """F106: the two members are different people, so the widget must open a new connection."""
    widget = make_widget(custom_login=True).start()
    post(widget, click(widget))
    opened = widget.counts()["OpenSocket"]
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(uid="google:42"))

    widget.feed(events.RefreshAsked())

    assert widget.counts()["OpenSocket"] == opened + 1
    assert widget.frames(Kind.REFRESH) == []


@pytest.mark.contract("D-12/latest-act")
def test_a_member_who_signs_in_is_not_renewed_as_before(member: Driver) -> None:
    """F197: the widget has planned a renewal for the page's user. This renewal would end the social login."""
    post(member, click(member))

    member.advance(3600)

    assert member.counts()["CallGetToken"] == 1
    assert member.identity == GRACE


def test_a_member_who_signs_in_again_keeps_the_conversation(grace: Driver) -> None:
    """The same person signs in again, for instance in another tab."""
    grace.feed(events.MessageWritten("of grace"))

    grace.feed(events.StoredTokenChanged(grace.identity_token(jti=2)))

    assert grace.last(effects.ExchangeIdentityToken).token == grace.identity_token(jti=2)
    assert [line.body for line in grace.view.lines] == ["of grace"]


def test_an_error_of_get_token_does_not_replace_the_notice_on_the_screen(make_widget: MakeWidget) -> None:
    """`getToken` fails while the screen explains why no window opened."""
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500")).start()
    click(widget)
    widget.feed(events.PopupBlocked(widget.last(effects.OpenPopup).ref))

    widget.advance(1)

    assert widget.errors()[-1] == Fault.GETTOKEN_FAILED
    assert "blocked" in str(widget.view.notice)


def test_a_401_of_a_gateway_is_tried_again(make_widget: MakeWidget) -> None:
    """F087: the 401 comes from a gateway, which cannot judge a token."""
    widget = make_widget(answers_tokens=False)
    widget.stored = token = widget.identity_token()
    widget.start()
    ref = widget.last(effects.ExchangeIdentityToken).ref
    widget.answers_tokens = True

    widget.feed(events.TokenFailed(ref, 401, None, "The service answered 401 without the expected JSON."))
    widget.advance(2)

    assert (widget.identity, widget.stored) == (GRACE, token)
