"""Sessions that are kept in the cookie, in the forms of several frameworks: signed, and read without verification."""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import hmac
import json
import zlib
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote, unquote

from tests.check.mutants.mutant_backend import BROKEN, PEOPLE, UNUSUAL, Backend, Claims, b64, compact, register
from tests.check.mutants.mutant_server import Request

KEY = b"session key"
BY_UID = {claims["uid"]: claims for claims in PEOPLE.values()}


def unb64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.replace("+", "-").replace("/", "_") + "=" * (-len(text) % 4))


def mac(content: str) -> str:
    return hmac.new(KEY, content.encode(), hashlib.sha1).hexdigest()


class Kind(NamedTuple):
    """How a framework writes a session: the content, and the place of the signature."""

    pack: Callable[[Claims], str]
    unpack: Callable[[str], Claims]
    join: Callable[[str, str], str]
    split: Callable[[str], tuple[str, str]]


def at_end(separator: str) -> tuple[Callable[[str, str], str], Callable[[str], tuple[str, str]]]:
    def split(cookie: str) -> tuple[str, str]:
        content, _, signature = cookie.rpartition(separator)
        return content, signature

    return lambda content, signature: f"{content}{separator}{signature}", split


def in_rails(held: Claims) -> str:
    message = base64.b64encode(compact(held)).decode()
    wrapped = {"_rails": {"message": message, "exp": None, "pur": "cookie._shop_session"}}
    return quote(base64.b64encode(compact(wrapped)).decode(), safe="")


def of_rails(content: str) -> Claims:
    held: Claims = json.loads(unb64(json.loads(unb64(unquote(content)))["_rails"]["message"]))
    return held


def in_django(held: Claims) -> str:
    return f".{b64(zlib.compress(compact(held)))}:1tR4nX"


def in_query(held: Claims) -> str:
    return "&".join(f"{name}={value}" for name, value in held.items())


def of_query(content: str) -> Claims:
    return dict(pair.split("=", 1) for pair in content.split("&"))


def in_gzip(held: Claims) -> str:
    return b64(gzip.compress(compact(held), mtime=0))


KINDS = {
    "rails": Kind(in_rails, of_rails, *at_end("--")),
    "flask": Kind(
        lambda held: f".{b64(zlib.compress(compact(held)))}.ZzZzZz",
        lambda content: json.loads(zlib.decompress(unb64(content.split(".")[1]))),
        *at_end("."),
    ),
    "django": Kind(
        in_django, lambda content: json.loads(zlib.decompress(unb64(content[1:].rpartition(":")[0]))), *at_end(":")
    ),
    "tornado": Kind(
        lambda held: f"2|1:0|10:1700000000|4:user|8:{base64.b64encode(held['uid'].encode()).decode()}",
        lambda content: {"uid": unb64(content.rpartition(":")[2]).decode()},
        *at_end("|"),
    ),
    "express": Kind(
        lambda held: f"s%3Aj%3A{quote(compact(held).decode(), safe='')}",
        lambda content: json.loads(unquote(content)[4:]),
        *at_end("."),
    ),
    "play": Kind(
        in_query,
        of_query,
        lambda content, signature: f"{signature}-{content}",
        lambda cookie: (cookie.partition("-")[2], cookie.partition("-")[0]),
    ),
    "gzip": Kind(in_gzip, lambda content: json.loads(gzip.decompress(unb64(content))), *at_end("~")),
    "hex": Kind(lambda held: compact(held).hex(), lambda content: json.loads(bytes.fromhex(content)), *at_end("!")),
}


class Framed(Backend):
    """Reads the person from the cookie, and verifies its signature with `valid`."""

    kind: ClassVar[Kind]

    def person(self, request: Request, body: Any) -> Claims | None:
        content, signature = self.kind.split(request.cookies.get("sid", ""))
        try:
            held = self.kind.unpack(content) if self.valid(content, signature) else {}
            return dict(BY_UID[held["uid"]])
        except (ValueError, KeyError, IndexError, TypeError, zlib.error, EOFError, OSError, binascii.Error):
            return None

    def valid(self, content: str, signature: str) -> bool:
        return hmac.compare_digest(mac(content), signature)


