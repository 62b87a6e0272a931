import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chatkey_protocol.codes import Code
from chatkey_server.identity import encoding, oauth_state
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.oauth_state import State

NOW = 1_795_000_020
KEY = b"k" * 32
STATE = State(
    id="Zt5Yk1J2a9f3oQm8Xw7c-A",
    pid="prov_a",
    social="google",
    origin="https://shop.example",
    iat=NOW,
    nonce="n" * 22,
    jkt="0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I",
)


def refusal_of(text: str, *, social: str = "google", now: float = NOW) -> Refused:
    with pytest.raises(Refused) as refusal:
        oauth_state.check_age(oauth_state.read(text, (KEY,), social=social), now)
    return refusal.value


@pytest.mark.contract("5.7/state", "4.5/provider-in-state")
def test_a_state_comes_back_as_it_was_sent() -> None:
    text = oauth_state.mint(KEY, STATE)

    assert oauth_state.read(text, (KEY,), social="google") == STATE
    assert len(text) < 500


@pytest.mark.contract("5.7/ten-minutes", "8/state-validity")
def test_a_state_lives_ten_minutes() -> None:
    text = oauth_state.mint(KEY, STATE)

    oauth_state.check_age(oauth_state.read(text, (KEY,), social="google"), NOW + 599)
    assert refusal_of(text, now=NOW + 600).code is Code.STATE_EXPIRED


def test_a_state_from_the_future_is_refused() -> None:
    text = oauth_state.mint(KEY, STATE)

    oauth_state.check_age(oauth_state.read(text, (KEY,), social="google"), NOW - 60)
    assert refusal_of(text, now=NOW - 61).code is Code.STATE_INVALID


def test_a_state_of_another_social_provider_is_refused() -> None:
    refusal = refusal_of(oauth_state.mint(KEY, STATE), social="github")

    assert (refusal.code, refusal.member) == (Code.STATE_INVALID, "state")
    assert "google" in refusal.message


@pytest.mark.contract("D-05/state-key")
def test_a_state_signed_with_another_key_is_refused_and_an_old_key_still_reads() -> None:
    text = oauth_state.mint(b"o" * 32, STATE)

    assert refusal_of(text).code is Code.STATE_INVALID
    assert oauth_state.read(text, (KEY, b"o" * 32), social="google") == STATE


def test_an_altered_state_is_refused() -> None:
    payload, mac = oauth_state.mint(KEY, STATE).split(".")
    other = encoding.encode(encoding.decode(payload).replace(b"prov_a", b"prov_b"))

    unsigned = (payload, f"{payload}.", f".{mac}", "")
    for text in (f"{other}.{mac}", f"{payload}.{mac[:-4]}", f"{payload}.{mac}=", f"{payload}.{mac}.", *unsigned):
        assert refusal_of(text).code is Code.STATE_INVALID


def test_a_state_has_at_most_1024_characters() -> None:
    states = (replace(STATE, nonce="n" * length) for length in range(1000))
    texts = {len(text): text for text in (oauth_state.mint(KEY, state) for state in states)}

    assert oauth_state.read(texts[1024], (KEY,), social="google").id == STATE.id
    assert refusal_of(texts[1026]).code is Code.STATE_INVALID


@given(st.text(max_size=1200))
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    assert refusal_of(text).code is Code.STATE_INVALID
