"""Recognises how the jkt of the call was changed before it was put into the token."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from urllib.parse import quote, unquote

from chatkey_check import reading
from chatkey_check.mistakes.answers import Wrong

UNCHANGED = "Copy it unchanged."


def changed(sent: str, got: str) -> Wrong | None:
    """Return how `sent` was changed into `got`, in words that complete "it is …". None means an unknown change."""
    for what, text in _changes(sent):
        if got == text:
            return Wrong(what, UNCHANGED)
    if got.lower() in {"undefined", "null", "none", "nil", "[object object]"}:
        return Wrong("the text of an unset variable", "Read the member jkt of the request's JSON body.")
    if len(got) >= 8 and sent.startswith(got):
        return Wrong(f"cut to {len(got)} characters", "Make the column or variable long enough: 43 characters.")
    if len(got) >= 8 and sent in got:
        return Wrong("inside a longer text", UNCHANGED)
    return None


def _changes(sent: str) -> Iterator[tuple[str, str]]:
    raw, bytes_ = sent.encode(), reading.decoded(sent)
    for name in ("sha256", "sha1", "md5", "sha512"):
        for what, source in (("the jkt", raw), ("the decoded jkt", bytes_)):
            digest = hashlib.new(name, source, usedforsecurity=False).digest()
            yield f"the {name.upper()} of {what}, as base64url", reading.encoded(digest)
            yield f"the {name.upper()} of {what}, as hex", digest.hex()
            yield f"the {name.upper()} of {what}, as base64", base64.b64encode(digest).decode()
    yield "in lower case", sent.lower()
    yield "in upper case", sent.upper()
    yield "padded with `=`", f"{sent}="
    yield "in the standard base64 alphabet", sent.translate(reading.TO_BASE64)
    yield "in the standard base64 alphabet, padded", sent.translate(reading.TO_BASE64) + "="
    yield "followed by a newline", f"{sent}\n"
    yield "with white space around it", f" {sent}"
    yield "with white space around it", f"{sent} "
    yield "in quotes", f'"{sent}"'
    yield "in quotes", f"'{sent}'"
    yield "written as Python's repr of bytes", f"b'{sent}'"
    yield "URL-encoded", quote(sent, safe="").replace("-", "%2D").replace("_", "%5F")
    yield "URL-decoded", unquote(sent)
    yield "without its - and _", sent.replace("-", "").replace("_", "")
    yield "without its --, as after a filter against SQL injection", sent.replace("--", "")
    yield "without the - and _ at its beginning", sent.lstrip("-_")
    yield "without the - and _ at its end", sent.rstrip("-_")
    yield "without the - and _ at both ends", sent.strip("-_")
    yield "in lower case except for the first letter", sent.capitalize()
    yield "with dashes instead of underscores", sent.replace("_", "-")
    yield "with underscores instead of dashes", sent.replace("-", "_")
    yield "encoded as base64", base64.b64encode(raw).decode()
    yield "encoded as base64url", reading.encoded(raw)
    yield "encoded as hex", raw.hex()
    yield "decoded and written as hex", bytes_.hex()
    yield "decoded and written as hex in capitals", bytes_.hex().upper()
    yield "reversed", sent[::-1]
    yield "the whole JSON body", f'{{"jkt": "{sent}"}}'
    yield "the whole JSON body", f'{{"jkt":"{sent}"}}'
