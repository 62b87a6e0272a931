"""The error for a fault that cannot be armed."""


class FaultError(ValueError):
    """A fault could not be armed. `member` is the invalid member of the request, such as `with.seconds`."""

    def __init__(self, member: str, message: str) -> None:
        super().__init__(f"{member}: {message}")
        self.member = member
