"""The errors of the widget: one exception class, and one table with the meaning of each code."""

# ruff: noqa: S105 (codes, not secrets)

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from chatkey_protocol.codes import Code
from chatkey_widget.texts.words import Notice

Phase = Literal["start", "key", "configuration", "token", "getToken", "socket", "oauth", "chat"]


class Fault(StrEnum):
    """The error codes that only the widget uses.

    Codes from the server (`chatkey_protocol.codes.Code`) are passed on unchanged.
    """

    INSECURE_CONTEXT = "insecure_context"
    CONFIG_INVALID = "config_invalid"
    CSP_BLOCKED = "csp_blocked"
    LOCAL_NETWORK_BLOCKED = "local_network_blocked"
    KEY_UNAVAILABLE = "key_unavailable"
    KEY_TIMEOUT = "key_timeout"
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
    MICROPHONE_DENIED = "microphone_denied"
    MICROPHONE_DISMISSED = "microphone_dismissed"
    MICROPHONE_MISSING = "microphone_missing"
    MICROPHONE_BUSY = "microphone_busy"
    MICROPHONE_LOST = "microphone_lost"
    MICROPHONE_UNAVAILABLE = "microphone_unavailable"
    CALL_UNCONNECTED = "call_unconnected"
    CALL_LOCAL_NETWORK = "call_local_network"
    CALL_UNSAFE = "call_unsafe"
    POPUP_BLOCKED = "popup_blocked"
    POPUP_UNSUPPORTED = "popup_unsupported"
    POPUP_CLOSED = "popup_closed"
    POPUP_LOST = "popup_lost"
    OAUTH_FAILED = "oauth_failed"
    WIDGET_FAILED = "widget_failed"


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a code: phase, advice for the integrator, and notice for the visitor."""

    phase: Phase
    remediation: str
    retryable: bool = False
    said: Notice | None = None


_GETTOKEN: Final = "getToken must return the token from your backend's response unchanged (data.token), or null."

MEANINGS: Final[dict[str, Meaning]] = {
    Fault.INSECURE_CONTEXT: Meaning(
        "start",
        "Serve the page over https, or from localhost: browsers provide keys only to secure pages.",
        said="needs_https",
    ),
    Fault.CONFIG_INVALID: Meaning(
        "start", "Set ServiceConfig to {providerId: '…', getToken: async ({jkt}) => …}; getToken may be omitted."
    ),
    Fault.CSP_BLOCKED: Meaning(
        "start", "Add the source that the message names to the directive.", said="not_available_here"
    ),
    Fault.LOCAL_NETWORK_BLOCKED: Meaning(
        "socket",
        "If the service runs, allow the page to access the local network in the browser's site settings.",
        retryable=True,
        said="local_network",
    ),
    Fault.KEY_UNAVAILABLE: Meaning(
        "key",
        "The page has no crypto.subtle. Check what overrides it, or use a current browser.",
        said="old_browser",
    ),
    Fault.KEY_TIMEOUT: Meaning(
        "key",
        "Nothing to do: the widget tries again. If it happens often, check what overrides crypto.subtle or IndexedDB.",
        retryable=True,
        said="unreachable",
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
    Fault.TOKEN_EMPTY: Meaning("getToken", "If nobody is logged in, return null and not an empty string."),
    Fault.TOKEN_MALFORMED: Meaning("getToken", _GETTOKEN),
    Fault.TOKEN_TOO_LARGE: Meaning("getToken", "Keep the token under 8 KB: omit claims that the chat does not need."),
    Fault.TOKEN_CLAIMS: Meaning("getToken", "Correct the named claim in your backend."),
    Fault.TOKEN_EXPIRED: Meaning(
        "getToken",
        "Sign a new token for every call, with exp about one hour in the future in UTC seconds; do not cache tokens.",
    ),
    Fault.TOKEN_KEY_MISMATCH: Meaning(
        "getToken", "Sign a new token for every call, and set its cnf.jkt to the jkt that getToken was called with."
    ),
    Fault.GETTOKEN_FAILED: Meaning(
        "getToken", "Return null if nobody is logged in; getToken should throw only if your backend failed.", True
    ),
    Fault.GETTOKEN_TIMEOUT: Meaning("getToken", "Settle getToken's promise within 10 seconds.", retryable=True),
    Fault.SOCKET_UNREACHABLE: Meaning(
        "socket",
        "Check that connect-src allows wss: to the service, and that proxies pass WebSockets on.",
        retryable=True,
        said="connection_lost",
    ),
    Fault.SOCKET_REFUSED: Meaning(
        "socket", "Look up the server's code. Once the cause is fixed, reload the page.", said="not_available"
    ),
    Fault.FRAME_UNREADABLE: Meaning(
        "socket", "Report this: server and widget disagree about the protocol.", retryable=True
    ),
    Fault.MESSAGE_REFUSED: Meaning("chat", "Shorten or change the message.", said="message_refused"),
    Fault.MESSAGE_DROPPED: Meaning(
        "chat",
        "Nothing to do: a message is never sent as somebody else. The text is in the message box again, unless another "
        "member is signed in now.",
        said="message_dropped",
    ),
    Fault.MICROPHONE_DENIED: Meaning(
        "chat",
        "Nothing to do: the person or the system refused the microphone. The person can allow it in the browser.",
        retryable=True,
        said="microphone_denied",
    ),
    Fault.MICROPHONE_DISMISSED: Meaning(
        "chat",
        "Nothing to do: the person closed the browser's question. The next call asks again.",
        retryable=True,
        said="microphone_dismissed",
    ),
    Fault.MICROPHONE_MISSING: Meaning(
        "chat", "Nothing to do: the device has no microphone.", retryable=True, said="microphone_missing"
    ),
    Fault.MICROPHONE_BUSY: Meaning(
        "chat",
        "Nothing to do: another program uses the microphone, or its driver failed.",
        retryable=True,
        said="microphone_busy",
    ),
    Fault.MICROPHONE_LOST: Meaning(
        "chat",
        "Nothing to do: the microphone was unplugged or its permission was withdrawn.",
        retryable=True,
        said="microphone_lost",
    ),
    Fault.MICROPHONE_UNAVAILABLE: Meaning(
        "chat",
        "Serve the page over https, and allow microphone in its Permissions-Policy and in the allow attribute of "
        "frames.",
        said="microphone_unavailable",
    ),
    Fault.CALL_UNCONNECTED: Meaning(
        "chat",
        "Check whether a firewall blocks UDP, and configure a TURN server in the service.",
        retryable=True,
        said="call_unconnected",
    ),
    Fault.CALL_LOCAL_NETWORK: Meaning(
        "chat",
        "Allow the page to access the local network in the browser's site settings, or configure a TURN server in the "
        "service.",
        retryable=True,
        said="call_local_network",
    ),
    Fault.CALL_UNSAFE: Meaning(
        "chat",
        "Find out what changes frames between this browser and the service: a proxy, an extension or an attacker.",
        said="call_unsafe",
    ),
    Fault.POPUP_BLOCKED: Meaning(
        "oauth",
        (
            "Ask the person to press the button in the notice, or allow pop-ups for the page. Check whether a "
            "script replaces window.open."
        ),
        retryable=True,
        said="popup_blocked",
    ),
    Fault.POPUP_UNSUPPORTED: Meaning(
        "oauth",
        (
            "Nothing to do: the built-in browsers of apps do not open windows. The person can open the page in a "
            "regular browser."
        ),
        said="open_in_browser",
    ),
    Fault.POPUP_CLOSED: Meaning(
        "oauth",
        (
            "Nothing to do: the person can press the button again. If nobody closed the popup, a page of the "
            "social provider separated the popup from the page."
        ),
        retryable=True,
        said="popup_closed",
    ),
    Fault.POPUP_LOST: Meaning(
        "oauth",
        "Serve the page with Cross-Origin-Opener-Policy: same-origin-allow-popups, or without that header. A "
        "page that needs same-origin cannot have social login. If your page has no such header, the social "
        "provider's page has it.",
        said="popup_lost",
    ),
    Fault.OAUTH_FAILED: Meaning("oauth", "Look up the failed stage in the server's log.", True, "sign_in_again"),
    Fault.WIDGET_FAILED: Meaning(
        "start", "Report this with the output of the handle's debug(): it is a bug in the widget."
    ),
    Code.PROVIDER_UNKNOWN: Meaning(
        "configuration", "Check providerId: the service has no such provider.", said="not_available_here"
    ),
    Code.PROVIDER_OFF: Meaning("socket", "Switch the provider on in the admin panel.", said="switched_off"),
    Code.ORIGIN_NOT_ALLOWED: Meaning(
        "socket",
        "Add the page's host to the provider's registered domains.",
        said="not_available_here",
    ),
    Code.INSECURE_ORIGIN: Meaning("socket", "Serve the page over https.", said="needs_https"),
    Code.TOKEN_SIGNATURE: Meaning("getToken", "Sign with HS256 and the provider's current secret_key, unchanged."),
    Code.TOKEN_ALG: Meaning("getToken", "Sign with HS256."),
    Code.TOKEN_TYPE: Meaning("getToken", "Set the claim type to 'user'."),
    Code.TOKEN_PROVIDER: Meaning("getToken", "Set the claim pid to the provider id of this widget."),
    Code.TOKEN_NOT_YET_VALID: Meaning(
        "getToken", "Correct your backend's clock: the token's iat or nbf is in the future."
    ),
    Code.PROOF_BINDING_MISSING: Meaning("getToken", "Set cnf.jkt of the token to the jkt that getToken received."),
    Code.RATE_LIMITED: Meaning("socket", "Send requests less often.", retryable=True, said="too_fast"),
    Code.TOO_MANY_SOCKETS: Meaning(
        "socket",
        "Close other pages with this chat, or raise the service's limit for sockets.",
        retryable=True,
        said="too_many_windows",
    ),
    Code.CALL_UNANSWERED: Meaning(
        "chat", "Nothing to do: no agent accepted the call within a minute.", retryable=True, said="call_unanswered"
    ),
    Code.CALL_LOST: Meaning(
        "chat", "Nothing to do: one side of the call was away for too long.", retryable=True, said="call_ended"
    ),
    Code.OAUTH_DENIED: Meaning("oauth", "Nothing to do: the person declined.", True, "sign_in_cancelled"),
    Code.SOCIAL_DISABLED: Meaning(
        "oauth",
        "Enable the social provider in the admin panel (Member Login).",
        said="sign_in_gone",
    ),
    Code.STATE_EXPIRED: Meaning(
        "oauth", "Start again: a sign-in must be completed within ten minutes.", True, "sign_in_again"
    ),
}


def _of_another_code(phase: Phase | None) -> Meaning:
    """Return the default meaning of a service code that is not in `MEANINGS`."""
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
        said: Notice | None = None,
    ) -> None:
        super().__init__(message)
        meaning = MEANINGS.get(code) or _of_another_code(phase)
        self.code = str(code)
        self.message = message
        self.phase: Phase = phase or meaning.phase
        self.remediation = remediation or meaning.remediation
        self.retryable = meaning.retryable if retryable is None else retryable
        who_clicked: Notice | None = "sign_in_again" if phase == "oauth" else None
        self.said: Notice | None = said or meaning.said or who_clicked

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def detail(self) -> dict[str, object]:
        """Return the error in the form that the page's listeners receive."""
        return {
            "code": self.code,
            "phase": self.phase,
            "message": self.message,
            "remediation": self.remediation,
            "retryable": self.retryable,
        }
