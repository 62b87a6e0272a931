"""Requests, and what HTTP/1.1 allows a server to answer (RFC 9110, RFC 9112)."""

from __future__ import annotations

from typing import Final, NamedTuple

Outcome = tuple[int, ...]
"""The statuses of all final responses on a connection, which the server closes after the last one."""

AFTER: Final = b"GET /after HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
"""The request that follows each row on its connection. A server that refuses the row must not read it."""
READ: Final[Outcome] = (200, 200)
LAST: Final[Outcome] = (200,)
BAD: Final[Outcome] = (400,)


class Seen(NamedTuple):
    """A request as the application sees it: method, target and body, and the values of one header."""

    line: bytes
    header: bytes = b""
    values: tuple[bytes, ...] = ()


class Row(NamedTuple):
    """`allowed` begins with our answer. `differs` is the reason why the referee gives an answer that is not allowed."""

    id: str
    sent: bytes
    allowed: tuple[Outcome, ...]
    seen: tuple[Seen, ...] | None
    differs: str


class Case(NamedTuple):
    """Values with one outcome. `seen` is None if the application may have been called."""

    values: tuple[bytes, ...]
    allowed: tuple[Outcome, ...]
    seen: tuple[Seen, ...] | None = None
    differs: str = ""
    after: bytes = AFTER


class Group(NamedTuple):
    """Requests of one shape, which has `{}` for the part that varies."""

    name: str
    section: str
    shape: bytes
    rows: tuple[Row, ...] = ()

    def of(self, *cases: Case) -> Group:
        """Return the group with a row for each value of each case."""
        return self._replace(
            rows=tuple(
                Row(_id(value), self.shape.replace(b"{}", value) + case.after, case.allowed, case.seen, case.differs)
                for case in cases
                for value in case.values
            )
        )


def read(*values: bytes, seen: Seen | None = None, also: tuple[Outcome, ...] = (), differs: str = "") -> Case:
    return Case(values, (READ, *also), seen and (seen,), differs)


def bad(*values: bytes, also: tuple[Outcome, ...] = (), differs: str = "") -> Case:
    return Case(values, (BAD, *also), (), differs)


def broken(*values: bytes, also: tuple[Outcome, ...] = (), differs: str = "") -> Case:
    """The body is malformed. The application may have been called before it arrived."""
    return Case(values, (BAD, *also), None, differs)


def each(prefix: bytes, *values: bytes) -> tuple[bytes, ...]:
    return tuple(prefix + value for value in values)


def _id(value: bytes) -> str:
    return repr(value)[2:-1] if len(value) < 200 else f"{value[:80]!r} … {value[-20:]!r}, {len(value)} bytes"


def seen_at(target: bytes, host: bytes = b"localhost") -> Seen:
    return Seen(b"GET %b " % target, b"host", (host,))


def targets(*values: bytes) -> list[Case]:
    return [read(value, seen=seen_at(value)) for value in values]


GET: Final = b"GET /row HTTP/1.1\r\nHost: localhost\r\n"
POST: Final = b"POST /row HTTP/1.1\r\nHost: localhost\r\n"
CL: Final = b"Content-Length: "
TE: Final = b"Transfer-Encoding: "
CHUNKED: Final = POST + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNKS: Final = b"5\r\nhello\r\n0\r\n\r\n"
H2C: Final = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABk\r\n"
ROW: Final = Seen(b"GET /row ")
EMPTY: Final = Seen(b"POST /row ")
HELLO: Final = Seen(b"POST /row hello")

ANY_METHOD: Final = "nginx has no list of methods."
DIGITS: Final = "nginx reads versions with numbers of several digits."
HOSTS: Final = "nginx checks fewer characters of Host, and no port."
NAMES: Final = "nginx checks fewer characters of names."
TABS: Final = "nginx does not strip tabs around a value (RFC 9110 5.5)."
EXTENSIONS: Final = "nginx skips an extension without reading it."
MANY: Final = "nginx closes after 1,000 requests."
LINES: Final = "nginx limits bytes, not lines."
PART_OF_A_WORD: Final = "nginx looks for the word in the whole value."

