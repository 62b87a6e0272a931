"""What the widget says to people."""

from typing import Final

from chatkey_widget.view import CallShown, Link

OPEN: Final = "Open chat"
CLOSE: Final = "Close chat"
UNREAD: Final = "{count} unread"
CONVERSATION: Final = "Conversation"
WRITE: Final = "Write a message…"
MESSAGE: Final = "Message"
SEND: Final = "Send"
SEARCH: Final = "Search"
SEARCH_THIS: Final = "Search this conversation"
FOUND: Final = "{count} found"
NOTHING_FOUND: Final = "Nothing found."
BACK: Final = "Back to the conversation"
OLDER: Final = "Show older messages"
HANG_UP: Final = "Hang up"
DISMISS: Final = "Dismiss"
VISITOR: Final = "You are chatting as a visitor"
MEMBER: Final = "Signed in as {name}"
SIGN_IN: Final = "Sign in"
SIGN_OUT: Final = "Sign out"
SIGN_IN_INTRO: Final = "Sign in to keep your conversations with you on every device. Chatting as a visitor works, too."
CONTINUE_WITH: Final = "Continue with {social}"
WAITING_FOR: Final = "Waiting for the sign-in window…"
YOU: Final = "You"
AGENT: Final = "Support"

LINKS: Final[dict[Link, str]] = {
    "connecting": "Connecting…",
    "online": "Online",
    "offline": "Reconnecting…",
    "stopped": "Not available",
}
CALLS: Final[dict[CallShown, str]] = {
    "none": "",
    "calling": "Calling…",
    "ringing": "Ringing…",
    "active": "In a call",
    "ended": "The call has ended",
}
STATES: Final = {"sending": "Sending…", "sent": "", "refused": "Not delivered"}
SOCIALS: Final = {
    "google": "Google",
    "facebook": "Facebook",
    "github": "GitHub",
    "gitlab": "GitLab",
    "discord": "Discord",
    "apple": "Apple",
    "x": "X",
    "tiktok": "TikTok",
    "amazon": "Amazon",
}


def social_name(social: str) -> str:
    """Return how a social provider writes itself."""
    return SOCIALS.get(social, social.capitalize())


def initials(name: str) -> str:
    """Return up to two letters that stand for a name."""
    words = [word for word in name.split() if word[0].isalnum()]
    return "".join(word[0] for word in (words[:1] + words[-1:] if len(words) > 1 else words)).upper()
