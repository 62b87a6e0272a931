"""Social login: a click, a popup, one message that counts, and the identity token that comes of it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.widget.conftest import KEY, OTHER_JKT, PID

from chatkey_protocol.codes import Close
from chatkey_protocol.frames import Kind
from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.widget.conftest import Driver, MakeWidget

WIDGET = Path(__file__).parents[2] / "widget_sim" / "chatkey_widget"
SDK = WIDGET.parent / "page" / "sdk.js"
VISITOR = ("visitor", KEY.uid)
GRACE = ("member", "google:42")


def click(widget: Driver, social: str = "google") -> dict[str, object]:
    """Click a social button, and return the message that the callback page would send."""
    widget.feed(events.SocialClicked(social))
    query = parse_qs(urlsplit(widget.last(effects.OpenPopup).url).query)
    token = widget.identity_token(uid=f"{social}:42")
    return {"type": "wf:oauth", "providerId": PID, "social": social, "nonce": query["nonce"][0], "token": token}


def texts_of(module: Path) -> Iterator[str]:
    """Yield every text of a module that is no docstring."""
    tree = ast.parse(module.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def post(widget: Driver, message: object, *, origin: str = "https://chat.test", from_popup: bool = True) -> None:
    widget.feed(events.PopupMessage(origin, from_popup, message))


@pytest.fixture
def grace(visitor: Driver) -> Driver:
    """A widget that is connected as a social member."""
    post(visitor, click(visitor))
    return visitor


@pytest.mark.contract("3/no-automatic-oauth")
def test_nothing_but_a_click_opens_the_popup(make_widget: MakeWidget) -> None:
    """WDG-016: whatever happens in an hour, no popup."""
    widget = make_widget(custom_login=True).start()

    widget.feed(events.PanelToggled(open=True), events.PageChosen("sign-in"), events.RefreshAsked())
    widget.advance(3600)

    assert widget.all(effects.OpenPopup) == []


@pytest.mark.contract("4.6/popup", "4/paths")
def test_the_popup_opens_the_start_endpoint_within_the_click(visitor: Driver) -> None:
    """The address names provider and social, and carries origin, jkt and a nonce; it is the click's own effect."""
    opened = [
        effect
        for effect in visitor.machine.handle(events.SocialClicked("github"), visitor.now)
        if isinstance(effect, effects.OpenPopup)
    ]

    address = urlsplit(opened[0].url)
    assert f"{address.scheme}://{address.netloc}{address.path}" == (
        f"https://chat.test/v1/public/provider/{PID}/oauth/github"
    )
    query = parse_qs(address.query)
    assert query["origin"] == ["https://shop.test"]
    assert query["jkt"] == [KEY.jkt]
    assert len(query["nonce"][0]) > 0


def test_no_window_is_opened_without_its_opener() -> None:
    """F162: with `noopener`, `window.open` returns nothing, and the callback page finds nobody to tell."""
    said = [text for module in WIDGET.rglob("*.py") for text in texts_of(module)] + [SDK.read_text()]

    assert [text for text in said if "popup,width=" in text]
    assert [text for text in said if "noopener" in text or "noreferrer" in text] == []


@pytest.mark.contract("2.2/oauth-providers")
def test_only_enabled_providers_are_shown_and_work(visitor: Driver) -> None:
    """The login page shows exactly the configuration's list; a button that is not there cannot be pressed."""
    assert visitor.view.appearance.socials == ("google", "github")

    visitor.feed(events.SocialClicked("discord"))

    assert visitor.all(effects.OpenPopup) == []


@pytest.mark.contract("3/social-click", "4.6/exchange", "4.3/exchange", "D-06/identity-cached", "2.6/memory-only")
def test_the_identity_token_is_cached_and_exchanged(grace: Driver) -> None:
    """The member is connected with the endpoint's token; what is stored is the identity token."""
    stored = grace.last(effects.StoreToken).token

    assert grace.identity == GRACE
    assert grace.last(effects.ExchangeIdentityToken).token == stored
    assert grace.last(effects.ExchangeIdentityToken).jkt == KEY.jkt
    assert grace.last(effects.SendConnect).token != stored
    assert grace.all(effects.StoreToken) == [effects.StoreToken(stored)]
    assert grace.view.person.name == "Grace Hopper"
    assert grace.view.signing_in is None


