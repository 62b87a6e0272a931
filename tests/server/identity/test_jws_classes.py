"""Compact JWS, every class of damage, against both of its readers: a refusal comes out, and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from chatkey_server.identity import proofs, tokens
from chatkey_server.identity.errors import Refused
from chatkey_server.identity.tokens import Secrets

Json = dict[str, Any]
Signer = Callable[[bytes], bytes]

NOW = 1_795_000_020.0
HTU = "wss://chat.example/v1/socket"
SECRET = b"a-secret-of-more-than-thirty-two-bytes!"
KEY = ec.derive_private_key(0xC0FFEE, ec.SECP256R1())
NUMBERS = KEY.public_key().public_numbers()


def b64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def dumps(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


JWK = {"crv": "P-256", "kty": "EC", "x": b64(NUMBERS.x.to_bytes(32, "big")), "y": b64(NUMBERS.y.to_bytes(32, "big"))}
JKT = b64(hashlib.sha256(dumps(JWK)).digest())


def ecdsa(signed: bytes) -> bytes:
    r, s = decode_dss_signature(KEY.sign(signed, ec.ECDSA(SHA256())))
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def mac(signed: bytes) -> bytes:
    return hmac.digest(SECRET, signed, "sha256")


class Reader:
    """One that reads a JWS: what an honest one looks like, who signs it, and how it is read."""

    def __init__(self, header: Json, payload: Json, sign: Signer, read: Callable[[str], object]) -> None:
        self.header = header
        self.payload = payload
        self.sign = sign
        self.read = read

    def made(self, header: bytes | None = None, payload: bytes | None = None) -> str:
        """Sign these bytes; what is None is honest."""
        parts = (dumps(self.header) if header is None else header, dumps(self.payload) if payload is None else payload)
        signed = ".".join(map(b64, parts))
        return f"{signed}.{b64(self.sign(signed.encode()))}"

    def signed(self, signed: str) -> str:
        """Sign a text that was put together by hand."""
        return f"{signed}.{b64(self.sign(signed.encode('utf-8', 'surrogatepass')))}"


READERS = {
    "proof": Reader(
        {"typ": "wf-proof+jwt", "alg": "ES256", "jwk": JWK},
        {
            "jti": "a",
            "iat": int(NOW),
            "htm": "GET",
            "htu": HTU,
            "nonce": "n",
            "ath": b64(hashlib.sha256(b"t").digest()),
        },
        ecdsa,
        lambda text: proofs.verify(text, token="t", jkt=JKT, nonce="n", htu=HTU, now=NOW),
    ),
    "token": Reader(
        {"typ": "JWT", "alg": "HS256"},
        {"pid": "p", "uid": "u", "type": "user", "iat": int(NOW), "exp": int(NOW) + 60, "cnf": {"jkt": JKT}},
        mac,
        lambda text: tokens.read_socket_token(text, Secrets(SECRET), pid="p", now=NOW),
    ),
}


def damaged_texts(reader: Reader) -> Iterator[tuple[str, str]]:
    """The compact form itself (RFC 7515 3.1, 7.1)."""
    good = reader.made()
    header, payload, signature = good.split(".")
    yield from {
        "empty": "",
        "dot": ".",
        "two-dots": "..",
        "no-signature": f"{header}.{payload}",
        "empty-signature": f"{header}.{payload}.",
        "no-header": f".{payload}.{signature}",
        "no-payload": f"{header}..{signature}",
        "only-header": header,
        "four-parts": f"{good}.",
        "five-parts": f"{header}.{header}.{header}.{payload}.{signature}",
        "dot-first": f".{good}",
        "space-first": f" {good}",
        "space-last": f"{good} ",
        "newline-last": f"{good}\n",
        "return-last": f"{good}\r\n",
        "nul-last": f"{good}\0",
        "tab-within": good.replace(".", ".\t", 1),
        "bom": f"\ufeff{good}",
        "quoted": f'"{good}"',
        "bearer": f"Bearer {good}",
        "comma": f"{good},{good}",
        "twice": good + good,
        "percent": good.replace(".", "%2E"),
        "ideographic-dots": good.replace(".", "\u3002"),
        "full-width-dots": good.replace(".", "\uff0e"),
        "reversed": ".".join(reversed(good.split("."))),
        "upper": good.upper(),
        "long": good + "A" * 1_000_000,
        "many-dots": "." * 5000,
        "surrogate": good + "\ud800",
        "cyrillic": "\u0435" + good[1:],
        "emoji": good + "🦊",
    }.items()
    yield (
        "json-general",
        json.dumps({"payload": payload, "signatures": [{"protected": header, "signature": signature}]}),
    )
    yield "json-flat", json.dumps({"payload": payload, "protected": header, "signature": signature})


def damaged_segments(reader: Reader) -> Iterator[tuple[str, str]]:
    """One segment in a spelling that is not its own, signed as it stands (RFC 7515 2)."""
    header, payload, signature = reader.made().split(".")
    for name, spell in SPELLINGS.items():
        yield f"header-{name}", reader.signed(f"{spell(header)}.{payload}")
        yield f"payload-{name}", reader.signed(f"{header}.{spell(payload)}")
        yield f"signature-{name}", f"{header}.{payload}.{spell(signature)}"


SPELLINGS: dict[str, Callable[[str], str]] = {
    "padded": lambda text: text + "=",
    "padded-fully": lambda text: text + "=" * (-len(text) % 4 or 4),
    "base64-letters": lambda text: f"{text[:4]}+/{text[6:]}",
    "newline-within": lambda text: f"{text[:8]}\n{text[8:]}",
    "newline-behind": lambda text: f"{text}\n",
    "space-within": lambda text: f"{text[:8]} {text[8:]}",
    "one-letter-more": lambda text: text + "A",
    "foreign-letter": lambda text: f"{text[:8]}é{text[9:]}",
    "digit-of-another-script": lambda text: f"{text[:8]}\u0661{text[9:]}",
    "tilde": lambda text: f"{text[:8]}~{text[9:]}",
}


def not_canonical(reader: Reader) -> Iterator[tuple[str, str]]:
    """A last letter that carries bits which no byte uses."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    def next_letter(text: str) -> str:
        return text[:-1] + letters[letters.index(text[-1]) + 1]

    header, payload, signature = reader.made().split(".")
    for pad in range(3):
        spaced = b64(dumps(reader.payload) + b" " * pad)
        if len(spaced) % 4:
            yield f"payload-bits-{pad}", reader.signed(f"{header}.{next_letter(spaced)}")
    yield "signature-bits", f"{header}.{payload}.{next_letter(signature)}"


