"""Tests of the uid of a social member: splitting and joining its two parts."""

import pytest

from chatkey_server.identity.social_uid import SocialUid


@pytest.mark.contract("2.5/uid-form")
@pytest.mark.parametrize(
    ("text", "uid"),
    [
        ("google:1234", SocialUid("google", "1234")),
        ("apple:000517.8d2f.0730", SocialUid("apple", "000517.8d2f.0730")),
        ("x:a:b", SocialUid("x", "a:b")),
    ],
)
def test_a_social_uid_is_a_providers_name_a_colon_and_a_subject(text: str, uid: SocialUid) -> None:
    assert SocialUid.parse(text) == uid
    assert str(uid) == text


@pytest.mark.contract("2.5/uid-form")
@pytest.mark.parametrize("text", ["", "google", "google:", ":1234", "myspace:1234", "Google:1234", "v_google:1234"])
def test_any_other_text_is_no_social_uid(text: str) -> None:
    assert SocialUid.parse(text) is None
