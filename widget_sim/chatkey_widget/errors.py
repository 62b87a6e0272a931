"""The widget's errors: one exception class, and one table with the meaning of each code."""

# ruff: noqa: S105 (codes, not secrets)

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from chatkey_protocol.codes import Code
from chatkey_widget.texts.words import Notice

Phase = Literal["start", "key", "configuration", "token", "getToken", "socket", "oauth", "chat"]


class Fault(StrEnum):
    """The widget's own error codes. Codes from the server (`chatkey_protocol.codes.Code`) are passed on unchanged."""

    INSECURE_CONTEXT = "insecure_context"
    CONFIG_INVALID = "config_invalid"
    CSP_BLOCKED = "csp_blocked"
    KEY_UNAVAILABLE = "key_unavailable"
    CONFIGURATION_UNREACHABLE = "configuration_unreachable"
    TOKEN_UNREACHABLE = "token_unreachable"
    TOKEN_WRONG_TYPE = "token_wrong_type"
    TOKEN_EMPTY = "token_empty"
    TOKEN_MALFORMED = "token_malformed"
    TOKEN_TOO_LARGE = "token_too_large"
    TOKEN_CLAIMS = "token_claims"
    TOKEN_EXPIRED = "token_expired"
    TOKEN_KEY_MISMATCH = "token_key_mismatch"
    GETTOKEN_FAILED = "gettoken_failed"
    GETTOKEN_TIMEOUT = "gettoken_timeout"
    SOCKET_UNREACHABLE = "socket_unreachable"
    SOCKET_REFUSED = "socket_refused"
    FRAME_UNREADABLE = "frame_unreadable"
    MESSAGE_REFUSED = "message_refused"
    MESSAGE_DROPPED = "message_dropped"
    POPUP_BLOCKED = "popup_blocked"
    POPUP_UNSUPPORTED = "popup_unsupported"
    POPUP_CLOSED = "popup_closed"
    POPUP_LOST = "popup_lost"
    OAUTH_FAILED = "oauth_failed"
    WIDGET_FAILED = "widget_failed"


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a code: its phase, advice for the integrator, and the notice for the visitor."""

    phase: Phase
    remediation: str
    retryable: bool = False
    said: Notice | None = None


_GETTOKEN: Final = "Return from getToken the token of your backend's answer as it is (data.token), or null."

MEANINGS: Final[dict[str, Meaning]] = {
    Fault.INSECURE_CONTEXT: Meaning(
        "start",
        "Serve the page over https, or from localhost: browsers give keys to secure pages only.",
        said="needs_https",
    ),
    Fault.CONFIG_INVALID: Meaning(
        "start", "Set ServiceConfig to {providerId: '…', getToken: async ({jkt}) => …}; getToken may be left out."
    ),
    Fault.CSP_BLOCKED: Meaning("start", "Add to the directive what the message names.", said="not_available_here"),
    Fault.KEY_UNAVAILABLE: Meaning(
        "key",
        "The page has no crypto.subtle. Check what overrides it, or try a current browser.",
        said="old_browser",
    ),
    Fault.CONFIGURATION_UNREACHABLE: Meaning(
        "configuration",
        "Check that the service's address is reachable and allowed by the page's connect-src.",
        retryable=True,
    ),
    Fault.TOKEN_UNREACHABLE: Meaning(
        "token",
        "Check that the service's address is reachable and allowed by the page's connect-src.",
        retryable=True,
        said="unreachable",
    ),
    Fault.TOKEN_WRONG_TYPE: Meaning("getToken", _GETTOKEN),
    Fault.TOKEN_EMPTY: Meaning("getToken", "Return null, not an empty text, when nobody is logged in."),
    Fault.TOKEN_MALFORMED: Meaning("getToken", _GETTOKEN),
    Fault.TOKEN_TOO_LARGE: Meaning("getToken", "Keep the token under 8 KB: leave out claims the chat does not need."),
    Fault.TOKEN_CLAIMS: Meaning("getToken", "Correct the named claim where your backend signs the token."),
    Fault.TOKEN_EXPIRED: Meaning(
        "getToken",
        "Sign a new token for every call, with exp about one hour ahead in UTC seconds; cache none.",
    ),
    Fault.TOKEN_KEY_MISMATCH: Meaning(
        "getToken", "Put the jkt that getToken was called with into cnf.jkt of a token signed for this very call."
    ),
    Fault.GETTOKEN_FAILED: Meaning(
        "getToken", "Return null when nobody is logged in; let getToken throw only when your backend failed.", True
    ),
    Fault.GETTOKEN_TIMEOUT: Meaning("getToken", "Settle getToken's promise within 10 seconds.", retryable=True),
    Fault.SOCKET_UNREACHABLE: Meaning(
        "socket",
        "Check that wss: to the service is allowed by connect-src and passed on by proxies.",
        retryable=True,
        said="connection_lost",
    ),
    Fault.SOCKET_REFUSED: Meaning(
        "socket", "Look up the server's code; reload the page once it is put right.", said="not_available"
    ),
    Fault.FRAME_UNREADABLE: Meaning(
        "socket", "Report this: server and widget disagree on the protocol.", retryable=True
    ),
    Fault.MESSAGE_REFUSED: Meaning("chat", "Shorten or change the message.", said="message_refused"),
    Fault.MESSAGE_DROPPED: Meaning(
        "chat",
        "Nothing to do: a member's message never goes out as somebody else's, so what was on its way when the member "
        "left is dropped.",
        said="message_dropped",
    ),
    Fault.POPUP_BLOCKED: Meaning(
        "oauth",
        "Let the person press the button in the notice, or allow pop-ups for the page; see what replaces window.open.",
        retryable=True,
        said="popup_blocked",
    ),
    Fault.POPUP_UNSUPPORTED: Meaning(
        "oauth",
        "Nothing to do: an app's built-in browser opens no windows; the person may open the page in a browser.",
        said="open_in_browser",
    ),
    Fault.POPUP_CLOSED: Meaning(
        "oauth",
        "Nothing to do: the person may press the button again. If nobody closed it, a page of the provider cut it off.",
        retryable=True,
        said="popup_closed",
    ),
    Fault.POPUP_LOST: Meaning(
        "oauth",
        "Serve the page with Cross-Origin-Opener-Policy: same-origin-allow-popups, or without that header; a page that "
        "needs same-origin cannot have social login. If yours has no such header, the social provider's page has it.",
        said="popup_lost",
    ),
    Fault.OAUTH_FAILED: Meaning("oauth", "Look at the server's log for the stage that failed.", True, "sign_in_again"),
    Fault.WIDGET_FAILED: Meaning("start", "Report this with the handle's debug(): the widget itself is at fault."),
    Code.PROVIDER_UNKNOWN: Meaning(
        "configuration", "Check providerId: the service knows no such provider.", said="not_available_here"
    ),
    Code.PROVIDER_OFF: Meaning("socket", "Switch the provider on in the admin panel.", said="switched_off"),
    Code.ORIGIN_NOT_ALLOWED: Meaning(
        "socket",
        "Add the page's host to the registered domains of the provider.",
        said="not_available_here",
    ),
    Code.INSECURE_ORIGIN: Meaning("socket", "Serve the page over https.", said="needs_https"),
    Code.TOKEN_SIGNATURE: Meaning("getToken", "Sign with the provider's current secret_key, HS256, the text as it is."),
    Code.TOKEN_ALG: Meaning("getToken", "Sign with HS256."),
    Code.TOKEN_TYPE: Meaning("getToken", "Set the claim type to 'user'."),
    Code.TOKEN_PROVIDER: Meaning("getToken", "Set the claim pid to the provider id of this widget."),
    Code.TOKEN_NOT_YET_VALID: Meaning("getToken", "Set the clock of your backend: its token begins in the future."),
    Code.PROOF_BINDING_MISSING: Meaning("getToken", "Put the jkt of getToken's argument into cnf.jkt of the token."),
    Code.RATE_LIMITED: Meaning("socket", "Ask less often.", retryable=True, said="too_fast"),
    Code.TOO_MANY_SOCKETS: Meaning(
        "socket",
        "Close other pages with this chat, or raise the service's limit of sockets.",
        retryable=True,
        said="too_many_windows",
    ),
    Code.OAUTH_DENIED: Meaning("oauth", "Nothing to do: the person declined.", True, "sign_in_cancelled"),
    Code.SOCIAL_DISABLED: Meaning(
        "oauth",
        "Enable the social provider in the admin panel (Member Login).",
        said="sign_in_gone",
    ),
    Code.STATE_EXPIRED: Meaning("oauth", "Start again: a sign-in may take ten minutes.", True, "sign_in_again"),
}


def _of_another_code(phase: Phase | None) -> Meaning:
    """Return the default meaning, for a service code that is not in `MEANINGS`."""
    return Meaning(phase or "socket", "Look up this code in the service's documentation.", retryable=phase == "oauth")


class WidgetError(Exception):
    """An error to report to the page, as `{code, phase, message, remediation, retryable}` (D-12).

    `message` names the value or member at fault, and never contains a token.
    """

    def __init__(
        self,
        code: Fault | str,
        message: str,
        *,
        phase: Phase | None = None,
        remediation: str | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        meaning = MEANINGS.get(code) or _of_another_code(phase)
        self.code = str(code)
        self.message = message
        self.phase: Phase = phase or meaning.phase
        self.remediation = remediation or meaning.remediation
        self.retryable = meaning.retryable if retryable is None else retryable
        who_clicked: Notice | None = "sign_in_again" if phase == "oauth" else None
        self.said: Notice | None = meaning.said or who_clicked

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def detail(self) -> dict[str, object]:
        """Return the error in the form that the page's listeners get."""
        return {
            "code": self.code,
            "phase": self.phase,
            "message": self.message,
            "remediation": self.remediation,
            "retryable": self.retryable,
        }
