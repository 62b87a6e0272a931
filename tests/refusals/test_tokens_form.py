"""Tokens that are not what a compact JWS is: their text, header and MAC (RFC 7515, 8725). Shown at both doors."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed

if TYPE_CHECKING:
    from doors import AuthDoor, Door, SocketDoor
    from honest import Maker
    from shipped import Service

    Damage = Callable[[str], str]

HEADER = {"alg": "HS256", "typ": "JWT"}
LIMIT = 8192


# the text


def inserted(text: str, segment: int) -> Damage:
    """Put a text into the middle of one of the segments."""

    def damage(token: str) -> str:
        segments = token.split(".")
        half = len(segments[segment]) // 2
        segments[segment] = segments[segment][:half] + text + segments[segment][half:]
        return ".".join(segments)

    return damage


def flattened(token: str) -> str:
    protected, payload, signature = token.split(".")
    return json.dumps({"protected": protected, "payload": payload, "signature": signature})


def general(token: str) -> str:
    protected, payload, signature = token.split(".")
    broken, whole = ({"protected": protected, "signature": value} for value in (signature[::-1], signature))
    return json.dumps({"payload": payload, "signatures": [broken, whole]})


def polyglot(token: str) -> str:
    protected, payload, signature = token.split(".")
    return f'{{"payload":"{payload}","protected":"{protected}","signature":"{signature}","x":".{payload}."}}'


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        pytest.param(lambda _: ".", None, id="JWT-002-one-dot"),
        pytest.param(lambda _: "..", None, id="JWT-002-two-dots"),
        pytest.param(lambda _: "...", None, id="JWT-002-three-dots"),
        pytest.param(lambda token: token + ".", None, id="JWT-004"),
        pytest.param(lambda token: token + ".x", None, id="JWT-005"),
        pytest.param(lambda token: " " + token, "white space", id="JWT-007-leading-space"),
        pytest.param(lambda token: token + " ", "white space", id="JWT-007-trailing-space"),
        pytest.param(lambda token: token + "\t", "white space", id="JWT-007-tab"),
        pytest.param(lambda token: token + "\n", "white space", id="JWT-007-lf"),
        pytest.param(lambda token: token + "\r\n", "white space", id="JWT-007-crlf"),
        *(pytest.param(inserted(" ", at), None, id=f"JWT-008-{at}") for at in range(3)),
        pytest.param(lambda token: "Bearer " + token, "Bearer", id="JWT-009"),
        pytest.param(lambda token: token + "=", "padding", id="JWT-010"),
        pytest.param(lambda token: token + "====", "padding", id="JWT-011"),
        *(
            pytest.param(inserted(text, at), cause, id=f"JWT-013-{name}-{at}")
            for text, name, cause in (
                ("?", "question", None),
                ("!", "bang", None),
                ("#", "hash", None),
                ("%2E", "encoded-dot", "percent-encoded"),
            )
            for at in range(3)
        ),
        pytest.param(lambda token: token.replace(".", "%2E"), "percent-encoded", id="JWT-016"),
        pytest.param(flattened, "JSON serialization", id="JWT-017"),
        pytest.param(general, "JSON serialization", id="JWT-018"),
        pytest.param(polyglot, "JSON serialization", id="JWT-019"),
        pytest.param(inserted("é", 1), None, id="JWT-020-latin"),
        pytest.param(inserted("\u0430", 1), None, id="JWT-020-cyrillic-a"),
        pytest.param(inserted("\0", 1), None, id="JWT-020-nul"),
        pytest.param(lambda token: f'"{token}"', "quotes", id="JWT-013-quotes"),
    ],
)
@pytest.mark.contract("D-20/cause")
def test_a_text_that_is_not_three_base64url_segments_is_malformed(
    door: Door, damage: Damage, cause: str | None
) -> None:
    """F111: white space and padding are refused at both doors, and the mistake is named."""
    honest = door.shop.sign(door.claims())

    door.accept(honest)
    told = door.refuse(damage(honest), "token_malformed")

    assert cause in told["cause"] if cause else told["cause"] is None


@pytest.mark.row("JWT-001")
def test_an_empty_token_is_no_token(socket_door: SocketDoor, auth_door: AuthDoor) -> None:
    socket_door.accept(socket_door.shop.token())
    socket_door.refuse("", "token_malformed")

    answer = auth_door.shop.exchange("")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "parameter_missing")


@pytest.mark.row("JWT-016")
def test_a_token_is_decoded_once(auth_door: AuthDoor, service: Service) -> None:
    shop = auth_door.shop
    once = shop.identity_token().replace(".", "%2E")

    def exchange(auth: str) -> int:
        return service.http.get(f"{shop.path}/member/token?auth={auth}&jkt={shop.key.jkt}").status_code

    assert exchange(once) == 200
    assert exchange(once.replace("%", "%25")) == 401


@pytest.mark.row("JWT-015")
@pytest.mark.parametrize("over", ["received", "canonical"])
def test_bits_that_no_byte_uses_must_be_zero(door: Door, make: Maker, over: str) -> None:
    payload = make.dumps(door.claims())
    payload += b" " * (-len(payload) % 3 + 1)  # one byte into a group of three: four bits are idle
    header, canonical = make.b64(make.dumps(HEADER)), make.b64(payload)
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    loose = canonical[:-1] + last[last.index(canonical[-1]) + 1]
    assert make.unb64(loose) == payload

    def token(segment: str, signed: str) -> str:
        return f"{header}.{segment}.{make.b64(make.mac(f'{header}.{signed}', door.shop.secret))}"

    door.accept(token(canonical, canonical))
    told = door.refuse(token(loose, loose if over == "received" else canonical), "token_malformed")

    assert "not canonical base64url" in told["message"]


def sized(door: Door, size: int) -> str:
    """Return an honest token of so many characters."""
    start = len(door.shop.sign(door.claims(filler="")))
    pads = ((size - start) * 3 // 4 + more for more in range(-3, 4))
    return next(token for pad in pads if len(token := door.shop.sign(door.claims(filler="x" * pad))) == size)


@pytest.mark.row("JWT-021")
@pytest.mark.parametrize("size", [4096, LIMIT])
def test_a_token_of_8_kb_is_read(door: Door, size: int) -> None:
    door.accept(sized(door, size))


@pytest.mark.row("JWT-021")
@pytest.mark.parametrize("size", [LIMIT + 1, 12_000])
def test_a_longer_one_is_not(door: Door, size: int) -> None:
    told = door.refuse(sized(door, size), "token_too_large")

    assert str(LIMIT) in told["message"]


@pytest.mark.row("JWT-021")
@pytest.mark.parametrize("size", [16 * 1024 + 1, 100_000, 1_000_000, 10_000_000])
def test_one_beyond_the_limits_of_query_or_frame_is_refused_before_it_is_looked_at(
    socket_door: SocketDoor, auth_door: AuthDoor, service: Service, size: int
) -> None:
    shop = auth_door.shop
    token = "a" * size

    line = f"GET {shop.path}/member/token?jkt={shop.key.jkt}&auth={token} HTTP/1.1"
    answer = service.raw(f"{line}\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())

    assert answer.startswith(b"HTTP/1.1 400 ") or (size > 65_536 and not answer)  # closed while we were still sending
    if size < 65_536:
        socket_door.refuse(token, "token_too_large")
        return
    with service.socket() as peer:
        with suppress(ConnectionClosed):  # the server has heard enough
            peer.say({"type": "connect", "token": token, "proof": "x"})
        ended = peer.end()
    assert (ended.frames, ended.close) == ([], 1009)


# the header


@pytest.mark.parametrize(
    ("changes", "code", "member"),
    [
        *(
            pytest.param({"alg": alg}, "token_alg", "alg", id=f"JWT-031-{number}")
            for number, alg in enumerate(("none", "None", "NONE", "nOnE", "none "))
        ),
        pytest.param({"alg": None}, "token_alg", "alg", id="JWT-032-null"),
        pytest.param({"alg": ""}, "token_alg", "alg", id="JWT-032-empty"),
        pytest.param({"alg": 256}, "token_alg", "alg", id="JWT-032-number"),
        pytest.param({"alg": ["HS256"]}, "token_alg", "alg", id="JWT-032-list"),
        pytest.param({"alg": {"HS256": 1}}, "token_alg", "alg", id="JWT-032-object"),
        pytest.param({"alg": "hs256"}, "token_alg", "alg", id="JWT-033"),
        pytest.param({"crit": []}, "token_header", "crit", id="JWT-047"),
        pytest.param({"crit": ["x"], "x": 1}, "token_header", "crit", id="JWT-048"),
        pytest.param({"crit": ["exp"], "exp": 1}, "token_header", "crit", id="JWT-049-exp"),
        pytest.param({"crit": ["alg"]}, "token_header", "crit", id="JWT-049-alg"),
        pytest.param({"crit": "b64"}, "token_header", "crit", id="JWT-049-string"),
        pytest.param({"crit": ["x", "x"], "x": 1}, "token_header", "crit", id="JWT-049-twice"),
        pytest.param({"b64": False}, "token_header", "b64", id="JWT-050-without-crit"),
        pytest.param({"zip": "DEF"}, "token_header", "zip", id="JWT-053"),
        pytest.param({"typ": "dpop+jwt"}, "token_header", "typ", id="JWT-055"),
        pytest.param({"typ": "at+jwt"}, "token_header", "typ", id="JWT-056-at"),
        pytest.param({"typ": "secevent+jwt"}, "token_header", "typ", id="JWT-056-secevent"),
        pytest.param({"typ": "logout+jwt"}, "token_header", "typ", id="JWT-056-logout"),
        pytest.param({"typ": ["JWT"]}, "token_header", "typ", id="JWT-056-list"),
    ],
)
def test_a_header_says_hs256_and_nothing_that_would_have_to_be_understood(
    door: Door, changes: dict[str, Any], code: str, member: str
) -> None:
    door.accept(door.shop.sign(door.claims(), header=HEADER))

    told = door.refuse(door.shop.sign(door.claims(), header={**HEADER, **changes}), code)

    assert told["member"] == member


@pytest.mark.row("JWT-030")
def test_alg_none_without_a_signature_is_refused(door: Door) -> None:
    header, payload, _ = door.shop.sign(door.claims(), header={**HEADER, "alg": "none"}).split(".")

    door.accept(door.shop.sign(door.claims(), header=HEADER))
    door.refuse(f"{header}.{payload}.", "token_alg")


@pytest.mark.row("JWT-032")
def test_a_header_without_alg_is_refused(door: Door) -> None:
    told = door.refuse(door.shop.sign(door.claims(), header={"typ": "JWT"}), "token_alg")

    assert told["member"] == "alg"
    door.accept(door.shop.sign(door.claims(), header={"typ": "JWT", "alg": "HS256"}))


@pytest.mark.row("JWT-035")
@pytest.mark.parametrize("alg", ["RS256", "ES256", "PS256", "EdDSA", "HS384", "HS512"])
@pytest.mark.parametrize("whose", ["attacker", "shop"])
def test_another_algorithm_is_refused_whatever_the_mac_is_made_with(door: Door, alg: str, whose: str) -> None:
    """F101: also where the provider's own secret was used."""
    key = door.shop.secret if whose == "shop" else b"-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"

    door.refuse(door.shop.sign(door.claims(), header={**HEADER, "alg": alg}, key=key), "token_alg")
    door.accept(door.shop.sign(door.claims(), header=HEADER))


