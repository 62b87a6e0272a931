"""The exit statuses of `chatkey check`, `conform` and `e2e`. Statuses up to 5 mean the same as in pytest."""

from enum import IntEnum

from chatkey_stack.browsers import NO_BROWSER


class Exit(IntEnum):
    """The meaning of an exit status. No command uses all of them. Status 2 is a mistake in the command line."""

    CLEAN = 0
    FAILED = 1
    OURS = 3
    """A mistake of chatkey itself, or of the adapter of a target."""
    NOT_STARTED = 4
    """The run did not start or was interrupted: a file or option cannot be used, or a server does not start."""
    NOTHING_JUDGED = 5
    WARNINGS = 6
    UNREACHABLE = 7
    NO_BROWSER = NO_BROWSER
    NOT_ALL_JUDGED = 9
