"""Tokens and their verdicts: what is made of honest parts, and what it is refused for (RFC 7515, 7519, 8725).

A row's id is that of its row in `ids.txt`, with a word behind it where a row has several. Each is judged by the
function that reads such tokens and, over the wire, at the door where they are shown (`test_token_verdicts.py`).
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from honest import REMOVED, Json, Maker, b64, dumps, unb64
from places import Place

Make = Callable[[Place], str]
Spoil = Callable[[bytes], bytes]

HOUR: Final = 3600
LIMIT: Final = 8192
HEADER: Final = {"alg": "HS256", "typ": "JWT"}
BOTH: Final = ("socket", "identity")
SOCKET: Final = ("socket",)
IDENTITY: Final = ("identity",)


@dataclass(frozen=True)
class Verdict:
    """A token that is wrong in one thing: code and member of its refusal, and words of its cause and message.

    Without words, there is no cause. `kinds` are those of the places where the row says something.
    """

    id: str
    make: Make
    code: str
    member: str | None = None
    cause: str | None = None
    says: str = ""
    kinds: tuple[str, ...] = BOTH


@dataclass(frozen=True)
class Honest:
    """A token that is unusual, and accepted."""

    id: str
    make: Make
    kinds: tuple[str, ...] = BOTH


# how a token is made


def claims(**changes: object) -> Make:
    """Change claims of the honest token; what can be called is given the place."""
    return lambda place: place.shop.sign(place.claims(**filled(changes, place)))


def filled(changes: Mapping[str, Any], place: Place) -> Json:
    """Give the place to the values that ask for it."""
    return {name: value(place) if callable(value) else value for name, value in changes.items()}


def header(**changes: object) -> Make:
    """Change members of the honest header."""
    return lambda place: place.shop.sign(place.claims(), header={**HEADER, **changes})


def raw_header(raw: bytes) -> Make:
    """Write the header as it stands here."""
    return lambda place: place.shop.sign(place.claims(), header=raw)


def payload(spoil: Spoil) -> Make:
    """Spoil the JSON of the claims before it is signed."""
    return lambda place: place.shop.sign(spoil(dumps(place.claims())))


def added(text: str) -> Make:
    """Add a member to the claims, written as it is."""
    return payload(lambda honest: honest[:-1] + b"," + text.encode() + b"}")


def text(damage: Callable[[str], str]) -> Make:
    """Damage the text of an honest token."""
    return lambda place: damage(place.shop.sign(place.claims()))


def segments(damage: Callable[[str, str, str], str]) -> Make:
    """Damage an honest token that was split at its dots."""
    return lambda place: damage(*place.shop.sign(place.claims()).split("."))


def inserted(what: str, segment: int) -> Make:
    """Put a text into the middle of one of the segments."""

    def damage(*parts: str) -> str:
        half = len(parts[segment]) // 2
        damaged = parts[segment][:half] + what + parts[segment][half:]
        return ".".join([*parts[:segment], damaged, *parts[segment + 1 :]])

    return segments(damage)


def signed_with(key: Callable[[bytes], bytes], **changes: object) -> Make:
    """Sign an honest token with what is made of the secret, under a header with these changes."""
    return lambda place: place.shop.sign(place.claims(), header={**HEADER, **changes}, key=key(place.shop.secret))


def sized(size: int) -> Make:
    """Fill an honest token up to so many characters."""

    def make(place: Place) -> str:
        start = len(place.shop.sign(place.claims(filler="")))
        pads = ((size - start) * 3 // 4 + more for more in range(-3, 4))
        filled = (place.shop.sign(place.claims(filler="x" * pad)) for pad in pads)
        return next(token for token in filled if len(token) == size)

    return make


def idle_bits(over: str) -> Make:
    """Set bits of the payload's last letter that no byte uses, and sign what is `received` or what is `canonical`."""

    def make(place: Place) -> str:
        whole = dumps(place.claims())
        whole += b" " * (-len(whole) % 3 + 1)  # one byte into a group of three: four bits are idle
        protected, canonical = b64(dumps(HEADER)), b64(whole)
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        loose = canonical[:-1] + letters[letters.index(canonical[-1]) + 1]
        assert unb64(loose) == whole
        signed = f"{protected}.{loose if over == 'received' else canonical}"
        return f"{protected}.{loose}.{b64(Maker().mac(signed, place.shop.secret))}"

    return make


