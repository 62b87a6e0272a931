"""The table of tokens: how each token is made from valid parts, and the expected refusal (RFC 7515, 7519, 8725).

The id of a row is an id of `rows.toml`, followed by a word if several tokens belong to that row. Every token is checked
with the function that reads this kind and, over the network, at the endpoint that accepts it
(`test_token_verdicts.py`).
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from chatkey_conform.making.damage import DAMAGE
from chatkey_conform.making.token_making import (
    HOUR,
    Make,
    Spoil,
    added,
    another_header,
    another_mac,
    another_payload,
    by_the_providers_id,
    claims,
    cut,
    damaged,
    decoded_loosely,
    flipped,
    header,
    in_a_minute,
    jkt,
    mac,
    mac_of,
    nested,
    not_encoded,
    now,
    payload,
    raw_header,
    signed_with,
    sized,
    unsigned,
    visitor,
    written,
)
from chatkey_peer.key import REMOVED, Json, b64, unb64

LIMIT: Final = 8192
BOTH: Final = ("socket", "identity")
SOCKET: Final = ("socket",)
IDENTITY: Final = ("identity",)


@dataclass(frozen=True)
class Verdict:
    """A token with one fault, and the refusal that it must get: code, member, and text in the cause and the message.

    If `cause` is None, the refusal has no cause. `kinds` are the kinds of token to which the row applies.
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
    """An unusual token that must be accepted."""

    id: str
    make: Make
    kinds: tuple[str, ...] = BOTH


# the text


def _texts() -> Iterator[Verdict]:
    for damage in DAMAGE:
        make, member = damaged(damage), damage.token_member
        yield Verdict(damage.token_id, make, "token_malformed", member, damage.cause, damage.says)
    yield Verdict("JWT-050", not_encoded, "token_malformed")
    # F105: the length of a uid is limited.
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
        ("JWT-032-true", header(alg=True)),
        ("JWT-033", header(alg="hs256")),
        ("JWT-033-space", header(alg="HS256 ")),
        # F101: even if the token is signed with the provider's own secret.
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
        ("JWT-047-null", "crit", {"crit": None}),
        ("JWT-049-string", "crit", {"crit": "b64"}),
        ("JWT-049-twice", "crit", {"crit": ["x", "x"], "x": 1}),
        ("JWT-050-critical", "crit", {"b64": False, "crit": ["b64"]}),
        ("JWT-050-without-crit", "b64", {"b64": False}),
        ("JWT-053", "zip", {"zip": "DEF"}),
        ("JWT-055", "typ", {"typ": "dpop+jwt"}),
        ("JWT-055-ours", "typ", {"typ": "wf-proof+jwt"}),
        ("JWT-056-jws", "typ", {"typ": "JWS"}),
        ("JWT-056-empty", "typ", {"typ": ""}),
        ("JWT-056-empty-list", "typ", {"typ": []}),
        ("JWT-056-true", "typ", {"typ": True}),
        ("JWT-056-at", "typ", {"typ": "at+jwt"}),
        ("JWT-056-secevent", "typ", {"typ": "secevent+jwt"}),
        ("JWT-056-logout", "typ", {"typ": "logout+jwt"}),
        ("JWT-056-list", "typ", {"typ": ["JWT"]}),
        ("JWT-056-number", "typ", {"typ": 5}),
        ("JWT-056-object", "typ", {"typ": {}}),
    ):
        yield Verdict(name, header(**changes), "token_header", member)
    twice = raw_header(b'{"alg":"none","alg":"HS256"}')
    yield Verdict("JWT-043", twice, "token_malformed", says="occurs twice")


ALGORITHMS: Final = ("RS256", "ES256", "PS256", "EdDSA", "HS384", "HS512")
PUBLIC_KEY: Final = b"-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"


# the MAC


