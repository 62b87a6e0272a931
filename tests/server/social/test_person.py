"""Tests which of a social provider's data about a person the server stores."""

import pytest

from chatkey_server.social import person
from chatkey_server.social.person import Unusable


@pytest.mark.contract("2.5/uid-form")
@pytest.mark.parametrize(("value", "sub"), [(5830217, "5830217"), (2**63, str(2**63)), ("48213", "48213")])
def test_a_numeric_subject_becomes_text(value: object, sub: str) -> None:
    assert person.numeric_subject(value) == sub


@pytest.mark.parametrize("value", [True, 0, -1, 1.5, None, [1], 10**200])
def test_a_numeric_subject_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(Unusable, match="subject id"):
        person.numeric_subject(value)


@pytest.mark.parametrize(
    ("value", "email"),
    [
        ("rhea@example.com", "rhea@example.com"),
        ("rhea@bücher.example", "rhea@bücher.example"),
        (None, None),
        (True, None),
        ("rhea", None),
        ("rhea@example.com\n", None),
        ("a@b@c", None),
        ("x" * 250 + "@b.example", None),
        ("rhea@exa\0mple.com", None),
    ],
)
def test_an_email_is_kept_when_it_has_the_shape_of_one(value: object, email: str | None) -> None:
    assert person.email(value) == email


@pytest.mark.parametrize(
    ("value", "avatar"),
    [
        ("https://lh3.example/a?s=96", "https://lh3.example/a?s=96"),
        ("http://localhost:9911/a.svg", "http://localhost:9911/a.svg"),
        ("http://lh3.example/a", None),
        ("javascript:alert(1)", None),
        ("https:///a", None),
        ("https://[", None),
        ("https://x.example/\n", None),
        ("https://x.example/" + "a" * 1024, None),
        (None, None),
        ({"url": "https://x.example"}, None),
    ],
)
def test_an_avatar_is_an_address_that_a_page_may_load(value: object, avatar: str | None) -> None:
    assert person.avatar(value) == avatar
