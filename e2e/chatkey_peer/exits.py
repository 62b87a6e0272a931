"""The exit statuses of `chatkey check`, `chatkey conform` and `chatkey e2e`. Those up to 5 mean the same in pytest."""

from enum import IntEnum

from chatkey_stack.browsers import NO_BROWSER


class Exit(IntEnum):
    """What an exit status means. A command uses those that can occur in it; 2 is a mistake in the command line."""

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