def mac(change: Callable[[bytes], bytes]) -> Make:
    """Change the bytes of the MAC."""
    return segments(lambda protected, body, signature: f"{protected}.{body}.{b64(change(unb64(signature)))}")


def flipped(at: int) -> Callable[[bytes], bytes]:
    """Flip a bit of the byte at this index."""
    return lambda raw: raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


def cut(length: int) -> Callable[[bytes], bytes]:
    """Leave the first bytes."""
    return lambda raw: raw[:length]


def another_mac(alg: str) -> Make:
    """Sign with another hash, as the header says, by the provider's own secret."""

    def make(place: Place) -> str:
        signed = f"{b64(dumps({**HEADER, 'alg': alg}))}.{b64(dumps(place.claims()))}"
        return f"{signed}.{b64(Maker().mac(signed, place.shop.secret, digest=f'sha{alg[2:]}'))}"

    return make


def not_encoded(place: Place) -> str:
    """Sign a payload that is left as it is, as RFC 7797 would have it."""
    signed = f"{b64(dumps({**HEADER, 'b64': False, 'crit': ['b64']}))}.{dumps(place.claims(exp=9)).decode()}"
    return f"{signed}.{b64(Maker().mac(signed, place.shop.secret))}"


def unsigned(place: Place) -> str:
    """Leave the signature out, as alg none would have it."""
    return place.shop.sign(place.claims(), header={**HEADER, "alg": "none"}).rpartition(".")[0] + "."


def by_the_providers_id(place: Place) -> str:
    """Sign with the id in place of the secret."""
    return place.shop.sign(place.claims(), key=place.shop.id.encode())


def another_payload(place: Place) -> str:
    """Put other claims under a signature."""
    protected, _, signature = place.shop.sign(place.claims()).split(".")
    return f"{protected}.{b64(dumps(place.claims(name='Mallory')))}.{signature}"


def another_header(place: Place) -> str:
    """Put another header under a signature."""
    _, body, signature = place.shop.sign(place.claims()).split(".")
    return f"{b64(dumps({'alg': 'HS256'}))}.{body}.{signature}"


def nested(place: Place) -> str:
    """Sign a token."""
    return place.shop.sign(place.shop.sign(place.claims()).encode(), header={**HEADER, "cty": "JWT"})


def exp_written(literal: str) -> Make:
    """Write `exp` as it stands here; {exp} is an honest one."""

    def make(place: Place) -> str:
        whole = dumps(place.claims(exp=0)).decode()
        exp = literal.format(exp=place.shop.now + HOUR)
        return place.shop.sign(whole.replace('"exp":0', f'"exp":{exp}').encode())

    return make


def visitor(**changes: object) -> Make:
    """Make a visitor's token as the service does, with claims changed; what can be called is given the place."""

    def make(place: Place) -> str:
        shop = place.shop
        made = shop.visitor_claims(**filled(changes, place))
        return shop.sign(made, key=Maker().minute_key(shop.secret, made["iat"]))

    return make


def in_a_minute(place: Place) -> str:
    """Make a visitor's token of the next minute."""
    return visitor(iat=now(60), exp=now(120))(place)


def flattened(protected: str, body: str, signature: str) -> str:
    """Write the flattened JSON serialization."""
    return json.dumps({"protected": protected, "payload": body, "signature": signature})


def general(protected: str, body: str, signature: str) -> str:
    """Write the general JSON serialization, with a signature that is none before the one that holds."""
    broken, whole = ({"protected": protected, "signature": value} for value in (signature[::-1], signature))
    return json.dumps({"payload": body, "signatures": [broken, whole]})


