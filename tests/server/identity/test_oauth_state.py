import pytest
from msgspec.structs import replace

from chatkey_protocol.codes import Code
from chatkey_server.identity import oauth_state
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.oauth_state import State

NOW = 1_795_000_020
KEY, OLD = b"k" * 32, b"o" * 32
STATE = State(
    id="Zt5Yk1J2a9f3oQm8Xw7c-A",
    pid="prov_a",
    social="google",
    origin="https://shop.example",
    iat=NOW,
    nonce="n" * 22,
    jkt="0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I",
)


@pytest.mark.contract("5.7/ten-minutes", "8/state-validity")
@pytest.mark.parametrize(
    ("seconds", "code"),
    [(-61, Code.STATE_INVALID), (-60, None), (599, None), (600, Code.STATE_EXPIRED)],
)
def test_a_state_lives_ten_minutes_and_may_be_a_minute_ahead(seconds: int, code: Code | None) -> None:
    state = oauth_state.read(oauth_state.mint(KEY, STATE), (KEY,), social="google")
    refused = None
    try:
        oauth_state.check_age(state, NOW + seconds)
    except Refused as refusal:
        refused = refusal.code

    assert (state, refused) == (STATE, code)


@pytest.mark.contract("D-05/state-key")
def test_a_state_signed_with_another_key_is_refused_and_an_old_key_still_reads() -> None:
    text = oauth_state.mint(OLD, STATE)

    assert oauth_state.read(text, (KEY, OLD), social="google") == STATE
    with pytest.raises(Refused) as refused:
        oauth_state.read(text, (KEY,), social="google")
    assert refused.value.code is Code.STATE_INVALID


def test_a_state_has_at_most_1024_characters() -> None:
    states = (replace(STATE, nonce="n" * length) for length in range(1000))
    texts = {len(text): text for text in (oauth_state.mint(KEY, state) for state in states)}

    assert oauth_state.read(texts[1024], (KEY,), social="google").id == STATE.id
    with pytest.raises(Refused):
        oauth_state.read(texts[1026], (KEY,), social="google")
