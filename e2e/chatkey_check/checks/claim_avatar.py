"""claim.avatar: the picture can be displayed."""

from __future__ import annotations

from urllib.parse import urlsplit

from chatkey_check import reading
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import LEAKS, Finding, Severity
from chatkey_check.run import Run

MOST = 2048


@check(
    "claim.avatar",
    group=LEAKS,
    severity=Severity.MUST,
    section="2.4",
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="avatar is absent or an absolute http or https address; https if the page is https",
    hint="Send an absolute http or https address. The chat does not show javascript:, data: and relative addresses.",
    mistakes=(
        "the address is a path without scheme and host",
        "avatar is an empty string instead of absent",
        "the picture itself is sent, as a data: address",
    ),
    mend={
        "Python": 'claims["avatar"] = urljoin("https://shop.example/", user.avatar)',
        "Node.js": 'claims.avatar = new URL(user.avatar, "https://shop.example/").href;',
    },
    needs=("jwt.payload",),
)
@every_token
def avatar(run: Run, token: Token) -> Finding:
    """The picture is loaded on your page and on your agents' screens."""
    value = token.claims.get("avatar")
    if value is None:
        return passed()
    if not isinstance(value, str):
        return failed(f"avatar is {reading.described(value)}, not a string.", token.answer)
    if not value:
        return failed("avatar is an empty string.", token.answer, hint="Leave avatar out if there is no picture.")
    shown = reading.shown(value)
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return failed(f"avatar is not a valid address: {shown}.", token.answer)
    if parts.scheme not in {"http", "https"} or not host:
        what = f"a {parts.scheme}: address" if parts.scheme else "a relative address"
        return failed(f"avatar is {what}: {shown}.", token.answer)
    if parts.scheme == "http" and run.calls.target.page.startswith("https:"):
        return failed(
            f"avatar is http on an https page: {shown}.",
            token.answer,
            hint="Use https: browsers block http pictures on an https page.",
        )
    if any(char.isspace() or char < " " for char in value):
        return failed(f"avatar contains white space: {shown}.", token.answer, hint="Encode spaces as %20.")
    return (
        failed(f"avatar has {len(value)} characters; at most {MOST} are accepted.", token.answer)
        if len(value) > MOST
        else passed()
    )