def polyglot(protected: str, body: str, signature: str) -> str:
    """Write what is JSON for one reader and has two dots for another."""
    return f'{{"payload":"{body}","protected":"{protected}","signature":"{signature}","x":".{body}."}}'


def now(seconds: int) -> Callable[[Place], int]:
    """Return the time so many seconds from now."""
    return lambda place: place.shop.now + seconds


def jkt(place: Place) -> str:
    """Return the thumbprint of the browser's key."""
    return place.shop.key.jkt


# the text


def _texts() -> Iterator[Verdict]:
    for name, make, cause in (
        ("JWT-002-one-dot", text(lambda _: "."), None),
        ("JWT-002-two-dots", text(lambda _: ".."), None),
        ("JWT-002-three-dots", text(lambda _: "..."), None),
        ("JWT-004", text(lambda token: token + "."), None),
        ("JWT-005", text(lambda token: token + ".x"), None),
        ("JWT-005-five-segments", text(lambda token: token + ".x.x"), "five segments: it is encrypted"),
        # F111: white space and padding are refused everywhere, and the mistake is named.
        ("JWT-007-leading-space", text(lambda token: " " + token), "white space"),
        ("JWT-007-trailing-space", text(lambda token: token + " "), "white space"),
        ("JWT-007-tab", text(lambda token: token + "\t"), "white space"),
        ("JWT-007-lf", text(lambda token: token + "\n"), "white space"),
        ("JWT-007-crlf", text(lambda token: token + "\r\n"), "white space"),
        *((f"JWT-008-{at}", inserted(" ", at), None) for at in range(3)),
        ("JWT-009", text(lambda token: "Bearer " + token), "the word Bearer"),
        ("JWT-010", text(lambda token: token + "="), "padding"),
        ("JWT-011", text(lambda token: token + "===="), "padding"),
        *((f"JWT-013-question-{at}", inserted("?", at), None) for at in range(3)),
        *((f"JWT-013-bang-{at}", inserted("!", at), None) for at in range(3)),
        *((f"JWT-013-hash-{at}", inserted("#", at), None) for at in range(3)),
        *((f"JWT-013-encoded-dot-{at}", inserted("%2E", at), "percent-encoded") for at in range(3)),
        ("JWT-013-encoded-dot-behind", text(lambda token: token + "%2Ex"), "percent-encoded"),
        ("JWT-013-plus", text(lambda token: token + "+"), "base64url, with - and _ for + and /"),
        ("JWT-013-quotes", text(lambda token: f'"{token}"'), "quotes"),
        ("JWT-016", text(lambda token: token.replace(".", "%2E")), "percent-encoded"),
        ("JWT-017", segments(flattened), "JSON serialization"),
        ("JWT-017-whole-token", text(lambda token: f'{{"payload":"{token}"}}'), "JSON serialization"),
        ("JWT-018", segments(general), "JSON serialization"),
        ("JWT-019", segments(polyglot), "JSON serialization"),
        ("JWT-020-latin", inserted("é", 1), None),
        ("JWT-020-cyrillic-a", inserted("\u0430", 1), None),
        ("JWT-020-nul", inserted("\0", 1), None),
        ("JWT-050", not_encoded, None),
        ("JWT-085-empty", payload(lambda _: b""), None),
    ):
        yield Verdict(name, make, "token_malformed", cause=cause)
    for over in ("received", "canonical"):
        yield Verdict(f"JWT-015-{over}", idle_bits(over), "token_malformed", says="not canonical base64url")
    # F105: a uid has its bound.
    for name, member in (("JWT-123-10-kb", "uid"), ("JWT-138-10-kb", "name")):
        yield Verdict(name, claims(**{member: "u" * 10_000}), "token_too_large", says=str(LIMIT))
    for size in (LIMIT + 1, 12_000):
        yield Verdict(f"JWT-021-{size}", sized(size), "token_too_large", says=str(LIMIT))


# the header