def _signatures() -> Iterator[Verdict]:
    for name, make, cause in (
        ("JWT-039", signed_with(lambda _: b"", kid="../../../../dev/null"), "with an empty secret"),
        *((f"JWT-070-{at}", mac(flipped(at)), None) for at in (0, 15, 31)),
        *((f"JWT-071-{length}", mac(cut(length)), None) for length in (31, 16, 1, 0)),
        ("JWT-071-zero-behind", mac(lambda raw: raw + b"\0"), None),
        ("JWT-071-zeros", mac(lambda raw: bytes(len(raw))), None),
        ("JWT-071-hex", mac(lambda raw: raw.hex().encode()), None),
        ("JWT-071-base64url", mac(lambda raw: b64(raw).encode()), None),
        ("JWT-077-mac-of-the-payload", mac_of(lambda _, body: body.encode()), None),
        ("JWT-077-mac-of-what-is-decoded", mac_of(lambda head, body: unb64(head) + b"." + unb64(body)), None),
        # F103: common mistakes in copying or decoding the secret.
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
        ("JWT-075-url", signed_with(decoded_loosely), "-decoded secret"),
        ("JWT-077", another_payload, None),
        ("JWT-078", another_header, None),
    ):
        yield Verdict(name, make, "token_signature", "signature", cause)


# the payload


def _payloads() -> Iterator[Verdict]:
    for name, make in (
        ("JWT-091", payload(lambda honest: honest.replace(b"Ada", b"\\ud800"))),
        ("JWT-091-in-the-pid", claims(pid="\ud800")),
        ("JWT-097-5000-digits", added(f'"x":{"7" * 5000}')),
        ("JWT-098-2500-levels", added(f'"x":{"[" * 2500}{"]" * 2500}')),
    ):
        yield Verdict(name, make, "token_malformed", "payload")
    for claim, literal in product(TIMES, BEYOND_A_DOUBLE):
        name = f"JWT-097-{claim}={literal if len(literal) < 10 else 'digits'}"
        yield Verdict(name, written(claim, literal), "token_malformed", "payload", says="outside the range of a double")
    yield Verdict("JWT-054", nested, "token_malformed", "payload")


TIMES: Final = ("exp", "iat", "nbf")
BEYOND_A_DOUBLE: Final = ("1e400", "-1E+400", "0.1e402", f"1{'0' * 400}.0")
"""JSON numbers beyond the range of a double. All have a fraction or an exponent: large integers are valid JSON."""


# each claim: its presence, type and bounds


def _claims() -> Iterator[Verdict]:
    # F058, F105, F107: the refusal names the member, whatever is wrong with it.
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
        "iat": {"JWT-113": {"missing": REMOVED, "string": "1795174498", "null": None, "true": True, "negative": -1}},
        "nbf": {"JWT-117": {"string": "soon", "true": True, "negative": -1}},
        "name": {"JWT-138": {"256-characters": "n" * 256, "number": 7}},
        "email": {"JWT-138-email": {"256-characters": "e" * 256, "number": 7, "list": ["ada@shop.example"]}},
        "avatar": {"JWT-138-avatar": {"2049-characters": "a" * 2049, "object": {}}},
    }
    for claim, rows in tables.items():
        for row, values in rows.items():
            for name, value in values.items():
                yield Verdict(f"{row}-{name}", claims(**{claim: value}), "token_claims", claim, says=f"claim {claim} ")
    # F057: a time in milliseconds is recognised.
    for name, value in (("10-to-the-30", 10**30), ("10-to-the-400", 10**400), ("eleven-digits", 10**10)):
        yield Verdict(f"JWT-108-{name}", claims(exp=value), "token_claims", "exp", "milliseconds", "claim exp ")
    milliseconds = "exp looks like milliseconds; use seconds"
    yield Verdict("JWT-108", claims(exp=lambda place: place.shop.now * 1000), "token_claims", "exp", milliseconds)
    # F058: a fraction is refused too; no mode accepts it.
    for name, literal in (("exponent", "1e10"), ("fraction", "{exp}.0"), ("half", "{exp}.5")):
        yield Verdict(f"JWT-104-{name}", written("exp", literal), "token_claims", "exp")
    for claim, literal in (("iat", "1.8e9"), ("iat", "1800000000.0"), ("nbf", "1e-400"), ("nbf", "0.5")):
        yield Verdict(f"JWT-104-{claim}={literal}", written(claim, literal), "token_claims", claim)