@pytest.mark.contract("2.6/refresh", "8/refresh-50")
def test_the_members_token_is_refreshed_every_50_seconds(grace: Driver) -> None:
    """As the visitor's is: same socket, a new token of the endpoint, nothing stored."""
    opened = grace.counts()["OpenSocket"]

    grace.advance(155)

    assert len(grace.frames(Kind.REFRESH)) == 3
    assert grace.counts()["OpenSocket"] == opened
    assert grace.counts()["StoreToken"] == 1


@pytest.mark.contract("3/reuse-across-loads")
def test_a_reload_is_the_member_at_once(make_widget: MakeWidget) -> None:
    """The cached identity token is exchanged; no visitor, no popup, no getToken."""
    widget = make_widget(custom_login=True)
    widget.stored = widget.identity_token()

    widget.start()

    assert widget.identity == GRACE
    assert widget.last(effects.ExchangeIdentityToken).token == widget.stored
    assert widget.last(effects.SendConnect).token != widget.stored
    assert widget.all(effects.LoadVisitorToken) == []
    assert widget.all(effects.CallGetToken) == []


@pytest.mark.contract("D-09/accepted-once")
@pytest.mark.parametrize(
    ("change", "origin", "from_popup"),
    [
        pytest.param({}, "https://evil.test", True, id="origin"),
        pytest.param({}, "https://chat.test.evil.test", True, id="origin-suffix"),
        pytest.param({}, "null", True, id="null-origin"),
        pytest.param({}, "https://chat.test", False, id="source"),
        pytest.param({"nonce": "other"}, "https://chat.test", True, id="nonce"),
        pytest.param({"nonce": None}, "https://chat.test", True, id="no-nonce"),
        pytest.param({"providerId": "prov_2"}, "https://chat.test", True, id="provider"),
        pytest.param({"social": "github"}, "https://chat.test", True, id="social"),
        pytest.param({"type": "oauth"}, "https://chat.test", True, id="type"),
    ],
)
def test_a_message_that_is_not_the_popups_own_is_ignored(
    visitor: Driver, change: dict[str, object], origin: str, *, from_popup: bool
) -> None:
    """F168, F175: no error, no member; the true message still counts afterwards."""
    message = click(visitor)

    post(visitor, message | change, origin=origin, from_popup=from_popup)

    assert visitor.errors() == []
    assert visitor.identity == VISITOR
    post(visitor, message)
    assert visitor.identity == GRACE


@pytest.mark.parametrize("data", [None, "wf:oauth", 5, [], {}])
def test_a_message_of_any_shape_is_harmless(visitor: Driver, data: object) -> None:
    """Pages send all kinds of things."""
    click(visitor)

    post(visitor, data)

    assert visitor.errors() == []


@pytest.mark.contract("D-09/accepted-once")
def test_a_message_counts_once(grace: Driver) -> None:
    """F169: after a logout the same message makes nobody a member."""
    message = click(grace)
    post(grace, message)
    grace.feed(events.LogoutAsked())

    post(grace, message)

    assert grace.identity == VISITOR


def test_a_double_click_is_one_click(visitor: Driver) -> None:
    """F170: the second would open a window that browsers block; later it is a second try."""
    message = click(visitor)
    visitor.advance(0.5)

    visitor.feed(events.SocialClicked("google"))

    assert visitor.counts()["OpenPopup"] == 1
    visitor.advance(1)
    visitor.feed(events.SocialClicked("google"))
    assert visitor.counts()["OpenPopup"] == 2
    post(visitor, message)
    assert visitor.identity == VISITOR