def _headers() -> Iterator[Verdict]:
    for name, make in (
        ("JWT-030", unsigned),
        *((f"JWT-031-{at}", header(alg=alg)) for at, alg in enumerate(("none", "None", "NONE", "nOnE", "none "))),
        ("JWT-032", raw_header(b'{"typ":"JWT"}')),
        ("JWT-032-null", header(alg=None)),
        ("JWT-032-empty", header(alg="")),
        ("JWT-032-number", header(alg=256)),
        ("JWT-032-list", header(alg=["HS256"])),
        ("JWT-032-object", header(alg={"HS256": 1})),
        ("JWT-033", header(alg="hs256")),
        # F101: also where the provider's own secret was used.
        *((f"JWT-035-shop-{alg}", header(alg=alg)) for alg in ALGORITHMS),
        *((f"JWT-035-attacker-{alg}", signed_with(lambda _: PUBLIC_KEY, alg=alg)) for alg in ALGORITHMS),
        *((f"JWT-035-its-own-mac-{alg}", another_mac(alg)) for alg in ("HS384", "HS512")),
    ):
        yield Verdict(name, make, "token_alg", "alg")
    for name, member, changes in (
        ("JWT-047", "crit", {"crit": []}),
        ("JWT-048", "crit", {"crit": ["x"], "x": 1}),
        ("JWT-049-exp", "crit", {"crit": ["exp"], "exp": 1}),
        ("JWT-049-alg", "crit", {"crit": ["alg"]}),
        ("JWT-049-string", "crit", {"crit": "b64"}),
        ("JWT-049-twice", "crit", {"crit": ["x", "x"], "x": 1}),
        ("JWT-050-critical", "crit", {"b64": False, "crit": ["b64"]}),
        ("JWT-050-without-crit", "b64", {"b64": False}),
        ("JWT-053", "zip", {"zip": "DEF"}),
        ("JWT-055", "typ", {"typ": "dpop+jwt"}),
        ("JWT-055-ours", "typ", {"typ": "wf-proof+jwt"}),
        ("JWT-056-at", "typ", {"typ": "at+jwt"}),
        ("JWT-056-secevent", "typ", {"typ": "secevent+jwt"}),
        ("JWT-056-logout", "typ", {"typ": "logout+jwt"}),
        ("JWT-056-list", "typ", {"typ": ["JWT"]}),
        ("JWT-056-number", "typ", {"typ": 5}),
        ("JWT-056-object", "typ", {"typ": {}}),
    ):
        yield Verdict(name, header(**changes), "token_header", member)
    for name, raw, says in (
        ("JWT-043", b'{"alg":"none","alg":"HS256"}', "stands there twice"),
        ("JWT-044", b'{"alg":"HS256","alg":"none"}', "stands there twice"),
        ("JWT-044-escaped", b'{"alg":"HS256","\\u0061lg":"HS256"}', "stands there twice"),
        ("JWT-045-array", b"[]", "not a JSON object"),
        ("JWT-045-array-of-one", b'["HS256"]', "not a JSON object"),
        ("JWT-045-string", b'"HS256"', "not a JSON object"),
        ("JWT-045-number", b"256", "not a JSON object"),
        ("JWT-045-null", b"null", "not a JSON object"),
        ("JWT-059", b'{"alg":"HS256","x":' + b"[" * 1000 + b"]" * 1000 + b"}", "JSON"),
        ("JWT-059-40", b'{"alg":"HS256","x":' + b"[" * 40 + b"]" * 40 + b"}", "more than 32 levels"),
    ):
        yield Verdict(name, raw_header(raw), "token_malformed", says=says)


ALGORITHMS: Final = ("RS256", "ES256", "PS256", "EdDSA", "HS384", "HS512")
PUBLIC_KEY: Final = b"-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"


# the MAC


