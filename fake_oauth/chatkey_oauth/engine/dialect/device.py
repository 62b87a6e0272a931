"""The device flow (RFC 8628): the format of the codes, and whether the token endpoint enforces the interval."""

from __future__ import annotations

from typing import ClassVar

from chatkey_oauth.engine.dialect.common import Common


class DeviceDialect(Common):
    """The codes of the device flow, for providers that have it."""

    user_code_shape: ClassVar[str] = "XXXX-XXXX"
    """The format of the user code. Each `X` stands for one of `user_code_signs`."""
    user_code_signs: ClassVar[str] = "0123456789ABCDEF"
    paces_devices: ClassVar[bool] = True
    """Whether a poll that is earlier than the interval allows is refused."""

    def new_user_code(self) -> str:
        """Return a new user code, which a person types."""
        signs = iter(self.alphanumeric(self.user_code_shape.count("X"), self.user_code_signs))
        return "".join(next(signs) if sign == "X" else sign for sign in self.user_code_shape)

    def new_device_code(self) -> str:
        """Return a new device code, with which a device polls."""
        return self.hexadecimal(40)
