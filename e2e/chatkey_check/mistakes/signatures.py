"""Explains a wrong signature by trying the usual mistakes."""

from __future__ import annotations

import base64
import codecs
import hashlib
import hmac
import html
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple
from urllib.parse import quote, quote_plus, unquote

from chatkey_check import reading
from chatkey_check.mistakes.answers import Wrong

READ_AGAIN: Final = "Check the setting: the variable is missing, or has another name where the backend runs."
AS_TEXT: Final = "Use the UTF-8 bytes of secret_key exactly as you were given it, without decoding or encoding it."
ELSEWHERE: Final = "Use the current secret_key of this environment. The token was signed with another secret."
CLEAN: Final = "Remove what the file or the shell added to the secret."
SIGN_SEGMENTS: Final = "Sign the two segments exactly as they are sent, or let your JWT library do it."
UNMASK: Final = "Read the value itself, for example with get_secret_value()."
MASKS: Final = range(3, 65)
WORDS: Final = ("undefined", "null", "None", "nil", "NaN", "false", "true", "[object Object]", "[object Promise]")
DEFAULTS: Final = (
    "secret",
    "your-256-bit-secret",
    "your-secret-key",
    "changeme",
    "change-me",
    "change_me",
    "secret_key",
    "CHAT_SECRET",
    "CHAT_SECRET_KEY",
    "SECRET_KEY",
    "${CHAT_SECRET}",
    "$CHAT_SECRET",
    "%CHAT_SECRET%",
    "process.env.CHAT_SECRET",
    "your-secret",
    "a-string-secret-at-least-256-bits-long",
    "password",
    "test",
    "secretkey",
    "mysecret",
    "jwt-secret",
    "jwt_secret",
    "JWT_SECRET",
    "keyboard cat",
    "shhhhh",
    "dev",
    "[REDACTED]",
    "SecretStr('**********')",
)
DIGESTS: Final = {32: "SHA-256", 48: "SHA-384", 64: "SHA-512", 20: "SHA-1"}


class Key(NamedTuple):
    """A key that may have been used by mistake. `cause` completes the sentence "signed with …"."""

    cause: str
    key: bytes
    hint: str


def explained(
    token: str, compact: reading.Compact, secret: str, provider_id: str | None, others: Mapping[str, str]
) -> Wrong | None:
    """Return the mistake that explains this signature. If no mistake does, return a hint from its length, or None."""
    known = _signed_with(keys(secret, provider_id, others), compact)
    known = known or _signed_otherwise(token, compact, secret.encode())
    return known or (of_wrong_length(compact) if len(compact.signature) != reading.SHA256_BYTES else None)


def public(compact: reading.Compact, provider_id: str | None) -> Wrong | None:
    """Return the publicly known key that signed the token, or None. This works without the secret."""
    return _signed_with(public_keys(provider_id), compact)


def of_wrong_length(compact: reading.Compact) -> Wrong:
    """Return what the wrong length of an HS256 signature reveals."""
    length = len(compact.signature)
    text = reading.encoded(compact.signature)
    if len(text) == 64 and all(char in "0123456789abcdefABCDEF" for char in text):
        return Wrong(
            "The signature is the hex form of the HMAC.", "Encode the HMAC's bytes with base64url, not as hex."
        )
    if length == 64 and _is_hex(compact.signature):
        return Wrong(
            "The signature is the hex form of the HMAC.", "Encode the HMAC's bytes with base64url, not its hex form."
        )
    if length in DIGESTS:
        return Wrong(
            f"The signature has {length} bytes, which is the length for {DIGESTS[length]}; HS256 gives 32.",
            "Sign with HMAC-SHA256, as the header says.",
        )
    kind = (
        "The signature looks like RSA or ECDSA."
        if length in {128, 256, 384, 512, 96, 132} or 68 <= length <= 72
        else ""
    )
    return Wrong(f"The signature has {length} bytes; HS256 gives 32. {kind}".rstrip(), SIGN_SEGMENTS)


def keys(secret: str, provider_id: str | None, others: Mapping[str, str]) -> Iterator[Key]:
    """Yield the keys that are used by mistake instead of the secret."""
    for name, other in others.items():
        yield Key(f"the secret of {name}", other.encode(), ELSEWHERE)
    yield from public_keys(provider_id)
    for cause, text in _around(secret):
        yield Key(f"the secret {cause}", text.encode(), CLEAN)
    for cause, changed in _changed(secret):
        yield Key(f"the secret {cause}", changed.encode(), AS_TEXT)
    for cause, raw in _as_bytes(secret):
        yield Key(f"the secret {cause}", raw, AS_TEXT)