def _signatures() -> Iterator[Verdict]:
    for name, make, cause in (
        ("JWT-039", signed_with(lambda _: b"", kid="../../../../dev/null"), "with an empty secret"),
        *((f"JWT-070-{at}", mac(flipped(at)), None) for at in (0, 15, 31)),
        *((f"JWT-071-{length}", mac(cut(length)), None) for length in (31, 16, 1, 0)),
        # F103: what the secret is copied with, or read as.
        ("JWT-074-empty", signed_with(lambda _: b""), "verifies with an empty secret"),
        (
            "JWT-074-undefined",
            signed_with(lambda _: b"undefined"),
            "verifies with the word undefined (the setting was not read)",
        ),
        ("JWT-074-provider-id", by_the_providers_id, "verifies with the provider's id"),
        ("JWT-074-newline", signed_with(lambda secret: secret + b"\n"), "a newline"),
        ("JWT-074-quotes", signed_with(lambda secret: b'"' + secret + b'"'), "double quotes"),
        ("JWT-074-hex", signed_with(lambda secret: secret.hex().encode()), "hex form"),
        ("JWT-074-base64", signed_with(urlsafe_b64encode), "base64 form"),
        ("JWT-074-a-guess", signed_with(lambda _: b"of another provider, which nobody can guess"), None),
        ("JWT-075-url", signed_with(urlsafe_b64decode), "-decoded secret"),
        ("JWT-077", another_payload, None),
        ("JWT-078", another_header, None),
    ):
        yield Verdict(name, make, "token_signature", "signature", cause)


# the payload


def _payloads() -> Iterator[Verdict]:
    # F111: a name that stands twice would have two readers see two values.
    for name, make in (
        ("JWT-085-array", payload(lambda _: b"[]")),
        ("JWT-085-string", payload(lambda _: b'"x"')),
        ("JWT-085-number", payload(lambda _: b"1")),
        ("JWT-085-null", payload(lambda _: b"null")),
        ("JWT-085-cut-off", payload(lambda honest: honest[:-1])),
        ("JWT-085-open", payload(lambda _: b"{" * 9)),
        ("JWT-086", payload(lambda honest: honest + b"}")),
        ("JWT-088", payload(lambda honest: b"\xef\xbb\xbf" + honest)),
        ("JWT-089-utf-16", payload(lambda honest: honest.decode().encode("utf-16"))),
        ("JWT-089-utf-16-le", payload(lambda honest: honest.decode().encode("utf-16-le"))),
        ("JWT-089-utf-32", payload(lambda honest: honest.decode().encode("utf-32"))),
        ("JWT-090", payload(lambda honest: honest.replace(b"Ada", b"\xff\xfe"))),
        ("JWT-091", payload(lambda honest: honest.replace(b"Ada", b"\\ud800"))),
        ("JWT-091-in-the-pid", claims(pid="\ud800")),
        ("JWT-094-plain", added(r'"uid":"customer-8"')),
        ("JWT-094", added(r'"u\u0069d":"customer-8"')),
        ("JWT-094-inside", added(r'"x":{"a":1,"a":2}')),
        ("JWT-096-nan", added('"x":NaN')),
        ("JWT-096-infinity", added('"x":Infinity')),
        ("JWT-096-minus-infinity", added('"x":-Infinity')),
        ("JWT-097-beyond-a-double", added('"x":1e400')),
        ("JWT-097-5000-digits", added(f'"x":{"7" * 5000}')),
        ("JWT-098-2500-levels", added(f'"x":{"[" * 2500}{"]" * 2500}')),
        ("JWT-098-34-levels", added(f'"x":{"[" * 33}{"]" * 33}')),
    ):
        yield Verdict(name, make, "token_malformed", "payload")
    yield Verdict("JWT-054", nested, "token_malformed", "payload")


# each claim: its presence, type and bounds


