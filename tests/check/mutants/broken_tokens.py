"""Endpoints with faults in the format, algorithm, signature, header or payload of their tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.check.mutants.mutant_backend import (
    BROKEN,
    PROVIDER,
    Backend,
    Claims,
    b64,
    compact,
    hs256,
    register,
    with_claims,
    with_key,
)

broken = register(BROKEN)
TWICE = b'{"alg":"none","alg":"HS256"}'
OTHER_ENVIRONMENT = "sk_staging-9fQ2mZ7xLw4RkT8vYb1NcHs6"


def with_token(name: str, change: Callable[[str], Any]) -> None:
    class Changed(Backend):
        def signed(self, header: Claims, claims: Claims) -> Any:
            return change(super().signed(header, claims))

    broken(name)(Changed)


def with_header(name: str, **members: Any) -> None:
    """Register a backend that sets these members of the token's header. The value None removes a member."""

    class Changed(Backend):
        def header(self) -> Claims:
            made = {**super().header(), **members}
            return {name: value for name, value in made.items() if value is not None}

    broken(name)(Changed)


def with_payload(name: str, write: Callable[[Claims], bytes]) -> None:
    """Register a backend that serialises the claims with `write`."""

    class Changed(Backend):
        def payload(self, claims: Claims) -> bytes:
            return write(claims)

    broken(name)(Changed)


def with_signature(name: str, sign: Callable[[bytes, str], str]) -> None:
    """Register a backend that signs with `sign`, which gets the key and the first two segments."""

    class Changed(Backend):
        def signature(self, segments: str) -> str:
            return sign(self.key(), segments)

    broken(name)(Changed)


def padded(text: str) -> str:
    return text + "=" * (-len(text) % 4)


def standard(token: str) -> str:
    """Return a token in the standard base64 alphabet that contains at least one `+` or `/`."""
    return token.translate(str.maketrans("-_", "+/")) if set("-_") & set(token) else f"+{token[1:]}"


# form

with_token("bearer-prefix", lambda token: f"Bearer {token}")
with_token("newline", lambda token: f"{token}\n")
with_token("leading-space", lambda token: f" {token}")
with_token("std-b64", standard)
with_token("quoted", json.dumps)
with_token("python-bytes", lambda token: str(token.encode()))
with_token("url-encoded", lambda token: quote(token, safe="").replace(".", "%2E") + "%2B")
with_token("token-number", lambda token: 42)
with_token("token-true", lambda token: True)
with_token("token-object", lambda token: {"value": token})
with_token("token-list", lambda token: [token])
with_token("token-empty", lambda token: "")
with_token("token-always-null", lambda token: None)
with_token("token-undefined", lambda token: "undefined")
with_token("token-promise", lambda token: "[object Promise]")
with_token("two-parts", lambda token: token.rpartition(".")[0])
with_token("no-signature", lambda token: f"{token.rpartition('.')[0]}.")
with_token("encrypted", lambda token: f"{token}.{b64(b'x' * 16)}.{b64(b'y' * 16)}")
with_token("trailing-dot", lambda token: f"{token}.")
with_token("opaque", lambda token: hashlib.sha256(token.encode()).hexdigest())
with_token(
    "json-serialised",
    lambda token: json.dumps(dict(zip(("protected", "payload", "signature"), token.split("."), strict=True))),
)


@broken("padded")
class Padded(Backend):
    def payload(self, claims: Claims) -> bytes:
        raw = super().payload(claims)
        return raw + b" " * (1 if len(raw) % 3 == 0 else 0)

    def signed(self, header: Claims, claims: Claims) -> Any:
        return ".".join(padded(part) for part in super().signed(header, claims).split("."))


@broken("loose-bits")
class LooseBits(Backend):
    """Changes unused bits of the signature.

    The last character of a 32-byte signature has four significant bits and two unused bits, so the changed character
    decodes to the same bytes.
    """

    def signature(self, segments: str) -> str:
        made = super().signature(segments)
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        return made[:-1] + alphabet[alphabet.index(made[-1]) + 1]


