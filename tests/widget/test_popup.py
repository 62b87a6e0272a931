"""Tests of the window of a social login."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.widget.driver import GRACE, KEY, OTHER_JKT, PID, SETTINGS, VISITOR, Driver, click, post

from chatkey_widget import effects, events
from chatkey_widget.errors import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.widget.driver import MakeWidget

WIDGET = Path(__file__).parents[2] / "widget_sim" / "chatkey_widget"
SDK = WIDGET.parent / "page" / "sdk.js"


def texts_of(module: Path) -> Iterator[str]:
    """Yield every string of a module that is not a docstring."""
    tree = ast.parse(module.read_text())
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


@pytest.mark.contract("3/no-automatic-oauth")
def test_nothing_but_a_click_opens_the_popup(make_widget: MakeWidget) -> None:
    """WDG-016: during an hour, no event may open a popup."""
    widget = make_widget(custom_login=True).start()

    widget.feed(events.PanelToggled(open=True), events.PageChosen("sign-in"), events.RefreshAsked())
    widget.advance(3600)

    assert widget.all(effects.OpenPopup) == []


@pytest.mark.contract("4.6/popup", "4/paths")
def test_the_popup_opens_the_start_endpoint_within_the_click(visitor: Driver) -> None:
    """The widget must open the window within the click.

    The address must contain provider, social, origin, jkt and a nonce.
    """
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


def test_a_provider_id_stays_one_segment_of_the_popups_address() -> None:
    widget = Driver(replace(SETTINGS, provider_id="a/b")).start()

    widget.feed(events.SocialClicked("google"))

    assert urlsplit(widget.last(effects.OpenPopup).url).path == "/v1/public/provider/a%2Fb/oauth/google"


def test_what_the_callback_page_says_is_told(visitor: Driver) -> None:
    message = click(visitor) | {"token": None, "error": {"code": "oauth_denied", "message": "The person declined."}}

    post(visitor, message)

    assert [(error["code"], error["message"]) for error in visitor.emitted("error")] == [
        ("oauth_denied", "The person declined.")
    ]


def test_nothing_is_kept_of_a_sign_in_that_is_complete(visitor: Driver) -> None:
    message = click(visitor)
    kept = visitor.sign_in

    post(visitor, message)

    assert (kept, visitor.sign_in) == (f"google {message['nonce']} {message['nonce']}", None)


def test_no_window_is_opened_without_its_opener() -> None:
    """F162: with `noopener`, `window.open` would return null, and the callback page would have no opener.

    The widget may use `noopener` only for links in messages.
    """
    said = [text for module in WIDGET.rglob("*.py") for text in texts_of(module)] + [SDK.read_text()]

    assert [text for text in said if "popup,width=" in text]
    assert [text for text in said if "noopener" in text or "noreferrer" in text] == ["noopener noreferrer"]


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
        pytest.param("wf:oauth", "https://chat.test", True, id="a-text"),
        pytest.param([], "https://chat.test", True, id="a-list"),
        pytest.param(None, "https://chat.test", True, id="nothing"),
    ],
)
def test_a_message_that_is_not_the_popups_own_is_ignored(
    visitor: Driver, change: object, origin: str, *, from_popup: bool
) -> None:
    """F168, F175: the message must cause neither an error nor a login.

    Afterwards, the widget must still accept the popup's real message.
    """
    message = click(visitor)

    post(visitor, message | change if isinstance(change, dict) else change, origin=origin, from_popup=from_popup)

    assert visitor.errors() == []
    assert visitor.identity == VISITOR
    post(visitor, message)
    assert visitor.identity == GRACE


@pytest.mark.contract("D-09/accepted-once")
def test_a_message_is_used_once(grace: Driver) -> None:
    """F169: after a logout, the same message must not sign anyone in."""
    message = click(grace)
    post(grace, message)
    grace.feed(events.LogoutAsked())

    post(grace, message)

    assert grace.identity == VISITOR


def test_a_double_click_is_one_click(visitor: Driver) -> None:
    """F170: browsers would block a second window. A click some time later must count as a second attempt."""
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
    """F170: there must be only one sign-in at a time, with exactly one result."""
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
def test_an_unusable_identity_token_is_refused(visitor: Driver, changes: dict[str, object]) -> None:
    """The widget must report the token, and must neither store nor exchange it.

    After that, the button must work again.
    """
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
        pytest.param({"code": "oauth_denied", "message": "m"}, "oauth_denied", "The sign-in was cancelled.", id="F171"),
        pytest.param({"code": "oauth_failed", "message": "m"}, "oauth_failed", "The sign-in failed", id="F172"),
        pytest.param({"code": "social_disabled", "message": "m"}, "social_disabled", "no longer available", id="F178"),
        pytest.param({"code": "unheard_of", "message": "m"}, "unheard_of", "The sign-in failed", id="other"),
        pytest.param({}, "oauth_failed", "The sign-in failed", id="empty"),
        pytest.param(None, "oauth_failed", "The sign-in failed", id="none"),
    ],
)
def test_an_error_of_the_callback_is_said_in_plain_words(visitor: Driver, error: object, code: str, said: str) -> None:
    """The page must get the code, and the person must see a sentence. The visitor must stay connected."""
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
    """F160: the notice must offer to open the window. The next click must remove the notice and the offer."""
    click(visitor)

    visitor.feed(events.PopupBlocked(visitor.last(effects.OpenPopup).ref))

    assert visitor.errors() == [Fault.POPUP_BLOCKED]
    assert "blocked" in str(visitor.view.notice)
    assert visitor.view.blocked == "google"
    assert visitor.identity == VISITOR
    click(visitor, "github")
    assert visitor.view.notice is None
    assert visitor.view.blocked is None


def test_the_offer_to_open_a_blocked_popup_disappears_with_its_notice(visitor: Driver) -> None:
    """F160: the offer must disappear with the notice, whether the person closes the notice or another notice replaces
    it.
    """
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
    """Either the person has closed the window, or the browser has detached the window from the page."""
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


def test_events_of_a_replaced_popup_do_not_affect_the_open_one(visitor: Driver) -> None:
    """F170: the first popup has already shown its provider's page. The second popup has not."""
    click(visitor, "google")
    first = visitor.last(effects.OpenPopup).ref
    visitor.feed(events.PopupReached(first))
    click(visitor, "github")

    visitor.feed(events.PopupReached(first), events.PopupClosed(first))

    assert visitor.errors() == []
    assert visitor.view.signing_in == "github"
    visitor.feed(events.PopupClosed(visitor.last(effects.OpenPopup).ref))
    assert visitor.errors() == [Fault.POPUP_LOST]


