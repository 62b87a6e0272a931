"""The device flow (RFC 8628): what the two codes look like, and how patient the token endpoint is."""

from __future__ import annotations

from typing import ClassVar

from chatkey_oauth.engine.dialect.common import Common


class DeviceDialect(Common):
    """What a device is given, where there are such."""

    user_code_shape: ClassVar[str] = "XXXX-XXXX"
    """The code that a person types; each `X` stands for one of `user_code_signs`."""
    user_code_signs: ClassVar[str] = "0123456789ABCDEF"
    paces_devices: ClassVar[bool] = True
    """Whether a device is refused that asks before its interval is over."""

    def new_user_code(self) -> str:
        """A fresh code for a person to type."""
        signs = iter(self.alphanumeric(self.user_code_shape.count("X"), self.user_code_signs))
        return "".join(next(signs) if sign == "X" else sign for sign in self.user_code_shape)

    def new_device_code(self) -> str:
        """A fresh code for a device to ask with."""
        return self.hexadecimal(40)