def bad_json(name: str, good: Json) -> Iterator[tuple[str, bytes]]:
    """What stands in a segment instead of one strict JSON object (RFC 7493)."""
    whole = dumps(good)
    first = next(iter(good))
    member = dumps(first) + b":" + dumps(good[first])
    for what, raw in {
        "empty": b"",
        "null": b"null",
        "list": b"[" + whole + b"]",
        "string": dumps(whole.decode()),
        "number": b"1",
        "two": whole + whole,
        "trailing": whole + b"x",
        "comma": whole[:-1] + b",}",
        "single-quotes": whole.replace(b'"', b"'"),
        "truncated": whole[:-1],
        "comment": whole[:-1] + b"/**/}",
        "bom": b"\xef\xbb\xbf" + whole,
        "utf-16": whole.decode().encode("utf-16"),
        "latin-1": whole[:-1] + b',"x":"\xe9"}',
        "overlong": whole[:-1] + b',"x":"\xc0\xaf"}',
        "surrogate-bytes": whole[:-1] + b',"x":"\xed\xa0\x80"}',
        "nul": whole + b"\0",
        "control": whole[:-1] + b',"x":"\n"}',
        "nan": whole[:-1] + b',"x":NaN}',
        "infinity": whole[:-1] + b',"x":-Infinity}',
        "too-large": whole[:-1] + b',"x":1e999}',
        "digits": whole[:-1] + b',"x":' + b"9" * 2500 + b"9" * 2500 + b"}",
        "leading-zero": whole[:-1] + b',"x":01}',
        "plus": whole[:-1] + b',"x":+1}',
        "hex": whole[:-1] + b',"x":0x1}',
        "twice": whole[:-1] + b"," + member + b"}",
        "twice-other": whole[:-1] + b"," + dumps(first) + b":null}",
        "twice-escaped": whole[:-1] + b',"\\u%04x%b":null}' % (ord(first[0]), first[1:].encode()),
        "twice-deep": whole[:-1] + b',"x":[{"a":1,"a":1}]}',
        "levels": b'{"x":' + b"[" * 2500 + b"]" * 2500 + b"}",
        "open-levels": b"[" * 5000,
        "objects": b'{"a":' * 800,
    }.items():
        yield f"{name}-{what}", raw