def _claims() -> Iterator[Verdict]:
    # F058, F105, F107: the member is named, whatever is wrong with it.
    tables: dict[str, dict[str, dict[str, Any]]] = {
        "pid": {"JWT-119": {"missing": REMOVED, "number": 7, "list": ["a"], "null": None}},
        "uid": {
            "JWT-092": {"nul": "a\0b", "newline": "a\nb", "delete": "a\x7fb"},
            "JWT-122": {"missing": REMOVED, "empty": "", "null": None, "number": 42, "list": ["a"], "true": True},
            "JWT-123": {"256-characters": "u" * 256},
        },
        "type": {"JWT-128": {"missing": REMOVED, "list": ["user"], "null": None}},
        "exp": {
            "JWT-100": {"missing": REMOVED},
            "JWT-101": {"string": "1795174498"},
            "JWT-105": {"negative": -1},
            "JWT-106": {"null": None, "true": True, "list": [9_999_999_999], "object": {}},
        },
        "iat": {"JWT-113": {"missing": REMOVED}},
        "name": {"JWT-138": {"256-characters": "n" * 256, "number": 7}},
    }
    for claim, rows in tables.items():
        for row, values in rows.items():
            for name, value in values.items():
                yield Verdict(f"{row}-{name}", claims(**{claim: value}), "token_claims", claim, says=f"claim {claim} ")
    # F057: milliseconds are told from seconds.
    for name, value in (("10-to-the-30", 10**30), ("10-to-the-400", 10**400), ("eleven-digits", 10**10)):
        yield Verdict(f"JWT-108-{name}", claims(exp=value), "token_claims", "exp", "milliseconds", "claim exp ")
    milliseconds = "exp looks like milliseconds; write seconds"
    yield Verdict("JWT-108", claims(exp=lambda place: place.shop.now * 1000), "token_claims", "exp", milliseconds)
    # F058: a fraction is refused as well; there is no mode that would let it pass.
    for name, literal in (("exponent", "1e10"), ("fraction", "{exp}.0"), ("half", "{exp}.5")):
        yield Verdict(f"JWT-104-{name}", exp_written(literal), "token_claims", "exp")


# times


def _times() -> Iterator[Verdict]:
    lifetime = "exp looks like a lifetime; write the time of expiry"
    for name, make, cause in (
        ("JWT-105-zero", claims(iat=now(-HOUR), exp=0), lifetime),
        ("JWT-105-lifetime", claims(exp=HOUR), lifetime),
        ("JWT-105-lifetime-from-0", claims(iat=0, exp=HOUR), lifetime),
        ("JWT-109", claims(iat=now(-HOUR), exp=now(0)), None),
        ("JWT-109-at-once", claims(exp=now(0)), None),
        ("JWT-110", claims(iat=now(-HOUR), exp=now(-1)), None),
    ):
        yield Verdict(name, make, "token_expired", "exp", cause)
    # F059: a day is too long for a token that anybody could copy.
    for name, seconds in (("two-hours-and-a-second", 7201), ("a-day", 24 * HOUR)):
        says = f"The token's claim exp is {seconds} s after iat; up to 7200 s are accepted here."
        make = claims(exp=now(seconds), iat=now(0))
        yield Verdict(f"JWT-111-{name}", make, "token_claims", "exp", says=says, kinds=SOCKET)
    yield Verdict("JWT-111", claims(exp=now(48 * HOUR)), "token_claims", "exp")
    yield Verdict("JWT-112", claims(iat=now(50), exp=now(40)), "token_claims", "exp")
    yield Verdict("JWT-112-soon", claims(iat=now(20), exp=now(10)), "token_claims", "exp")
    # F054: the message has the difference, and says whose clock it is.
    ahead = "the clock that made the token is about"
    make = claims(iat=now(HOUR), exp=now(2 * HOUR))
    yield Verdict("JWT-115", make, "token_not_yet_valid", "iat", ahead, "set the clock that made it")
    yield Verdict("JWT-117", claims(nbf=now(600)), "token_not_yet_valid", "nbf", ahead)


# which kind, and bound to which key


