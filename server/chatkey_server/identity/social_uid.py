"""The uid of a social member, such as `google:1234` (contract 2.5)."""

from __future__ import annotations

import msgspec

from chatkey_protocol.names import SOCIALS


class SocialUid(msgspec.Struct, frozen=True):
    """A person's id at a social provider: `<social>:<subject>`. The subject may contain colons."""

    social: str
    sub: str

    @classmethod
    def parse(cls, uid: str) -> SocialUid | None:
        """Split a uid. Returns None unless the uid is a social provider's name, a colon and a subject."""
        social, _, sub = uid.partition(":")
        return cls(social, sub) if social in SOCIALS and sub else None

    def __str__(self) -> str:
        return f"{self.social}:{self.sub}"