def frame(name: str, kind: Kind, valid: Callable[[str, str], bool] | None, sign: Callable[[str], str] = mac) -> None:
    """Register a backend whose session has this form. Without `valid`, it is a correct one."""

    def cookie(uid: str, session: str) -> str:
        content = kind.pack({"uid": uid, "session_id": session, "fresh": "1"})
        return f"Cookie: sid={kind.join(content, sign(content))}"

    members: dict[str, Any] = {
        "kind": kind,
        "options": {
            "login": cookie("u-1001", "8f1c2b7ae0d94a3c8f1c2b7ae0d94a3c"),
            "login_b": cookie("u-1002", "0b5d7c93e1f24a6880b5d7c93e1f24a6"),
        },
    }
    if valid is not None:
        members["valid"] = lambda self, content, signature: valid(content, signature)
    register(UNUSUAL if valid is None else BROKEN)(name)(type("Framed", (Framed,), members))


for name, kind in KINDS.items():
    frame(f"Signed{name.capitalize()}", kind, None)
    frame(f"unverified-{name}", kind, lambda _content, _signature: True)


def hashed(content: str) -> str:
    return hashlib.md5(content.encode(), usedforsecurity=False).hexdigest()


PLAIN = Kind(lambda held: held["uid"], lambda content: {"uid": content}, *at_end("."))
frame("hash-instead-of-signature", PLAIN, lambda content, signature: signature == hashed(content), hashed)
frame("signature-may-be-left-out", KINDS["rails"], lambda content, signature: signature in {"", mac(content)})
frame("SignedPlainUid", PLAIN, None)


class NotSigned(Framed):
    """Keeps the person in a cookie that is only encoded."""

    def person(self, request: Request, body: Any) -> Claims | None:
        try:
            return dict(BY_UID[json.loads(self.opened(request.cookies.get("sid", "")))["user"]["id"]])
        except (ValueError, KeyError, TypeError):
            return None

    def opened(self, cookie: str) -> str | bytes:
        return unquote(cookie)


HELD = compact({"user": {"id": "u-1001"}, "theme": "dark"})


@register(BROKEN)("session-is-json")
class SessionIsJson(NotSigned):
    options = {"login": f"Cookie: sid={quote(HELD.decode(), safe='')}", "login_b": None}


@register(BROKEN)("session-is-json-base64")
class SessionIsJsonBase64(NotSigned):
    options = {"login": f"Cookie: sid={b64(HELD)}", "login_b": None}

    def opened(self, cookie: str) -> str | bytes:
        return unb64(cookie)


@register(BROKEN)("bearer-unverified")
class BearerUnverified(Backend):
    """Decodes the JWT in Authorization, and leaves its verification to a gateway that does not exist."""

    def person(self, request: Request, body: Any) -> Claims | None:
        parts = request.headers.get("authorization", "").split(".")
        try:
            return dict(BY_UID[json.loads(unb64(parts[1]))["sub"]])
        except (ValueError, KeyError, IndexError):
            return super().person(request, body)


@register(UNUSUAL)("StickySession")
class StickySession(Backend):
    """Adds the name of the worker to the session, and ignores it, as Tomcat does."""

    options = {"login": "Cookie: sid=s-7f3a9c1e5b8d2046.node-1", "login_b": None}

    def person(self, request: Request, body: Any) -> Claims | None:
        request.headers["cookie"] = f"sid={request.cookies.get('sid', '').partition('.')[0]}"
        return super().person(request, body)


@register(UNUSUAL)("SignatureOfRandomId")
class SignatureOfRandomId(Backend):
    """Ignores the signature of a random session id. That is harmless: nobody can guess the id."""

    options = {
        "login": "Cookie: sid=s%3As-7f3a9c1e5b8d2046.kq3Jx7Rm0Wz5Yb8Nc2Vt; name=Ada",
        "login_b": None,
    }

    def person(self, request: Request, body: Any) -> Claims | None:
        found = unquote(request.cookies.get("sid", "")).removeprefix("s:").partition(".")[0]
        request.headers["cookie"] = f"sid={found}"
        return super().person(request, body)