def _kinds() -> Iterator[Verdict]:
    # F107: letter case counts.
    for name, kind in (
        ("agent", "agent"),
        ("admin", "admin"),
        ("case", "User"),
        ("capitals", "USER"),
        ("space", "user "),
        ("empty", ""),
    ):
        yield Verdict(f"JWT-128-{name}", claims(type=kind), "token_type", "type")
    # F108, F109: although it is signed with the same secret and bound to the same key.
    yield Verdict("JWT-150", lambda place: place.shop.identity_token(), "token_type", "type", kinds=SOCKET)
    yield Verdict("JWT-150-by-its-type-alone", claims(type="identity"), "token_type", "type", kinds=SOCKET)
    yield Verdict("JWT-151-own-key", lambda place: place.shop.token(), "token_type", "type", kinds=IDENTITY)
    yield Verdict("JWT-153-own-key", visitor(), "token_signature", "signature", kinds=IDENTITY)
    # F107: nobody signs a visitor's token but the service.
    for name, make in (
        ("JWT-128-visitor", claims(type="visitor")),
        ("JWT-128-visitor-by-the-secret", lambda place: place.shop.sign(place.shop.visitor_claims())),
    ):
        yield Verdict(name, make, "token_signature", "signature", kinds=SOCKET)
    for uid in ("someone", "v_short", "google:1"):
        yield Verdict(f"visitor-called-{uid}", visitor(uid=uid), "token_claims", "uid", kinds=SOCKET)
    too_long = visitor(exp=now(121))
    yield Verdict("visitor-for-too-long", too_long, "token_claims", "exp", kinds=SOCKET)
    social = claims(uid="google:123", data={"auth_provider": "google"})
    yield Verdict("social-for-an-hour", social, "token_claims", "exp", kinds=SOCKET)
    for name, uid in (
        ("no-prefix", "42"),
        ("no-colon", "google"),
        ("no-subject", "google:"),
        ("unknown-social", "foo:1"),
        ("case", "Google:42"),
        ("empty-social", ":42"),
    ):
        yield Verdict(f"JWT-165-{name}", claims(uid=uid), "token_claims", "uid", kinds=IDENTITY)


def _bindings() -> Iterator[Verdict]:
    # F104: missing, empty, flat, or of another form.
    missing = {"null": None, "missing": REMOVED}
    no_object = {"string": jkt, "json-in-a-string": lambda place: f'{{"jkt":"{jkt(place)}"}}', "number": 7}
    arrays = {"array": lambda place: [jkt(place)], "empty-array": []}
    for name, cnf in missing.items():
        yield _unbound(f"JWT-130-{name}", claims(cnf=cnf), SOCKET)
    for name, cnf in {**no_object, **arrays}.items():
        yield _unbound(f"JWT-130-{name}", claims(cnf=cnf), BOTH)
    yield _unbound("JWT-131-missing", claims(cnf={}), BOTH)
    for name, inner in (("empty", ""), ("null", None), ("number", 7), ("short", "abc")):
        yield _unbound(f"JWT-131-{name}", claims(cnf={"jkt": inner}), BOTH)
    yield _unbound("JWT-131-array", claims(cnf=lambda place: {"jkt": [jkt(place)]}), BOTH)
    yield _unbound("JWT-131-padded", claims(cnf=lambda place: {"jkt": jkt(place) + "="}), BOTH)
    yield _unbound("JWT-132-nested", claims(cnf=lambda place: {"cnf": {"jkt": jkt(place)}}), BOTH)
    yield _unbound("JWT-132-top-level", claims(cnf=REMOVED, jkt=jkt), SOCKET)
    yield _unbound("JWT-132-dotted-name", claims(**{"cnf": REMOVED, "cnf.jkt": jkt}), SOCKET)


def _unbound(name: str, make: Make, kinds: tuple[str, ...]) -> Verdict:
    return Verdict(name, make, "proof_binding_missing", "cnf.jkt", says="getToken", kinds=kinds)


REFUSED: Final = (
    *_texts(),
    *_headers(),
    *_signatures(),
    *_payloads(),
    *_claims(),
    *_times(),
    *_kinds(),
    *_bindings(),
)

