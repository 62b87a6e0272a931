"""Writes docs/codes.md: every error code, its source, and its meaning for integrators and for visitors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from chatkey_protocol.codes import Close, Code
from chatkey_server.identity.errors import MEANINGS
from chatkey_widget.errors import MEANINGS as WIDGET_MEANINGS
from chatkey_widget.errors import Fault, Phase, WidgetError
from chatkey_widget.texts import LANGUAGES

ENGLISH: Final = LANGUAGES["en"]

START_CODES: Final = {
    "insecure_context": ("The page was loaded over plain http.", "Serve it over https, or from localhost.", False),
    "csp_blocked": (
        "The page's Content-Security-Policy blocks WebAssembly, the service, or a file of the widget.",
        "Add the source that the message names to the directive.",
        False,
    ),
    "local_network_blocked": (
        "The service is on this computer or in the local network, and the browser keeps the page from it.",
        "If the service runs, allow the page to access the local network in the browser's site settings.",
        True,
    ),
    "browser_unsupported": (
        "The browser has no WebAssembly, or is too old for the widget's Python. The person sees one sentence.",
        "Use a browser of 2023 or later. In iOS, Lockdown Mode switches WebAssembly off.",
        False,
    ),
    "boot_failed": (
        "The widget could not be started, or has not started after 30 seconds.",
        "Check that all its files are loaded completely and with the right content types.",
        True,
    ),
    "already_initialized": (
        "`initService()` was called for another provider.",
        "Call `Service.shutdown()` first.",
        False,
    ),
    "shutdown": ("`shutdown()` was called before the widget was `ready`.", "Call `initService()` again.", False),
}
"""Codes of `sdk.js` itself, before there is a widget: cause, remedy, and whether the script tries again."""

CAUSES: Final[dict[Fault, str]] = {
    Fault.CONFIG_INVALID: "`ServiceConfig` lacks its `providerId`, or has a member of the wrong type.",
    Fault.KEY_UNAVAILABLE: "The browser cannot create a key: `crypto.subtle` is missing.",
    Fault.KEY_TIMEOUT: "The browser has not created, stored or exported a key within 15 seconds.",
    Fault.CONFIGURATION_UNREACHABLE: "The configuration endpoint does not answer, or its response is invalid.",
    Fault.TOKEN_UNREACHABLE: "A token endpoint of the service does not answer, or its response is invalid.",
    Fault.TOKEN_WRONG_TYPE: "`getToken` returned something that is neither a string nor null.",
    Fault.TOKEN_EMPTY: "`getToken` returned an empty string.",
    Fault.GETTOKEN_FAILED: "`getToken` threw, or its promise was rejected; the message quotes the reason.",
    Fault.GETTOKEN_TIMEOUT: "`getToken` did not settle within 10 seconds.",
    Fault.SOCKET_UNREACHABLE: "The socket could not be opened, or broke, three times in a row.",
    Fault.SOCKET_REFUSED: "The server closed the socket without giving a reason.",
    Fault.FRAME_UNREADABLE: "The server sent something that the widget cannot read.",
    Fault.MESSAGE_REFUSED: "The server refused a message, a search or a call.",
    Fault.MICROPHONE_DENIED: "The person or the system refused the microphone for a call.",
    Fault.MICROPHONE_DISMISSED: "The person closed the browser's question about the microphone.",
    Fault.MICROPHONE_MISSING: "The device has no microphone.",
    Fault.MICROPHONE_BUSY: "The microphone did not start, for example because another program uses it.",
    Fault.MICROPHONE_LOST: "The microphone was taken away during a call.",
    Fault.MICROPHONE_UNAVAILABLE: "The page may not use a microphone: no https, or a Permissions-Policy forbids it.",
    Fault.CALL_UNCONNECTED: "The sound of a call did not connect within 15 seconds, or was away for 20 seconds.",
    Fault.CALL_LOCAL_NETWORK: (
        "The sound of a call did not connect, and the browser had dropped an address of the other side in the local "
        "network."
    ),
    Fault.CALL_UNSAFE: "The fingerprint in the agent's offer is not the one that the service vouches for.",
    Fault.MESSAGE_DROPPED: "A member logged out or was refused before the service had acknowledged their message.",
    Fault.POPUP_BLOCKED: "The browser opened no popup.",
    Fault.POPUP_UNSUPPORTED: "The browser cannot open popups or store a key: it is built into an app.",
    Fault.POPUP_CLOSED: "The popup was closed before it reported a result.",
    Fault.POPUP_LOST: "The browser separated the popup from the page (`Cross-Origin-Opener-Policy`).",
    Fault.WIDGET_FAILED: "The widget has a bug.",
}
"""Causes of the widget's own codes. Codes that it shares with the server have the server's causes."""

DISAGREEMENT: Final = "Report this: widget and service disagree."
TRIED: Final = "Nothing to do."
"""The remedy for retryable server codes that have no other help and that no page can cause."""

OAUTH: Final = ("oauth_", "social_", "state_")


Row = tuple[str, str, str, str, str, str, str]
"""Code, sources, phase, cause, remedy, whether the widget tries again, and the text that the person reads."""

INTRODUCTION: Final = """\
Your page gets these errors in the handle's `error` event and in `service:error`, as
`{code, phase, message, remediation, retryable}`; before the widget starts, the script reports them and rejects the
promise `ready`. The person reads the text in [one of three languages](decisions.md#d-12-the-widget).

The service sends the code in `error.code` of an HTTP answer, in an `error` frame on the socket, which closes with the
close code if the error ends the connection, or in `error.code` of the message to the opener. `error.message` names the
wrong member.

"""


def page(note: str) -> str:
    entries = "\n".join(_entry(row) for row in rows())
    closes = "\n".join(f"- {close.value}: {close.name.lower().replace('_', ' ')}" for close in Close)
    end = "Next: [common mistakes](common-mistakes.md), or [the socket](socket.md#refusals).\n"
    return f"# Codes\n\n{INTRODUCTION}{note}{entries}\n## Close codes\n\n{closes}\n\n{end}"


def _entry(row: Row) -> str:
    """Return the entry of one code: cause and remedy, and below them where the code appears."""
    code, of, phase, cause, remedy, again, notice = row
    facts = [f"From: {of}", f"phase: `{phase}`", f"retried: {again}"]
    if code in set(Code):
        facts += [f"status {MEANINGS[Code(code)].status}", f"close code {MEANINGS[Code(code)].close.value}"]
    told = f"\nThe person reads: “{notice}”\n" if notice else ""
    return f"## {code}\n\n{cause} {remedy}\n\n{' · '.join(facts)}\n{told}"


def rows() -> Iterator[Row]:
    """Yield the facts of every code, in alphabetical order."""
    for code in every_code():
        yield code, ", ".join(_tellers(code)), _phase(code), _cause(code), *_rest(code)


def every_code() -> list[str]:
    """Return every code that a page can receive from the script, the widget or the server."""
    return sorted({*START_CODES, *map(str, WIDGET_MEANINGS), *map(str, Code)})


def _tellers(code: str) -> Iterator[str]:
    known = {"script": set(START_CODES), "widget": set(map(str, Fault)), "server": set(map(str, Code))}
    return (teller for teller, codes in known.items() if code in codes)


def _phase(code: str) -> Phase:
    if code not in WIDGET_MEANINGS and code in START_CODES:
        return "start"
    return _error(code).phase


def _cause(code: str) -> str:
    if code in START_CODES:
        return START_CODES[code][0]
    return CAUSES[Fault(code)] if code not in set(Code) else _helped(Code(code))[0]


def _rest(code: str) -> tuple[str, str, str]:
    """Return the remedy, whether the widget tries again, and the text that the person reads."""
    if code in WIDGET_MEANINGS:
        error = _error(code)
        notice = ENGLISH.notices[error.said] if error.said else ""
        return error.remediation, "yes" if error.retryable else "no", notice
    if code in START_CODES:
        _, remedy, again = START_CODES[code]
        return remedy, "yes" if again else "no", ""
    again = MEANINGS[Code(code)].retryable
    notice = ENGLISH.notices["sign_in_again"] if _phase(code) == "oauth" else ""
    return _helped(Code(code))[1] or (TRIED if again else DISAGREEMENT), "yes" if again else "no", notice


def _helped(code: Code) -> tuple[str, str]:
    """Return the two halves of the server's help text: the cause, and the remedy if there is one."""
    cause, _, remedy = MEANINGS[code].help.rstrip(".").partition("; ")
    return f"{cause}.", f"{remedy[:1].upper()}{remedy[1:]}." if remedy else ""


def _error(code: str) -> WidgetError:
    if code in WIDGET_MEANINGS:
        return WidgetError(code, "")
    if code == Code.TOKEN_REVOKED:
        return WidgetError(code, "", phase="token")  # a socket gets it only for an erased person
    return WidgetError(code, "", phase="oauth" if code.startswith(OAUTH) else "socket")
