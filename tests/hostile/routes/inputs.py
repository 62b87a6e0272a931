"""Hostile values for each part of a request: body, members of the body, path, query and headers."""

from __future__ import annotations

import json
from functools import cache
from typing import Final
from urllib.parse import urlencode

JSON: Final = b"application/json"
FORM: Final = b"application/x-www-form-urlencoded"

_TEXTS: Final = (
    *(b"", b" ", b'"x"', b"null", b"true", b"1", b"[]", b"[[]]", b"[null]", b"{}", b"{", b"{} x", b"\xef\xbb\xbf{}"),
    *("{}".encode("utf-16"), b"\xff", b'{"a":"\xff"}', b'"\\ud800"', b'{"\\ud800":1}', b'{"\\u0000":"\\u0000"}'),
    *(b"[" * 60_000, b"[" * 30_000 + b"]" * 30_000, b'{"a":' * 10_000 + b"1" + b"}" * 10_000),
    *(b"9" * 5000, b'{"a":' + b"9" * 5000 + b"}", b"-0", b"1e999", b"NaN", b'{"a":NaN}', b'{"a":-Infinity}'),
    *(b'{"a":1,"a":2}', b'{"' + b"n" * 60_000 + b'":1}', b'"' + b"x" * 60_000 + b'"'),
)
BODIES: Final[dict[str, tuple[bytes, bytes]]] = {
    **{f"JSON {text[:12]!r} of {len(text)} bytes": (JSON, text) for text in _TEXTS},
    "form of odd letters": (FORM, b"username=%ff&password=%00&%ed%a0%80=%ud800"),
    "form of signs": (FORM, b"&&&===;;;%%%"),
    "form of many members": (FORM, b"a=1&" * 2000),
    "form in another encoding": (FORM + b"; charset=utf-16", "username=a".encode("utf-16")),
    "form in no encoding": (FORM + b"; charset=nonsense", b"username=a"),
    "form without a type": (b"", b"username=a"),
    "JSON in no encoding": (JSON + b"; charset=nonsense", b'{"username":"a"}'),
    "JSON under a long type": (JSON + b";a=b" * 2000, b"{}"),
    "a type of odd letters": (b"\xff/\xfe; =", b"{}"),
    "a type of semicolons": (b";;;", b"{}"),
    "XML": (b"application/xml", b"<!DOCTYPE a SYSTEM 'x'><a/>"),
    "MessagePack": (b"application/x-msgpack", b"\xc1\xff"),
    "multipart without a boundary": (b"multipart/form-data", b"--\r\n\r\nx"),
    "multipart of nothing": (b"multipart/form-data; boundary=b", b""),
    "multipart without an end": (
        b"multipart/form-data; boundary=b",
        b'--b\r\nContent-Disposition: form-data; name="username"\r\n\r\nx',
    ),
    "multipart with broken headers": (b"multipart/form-data; boundary=b", b"--b\r\n: \xff\r\n\0\r\n\r\n--b--\r\n"),
    "multipart with a file": (
        b"multipart/form-data; boundary=b",
        (
            b'--b\r\nContent-Disposition: form-data; name="username"; filename="\0/../x"\r\n'
            b"Content-Type: \xff; charset=nonsense\r\n\r\n\xff\xfe\r\n--b--\r\n"
        ),
    ),
    "multipart in no encoding": (
        b"multipart/form-data; boundary=b; charset=nonsense",
        b'--b\r\nContent-Disposition: form-data; name="username"\r\n\r\n\xff\r\n--b--\r\n',
    ),
    "multipart with a long boundary": (b"multipart/form-data; boundary=" + b"b" * 5000, b"--b\r\n"),
    "multipart with an odd boundary": (b"multipart/form-data; boundary=\xff", b"--\xff\r\n\r\n--\xff--"),
}
VALUES: Final[tuple[object, ...]] = (
    *(None, True, [], {}, [None], {"a": {}}, "", " ", "\0", "a\0b", "\ud800", "x" * 5000, "\U0001f512" * 300, "\u202e"),
    *(-1, 0, 1.5, 1e308, 2**31, 2**63, 10**30, -(10**30), "-1", "1e400", "\u0663", "../..", "'; --", "%s%(x)s{0}\\"),
)