def public_keys(provider_id: str | None) -> Iterator[Key]:
    """Yield the publicly known texts that are used as a key by mistake."""
    yield Key("an empty secret", b"", READ_AGAIN)
    for word in WORDS:
        yield Key(f"the word {word!r}", word.encode(), READ_AGAIN)
    for name in DEFAULTS:
        yield Key(f"the placeholder {name!r}", name.encode(), READ_AGAIN)
    for count in MASKS:
        yield Key("the asterisks that a settings class shows instead of a secret", b"*" * count, UNMASK)
    if provider_id:
        yield Key("the provider id", provider_id.encode(), "Sign with secret_key: the provider id is public.")


def _signed_with(candidates: Iterator[Key], compact: reading.Compact) -> Wrong | None:
    for made in candidates:
        if hmac.compare_digest(compact.signature, reading.hs256(made.key, compact.signed)):
            return Wrong(f"The token is signed with {made.cause}.", made.hint)
    return None


def _around(secret: str) -> Iterator[tuple[str, str]]:
    bare = secret.strip()
    yield "followed by a newline", f"{secret}\n"
    yield "followed by a Windows line end", f"{secret}\r\n"
    yield "followed by a carriage return", f"{secret}\r"
    yield "followed by two newlines", f"{secret}\n\n"
    yield r"followed by a literal \n (a backslash and an n)", rf"{secret}\n"
    yield "in double quotes, followed by a newline", f'"{secret}"\n'
    yield "in typographic quotes", f"\u201c{secret}\u201d"
    yield "followed by a space", f"{secret} "
    yield "preceded by a space", f" {secret}"
    yield "followed by a zero byte", f"{secret}\0"
    yield "followed by a semicolon", f"{secret};"
    yield "followed by a comma", f"{secret},"
    yield "in double quotes", f'"{secret}"'
    yield "in single quotes", f"'{secret}'"
    yield "in backticks", f"`{secret}`"
    yield "in angle brackets", f"<{secret}>"
    yield "preceded by a byte order mark", f"\ufeff{secret}"
    yield "written as Python's repr of bytes", f"b'{secret}'"
    yield "preceded by an equals sign", f"={secret}"
    yield "preceded by a newline", f"\n{secret}"
    yield "preceded by a tab", f"\t{secret}"
    yield "followed by a tab", f"{secret}\t"
    yield "followed by a non-breaking space", f"{secret}\u00a0"
    yield "preceded by a zero-width space", f"\u200b{secret}"
    yield "followed by a zero-width space", f"{secret}\u200b"
    yield "in brackets and quotes, like a list", f"['{secret}']"
    yield "in brackets and quotes, like a list", f'["{secret}"]'
    yield "wrapped in Optional[…]", f"Optional[{secret}]"
    for name in ("CHAT_SECRET", "CHAT_SECRET_KEY", "SECRET_KEY", "secret_key", "secret"):
        yield f"preceded by its name, {name}=", f"{name}={secret}"
        yield f"inside a JSON object, {{{name!r}: …}}", json.dumps({name: secret})
        yield f"inside a JSON object, {{{name!r}: …}}", json.dumps({name: secret}, separators=(",", ":"))
    if bare != secret:
        yield "without the white space around it", bare
    if bare.strip("\"'") != bare:
        yield "without the quotes around it", bare.strip("\"'")


