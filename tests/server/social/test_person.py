"""Tests which of a social provider's data about a person the server stores."""

import pytest

from chatkey_server.social import person
from chatkey_server.social.person import Unusable


@pytest.mark.parametrize("value", ["1", "184405311681986560", "000517.8d2f0c41b7a94f3e9c55.0730", "a:b", "x" * 200])
def test_a_subject_is_kept_as_it_is(value: str) -> None:
    assert person.subject(value) == value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "missing"),
        (5830217, "not text"),
        (True, "not text"),
        ({"id": "1"}, "not text"),
        ("", "0 characters"),
        ("x" * 300, "300 characters"),
        ("a\0b", "characters that are not allowed"),
        ("a b", "characters that are not allowed"),
        ("\uff11\uff12", "characters that are not allowed"),
    ],
)
def test_an_unusable_subject_is_refused_and_not_quoted(value: object, why: str) -> None:
    with pytest.raises(Unusable, match=why):
        person.subject(value)


@pytest.mark.contract("2.5/uid-form")
@pytest.mark.parametrize(("value", "sub"), [(5830217, "5830217"), (2**63, str(2**63)), ("48213", "48213")])
def test_a_numeric_subject_becomes_text(value: object, sub: str) -> None:
    assert person.numeric_subject(value) == sub


@pytest.mark.parametrize("value", [True, 0, -1, 1.5, None, [1], 10**200])
def test_a_numeric_subject_that_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(Unusable, match="subject id"):
        person.numeric_subject(value)


@pytest.mark.parametrize(
    ("candidates", "name"),
    [
        (("Rhea Quill", "rquill"), "Rhea Quill"),
        ((None, "rquill"), "rquill"),
        (("  ", "rquill"), "rquill"),
        ((7, None), None),
        (("نور 😀",), "نور 😀"),
        (("<script>alert(1)</script>",), "<script>alert(1)</script>"),
        (("Rhea\r\nQuill\0",), "Rhea Quill"),
        (("Rhea\u2028Quill",), "Rhea Quill"),
        (("\ud800Rhea",), "Rhea"),
        (("x" * 10_240,), "x" * 255),
    ],
)
def test_a_name_is_one_line_that_can_be_stored_and_shown(candidates: tuple[object, ...], name: str | None) -> None:
    assert person.display_name(*candidates) == name


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