@cache
def member_bodies(honest: bytes) -> list[tuple[bytes, bytes]]:
    """Return variants of a JSON object, as JSON and as a form. In each variant, one or all members are hostile."""
    members: dict[str, object] = json.loads(honest)
    together: list[dict[str, object]] = [dict.fromkeys(members, value) for value in VALUES]
    single = [{**members, name: value} for name in members for value in VALUES]
    return [body for changed in (*together, *single) for body in (_json(changed), _form(changed))]


def _json(members: dict[str, object]) -> tuple[bytes, bytes]:
    return JSON, json.dumps(members).encode()


def _form(members: dict[str, object]) -> tuple[bytes, bytes]:
    texts = {name: str(value) for name, value in members.items()}
    return FORM, urlencode(texts, errors="surrogatepass").encode()


PATHS: Final = (
    *("%00", "a%00b", "%ff", "%ed%a0%80", "%f0%9f%94%92", "..", "%2e%2e", "%2f", "%0d%0aX-Evil:1", "%20", "%25", "a;b"),
    *("-1", "0", "1.5", "nan", "%2B1", "1_0", "%d9%a3", "2147483648", "9223372036854775808", "1" * 31, "a" * 5000),
    "00000000-0000-0000-0000-00000000000g",
)
_QUERY_VALUES: Final = (
    *("", "%00", "%ff", "%ed%a0%80", "-1", "0", "1.5", "nan", "1e999", "%d9%a3", "9223372036854775808", "9" * 5000),
    *("a" * 5000, "null", "true", "%0d%0aX-Evil:1", "'", "%25", "%", "{}", "[]", ",", "a,a", "2100-01-01T00:00:00"),
)
WHOLE_QUERIES: Final = (
    "&&&",
    "=",
    "%00=%00",
    "%ff=%ff",
    "a=1&a=2",
    "&".join(f"p{n}=1" for n in range(2000)),
    "%" * 999,
)


def queries(names: tuple[str, ...]) -> list[str]:
    """Return malformed queries, repetitive queries, and a query for each combination of a name and a hostile value."""
    repeated = [f"{name}=1&{name}=2" for name in names]
    return [*WHOLE_QUERIES, *repeated, *(f"{name}={value}" for name in names for value in _QUERY_VALUES)]


_BAD: Final = b"\xff"
_HEADER_VALUES: Final[dict[bytes, tuple[bytes, ...]]] = {
    b"cookie": (
        *(b"", b";;;===", b"\xff\xfe=\xff", b"a=" + b"b" * 60_000, b"a=b; " * 2000, b"id=x", b"id=\xff"),
        *(b"chatkey_admin=x", b"chatkey_admin=\xff", b"chatkey_agent=x", b"chatkey_agent=\xff", b"chatkey_agent=%00"),
    ),
    b"origin": (b"", b"null", b"http://[", _BAD, b"http://localhost:99999"),
    b"host": (b"", b"[", b"a:b", b"localhost:99999999", _BAD, b"a" * 5000),
    b"authorization": (b"Basic", b"Basic ====", b"Basic /w==", b"Bearer \xff", _BAD, b"Bearer " + b"x" * 9000),
    b"range": (b"bytes=-1", b"bytes=9-1", b"bytes=a-b", b"bytes=" + b"0-0," * 999, b"bytes=0-" + b"9" * 5000),
    b"accept": (_BAD, b"*/*;q=x", b"application/json;q=" + b"9" * 5000, b",,,"),
    b"if-modified-since": (_BAD, b"x", b"Thu, 99 Foo 0000 99:99:99 GMT"),
    b"if-range": (b"x", b'"'),
    b"x-csrftoken": (b"", b"x", _BAD),
    b"referer": (_BAD, b"http://["),
    **dict.fromkeys((b"accept-encoding", b"accept-language", b"content-type", b"if-none-match"), (_BAD,)),
    b"x-forwarded-for": (b"\xff, a, ::::",),
    b"forwarded": (b"for=\xff",),
    b"content-encoding": (b"gzip",),
    b"content-length": (b"x",),
    b"access-control-request-method": (_BAD,),
    b"x-" + b"a" * 5000: (b"b",),
}
HEADERS: Final = tuple((name, value) for name, values in _HEADER_VALUES.items() for value in values)
ODD_METHODS: Final = ("FOO", "TRACE", "CONNECT", "get")
