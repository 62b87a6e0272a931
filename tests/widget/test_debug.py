"""Tests of the result of `debug()`, which people paste into tickets (D-12)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.widget.driver import KEY, Driver, MakeWidget, jwt

from chatkey_widget import effects, events, redaction

PERSONAL = ["Ada Lovelace", "ada@shop.example", "https://faces.example/ada.png", "+44 20 7946 0000", "Byron"]
WRITTEN = ["Where is my parcel?", "It is on its way."]


def strings(value: object) -> Iterator[str]:
    """Yield every string in a JSON value, including the names of members."""
    match value:
        case str():
            yield value
        case Mapping():
            yield from (text for pair in value.items() for part in pair for text in strings(part))
        case list():
            yield from (text for item in value for text in strings(item))
        case _:
            pass


def bundle(widget: Driver) -> dict[str, object]:
    read: dict[str, object] = json.loads(json.dumps(widget.machine.debug()))
    return read


def well_known_member(make_widget: MakeWidget, **claims: object) -> Driver:
    widget = make_widget(custom_login=True)
    name, email, avatar, phone, father = PERSONAL
    personal = {"name": name, "email": email, "phone": phone, "data": {"avatar": avatar, "auth_provider": "google"}}
    given = personal | {"family": {"father": [father]}} | claims
    widget.page = lambda call: events.GetTokenReturned(call.ref, widget.custom(**given))
    return widget.start()


def test_the_bundle_says_in_how_many_seconds_each_timer_is_due(visitor: Driver) -> None:
    visitor.advance(0.12345)
    visitor.feed(events.SearchAsked("tea"))

    due = {name: round(at - visitor.now, 3) for name, at in visitor.timers.items()}
    assert bundle(visitor)["timers"] == due
    assert "heartbeat" in due


@pytest.mark.contract("D-12/debug")
def test_the_state_is_in_the_bundle(make_widget: MakeWidget) -> None:
    """`debug()` must return the identity, the stage and the names of all claims.

    Values that identify a person must be hidden.
    """
    widget = well_known_member(make_widget)

    told = bundle(widget)

    assert (told["identity"], told["uid"], told["visitor_uid"], told["jkt"]) == ("member", "ada", KEY.uid, KEY.jkt)
    assert (told["stage"], told["storage"], told["cached_token"]) == ("ready", "kept", True)
    now = widget.server_now
    assert told["claims"] == {
        "pid": "prov_1",
        "uid": "ada",
        "type": "user",
        "cnf": {"jkt": KEY.jkt},
        "iat": now,
        "exp": now + 3600,
        "name": "hidden",
        "email": "hidden",
        "phone": "hidden",
        "data": {"avatar": "hidden", "auth_provider": "google"},
        "family": {"father": "hidden"},
    }
    assert told["counters"] == {name: len(widget.emitted(name)) for name in told["counters"]}  # type: ignore[attr-defined]


@pytest.mark.contract("D-12/debug")
def test_the_bundle_contains_no_secrets_and_no_personal_data(make_widget: MakeWidget) -> None:
    """The test puts tokens, nonces, names, addresses and messages into every input of the widget."""
    widget = well_known_member(make_widget)
    email, wrong_key = PERSONAL[1], jwt(cnf={"jkt": "x" * 43}, pid="prov_1", uid="a", type="user", exp=1)
    widget.feed(events.MessageWritten(WRITTEN[0]), events.SearchAsked(WRITTEN[0]))
    widget.frame(
        type="message", id="m", sender="agent", name=PERSONAL[0], body=WRITTEN[1], seq=1, sent_at=widget.server_now
    )
    widget.frame(type="error", id="m", code="frame_invalid", message=f"{email} has sent {widget.stored}.")
    for reason in (
        f"{email} is unknown",
        f"token {widget.stored} is old",
        f"https://shop.example/me?session={'s' * 30}",
    ):
        widget.page = lambda call, reason=reason: events.GetTokenFailed(call.ref, reason)  # type: ignore[misc]
        widget.feed(events.RefreshAsked())
    for answer in (wrong_key, f"Bearer {wrong_key}", events.Unusable(f"an object of {email}")):
        widget.page = lambda call, answer=answer: events.GetTokenReturned(call.ref, answer)  # type: ignore[misc]
        widget.feed(events.RefreshAsked())
    widget.feed(events.StoredTokenChanged(widget.identity_token(name=PERSONAL[0], email=email)))
    widget.feed(events.SocialClicked("google"))
    proofs = [proof["claims"] for proof in widget.emitted("socket:proof")]
    used = [str(claims[name]) for claims in proofs for name in ("nonce", "jti", "ath")]  # type: ignore[index]
    (popup_nonce,) = parse_qs(urlsplit(widget.last(effects.OpenPopup).url).query)["nonce"]

    texts = "\n".join(strings(bundle(widget)))

    assert len(used) > 3
    for secret in [*PERSONAL, *WRITTEN, *used, popup_nonce, "s" * 30, "eyJ", str(widget.stored)]:
        assert secret not in texts.splitlines()
        assert secret not in texts or secret.startswith("chance-")  # "chance-1" is a prefix of "chance-10"


def test_errors_stay_in_the_bundle_longer_than_events(make_widget: MakeWidget) -> None:
    """Errors from the beginning must still be listed after hundreds of later events."""
    widget = make_widget(custom_login=True, server_ahead=3600)
    widget.page = lambda call: events.GetTokenTimedOut(call.ref)
    widget.start()
    for _ in range(300):
        widget.feed(events.LogoutAsked())

    told = bundle(widget)

    troubles, past = told["troubles"], told["events"]
    assert isinstance(troubles, list)
    assert isinstance(past, list)
    assert {entry["name"]: entry["detail"]["code"] for entry in troubles} == {
        "error": "gettoken_timeout",
        "warning": "clock_skew",
    }
    assert {entry["name"] for entry in past} == {"logout"}


def test_a_uid_that_is_an_address_is_hidden(make_widget: MakeWidget) -> None:
    """Some backends use the e-mail address as the id."""
    widget = well_known_member(make_widget, uid=PERSONAL[1])

    told = bundle(widget)

    assert told["uid"] == "hidden"
    assert PERSONAL[1] not in "\n".join(strings(told))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("TypeError: Failed to fetch", "TypeError: Failed to fetch"),
        ("is a return missing? (undefined)", "is a return missing? (undefined)"),
        ("mail a.b+c@d-e.example, please", "mail hidden, please"),
        ("it is eyJhbGciOiJIUzI1NiJ9.eyJ1aWQ", "it is hidden"),
        ("https://x.example/a/b answered 404.", "https://x.example/a/b answered 404."),
        ("https://x.example/a?code=1&b=2#c answered 404.", "https://x.example/a?hidden answered 404."),
    ],
)
def test_only_text_that_looks_like_a_secret_is_removed(text: str, shown: str) -> None:
    assert redaction.plain(text) == shown


def test_secrets_are_removed_at_any_depth() -> None:
    """The detail of an event may contain lists and nested objects."""
    shown = redaction.detail({"tried": [{"said": "it is eyJhbGciOiJIUzI1NiJ9", "status": 404}]})

    assert shown == {"tried": [{"said": "it is hidden", "status": 404}]}


def test_failing_storage_is_reported_in_the_bundle(make_widget: MakeWidget) -> None:
    """If the storage fails, a member becomes a visitor after a reload. The bundle must explain this."""
    assert bundle(make_widget(degraded="timeout").start())["storage"] == "degraded"