def test_the_second_click_replaces_the_first(visitor: Driver) -> None:
    """F170: one flow at a time, and exactly one result."""
    first = click(visitor, "google")
    second = click(visitor, "github")

    post(visitor, first)
    assert visitor.identity == VISITOR
    post(visitor, second)

    assert visitor.identity == ("member", "github:42")
    assert visitor.counts()["OpenPopup"] == 2


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"cnf": {"jkt": OTHER_JKT}}, id="other-key"),
        pytest.param({"cnf": ...}, id="unbound"),
        pytest.param({"pid": "prov_2"}, id="other-provider"),
        pytest.param({"type": "user"}, id="F109-socket-token"),
        pytest.param({"exp": ...}, id="no-exp"),
    ],
)
def test_an_identity_token_that_will_not_do_is_not_taken(visitor: Driver, changes: dict[str, object]) -> None:
    """It is named, neither stored nor exchanged, and the button works again."""
    message = click(visitor) | {"token": visitor.identity_token(**changes)}

    post(visitor, message)

    assert visitor.errors() == [Fault.OAUTH_FAILED]
    assert visitor.all(effects.StoreToken) == []
    assert visitor.identity == VISITOR
    assert visitor.view.signing_in is None


@pytest.mark.contract("D-09/error", "D-12/always-chat")
@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        pytest.param({"code": "oauth_denied", "message": "m"}, "oauth_denied", "Signing in was cancelled.", id="F171"),
        pytest.param({"code": "oauth_failed", "message": "m"}, "oauth_failed", "Signing in did not work", id="F172"),
        pytest.param({"code": "social_disabled", "message": "m"}, "social_disabled", "not available", id="F178"),
        pytest.param({"code": "unheard_of", "message": "m"}, "unheard_of", "Signing in did not work", id="other"),
        pytest.param({}, "oauth_failed", "Signing in did not work", id="empty"),
        pytest.param(None, "oauth_failed", "Signing in did not work", id="none"),
    ],
)
def test_an_error_of_the_callback_is_said_in_plain_words(visitor: Driver, error: object, code: str, said: str) -> None:
    """The page gets the code, the person a sentence; the visitor goes on."""
    message = {**click(visitor), "token": None, "error": error}

    post(visitor, message)

    assert visitor.errors() == [code]
    assert visitor.emitted("oauth:failed") == [{"social": "google", "code": code}]
    assert visitor.view.notice is not None
    assert said in visitor.view.notice
    assert visitor.view.signing_in is None
    assert visitor.identity == VISITOR


@pytest.mark.contract("D-12/always-chat")
def test_a_blocked_popup_is_said(visitor: Driver) -> None:
    """F160: with an offer to open it, which the next click takes away with the sentence."""
    click(visitor)

    visitor.feed(events.PopupBlocked(visitor.last(effects.OpenPopup).ref))

    assert visitor.errors() == [Fault.POPUP_BLOCKED]
    assert "blocked" in str(visitor.view.notice)
    assert visitor.view.blocked == "google"
    assert visitor.identity == VISITOR
    click(visitor, "github")
    assert visitor.view.notice is None
    assert visitor.view.blocked is None


def test_the_offer_to_open_a_blocked_popup_stays_no_longer_than_its_sentence(visitor: Driver) -> None:
    """F160: whether the person has read it, or there is other news."""
    for news in (events.NoticeDismissed(), events.ConfigurationFailed(403, "provider_off", "Switched off.")):
        click(visitor)
        visitor.feed(events.PopupBlocked(visitor.last(effects.OpenPopup).ref))

        visitor.feed(news)

        assert visitor.view.blocked is None