GROUPS: Final = [
    Group("HTP-005 method", "RFC 9110 9.1", b"{} /row HTTP/1.1\r\nHost: localhost\r\n\r\n").of(
        read(b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"PROPFIND"),
        # httptools knows a fixed list of methods, and gives no other name to the application.
        bad(b"FOO", b"GE", b"GETT", b"X" * 40, also=((501,),), differs=ANY_METHOD),
        bad(b"get", b"Get", also=((501,),)),
        bad(b"", b" GET", b"\tGET", b"G\0T", b"G(T", b"GET\xff", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    ),
    Group("HTP-005 blanks in the first line", "RFC 9112 3", b"GET{}HTTP/1.1\r\nHost: localhost\r\n\r\n").of(
        read(b" /row ", seen=ROW),
        bad(b"  /row ", b" /row  ", b"\t/row ", b" /row\t", b" /row\r ", b" /row\x0b", b" /row x ", also=(READ,)),
        bad(b" /row", also=((),)),
        bad(b"/row ", b"/row", b" ", b""),
    ),
    Group("HTP-005 version", "RFC 9110 2.5, 9112 3", b"GET /row{}\r\nHost: localhost\r\n\r\n").of(
        read(b" HTTP/1.1", seen=ROW),
        Case((b" HTTP/1.0",), (LAST,), (ROW,)),
        Case((b" HTTP/2.0", b" HTTP/3.0", b" HTTP/0.9"), ((505,), BAD), ()),
        Case((b" HTTP/1.2", b" HTTP/1.9"), ((505,), READ), ()),
        bad(b" HTTP/1.10", b" HTTP/1.32", b" HTTP/11", differs=DIGITS),
        bad(*each(b" HTTP/", b"01.1", b"1", b"1.", b".1", b"1.a", b"-1.1", b" 1.1", b"1.1x", b"1.1\0", b"")),
        bad(b" HTTP /1.1", b" HTTP-1.1", b" http/1.1", b" Http/1.1", b" RTSP/1.0", b" ICE/1.0", b" HTTPS/1.1"),
        bad(b" HTTP/1.1 ", also=(READ,)),
        bad(b"", b" ", b"\r\n", also=((),)),
    ),
    Group("HTP-005 other protocols", "RFC 9112 2.2", b"{}").of(
        read(GET + b"\r\n", seen=ROW),
        Case((b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",), ((505,), BAD), ()),
        bad(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(40), b"\x80\x2e\x01\x00\x02", b"\0"),
        bad(b"SSH-2.0-OpenSSH_9.2\r\n", b"EHLO localhost\r\n", b"no request\r\n\r\n", b'{"id": 1}\r\n', b"\xff\r\n"),
        bad(b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + GET + b"\r\n"),
    ),
    Group("target", "RFC 9112 3.2", b"GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n").of(
        *targets(b"/row", b"/", b"/row?a=b?c", b"//row", b"/row/../x;y=1"),
        read(b"/row?", seen=seen_at(b"/row")),
        read(b"/[r]o|w?{a}|`b`^\"<>\\'", seen=seen_at(b"/[r]o|w?{a}|`b`^\"<>\\'"), also=(BAD,)),
        read(b"/%zz", b"/%", b"/%00", also=(BAD,)),
        bad(b"row", b"?a", b"*", b"localhost", b"localhost:80", b"localhost/row", b"#x"),
        bad(b"/row#x", b"/row?a#x", b"/r\xc3\xa9", b"/r\xff", b"/?\x80", also=(READ,)),
        bad(b"/r\x01", b"/r\x7f", b"/r\0", b"/r\x0b"),
    ),
    Group("HTP-040 absolute target", "RFC 9112 3.2.2", b"GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n").of(
        read(b"http://localhost/row", seen=seen_at(b"/row")),
        read(b"http://target.test/row", b"HTTP://target.test/row", seen=seen_at(b"/row", b"target.test")),
        read(b"http://target.test:8080/row", seen=seen_at(b"/row", b"target.test:8080")),
        read(b"http://[::1]:80/row", seen=seen_at(b"/row", b"[::1]:80")),
        read(b"http://target.test", seen=seen_at(b"/", b"target.test")),
        read(b"http://target.test?a=b", seen=seen_at(b"/?a=b", b"target.test")),
        bad(b"http://", b"http:///row", b"http://:80/row", b"http:/row", b"http:row", b"://target.test/row"),
        bad(*each(b"http://", b"user@target.test/row", b"target.test\\@x/row", b"a b/row", b"target.test:x/row")),
        bad(*each(b"http://", b"a\xff.test/row", b"target.test#x", b"[::1/row")),
    ),
    Group("methods with another target", "RFC 9112 3.2.3, 3.2.4", b"{} HTTP/1.1\r\nHost: localhost:80\r\n\r\n").of(
        read(b"OPTIONS /row", seen=Seen(b"OPTIONS /row ")),
        bad(b"CONNECT localhost:80", b"CONNECT /row", also=((405,), (501,))),
        bad(b"OPTIONS *", also=(READ, (405, 200), (501, 200))),
        bad(b"POST *", b"HEAD *"),
    ),
    Group("HTP-040 Host", "RFC 9110 7.2", b"GET /row HTTP/1.1\r\n{}\r\n\r\n").of(
        read(b"Host: localhost", b"host:localhost", seen=seen_at(b"/row")),
        read(b"HOST: \tlocalhost \t", seen=seen_at(b"/row"), differs=TABS),
        *(
            read(b"Host: " + host, seen=seen_at(b"/row", host))
            for host in (b"localhost:8800", b"[::1]:8800", b"a.b-c_d~e.test", b"127.0.0.1", b"x%41.test")
        ),
        read(b"Host:", b"Host: localhost:", b"Host: a.test,b.test", also=(BAD,)),
        bad(b"X: a", b"X-Host: localhost", b"Host-: localhost"),
        bad(b"Host: localhost\r\nHost: evil.test", b"Host: localhost\r\nX: a\r\nhost: localhost", b"Host:\r\nHost: a"),
        bad(*each(b"Host: ", b"a b<c>", b"localhost evil.test", b"evil.test/path", b"a\tb", b"::1")),
        bad(*each(b"Host: ", b"http://localhost", b"localhost\0", b"local\x7fhost")),
        bad(*each(b"Host: ", b"user@evil.test", b"localhost\\evil.test", b"l\xc3\xb6calhost"), differs=HOSTS),
        bad(*each(b"Host: ", b"a?b", b"a#b", b'"localhost"', b"[::1", b"[::1]x"), differs=HOSTS),
        bad(*each(b"Host: ", b"localhost:x", b"localhost:-1", b"a:1:2"), differs=HOSTS),
    ),
    Group("HTP-022 header", "RFC 9112 5", GET + b"{}\r\n\r\n").of(
        read(b"X: a", b"X:a", b"X:\ta \t", seen=Seen(ROW.line, b"x", (b"a",))),
        read(b"X: a\r\nX: b", seen=Seen(ROW.line, b"x", (b"a", b"b"))),
        read(b"X:", b"X: \t ", seen=Seen(ROW.line, b"x", (b"",))),
        read(b"X: \xe4\xff \x80", seen=Seen(ROW.line, b"x", (b"\xe4\xff \x80",))),
        read(b"!#$%&'*+-.^_`|~09az: a", seen=Seen(ROW.line, b"!#$%&'*+-.^_`|~09az", (b"a",))),
        read(b'X: a:b, "c" (d) {e} ;=@?', seen=Seen(ROW.line, b"x", (b'a:b, "c" (d) {e} ;=@?',))),
        bad(b"X : a", b"X\t: a", b"X Y: a", b" X: a", b"\tX: a", b": a", b":", b"no colon"),
        bad(b"X\0: a", b"X\x01: a", b"X\x7f: a"),
        bad(b"X\xe9: a", b"X(: a", b"[X]: a", b"X/Y: a", b"X,Y: a", b'"X": a', b"X@: a", b"X\\: a", differs=NAMES),
        bad(b"X: a\0b", b"X: a\r\n b", b"X: a\r\n\tb", b"X:\r\n a", b"X: a\rb", b"X: a\r\r\nY: b", also=(READ,)),
        bad(b"X: a\nY: b", b"X: a\n b", b"X: a\x01b", b"X: a\x0bb", b"X: a\x7fb", b"X: a\x1b[31m", also=(READ,)),
    ),
    Group("HTP-022 end of the first line", "RFC 9112 2.2", b"GET /row HTTP/1.1{}Host: localhost\r\n\r\n").of(
        read(b"\r\n", b"\r\nX: a\r\n", seen=ROW),
        bad(b"\n", b"\r", b"\r\r\n", b"\r\n ", b"\r\n\t", b"\r\n X: a\r\n", b"\r\n \r\n", also=(READ,)),
        bad(b"\n\r", b"\x0b", b"\x85", b"\0", b"\r\n\0", b"\r\n\x0b", b"\r\n\r"),
    ),
    Group("HTP-022 end of the head", "RFC 9112 2.2", GET + b"X: a{}").of(
        read(b"\r\n\r\n", seen=ROW),
        bad(b"\n\n", b"\r\n\n", b"\n\r\n", b"\r\r", b"\r\n\r\r\n", b"\r\r\n\r\n", also=(READ,)),
    ),
    Group("before the first line", "RFC 9112 2.2", b"{}" + GET + b"\r\n").of(
        read(b"", b"\r\n", seen=ROW),
        read(b"\r\n\r\n", b"\r\n" * 8, seen=ROW, also=(BAD,)),
        bad(b"\n", b"\n\n", b"\r", b"\r\r\n", b"\r\n\n", also=(READ,)),
        bad(b" ", b"\t", b"\r\n ", b"\r\n\t", b"\0", b"\xef\xbb\xbf", b"\x0b", b"x"),
    ),
    Group("HTP-022 Content-Length", "RFC 9112 6.3", POST + b"{}\r\n\r\nhello").of(
        read(b"Content-Length: 5", b"content-length:5", seen=HELLO),
        read(b"CONTENT-LENGTH: \t5 \t", seen=HELLO, differs=TABS),
        read(b"Content-Length: 05", b"Content-Length: " + b"0" * 30 + b"5", seen=HELLO, also=(BAD,)),
        bad(b"Content-Length: 5\r\nContent-Length: 5", b"Content-Length: 5, 5", b"Content-Length: 5,5", also=(READ,)),
        bad(b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: 6\r\nX: a\r\nContent-Length: 5"),
        bad(b"Content-Length: 0\r\nContent-Length: 5"),
        bad(*each(CL, b"5, 6", b"+5", b"-5", b"-0", b"0x5", b"0o5", b"5x", b"x", b"5 5", b"5_0")),
        bad(*each(CL, b"5.0", b"5,", b",5", b"5;", b'"5"', b"5\0", b"1e1", b"\x0b5", b"5\x0b")),
        bad(*each(CL, b"\xd9\xa5", b"5\xff", b"five", b"\x0c5", b"")),
        bad(*each(CL, b"9" * 23, b"%d" % (2**64 + 5), b"1" + b"0" * 400)),
        bad(b"Content-Length : 5", b"Content-Length\t: 5", b"Content-Length\0: 5", b"X: a\rContent-Length: 5"),
        bad(b"Content-Length:\r\n 5", b"Content-Length: 5\nX: a", also=(READ,)),
        Case((b"Content_Length: 5", b"Content-Length-: 5", b"X: a"), ((200, 400),), (EMPTY,)),
    ),
    Group("HTP-022 Transfer-Encoding", "RFC 9112 6.1, 6.3", POST + b"{}\r\n\r\n" + CHUNKS).of(
        read(b"Transfer-Encoding: chunked", b"transfer-encoding:CHUNKED", seen=HELLO),
        # Blanks around a value are not part of it (RFC 9110 5.5), but httptools refuses them behind this one.
        bad(*each(TE, b"\tchunked \t", b"chunked\t", b"chunked,"), also=(READ, (501,))),
        Case(each(TE, b"gzip, chunked", b"x, chunked", b"identity, chunked"), ((501,), BAD), ()),
        Case((TE + b",chunked",), ((501,), BAD, READ), ()),
        bad(*each(TE, b"identity", b"xchunked", b"gzip", b"cow", b"", b"chunked, gzip", b"chunkedx"), also=((501,),)),
        bad(*each(TE, b"chunked x", b"chunked;a=b", b"chunked ;", b'"chunked"', b"\x0bchunked"), also=((501,),)),
        bad(*each(TE, b"\xffchunked", b"chunked\x0c", b"chunked, identity", b"chunked, chunked"), also=((501,),)),
        bad(*each(TE + b"chunked\r\n" + TE, b"chunked", b"identity", b"x"), also=((501,),)),
        bad(TE + b"gzip\r\n" + TE + b"chunked", TE + b"identity\r\nContent-Length: 15", also=((501,),)),
        bad(b"Transfer-Encoding : chunked", b"Transfer-Encoding\t: chunked", b"Transfer-Encoding\0: chunked"),
        bad(b"X: a\r\n Transfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\n , identity"),
        bad(b"X: a\nTransfer-Encoding: chunked", b"Transfer-Encoding:\r\n chunked", also=(READ,)),
        bad(b"X: a\rTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\0"),
        bad(b"Transfer-Encoding: chunked\r\nContent-Length: 5", b"Content-Length: 5\r\nTransfer-Encoding: chunked"),
        bad(b"Content-Length: 0\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nContent-Length: x"),
        Case((b"Transfer_Encoding: chunked", b"TE: chunked", b"X: a"), ((200, 400),), (EMPTY,)),
    ),
    Group("HTP-022 HTP-040 HTTP/1.0", "RFC 9112 3.2, 6.1, 9.3", b"POST /row HTTP/1.0\r\n{}\r\n").of(
        Case((b"", b"Host: localhost\r\n", b"Connection: close\r\n"), (LAST,), (EMPTY,)),
        Case((b"Connection: keep-alive\r\n", b"Connection: Keep-Alive, x\r\n"), (LAST, READ), (EMPTY,)),
        Case((b"Expect: 100-continue\r\n", H2C), (LAST,), (EMPTY,)),
        Case((b"Content-Length: 7\r\n\r\nhello",), (LAST,), (Seen(b"POST /row hello\r\n"),)),
        bad(b"Host: localhost\r\nHost: localhost\r\n", b"Host: a b\r\n"),
        bad(b"Host: user@evil.test\r\n", differs=HOSTS),
        bad(TE + b"chunked\r\n\r\n" + CHUNKS, H2C + TE + b"chunked\r\n\r\n" + CHUNKS, also=(LAST,)),
        bad(CL + b"5\r\n" + TE + b"chunked\r\n\r\n" + CHUNKS, also=(LAST,)),
    ),
    Group("HTP-022 chunk size", "RFC 9112 7.1", CHUNKED + b"{}\r\nhello\r\n0\r\n\r\n").of(
        read(b"5", b"05", b"0" * 15 + b"5", b"5;a", b"5;a=b", b'5;a="b;c"', b"5;a;b=c", seen=HELLO),
        read(b"0" * 20 + b"5", b"5;;a", b"5;=b", b"5;a=", b"5;" + b"a" * 1_000, seen=HELLO, also=(BAD,)),
        # RFC 9110 5.6.3 asks to ignore blanks before and after the semicolon. httptools refuses them.
        broken(b"5 ;a", b"5; a = b", b"5;a b", b"5; ", b"5;", also=(READ,)),
        broken(b"", b"g", b"-5", b"+5", b"0x5", b"5_0", b"5.0", b"x5", b"5x", b" ", b"\xd9\xa5", b"5\0", b"\x0b5"),
        broken(b" 5", b"\t5", b"5 ", b"5\t", b"5 5", also=(READ,)),
        broken(b"f" * 17, b"f" * 21, b"1" + b"0" * 15 + b"5"),
        broken(b"5;a\rb", b"5\r;a", b"5\r\r", b"5\r", b"5;a\nb", b"5\n;a", b'5;a="b\r\n0\r\n\r\n"'),
        broken(b"5;a\0", b"5;a\x01", b'5;a="b', differs=EXTENSIONS),
    ),
    Group("HTP-022 chunks", "RFC 9112 7.1", CHUNKED + b"5{}").of(
        read(*each(b"\r\nhello\r\n", b"0\r\n\r\n", b"000\r\n\r\n", b"0;a=b\r\n\r\n"), seen=HELLO),
        read(*each(b"\r\nhello\r\n", b"6\r\n world\r\n0\r\n\r\n"), seen=Seen(b"POST /row hello world")),
        read(*each(b"\r\nhello\r\n", b"A\r\n0123456789\r\n0\r\n\r\n"), seen=Seen(b"POST /row hello0123456789")),
        read(b"\r\n\r\n0\r\n\r\n0\r\n\r\n", seen=Seen(b"POST /row \r\n0\r\n")),
        broken(*each(b"\r\nhello", b"X\r\n0\r\n\r\n", b"0\r\n\r\n", b"\r0\r\n\r\n", b"XX0\r\n\r\n")),
        broken(*each(b"\r\nhello\r\n", b"\r\n0\r\n\r\n", b"-0\r\n\r\n"), b"\rhello\r\n0\r\n\r\n"),
        broken(*each(b"\r\nhello", b"\n0\r\n\r\n", b"\r\n0\n\r\n", b"\r\n0\r\n\n"), also=(READ,)),
        broken(b"\nhello\n0\n\n", b"\nhello\r\n0\r\n\r\n", b"\r\nhell\r\n0\r\n\r\n", also=(READ,)),
    ),
    Group("HTP-022 trailers", "RFC 9110 6.5.1", CHUNKED + b"5\r\nhello\r\n0\r\n{}\r\n\r\n").of(
        read(b"X: a", b"X: a\r\n" * 20 + b"X: b", seen=Seen(HELLO.line, b"x", ())),
        read(b"Host: evil.test", seen=Seen(HELLO.line, b"host", (b"localhost",))),
        read(b"X-Forwarded-For: 192.0.2.9", seen=Seen(HELLO.line, b"x-forwarded-for", ())),
        read(b"Origin: https://evil.test", seen=Seen(HELLO.line, b"origin", ())),
        read(b"Authorization: Basic eDp4", seen=Seen(HELLO.line, b"authorization", ())),
        read(b"Connection: close", b"Connection: Upgrade\r\nUpgrade: h2c", b"Expect: 100-continue", seen=HELLO),
        # They would have no effect either, but httptools refuses them.
        broken(b"Content-Length: 50", b"Content-Length: x", b"Transfer-Encoding: gzip", also=(READ,)),
        broken(b"X : a", b"no colon", b": a", b" X: a", b"X: a\0", b"X\0: a", b"X: a\rb", b"X Y: a", also=(READ,)),
        broken(b"X: a\r\n b", b"X: a\nY: b", also=(READ,)),
    ),
    Group("close", "RFC 9112 9.6", GET + b"{}\r\n\r\n").of(
        Case((b"Connection: close", b"Connection: CLOSE", b"Connection: x, close"), (LAST,), (ROW,)),
        Case((b"Connection: keep-alive, close", b"Connection: x\r\nConnection: close"), (LAST,), (ROW,)),
        Case((b"Connection: close, Upgrade\r\nUpgrade: h2c", b"Connection:\tclose\t,"), (LAST,), (ROW,)),
        read(b"Connection: keep-alive", b"Connection: x", b"Connection:", b"Close: close", seen=ROW),
        read(b"Proxy-Connection: close", b"Keep-Alive: timeout=1, max=1", seen=ROW),
        read(b"Connection: closed", b'Connection: "close"', seen=ROW, differs=PART_OF_A_WORD),
    ),
    Group("HTP-022 body of a GET", "RFC 9110 9.3.1", GET + b"{}").of(
        read(b"\r\n", b"Content-Length: 0\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", seen=ROW),
        read(b"Content-Length: 5\r\n\r\nhello", seen=Seen(b"GET /row hello")),
        read(b"Content-Length: 5\r\nContent-Type: application/json\r\n\r\n{bad}", seen=Seen(b"GET /row {bad}")),
        read(b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS, seen=Seen(b"GET /row hello")),
        read(b"Content-Length: %d\r\n\r\n" % len(AFTER) + AFTER, seen=Seen(b"GET /row " + AFTER)),
        Case((b"\r\nrubbish\r\n\r\n", b"\r\nhello"), ((200, 400),), (ROW,)),
    ),
    Group("expectation", "RFC 9110 10.1.1", POST + b"{}").of(
        read(b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", seen=HELLO),
        read(b"Expect: 100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS, seen=HELLO),
        read(b"Expect: 100-continue\r\n\r\n", b"Expect: 100-continue\r\nContent-Length: 0\r\n\r\n", seen=EMPTY),
        read(*each(b"Expect: ", b"x\r\n\r\n", b"y 100-continue\r\n\r\n"), seen=EMPTY, also=((417,), (417, 200))),
        bad(b"Expect: 100-continue\r\nContent-Length: +5\r\n\r\nhello"),
    ),
    Group("upgrade", "RFC 9110 7.8", b"{}").of(
        read(GET + H2C + b"\r\n", GET + b"Upgrade: h2c\r\n\r\n", seen=ROW),
        read(*each(GET + b"Connection: Upgrade\r\n", b"Upgrade: TLS/1.2, x\r\n\r\n", b"\r\n"), seen=ROW),
        read(GET + b"Connection: keep-alive\r\nUpgrade: websocket\r\n\r\n", seen=ROW),
        read(POST + H2C + b"Content-Length: 5\r\n\r\nhello", seen=HELLO),
        read(POST + H2C + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\nhello", seen=HELLO),
        read(POST + H2C + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS, seen=HELLO),
        bad(POST + H2C + b"Content-Length: x\r\n\r\nhello"),
        broken(POST + H2C + b"Transfer-Encoding: chunked\r\n\r\nx\r\nhello\r\n0\r\n\r\n"),
    ),
    Group("several requests", "RFC 9112 9.3.2", GET + b"{}").of(
        Case((b"\r\n" + GET + b"\r\n", b"\r\n\r\n" + GET + b"\r\n\r\n\r\n"), ((200,) * 3,), (ROW, ROW)),
        Case((b"\r\n" + POST + b"Content-Length: 5\r\n\r\nhello" + GET + b"\r\n",), ((200,) * 4,), (ROW, HELLO, ROW)),
        Case((b"\r\n" + CHUNKED + CHUNKS + GET + b"\r\n",), ((200,) * 4,), (ROW, HELLO, ROW)),
        Case((b"\r\n" + (GET + b"\r\n") * 99,), ((200,) * 101,), (ROW,) * 100),
        Case((H2C + b"\r\n" + (GET + H2C + b"\r\n") * 1_999,), ((200,) * 2_001,), (ROW,) * 2_000, MANY),
        Case((b"Connection: close\r\n\r\n" + GET + b"\r\n",), (LAST,), (ROW,)),
        Case((b"\r\n" + GET + b"X : a\r\n\r\n", b"\r\n" + POST + b"Content-Length: x\r\n\r\n"), ((200, 400),), (ROW,)),
        Case((b"\r\n" + b"\x16\x03\x01" * 10,), ((200, 400),), (ROW,)),
    ),
    Group("large head", "RFC 9110 5.4", b"{}").of(
        read(GET + b"X: a\r\n" * 98 + b"\r\n", GET + b"X: " + b"x" * 7_000 + b"\r\n\r\n", seen=ROW),
        read(b"GET /" + b"x" * 4_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        Case((GET + b"X: a\r\n" * 101,), ((431,), BAD), (), LINES, after=b""),
        Case((GET + b"X: a\r\n" * 40_000,), ((431,), BAD), (), after=b""),
        Case((GET + b"X: " + b"x" * 70_000, GET + b"X: a\r\nY: " + b" " * 70_000), ((431,), BAD), (), after=b""),
        Case((GET + b"x" * 70_000, GET + (b"X: " + b"x" * 6_000 + b"\r\n") * 12), ((431,), BAD), (), after=b""),
        Case(each(b"GET ", b"/" + b"x" * 70_000, b"http://localhost/?" + b"x" * 70_000), ((414,),), (), after=b""),
        Case((b"X" * 70_000, b"GET /row HTTP/1.1" + b"1" * 70_000), ((414,), BAD, (501,)), (), after=b""),
    ),
]

WITHOUT_SOCKETS: Final = Group("offer of a socket where there is none", "RFC 9110 7.8", GET + b"{}\r\n").of(
    read(
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        seen=ROW,
    )
)