@pytest.mark.row("JWT-039")
def test_a_kid_finds_no_key(door: Door) -> None:
    header = {**HEADER, "kid": "../../../../dev/null"}

    door.accept(door.shop.sign(door.claims(), header=header))
    told = door.refuse(door.shop.sign(door.claims(), header=header, key=b""), "token_signature")

    assert "an empty secret" in told["cause"]


@pytest.mark.row("JWT-041")
def test_a_kid_that_names_another_business_does_not_choose_its_secret(door: Door, service: Service) -> None:
    other = service.shop()
    header = {**HEADER, "kid": other.id}

    door.accept(door.shop.sign(door.claims(), header=header))
    door.refuse(door.shop.sign(door.claims(), header=header, key=other.secret), "token_signature")


@pytest.mark.row("JWT-042")
@pytest.mark.parametrize("kid", [7, None, "key-1"])
def test_a_kid_of_any_type_is_passed_over(door: Door, kid: object) -> None:
    """F111: a claim or header that is not known says nothing."""
    door.accept(door.shop.sign(door.claims(), header={**HEADER, "kid": kid}))


@pytest.mark.parametrize(
    ("header", "what"),
    [
        pytest.param(b'{"alg":"none","alg":"HS256"}', "stands there twice", id="JWT-043"),
        pytest.param(b'{"alg":"HS256","alg":"none"}', "stands there twice", id="JWT-044"),
        pytest.param(b'{"alg":"HS256","\\u0061lg":"HS256"}', "stands there twice", id="JWT-044-escaped"),
        pytest.param(b"[]", "not a JSON object", id="JWT-045-array"),
        pytest.param(b'"HS256"', "not a JSON object", id="JWT-045-string"),
        pytest.param(b"256", "not a JSON object", id="JWT-045-number"),
        pytest.param(b"null", "not a JSON object", id="JWT-045-null"),
        pytest.param(b'{"alg":"HS256","x":' + b"[" * 1000 + b"]" * 1000 + b"}", "JSON", id="JWT-059"),
        pytest.param(b'{"alg":"HS256","x":' + b"[" * 40 + b"]" * 40 + b"}", "more than 32 levels", id="JWT-059-40"),
    ],
)
def test_a_header_is_one_json_object_with_each_member_once(door: Door, header: bytes, what: str) -> None:
    door.accept(door.shop.sign(door.claims(), header=b'{"alg":"HS256"}'))

    told = door.refuse(door.shop.sign(door.claims(), header=header), "token_malformed")

    assert what in told["message"]