def _changed(secret: str) -> Iterator[tuple[str, str]]:
    raw = secret.encode()
    once = quote(secret, safe="")
    padded = base64.b64encode(raw).decode()
    yield "in lower case", secret.lower()
    yield "in upper case", secret.upper()
    yield "without its `=`", secret.rstrip("=")
    yield "padded with `=`", secret + "=" * (-len(secret) % 4)
    yield "encoded as base64", padded
    yield "encoded as base64 without padding", padded.rstrip("=")
    yield "encoded as base64url", base64.urlsafe_b64encode(raw).decode()
    yield "encoded as base64url without padding", reading.encoded(raw)
    yield "encoded as base64 twice", base64.b64encode(padded.encode()).decode()
    yield "followed by a newline, encoded as base64", base64.b64encode(raw + b"\n").decode()
    yield "with en dashes instead of hyphens", secret.replace("-", "\u2013")
    yield "encoded as hex", raw.hex()
    yield "encoded as hex in capitals", raw.hex().upper()
    yield "URL-encoded", once
    yield "URL-encoded twice", quote(once, safe="")
    yield "URL-encoded as in a form", quote_plus(secret)
    yield "URL-decoded", unquote(secret)
    yield "HTML-escaped", html.escape(secret)
    yield "HTML-unescaped", html.unescape(secret)
    yield "escaped as JSON", json.dumps(secret)[1:-1]
    yield "with + and / instead of - and _", secret.translate(reading.TO_BASE64)
    yield "with - and _ instead of + and /", secret.translate(str.maketrans("+/", "-_"))
    yield "hashed with SHA-256, as hex", hashlib.sha256(raw).hexdigest()
    yield "hashed with SHA-512, as hex", hashlib.sha512(raw).hexdigest()
    yield "hashed with SHA-1, as hex", hashlib.sha1(raw, usedforsecurity=False).hexdigest()
    yield "hashed with SHA-256, as base64", base64.b64encode(hashlib.sha256(raw).digest()).decode()
    yield "repeated", secret * 2
    yield "written as a list of bytes", f"[{' '.join(map(str, raw))}]"
    yield "hashed with MD5, as hex", hashlib.md5(raw, usedforsecurity=False).hexdigest()
    yield "cut off before its first $", secret.partition("$")[0]
    yield "cut off before its first #", secret.partition("#")[0]
    yield "without its last character", secret[:-1]
    yield "without its first character", secret[1:]
    for size in (16, 24, 32, 64, 72, 128, 255):
        yield f"cut to {size} characters", secret[:size]
    for end in (place for place, char in enumerate(secret) if char == "_"):
        yield "without its prefix", secret[end + 1 :]
    yield "hashed with SHA-256, as base64url", reading.encoded(hashlib.sha256(raw).digest())
    yield "written as numbers with commas", ",".join(map(str, raw))
    yield "written as numbers with commas, in brackets", str(list(raw))
    yield "written as a Node.js Buffer turned into JSON", _buffer(raw)
    for old, new, how in (("O", "0", "zeros instead of the letter O"), ("l", "I", "a capital I instead of l")):
        yield f"with {how}", secret.replace(old, new)


def _as_bytes(secret: str) -> Iterator[tuple[str, bytes]]:
    raw = secret.encode()
    yield "as UTF-16", secret.encode("utf-16-le")
    yield "as big-endian UTF-16", secret.encode("utf-16-be")
    yield "as UTF-16 with a byte order mark", codecs.BOM_UTF16_LE + secret.encode("utf-16-le")
    yield "as big-endian UTF-16 with a byte order mark", codecs.BOM_UTF16_BE + secret.encode("utf-16-be")
    yield "as UTF-32", secret.encode("utf-32-le")
    yield "as Latin-1", secret.encode("latin-1", "replace")
    yield "hashed with SHA-256", hashlib.sha256(raw).digest()
    yield "hashed with SHA-512", hashlib.sha512(raw).digest()
    yield "hashed with MD5", hashlib.md5(raw, usedforsecurity=False).digest()
    yield "reversed", raw[::-1]
    for name, decode in DECODERS.items():
        try:
            plain = decode(secret.strip())
        except ValueError:  # the secret is not valid in this encoding
            continue
        yield f"decoded from {name}", plain


def _unpadded(text: str) -> str:
    return text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)


DECODERS: Final[Mapping[str, Callable[[str], bytes]]] = {
    "base64": lambda text: base64.b64decode(_unpadded(text), validate=True),
    "base64url": lambda text: base64.b64decode(_unpadded(text.translate(reading.TO_BASE64)), validate=True),
    "base64, without the characters that are not base64": lambda text: base64.b64decode(_unpadded(text)),
    "base64 by a lenient decoder": lambda text: base64.b64decode(_loosely(text)),
    "hex": bytes.fromhex,
    "base32": lambda text: base64.b32decode(text.upper() + "=" * (-len(text) % 8)),
    "hex, without its prefix": lambda text: bytes.fromhex(text.rpartition("_")[2]),
    "base64, without its prefix": lambda text: base64.b64decode(_loosely(text.rpartition("_")[2])),
}