@pytest.mark.contract("D-09/lost", "D-12/always-chat")
@pytest.mark.parametrize(
    ("reached", "blank", "code"),
    [
        pytest.param(True, False, Fault.POPUP_CLOSED, id="F163"),
        pytest.param(False, True, Fault.POPUP_CLOSED, id="F163-blank"),
        pytest.param(False, False, Fault.POPUP_LOST, id="F164"),
    ],
)
@pytest.mark.parametrize("after", [0.3, 60.0])
def test_a_popup_that_is_gone_is_said(
    visitor: Driver, after: float, code: Fault, *, reached: bool, blank: bool
) -> None:
    """Closed by the person, or cut off by the browser as its first page came: however fast or slow that was."""
    click(visitor)
    ref = visitor.last(effects.OpenPopup).ref
    visitor.advance(after)

    visitor.feed(*[events.PopupReached(ref)] * reached, events.PopupClosed(ref, blank))

    assert visitor.errors() == [code]
    assert visitor.emitted("oauth:failed") == [{"social": "google", "code": code}]
    assert visitor.view.signing_in is None
    assert visitor.identity == VISITOR
    post(visitor, click(visitor))
    assert visitor.identity == GRACE


def test_a_popup_that_was_replaced_says_nothing_of_the_one_that_is_open(visitor: Driver) -> None:
    """F170: that the first one was seen at its provider does not make the second one seen."""
    click(visitor, "google")
    first = visitor.last(effects.OpenPopup).ref
    visitor.feed(events.PopupReached(first))
    click(visitor, "github")

    visitor.feed(events.PopupReached(first), events.PopupClosed(first))

    assert visitor.errors() == []
    assert visitor.view.signing_in == "github"
    visitor.feed(events.PopupClosed(visitor.last(effects.OpenPopup).ref))
    assert visitor.errors() == [Fault.POPUP_LOST]


def test_a_popup_that_stays_open_is_waited_for(visitor: Driver) -> None:
    """F172: nothing is told for as long as it is open, the button works meanwhile, and its message still counts."""
    message = click(visitor)
    visitor.feed(events.PopupReached(visitor.last(effects.OpenPopup).ref))

    visitor.advance(550)

    assert visitor.errors() == []
    assert visitor.view.signing_in == "google"
    assert visitor.view.appearance.socials == ("google", "github")
    post(visitor, message)
    assert visitor.identity == GRACE


def test_the_popup_closing_after_its_message_is_no_error(grace: Driver) -> None:
    """The usual end of the flow."""
    grace.feed(events.PopupClosed(grace.last(effects.OpenPopup).ref))

    assert grace.errors() == []


def test_an_identity_token_that_the_service_refuses_is_dropped(make_widget: MakeWidget) -> None:
    """F089: 401 at the exchange makes a visitor, once, without a loop."""
    widget = make_widget(answers_tokens=False)
    widget.stored = widget.identity_token()
    widget.start()
    ref = widget.last(effects.ExchangeIdentityToken).ref
    widget.answers_tokens = True

    widget.feed(events.TokenFailed(ref, 401, "token_signature", "The signature does not verify."))
    widget.advance(300)

    assert widget.errors() == ["token_signature"]
    assert widget.view.notice == "Signing in did not work. Please try again."
    assert widget.stored is None
    assert widget.identity == VISITOR
    assert widget.counts()["ExchangeIdentityToken"] == 1


def test_a_social_member_refused_at_the_socket_gets_one_more_token(make_widget: MakeWidget) -> None:
    """Then a visitor."""
    widget = make_widget(verdict=lambda c: ("token_signature", Close.TOKEN) if c["type"] == "user" else None)
    widget.stored = widget.identity_token()
    widget.start()

    widget.advance(10)

    assert widget.counts()["ExchangeIdentityToken"] == 2
    assert widget.identity == VISITOR
    assert widget.stored is None


@pytest.mark.contract("D-06/identity-cached")
def test_when_the_identity_token_ends_the_widget_is_a_visitor_again(make_widget: MakeWidget) -> None:
    """The endpoint answers 401 from then on."""
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
    """F197: the person's own click is the later act; the page's late answer is dropped."""
    widget = make_widget(custom_login=True, page=lambda _: None).start()
    call = widget.last(effects.CallGetToken)

    post(widget, click(widget))
    widget.feed(events.GetTokenReturned(call.ref, widget.custom()))

    assert widget.identity == GRACE
    assert widget.last(effects.AbortGetToken).ref == call.ref