@pytest.mark.row("JWT-050")
def test_a_payload_that_is_not_encoded_is_refused(door: Door, make: Maker) -> None:
    header = make.b64(make.dumps({**HEADER, "b64": False, "crit": ["b64"]}))
    payload = make.dumps(door.claims(exp=9)).decode()
    signature = make.b64(make.mac(f"{header}.{payload}", door.shop.secret))

    door.accept(door.shop.sign(door.claims()))
    door.refuse(f"{header}.{payload}.{signature}", "token_malformed")
    encoded = door.shop.sign(door.claims(), header={**HEADER, "b64": False, "crit": ["b64"]})
    assert door.refuse(encoded, "token_header")["member"] == "crit"


@pytest.mark.row("JWT-054")
def test_a_token_in_a_token_is_refused(door: Door) -> None:
    nested = door.shop.sign(door.claims())

    door.accept(nested)
    door.refuse(door.shop.sign(nested.encode(), header={**HEADER, "cty": "JWT"}), "token_malformed")


@pytest.mark.row("JWT-057")
@pytest.mark.parametrize("typ", [None, "JWT", "jwt", "application/jwt"])
def test_a_typ_that_says_jwt_or_none_at_all_is_accepted(door: Door, typ: str | None) -> None:
    header = {"alg": "HS256"} if typ is None else {"alg": "HS256", "typ": typ}

    door.accept(door.shop.sign(door.claims(), header=header))


