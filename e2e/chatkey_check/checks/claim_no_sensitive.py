"""claim.no-sensitive: the claims contain no passwords, keys or other secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from chatkey_check.calls.shared import Calls
from chatkey_check.calls.token import Token
from chatkey_check.judging.check import check, every_token
from chatkey_check.judging.findings import failed, passed
from chatkey_check.model import LEAKS, Finding, Severity, Where
from chatkey_check.run import Run

WORDS = frozenset(
    {
        "password",
        "passwd",
        "pwd",
        "passphrase",
        "passcode",
        "secret",
        "salt",
        "cvv",
        "cvc",
        "iban",
        "ssn",
    }
)
PAIRS = frozenset(
    {
        ("password", "hash"),
        ("pw", "hash"),
        ("pass", "hash"),
        ("api", "key"),
        ("private", "key"),
        ("secret", "key"),
        ("access", "token"),
        ("refresh", "token"),
        ("remember", "token"),
        ("reset", "token"),
        ("password", "token"),
        ("auth", "token"),
        ("login", "token"),
        ("csrf", "token"),
        ("xsrf", "token"),
        ("id", "token"),
        ("backup", "codes"),
        ("recovery", "codes"),
        ("signing", "key"),
        ("encryption", "key"),
        ("session", "id"),
        ("session", "token"),
        ("card", "number"),
        ("credit", "card"),
        ("account", "number"),
        ("tax", "id"),
    }
)
JOINED = frozenset(
    {*("".join(pair) for pair in PAIRS), "pass", "pin", "userpass", "apikey", "privatekey", "creditcard", "cardnumber"}
)
ABOUT = frozenset(
    {
        *("at", "changed", "set", "expires", "expired", "required", "enabled", "reset", "age", "count", "has"),
        *("type", "strength", "policy"),
    }
)
"""Words that mark a claim as information about a password, such as when it was changed, rather than a password."""
VALUES = (
    (re.compile(r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{20,}|\$argon2|\$(?:5|6|y)\$|\$P\$|\$pbkdf2"), "a password hash"),
    (re.compile(r"(?:pbkdf2|bcrypt|argon2|scrypt)(?:_sha\d+)?[$:]|\{S?SHA\}"), "a password hash"),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY"), "a private key"),
    (re.compile(r"(?<!\d)(?:\d{4}[ -]){3}\d{4}(?!\d)"), "a card number"),
    (
        re.compile(r"(?:sk|rk)_live_\w{10,}|gh[pousr]_\w{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{35}|xox[abprs]-[\w-]{10,}"),
        "an API key",
    ),
    (re.compile(r"\w://[^\s/:@]*:[^\s/@]+@"), "a password in an address"),
    (re.compile(r"^otpauth://", re.IGNORECASE), "the key of a second factor"),
    (
        re.compile(
            r"^https?://\S*(?:reset|magic|login|verify|invite|activat)\S*[/=][\w-]{16,}(?:[/?#&]|$)", re.IGNORECASE
        ),
        "a link that logs in or resets a password",
    ),
    (re.compile(r"^(?:Basic|Bearer) [\w+/=.~-]{8,}$"), "credentials"),
    (re.compile(r"^eyJ[\w-]+\.[\w-]+\.[\w-]*$", re.ASCII), "a token"),
)
OURS = frozenset({"cnf"})


@check(
    "claim.no-sensitive",
    group=LEAKS,
    severity=Severity.MUST,
    sent='a normal call: POST {"jkt": …}, logged in',
    passes="no claim has the name or the form of a password, a hash, a secret, a key or a card number",
    hint="Remove the sensitive value. The payload is encoded but not encrypted, and anyone can read the payload.",
    mistakes=("the whole database row is copied into the claims, with password hash, tokens and keys",),
    mend={
        "Python": 'claims |= {"name": user.name, "email": user.email}',
        "Node.js": "Object.assign(claims, { name: user.name, email: user.email });",
        "PHP": "$claims += ['name' => $user->name, 'email' => $user->email];",
    },
    needs=("jwt.payload",),
)
@every_token
def no_sensitive(run: Run, token: Token) -> Finding:
    """The browser's storage contains the token, and every script of the page can read the storage."""
    for path, value in _leaves(token.claims):
        if isinstance(value, str) and _holds_login(run.calls, value):
            hint = (
                "Remove this claim: anyone who reads the token could take over the session. Use the user's id as uid."
            )
            return failed(
                f"The claim {path!r} contains the session that was sent.", token.answer, hint=hint, where=Where(path)
            )
        what = _sensitive(path.rpartition(".")[2], value)
        if what:
            return failed(f"The claim {path!r} {what}.", token.answer, where=Where(path))
    return passed()


def _holds_login(calls: Calls, value: str) -> bool:
    """Return whether the claim contains a credential that the endpoint needs to recognise the person."""
    told = [secret for secret in calls.member.secrets if secret in value]
    if not told:
        return False
    rest = calls.member.keeping(lambda kept: not any(secret in kept for secret in told))
    return not calls.ask("the login without the credential that is in a claim", rest).minted


def _leaves(claims: dict[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    for name, value in claims.items():
        here = f"{path}{name}"
        if here in OURS:
            continue
        if isinstance(value, dict):
            yield from _leaves(value, f"{here}.")
        elif isinstance(value, list):
            for item in value:
                yield from _leaves(item, f"{here}.") if isinstance(item, dict) else [(here, item)]
        else:
            yield here, value


def _sensitive(name: str, value: object) -> str:
    if value is None or isinstance(value, bool) or value == "":
        return ""
    words = _words(name)
    named = bool(WORDS & set(words)) or any(pair in PAIRS for pair in pairwise(words))
    if (named or "".join(words) in JOINED) and not ABOUT & set(words):
        return "has the name of a secret"
    if isinstance(value, str):
        return next((f"contains {what}" for pattern, what in VALUES if pattern.search(value)), "")
    return ""


def _words(name: str) -> list[str]:
    """Split snake_case, kebab-case and camelCase."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_").replace(".", "_").split("_")