def test_a_tab_has_one_sign_in_window_and_shares_it_with_no_other_tab(make_widget: MakeWidget) -> None:
    """A browser reuses a window by its name, even if another tab with the same opener has opened the window."""
    tab, other = make_widget().start(), make_widget().start()
    other.chance.count = 100
    click(tab, "google")
    click(other, "google")
    of_tab, of_other = (widget.last(effects.OpenPopup).name for widget in (tab, other))
    reloaded = make_widget(sign_in=tab.sign_in).start()

    click(tab, "github")
    click(reloaded, "github")

    assert of_tab != of_other
    assert tab.last(effects.OpenPopup).name == reloaded.last(effects.OpenPopup).name == of_tab


def test_a_replaced_blocked_popup_is_not_reported(visitor: Driver) -> None:
    """A blocked window must be reported only for the newest click."""
    click(visitor, "google")
    first = visitor.last(effects.OpenPopup).ref
    click(visitor, "github")

    visitor.feed(events.PopupBlocked(first))

    assert visitor.errors() == []
    assert visitor.view.signing_in == "github"


def test_a_popup_that_stays_open_is_waited_for(visitor: Driver) -> None:
    """F172: while the window is open, the widget must report nothing, and the button must work.

    The window's message must be accepted.
    """
    message = click(visitor)
    visitor.feed(events.PopupReached(visitor.last(effects.OpenPopup).ref))

    visitor.advance(550)

    assert visitor.errors() == []
    assert visitor.view.signing_in == "google"
    assert visitor.view.appearance.socials == ("google", "github")
    post(visitor, message)
    assert visitor.identity == GRACE


def test_the_popup_closing_after_its_message_is_no_error(grace: Driver) -> None:
    grace.feed(events.PopupClosed(grace.last(effects.OpenPopup).ref))

    assert grace.errors() == []


def test_a_click_before_the_key_is_ready_opens_nothing(make_widget: MakeWidget) -> None:
    """If the configuration is loaded before the key is ready, the buttons are already visible."""
    widget = make_widget()
    widget.machine.handle(events.Started(secure=True), widget.now)
    widget.feed(events.ConfigurationLoaded({"auth": {"oauth_providers": ["google"]}}))

    widget.feed(events.SocialClicked("google"))

    assert widget.view.appearance.socials == ("google",)
    assert widget.all(effects.OpenPopup) == []