# the MAC


@pytest.mark.row("JWT-070")
@pytest.mark.parametrize("at", [0, 15, 31])
def test_a_flipped_bit_in_the_mac_is_refused(door: Door, make: Maker, at: int) -> None:
    honest = door.shop.sign(door.claims())
    signed, _, signature = honest.rpartition(".")
    mac = bytearray(make.unb64(signature))
    mac[at] ^= 1

    door.accept(honest)
    told = door.refuse(f"{signed}.{make.b64(bytes(mac))}", "token_signature")

    assert (told["member"], told["cause"]) == ("signature", None)


@pytest.mark.row("JWT-071")
@pytest.mark.parametrize("length", [31, 16, 1, 0])
def test_a_shortened_mac_is_refused(door: Door, make: Maker, length: int) -> None:
    honest = door.shop.sign(door.claims())
    signed, _, signature = honest.rpartition(".")

    door.accept(honest)
    door.refuse(f"{signed}.{make.b64(make.unb64(signature)[:length])}", "token_signature")


@pytest.mark.row("JWT-073")
def test_the_mac_of_another_business_is_refused(door: Door, service: Service) -> None:
    """F102: each provider's tokens are judged by its own secret."""
    other = service.shop()

    door.accept(door.shop.sign(door.claims()))
    door.refuse(door.shop.sign(door.claims(), key=other.secret), "token_signature")