def bad_segments(reader: Reader) -> Iterator[tuple[str, str]]:
    for name, raw in bad_json("header", reader.header):
        yield name, reader.made(header=raw)
    for name, raw in bad_json("payload", reader.payload):
        yield name, reader.made(payload=raw)


WORDS = ("none", "None", "NONE", "HS384", "HS512", "RS256", "ES384", "ES512", "EdDSA", "hs256", "es256", "ES256 ")
ALGORITHMS: tuple[object, ...] = (*WORDS, "", None, ["HS256", "ES256"], {"ES256": 1}, 256, True)
TYPES: tuple[object, ...] = ("at+jwt", "JWS", "dpop+jwt", "", 1, ["JWT"], {}, [], True)


def bad_headers(reader: Reader) -> Iterator[tuple[str, str]]:
    """A header that is JSON and says the wrong thing (RFC 7515 4.1, RFC 8725 2.1, 3.11)."""
    wrong: tuple[Json, ...] = (
        *({"alg": alg} for alg in ALGORITHMS),
        {"alg": "ES256" if reader.header["alg"] == "HS256" else "HS256"},
        *({"typ": typ} for typ in TYPES),
        {"crit": ["exp"], "exp": 1},
        {"crit": []},
        {"crit": None},
        {"crit": "b64"},
        {"crit": ["b64"], "b64": False},
    )
    for at, changes in enumerate(wrong):
        yield f"{next(iter(changes))}-{at}", reader.made(header=dumps({**reader.header, **changes}))
    yield "without-alg", reader.made(header=dumps({n: v for n, v in reader.header.items() if n != "alg"}))


def bad_signatures(reader: Reader) -> Iterator[tuple[str, str]]:
    header, payload, _ = reader.made().split(".")
    good = reader.sign(f"{header}.{payload}".encode())
    for name, raw in {
        "cut": good[:-1],
        "more": good + b"\0",
        "zeros": bytes(len(good)),
        "first-bit": bytes([good[0] ^ 1]) + good[1:],
        "last-bit": good[:-1] + bytes([good[-1] ^ 1]),
        "half": good[: len(good) // 2],
        "hex": good.hex().encode(),
        "text": b64(good).encode(),
        "other-message": reader.sign(b"other"),
        "of-payload": reader.sign(payload.encode()),
        "of-decoded": reader.sign(dumps(reader.header) + b"." + dumps(reader.payload)),
    }.items():
        yield f"signature-{name}", f"{header}.{payload}.{b64(raw)}"
    other = next(one for one in READERS.values() if one is not reader)
    yield "signed-otherwise", f"{header}.{payload}.{b64(other.sign(f'{header}.{payload}'.encode()))}"
    yield "of-the-other-kind", other.made()


CASES = [
    pytest.param(reader, text, id=f"{kind}-{name}")
    for kind, reader in READERS.items()
    for classes in (damaged_texts, damaged_segments, not_canonical, bad_segments, bad_headers, bad_signatures)
    for name, text in classes(reader)
]


@pytest.mark.parametrize(("reader", "text"), CASES)
def test_a_damaged_jws_is_refused_and_nothing_else_comes_out(reader: Reader, text: str) -> None:
    with pytest.raises(Refused) as refused:
        reader.read(text)

    assert refused.value.meaning.status in {401, 403}
    assert len(refused.value.message) < 300


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_the_same_without_the_damage_is_accepted(reader: Reader) -> None:
    assert reader.read(reader.made())


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    "more",
    [
        {"kid": "../../etc/passwd"},
        {"kid": ["a"]},
        {"jku": "https://evil.example"},
        {"x5u": "file:///"},
        {"x5c": [1]},
        {"cty": "JWT"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_a_header_says_of_keys_elsewhere_is_not_followed(reader: Reader, more: Json) -> None:
    assert reader.read(reader.made(header=dumps({**reader.header, **more})))


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_white_space_within_the_json_is_json(reader: Reader) -> None:
    spaced = json.dumps(reader.payload, indent=2).encode()

    assert reader.read(reader.made(payload=b" \n" + spaced + b"\r\n\t"))