@pytest.mark.contract("D-12/latest-act")
def test_the_pages_own_login_wins_when_it_comes_later(make_widget: MakeWidget) -> None:
    """`refreshIdentity()` that brings a token replaces the social member."""
    widget = make_widget(custom_login=True).start()
    post(widget, click(widget))
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom())

    widget.feed(events.RefreshAsked())

    assert widget.identity == ("member", "ada")


def test_a_refresh_without_a_user_leaves_the_social_member(make_widget: MakeWidget) -> None:
    """`null` says that the page has no user; the person signed in here all the same."""
    widget = make_widget(custom_login=True).start()
    post(widget, click(widget))

    widget.feed(events.RefreshAsked())

    assert widget.identity == GRACE


@pytest.mark.contract("D-11/custom-not-social")
def test_a_custom_uid_that_looks_social_is_not_the_social_member(make_widget: MakeWidget) -> None:
    """F106: the two are different people; the switch is a new connection."""
    widget = make_widget(custom_login=True).start()
    post(widget, click(widget))
    opened = widget.counts()["OpenSocket"]
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(uid="google:42"))

    widget.feed(events.RefreshAsked())

    assert widget.counts()["OpenSocket"] == opened + 1
    assert widget.frames(Kind.REFRESH) == []


@pytest.mark.contract("D-12/latest-act")
def test_a_member_who_signs_in_is_not_renewed_as_before(member: Driver) -> None:
    """F197: the renewal that was planned for the page's user would end the social login."""
    post(member, click(member))

    member.advance(3600)

    assert member.counts()["CallGetToken"] == 1
    assert member.identity == GRACE


def test_a_member_who_signs_in_again_keeps_the_conversation(grace: Driver) -> None:
    """In another tab, for instance: it is the same person."""
    grace.feed(events.MessageWritten("of grace"))

    grace.feed(events.StoredTokenChanged(grace.identity_token(jti=2)))

    assert grace.last(effects.ExchangeIdentityToken).token == grace.identity_token(jti=2)
    assert [line.body for line in grace.view.lines] == ["of grace"]


def test_what_only_the_pages_author_can_mend_takes_no_sentence_off_the_screen(make_widget: MakeWidget) -> None:
    """`getToken` fails while the person reads why no window opened."""
    widget = make_widget(custom_login=True, page=lambda call: events.GetTokenFailed(call.ref, "500")).start()
    click(widget)
    widget.feed(events.PopupBlocked(widget.last(effects.OpenPopup).ref))

    widget.advance(1)

    assert widget.errors()[-1] == Fault.GETTOKEN_FAILED
    assert "blocked" in str(widget.view.notice)


def test_a_click_before_the_key_is_ready_opens_nothing(make_widget: MakeWidget) -> None:
    """The configuration may come first, and with it the buttons."""
    widget = make_widget()
    widget.machine.handle(events.Started(secure=True), widget.now)
    widget.feed(events.ConfigurationLoaded({"auth": {"oauth_providers": ["google"]}}))

    widget.feed(events.SocialClicked("google"))

    assert widget.view.appearance.socials == ("google",)
    assert widget.all(effects.OpenPopup) == []


def test_a_401_that_is_not_the_services_own_is_tried_again(make_widget: MakeWidget) -> None:
    """F087: a gateway that answers in the service's place judges no token."""
    widget = make_widget(answers_tokens=False)
    widget.stored = token = widget.identity_token()
    widget.start()
    ref = widget.last(effects.ExchangeIdentityToken).ref
    widget.answers_tokens = True

    widget.feed(events.TokenFailed(ref, 401, None, "The service answered 401 without the expected JSON."))
    widget.advance(2)

    assert (widget.identity, widget.stored) == (GRACE, token)
