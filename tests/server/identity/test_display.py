"""Tests that a displayed name is one line of text, whatever its source."""

from __future__ import annotations

import pytest

from chatkey_server.identity import tokens
from chatkey_server.identity.display import one_line
from chatkey_server.identity.tokens import Profile, Secrets

SECRETS = Secrets(b"a secret of at least thirty-two bytes")
NAMES = [
    ("Ada\0Lovelace", "Ada Lovelace"),
    ("Ada\r\nLovelace\t", "Ada Lovelace"),
    ("Ada\u2028Lovelace", "Ada Lovelace"),
    ("Ada\r\n\0\x85\u2029Lovelace", "Ada Lovelace"),
    ("Ada \n Lovelace", "Ada   Lovelace"),
    ("\u00a0Ada\u3000\u2003", "Ada"),
    ("\x1b[31mAda", "[31mAda"),
    ("\0\x9f ", None),
    ("", None),
    (None, None),
    ("  Ada  ", "Ada"),
    ("أدا 🌿", "أدا 🌿"),
]


@pytest.mark.parametrize(("name", "line"), [*NAMES, ("Ada \ud83d", "Ada")])
def test_control_characters_become_a_space(name: str | None, line: str | None) -> None:
    assert one_line(name) == line


@pytest.mark.parametrize(("name", "line"), NAMES)
def test_the_name_in_a_token_is_cleaned_for_display(name: str | None, line: str | None) -> None:
    """The login must succeed with every name, because a name is only displayed (D-20)."""
    token = tokens.mint_custom(SECRETS, pid="p", uid="ada", jkt="A" * 43, profile=Profile(name=name), now=1000)

    assert tokens.read_socket_token(token, SECRETS, pid="p", now=1000).profile.name == line
