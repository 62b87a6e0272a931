"""Reads members of the server's frames. If one member does not match the profile, the complete frame is refused."""

from collections.abc import Mapping, Sequence

from chatkey_protocol.frames import Kind


class UnreadableFrame(Exception):
    """A required member of a frame is missing or has the wrong type."""

    def __init__(self, member: str) -> None:
        super().__init__(member)
        self.member = member


def kind_of(frame: Mapping[str, object]) -> Kind | None:
    """Return the kind of the frame. Return None if this version of the widget does not know the kind (D-10)."""
    kind = frame.get("type")
    try:
        return Kind(kind) if isinstance(kind, str) else None
    except ValueError:
        return None


def text(frame: Mapping[str, object], member: str) -> str:
    """Return a text member. Raises `UnreadableFrame` with the member's name."""
    value = frame.get(member)
    if not isinstance(value, str):
        raise UnreadableFrame(member)
    return value


def number(frame: Mapping[str, object], member: str) -> float:
    """Return a number member. Raises `UnreadableFrame` with the member's name."""
    value = frame.get(member)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableFrame(member)
    return value


def objects(frame: Mapping[str, object], member: str) -> Sequence[Mapping[str, object]]:
    """Return a member that is an array of objects. Raises `UnreadableFrame` with the member's name."""
    value = frame.get(member)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise UnreadableFrame(member)
    return value