def _loosely(text: str) -> str:
    """Correct the padding and the alphabet of a base64 text. Node reads base64 in the same tolerant way."""
    bare = text.translate(reading.TO_BASE64).rstrip("=")
    bare = bare[:-1] if len(bare) % 4 == 1 else bare
    return bare + "=" * (-len(bare) % 4)


def _signed_otherwise(token: str, compact: reading.Compact, secret: bytes) -> Wrong | None:
    """Try the right secret with other signed bytes, other digests, and other encodings of the signature."""
    header, payload = token.split(".")[:2]
    inputs = (
        ("the decoded header and payload", compact.header + b"." + compact.payload),
        ("the payload alone", payload.encode()),
        ("the header alone", header.encode()),
        ("the decoded payload", compact.payload),
        ("both segments without the dot between them", (header + payload).encode()),
        ("both segments followed by a dot", f"{header}.{payload}.".encode()),
        ("padded segments", f"{_padded(header)}.{_padded(payload)}".encode()),
        ("segments in the standard base64 alphabet", _standard(f"{header}.{payload}").encode()),
        (
            "padded segments in the standard base64 alphabet",
            _standard(f"{_padded(header)}.{_padded(payload)}").encode(),
        ),
        ("payload and header in the wrong order", f"{payload}.{header}".encode()),
        ("both segments followed by a newline", compact.signed + b"\n"),
        *(("the claims in other JSON than the token has", other) for other in _rewritten(header, compact.payload)),
    )
    for what, signed in inputs:
        if hmac.compare_digest(compact.signature, reading.hs256(secret, signed)):
            return Wrong(f"The secret is right, but the wrong bytes were signed: {what}.", SIGN_SEGMENTS)
    for what, signature in _other_signatures(compact, secret):
        if hmac.compare_digest(compact.signature, signature):
            return Wrong(f"The secret is right, but the signature is {what}.", SIGN_SEGMENTS)
    return None


def _rewritten(header: str, payload: bytes) -> Iterator[bytes]:
    """Yield what would be signed if the same claims were written by another JSON library."""
    try:
        claims = json.loads(payload)
    except (ValueError, RecursionError):
        return
    for separators in ((",", ":"), (", ", ": ")):
        for ascii_only in (True, False):
            text = json.dumps(claims, separators=separators, ensure_ascii=ascii_only)
            for written in (text, text.replace("/", "\\/")):
                yield f"{header}.{reading.encoded(written.encode(errors='replace'))}".encode()


def _other_signatures(compact: reading.Compact, secret: bytes) -> Iterator[tuple[str, bytes]]:
    right = reading.hs256(secret, compact.signed)
    yield "the HMAC's hex form, encoded again", right.hex().encode()
    yield "the HMAC's hex form, not encoded again", _decoded_hex(right.hex())
    yield "the HMAC's hex form in capitals", right.hex().upper().encode()
    yield "the HMAC's base64 form, encoded again", base64.b64encode(right)
    yield "the HMAC's base64url form, encoded again", reading.encoded(right).encode()
    for name in ("sha1", "sha384", "sha512", "md5", "sha3_256"):
        yield f"an HMAC with {name.upper()}", hmac.digest(secret, compact.signed, name)
    yield "a plain SHA-256 of secret and segments", hashlib.sha256(secret + compact.signed).digest()
    yield "a plain SHA-256 of segments and secret", hashlib.sha256(compact.signed + secret).digest()
    yield "a plain SHA-256 of the segments, without the secret", hashlib.sha256(compact.signed).digest()
    yield "an HMAC with secret and segments in the wrong order", reading.hs256(compact.signed, secret)
    yield "cut in half", right[:16]


def _buffer(raw: bytes) -> str:
    return json.dumps({"type": "Buffer", "data": list(raw)}, separators=(",", ":"))


def _decoded_hex(text: str) -> bytes:
    """Return the bytes that result if hex digits are decoded as base64url."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _is_hex(raw: bytes) -> bool:
    return all(octet in b"0123456789abcdefABCDEF" for octet in raw)


def _padded(segment: str) -> str:
    return segment + "=" * (-len(segment) % 4)


def _standard(text: str) -> str:
    return text.translate(reading.TO_BASE64)