# times


def _times() -> Iterator[Verdict]:
    lifetime = "exp looks like a lifetime; it must be the time of expiry"
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
        says = f"The token's claim exp is {seconds} s after iat; the limit here is 7200 s."
        make = claims(exp=now(seconds), iat=now(0))
        yield Verdict(f"JWT-111-{name}", make, "token_claims", "exp", says=says, kinds=SOCKET)
    a_day = claims(exp=now(24 * HOUR + 1), iat=now(0))
    yield Verdict("JWT-111-a-day-and-a-second", a_day, "token_claims", "exp", kinds=IDENTITY)
    yield Verdict("JWT-111", claims(exp=now(48 * HOUR)), "token_claims", "exp")
    yield Verdict("JWT-112", claims(iat=now(50), exp=now(40)), "token_claims", "exp")
    yield Verdict("JWT-112-soon", claims(iat=now(20), exp=now(10)), "token_claims", "exp")
    # F054: the message states the difference and which clock to set.
    ahead = "the clock of the machine that made the token is about"
    make = claims(iat=now(HOUR), exp=now(2 * HOUR))
    yield Verdict(
        "JWT-115", make, "token_not_yet_valid", "iat", ahead, "correct the clock of the machine that made the token"
    )
    yield Verdict("JWT-115-two-minutes", claims(iat=now(110)), "token_not_yet_valid", "iat", ahead)
    yield Verdict("JWT-117", claims(nbf=now(600)), "token_not_yet_valid", "nbf", ahead)
    yield Verdict("JWT-117-two-minutes", claims(nbf=now(110)), "token_not_yet_valid", "nbf", ahead)


# which kind, and bound to which key


def _kinds() -> Iterator[Verdict]:
    # F107: `type` is case-sensitive.
    for name, kind in (
        ("agent", "agent"),
        ("admin", "admin"),
        ("case", "User"),
        ("capitals", "USER"),
        ("space", "user "),
        ("empty", ""),
    ):
        yield Verdict(f"JWT-128-{name}", claims(type=kind), "token_type", "type")
    # F108, F109: refused although signed with the same secret and bound to the same key.
    yield Verdict("JWT-150", lambda place: place.shop.identity_token(), "token_type", "type", kinds=SOCKET)
    yield Verdict("JWT-150-by-its-type-alone", claims(type="identity"), "token_type", "type", kinds=SOCKET)
    yield Verdict("JWT-151-own-key", lambda place: place.shop.token(), "token_type", "type", kinds=IDENTITY)
    yield Verdict("JWT-153-own-key", visitor(), "token_signature", "signature", kinds=IDENTITY)
    # F107: only the service signs visitor tokens.
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
    too_long = claims(uid="google:123", data={"auth_provider": "google"}, iat=now(0), exp=now(121))
    yield Verdict("social-for-a-second-too-long", too_long, "token_claims", "exp", kinds=SOCKET)
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
    # F104: `cnf` is missing, empty, not nested, or has a wrong type.
    missing = {"null": None, "missing": REMOVED}
    no_object = {"string": jkt, "json-in-a-string": lambda place: f'{{"jkt":"{jkt(place)}"}}', "number": 7}
    arrays = {"array": lambda place: [jkt(place)], "empty-array": []}
    for name, cnf in missing.items():
        yield _unbound(f"JWT-130-{name}", claims(cnf=cnf), SOCKET)
    for name, cnf in {**no_object, **arrays}.items():
        yield _unbound(f"JWT-130-{name}", claims(cnf=cnf), BOTH)
    yield _unbound("JWT-131-missing", claims(cnf={}), BOTH)
    for name, inner in (("empty", ""), ("null", None), ("number", 7), ("short", "abc"), ("31-bytes", 42 * "A")):
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
    Verdict("JWT-001", lambda _: "", "token_malformed"),
    Verdict("JWT-020-half-a-pair", lambda place: place.shop.sign(place.claims()) + "\ud800", "token_malformed"),
    Verdict("JWT-021-a-megabyte", lambda place: place.shop.sign(place.claims()) + "A" * 1_000_000, "token_too_large"),
    # F045: the widget does not send this token; the server would refuse it.
    Verdict("JWT-120", claims(pid="prov_b"), "token_provider", "pid"),
    Verdict("JWT-121-case", claims(pid="PROV_A"), "token_provider", "pid"),
    Verdict("JWT-121-longer", claims(pid="prov_ab"), "token_provider", "pid"),
    Verdict("JWT-115-iat", claims(iat=now(61)), "token_not_yet_valid", "iat", "about 61 s", "iat is 61 s ahead"),
    Verdict("JWT-117-nbf", claims(nbf=now(61)), "token_not_yet_valid", "nbf", "about 61 s", "nbf is 61 s ahead"),
    Verdict("visitor-of-a-minute-to-come", in_a_minute, "token_not_yet_valid", "iat", "about 60 s", kinds=SOCKET),
)
"""Only checked with the reading functions, not with a running service.

There the clock moves on, the socket looks up the business by `pid`, and some texts cannot be sent.
"""