@pytest.mark.row("JWT-074")
@pytest.mark.contract("D-20/cause")
@pytest.mark.parametrize(
    ("key", "cause"),
    [
        (b"", "the signature verifies with an empty secret"),
        (b"undefined", "the signature verifies with the word undefined (the setting was not read)"),
        (None, "the signature verifies with the provider's id"),
    ],
    ids=["empty", "undefined", "provider-id"],
)
def test_a_mac_made_with_what_is_no_secret_is_refused_and_the_mistake_named(
    door: Door, key: bytes | None, cause: str
) -> None:
    made_with = door.shop.id.encode() if key is None else key

    door.accept(door.shop.sign(door.claims()))
    told = door.refuse(door.shop.sign(door.claims(), key=made_with), "token_signature")

    assert told["cause"] == cause


@pytest.mark.row("JWT-075")
def test_a_mac_made_with_the_decoded_secret_is_refused_and_the_mistake_named(service: Service) -> None:
    """F103: `getToken` of an integrator whose code decodes what it was given."""
    raw = bytes(range(100, 148))
    shop = service.shop(secret_key=base64.b64encode(raw).decode())

    assert service.try_token(shop.token(), shop.key).granted
    ended = service.try_token(shop.sign(shop.claims(), key=raw), shop.key)

    assert ended.refusal == ("token_signature", 4401)
    assert ended.last["cause"] == "the signature verifies with the base64-decoded secret"
    assert service.heard("socket.refused")["facts"]["cause"] == ended.last["cause"]


@pytest.mark.row("JWT-077")
def test_a_replaced_payload_is_refused(door: Door, make: Maker) -> None:
    honest = door.shop.sign(door.claims())
    header, _, signature = honest.split(".")

    door.accept(honest)
    door.refuse(f"{header}.{make.b64(make.dumps(door.claims(name='Mallory')))}.{signature}", "token_signature")


@pytest.mark.row("JWT-078")
def test_a_replaced_header_is_refused(door: Door, make: Maker) -> None:
    honest = door.shop.sign(door.claims())
    _, payload, signature = honest.split(".")

    door.accept(honest)
    door.refuse(f"{make.b64(make.dumps({'alg': 'HS256'}))}.{payload}.{signature}", "token_signature")


# the secret


@pytest.mark.row("JWT-079")
def test_a_secret_of_less_than_32_bytes_is_not_configured(service: Service) -> None:
    assert service.shop(secret_key="k" * 32).id
    assert refused_secret(service, "k" * 31) == "secret_key must have at least 32 bytes."


@pytest.mark.row("JWT-080")
@pytest.mark.parametrize(
    ("secret", "message"),
    [
        ("", "secret_key must have at least 32 bytes."),
        (
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
            "secret_key is a PEM key; HS256 wants a random text that both ends share.",
        ),
        (" " + "k" * 40, "secret_key has white space at an end, which gets lost when it is copied."),
    ],
    ids=["empty", "pem", "white-space"],
)
def test_what_is_no_secret_is_not_configured(service: Service, secret: str, message: str) -> None:
    assert refused_secret(service, secret) == message


@pytest.mark.row("JWT-079", "JWT-080")
def test_the_command_line_refuses_a_weak_secret_too(service: Service, row: str) -> None:
    weak = {"JWT-079": "too-short", "JWT-080": "-----BEGIN PRIVATE KEY-----" + "A" * 40}[row]

    run = service.run("provider", "add", "--secret-env", "THE_SECRET", THE_SECRET=weak)

    assert run.returncode == 1
    assert "secret_key" in run.stderr
    assert weak not in run.stdout + run.stderr


def refused_secret(service: Service, secret: str) -> str:
    """Return why a provider cannot be given this secret."""
    answer = service.http.post("/lab/providers", json={"secret_key": secret})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "parameter_invalid")
    return str(error["message"])