# algorithm


@broken("alg-hs512")
class AlgHs512(Backend):
    def header(self) -> Claims:
        return {"alg": "HS512", "typ": "JWT"}

    def signature(self, segments: str) -> str:
        return b64(hmac.new(self.key(), segments.encode(), hashlib.sha512).digest())


@broken("alg-none")
class AlgNone(Backend):
    def header(self) -> Claims:
        return {"alg": "none", "typ": "JWT"}

    def signature(self, segments: str) -> str:
        return ""


@broken("alg-rs256")
class AlgRs256(Backend):
    def header(self) -> Claims:
        return {"alg": "RS256", "typ": "JWT"}

    def signature(self, segments: str) -> str:
        return b64(b"\x5a" * 256)


with_header("alg-lower", alg="hs256")
with_header("alg-missing", alg=None)
with_header("alg-array", alg=["HS256"])
with_header("typ-dpop", typ="dpop+jwt")
with_header("typ-number", typ=1)
with_header("header-crit", crit=["exp"])
with_header("header-zip", zip="DEF")
with_header("header-b64", b64=False)
with_header("header-jwk", jwk={"kty": "oct", "k": "AAAA"})
with_header("header-jku", jku="https://shop.example/keys.json")


@broken("header-twice")
class HeaderTwice(Backend):
    def signed(self, header: Claims, claims: Claims) -> Any:
        segments = f"{b64(TWICE)}.{b64(self.payload(claims))}"
        return f"{segments}.{self.signature(segments)}"


@broken("header-text")
class HeaderText(Backend):
    def signed(self, header: Claims, claims: Claims) -> Any:
        segments = f"{b64(b'HS256')}.{b64(self.payload(claims))}"
        return f"{segments}.{self.signature(segments)}"


# signature: the key

with_key(BROKEN, "key-b64-decoded", base64.b64decode)
with_key(BROKEN, "key-newline", lambda secret: f"{secret}\n".encode())
with_key(BROKEN, "key-crlf", lambda secret: f"{secret}\r\n".encode())
with_key(BROKEN, "key-space", lambda secret: f"{secret} ".encode())
with_key(BROKEN, "key-none", lambda secret: b"None")
with_key(BROKEN, "key-undefined", lambda secret: b"undefined")
with_key(BROKEN, "key-empty", lambda secret: b"")
with_key(BROKEN, "key-pid", lambda secret: PROVIDER.encode())
with_key(BROKEN, "key-utf16", lambda secret: secret.encode("utf-16"))
with_key(BROKEN, "key-utf16-le", lambda secret: secret.encode("utf-16-le"))
with_key(BROKEN, "key-unpadded", lambda secret: secret.rstrip("=").encode())
with_key(BROKEN, "key-quoted", lambda secret: f'"{secret}"'.encode())
with_key(BROKEN, "key-single-quoted", lambda secret: f"'{secret}'".encode())
with_key(BROKEN, "key-bom", lambda secret: f"\ufeff{secret}".encode())
with_key(BROKEN, "key-b64-encoded", lambda secret: base64.b64encode(secret.encode()))
with_key(BROKEN, "key-hex-encoded", lambda secret: secret.encode().hex().encode())
with_key(BROKEN, "key-hashed", lambda secret: hashlib.sha256(secret.encode()).digest())
with_key(BROKEN, "key-lower", lambda secret: secret.lower().encode())
with_key(BROKEN, "key-url-encoded", lambda secret: quote(f"{secret}", safe="").replace("_", "%5F").encode())
with_key(BROKEN, "key-placeholder", lambda secret: b"your-256-bit-secret")
with_key(BROKEN, "key-cut", lambda secret: secret[:16].encode())
with_key(BROKEN, "key-other-environment", lambda secret: OTHER_ENVIRONMENT.encode())
with_key(BROKEN, "key-nobody-knows", lambda secret: b"something else altogether")
BROKEN["key-unpadded"].options = {"secret": "c2VjcmV0LXdpdGgtcGFkZGluZy1vZi10aGlydHktdHdvLWI="}
BROKEN["key-b64-decoded"].options = {"secret": "c2VjcmV0LXdpdGgtcGFkZGluZy1vZi10aGlydHktdHdvLWI="}
BROKEN["key-url-encoded"].options = {"secret": "sk/5vJ0nQe+8yRwX2=dLkT7uB4mHsA9pZcG"}
BROKEN["key-other-environment"].options = {"other_secrets": {"STAGING_SECRET": OTHER_ENVIRONMENT}}