# what is accepted

PAYLOADS: Final[dict[str, Spoil]] = {
    "space": lambda honest: honest + b" ",
    "newline": lambda honest: honest + b"\n",
    "around": lambda honest: b"\t" + honest + b"\r\n",
    "pretty": lambda honest: honest.replace(b",", b",\n  ").replace(b"{", b"{\n  "),
}
OTHER_CLAIMS: Final[dict[str, dict[str, Any]]] = {
    # F111: unknown claims and header members are ignored.
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

ELSEWHERE: Final[tuple[Json, ...]] = (
    *({"kid": ["a"]}, {"kid": "../../etc/passwd"}, {"cty": "JWT"}),
    *({"jku": "https://evil.example"}, {"x5u": "file:///"}, {"x5c": [1]}),
)
"""Header members that say where to find the key. They are ignored."""

ACCEPTED: Final = (
    *(Honest(f"JWT-021-{size}", sized(size)) for size in (4096, LIMIT)),
    Honest("JWT-039", header(kid="../../../../dev/null")),
    *(Honest(f"JWT-042-{name}", header(kid=kid)) for name, kid in {"number": 7, "null": None, "text": "key-1"}.items()),
    *(Honest(f"elsewhere-{at}", header(**more)) for at, more in enumerate(ELSEWHERE)),
    Honest("JWT-057-absent", raw_header(b'{"alg":"HS256"}')),
    *(Honest(name, header(typ=typ)) for name, typ in TYPES.items()),
    *(Honest(f"JWT-087-{name}", payload(spaced)) for name, spaced in PAYLOADS.items()),
    *(Honest(name, claims(**changes)) for name, changes in OTHER_CLAIMS.items()),
    Honest("JWT-111", claims(iat=now(0), exp=now(7200)), SOCKET),
    # F054: a clock may be up to a minute ahead.
    *(Honest(f"JWT-114-{ahead}", claims(iat=now(ahead), nbf=now(ahead))) for ahead in (0, 2, 30, 59)),
    Honest("JWT-123", claims(uid="u" * 255), SOCKET),
    Honest("JWT-123-code-points", claims(uid="\N{FOX FACE}" * 255), SOCKET),
    Honest("JWT-092-c1-controls", claims(uid="a\x85\u2028b"), SOCKET),
    Honest("JWT-138-null", claims(name=None, email=None, avatar=None)),
    *(Honest(f"JWT-138-{name}-of-255", claims(**{name: "\N{FOX FACE}" * 255})) for name in ("name", "email")),
    Honest("JWT-125-any-letters", claims(uid="Ünï—😀"), SOCKET),
    Honest("JWT-128-visitor", visitor(), SOCKET),
    Honest("JWT-135", claims(cnf=lambda place: {"jkt": jkt(place), "x5t#S256": "A" * 43})),
)

ACCEPTED_BY_READERS: Final = (
    Honest("a-second-is-left", claims(exp=now(1))),
    Honest("a-minute-ahead", claims(iat=now(60), nbf=now(60))),
)
"""Only checked with the reading functions: in a running service the clock moves on."""