REFUSED_BY_READERS: Final = (
    # F045: the widget does not send it; the server would refuse it.
    Verdict("JWT-120", claims(pid="prov_b"), "token_provider", "pid"),
    Verdict("JWT-121-case", claims(pid="PROV_A"), "token_provider", "pid"),
    Verdict("JWT-121-longer", claims(pid="prov_ab"), "token_provider", "pid"),
    Verdict("JWT-115-iat", claims(iat=now(61)), "token_not_yet_valid", "iat", "about 61 s", "iat lies 61 s ahead"),
    Verdict("JWT-117-nbf", claims(nbf=now(61)), "token_not_yet_valid", "nbf", "about 61 s", "nbf lies 61 s ahead"),
    Verdict("visitor-of-a-minute-to-come", in_a_minute, "token_not_yet_valid", "iat", "about 60 s", kinds=SOCKET),
)
"""Over the wire the clock would move on, and the socket finds the business by the pid."""


# what is accepted

PAYLOADS: Final[dict[str, Spoil]] = {
    "space": lambda honest: honest + b" ",
    "newline": lambda honest: honest + b"\n",
    "around": lambda honest: b"\t" + honest + b"\r\n",
    "pretty": lambda honest: honest.replace(b",", b",\n  ").replace(b"{", b"{\n  "),
}
OTHER_CLAIMS: Final[dict[str, dict[str, Any]]] = {
    # F111: claims and header members that are not known say nothing.
    "JWT-095": {"__proto__": {"uid": "root"}, "constructor": {"prototype": {}}, "toString": "x"},
    "JWT-136-text": {"aud": "somebody-else"},
    "JWT-136-list": {"aud": ["a", "b"]},
    "JWT-136-number": {"aud": 7},
    "JWT-137": {"sub": 7, "jti": 7, "iss": ["https://issuer.example"]},
    "JWT-137-text": {"iss": "shop", "sub": "5", "extra": 5},
    "JWT-138-markup": {"name": '<img src=x onerror="alert(1)">'},
    "JWT-138-script": {"avatar": "javascript:alert(1)"},
    "JWT-140": {"role": "admin", "admin": True, "is_agent": True, "scope": "agent"},
}
TYPES: Final = {"JWT-057-upper": "JWT", "JWT-057-lower": "jwt", "JWT-057-whole": "application/jwt"}

ACCEPTED: Final = (
    *(Honest(f"JWT-021-{size}", sized(size)) for size in (4096, LIMIT)),
    Honest("JWT-039", header(kid="../../../../dev/null")),
    *(Honest(f"JWT-042-{name}", header(kid=kid)) for name, kid in {"number": 7, "null": None, "text": "key-1"}.items()),
    Honest("JWT-057-absent", raw_header(b'{"alg":"HS256"}')),
    *(Honest(name, header(typ=typ)) for name, typ in TYPES.items()),
    *(Honest(f"JWT-087-{name}", payload(spaced)) for name, spaced in PAYLOADS.items()),
    *(Honest(name, claims(**changes)) for name, changes in OTHER_CLAIMS.items()),
    Honest("JWT-111", claims(iat=now(0), exp=now(7200)), SOCKET),
    # F054: a clock that is a little ahead is honest, up to a minute.
    *(Honest(f"JWT-114-{ahead}", claims(iat=now(ahead), nbf=now(ahead))) for ahead in (0, 2, 30, 59)),
    Honest("JWT-123", claims(uid="u" * 255), SOCKET),
    Honest("JWT-125-any-letters", claims(uid="Ünï—😀"), SOCKET),
    Honest("JWT-128-visitor", visitor(), SOCKET),
    Honest("JWT-135", claims(cnf=lambda place: {"jkt": jkt(place), "x5t#S256": "A" * 43})),
)

ACCEPTED_BY_READERS: Final = (
    Honest("a-second-is-left", claims(exp=now(1))),
    Honest("a-minute-ahead", claims(iat=now(60), nbf=now(60))),
)
"""Over the wire the clock would move on."""