# signature: the signed bytes and the encoding

with_signature("hex-sig", lambda key, segments: hs256(key, segments.encode()).hex())
with_signature("hex-sig-encoded", lambda key, segments: b64(hs256(key, segments.encode()).hex().encode()))
with_signature("b64-sig-encoded", lambda key, segments: b64(base64.b64encode(hs256(key, segments.encode()))))
with_signature("sha512-sig", lambda key, segments: b64(hmac.new(key, segments.encode(), hashlib.sha512).digest()))
with_signature("sha1-sig", lambda key, segments: b64(hmac.new(key, segments.encode(), hashlib.sha1).digest()))
with_signature("plain-hash", lambda key, segments: b64(hashlib.sha256(segments.encode() + key).digest()))
with_signature("signs-payload", lambda key, segments: b64(hs256(key, segments.partition(".")[2].encode())))
with_signature("signs-no-dot", lambda key, segments: b64(hs256(key, segments.replace(".", "").encode())))
with_signature("key-and-text-swapped", lambda key, segments: b64(hs256(segments.encode(), key)))
with_signature("half-signature", lambda key, segments: b64(hs256(key, segments.encode())[:16]))
with_signature(
    "signs-padded", lambda key, segments: b64(hs256(key, ".".join(map(padded, segments.split("."))).encode()))
)

# payload

with_payload("dup-claim", lambda claims: b'{"uid":"u-9",' + compact(claims)[1:])
with_payload("dup-nested", lambda claims: compact(claims)[:-1] + b',"x":{"a":1,"a":2}}')
with_payload("payload-bom", lambda claims: b"\xef\xbb\xbf" + compact(claims))
with_payload("payload-utf16", lambda claims: compact(claims).decode().encode("utf-16-le"))
with_payload("payload-string", lambda claims: compact(compact(claims).decode()))
with_payload("payload-list", lambda claims: compact([claims]))
with_payload("payload-nan", lambda claims: compact({**claims, "score": float("nan")}))
with_payload("payload-latin1", lambda claims: compact({**claims, "name": "Tomás"}).decode().encode("latin-1"))
with_payload("payload-php", lambda claims: b'a:1:{s:3:"uid";s:6:"u-1001";}')


@broken("nested-token")
class NestedToken(Backend):
    def payload(self, claims: Claims) -> bytes:
        inner = f"{b64(compact(self.header()))}.{b64(compact(claims))}"
        return f"{inner}.{self.signature(inner)}".encode()


with_claims(BROKEN, "large", lambda claims: {**claims, "roles": ["role-" + "x" * 30] * 100})
with_claims(BROKEN, "huge", lambda claims: {**claims, "picture": "x" * 9000})


with_key(BROKEN, "key-without-prefix", lambda secret: secret.removeprefix("sk_").encode())
with_key(BROKEN, "key-literal-newline", lambda secret: rf"{secret}\n".encode())
with_key(BROKEN, "key-masked-in-full", lambda secret: b"*" * len(secret))
with_key(BROKEN, "key-numbers", lambda secret: ",".join(map(str, secret.encode())).encode())


@broken("signs-other-json")
class SignsOtherJson(Backend):
    def signed(self, header: Claims, claims: Claims) -> Any:
        head = b64(compact(header))
        signature = self.signature(f"{head}.{b64(compact(claims))}")
        return f"{head}.{b64(json.dumps(claims).encode())}.{signature}"
