"""Finds the private key of a connection in texts: a JWK, PKCS#8 or the bare number, in hex, base64 or a list of bytes.

Whatever may be a private key is imported, and counts only if it has the thumbprint of a connection's key.
"""

import re
from base64 import urlsafe_b64decode
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from cryptography.hazmat.primitives.asymmetric import ec

from chatkey_peer.key import b64, thumbprint

SIZE: Final = 32
"""Bytes of a private key on the curve P-256."""
ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
LONGEST: Final = 1024
"""In longer binary data, only what PKCS#8 writes before a key is looked for."""
IN_PKCS8: Final = re.compile(rb"\x02\x01\x01\x04\x20(.{32})", re.DOTALL)
HEX: Final = re.compile(r"[0-9a-fA-F]{64,}")
BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{43,}")
DECIMAL: Final = re.compile(r"\d{60,78}")
NUMBERS: Final = re.compile(r"\d{1,3}(?:,\s*\d{1,3}){31,}")
INDEX: Final = re.compile(r'"\d+":\s*')
"""What JSON writes before each byte of a typed array."""
LINE_END: Final = re.compile(r"(?:\\[rn]|\s)+")
MOST_LAYERS: Final = 3


def places_of_keys(texts: Iterable[tuple[str, str]], thumbprints: Collection[str]) -> Iterator[str]:
    """Yield the places whose text contains the private key of one of these thumbprints."""
    for place, text in texts:
        if any(_thumbprint(number) in thumbprints for number in _numbers(text, MOST_LAYERS)):
            yield place


def _numbers(text: str, layers: int) -> set[int]:
    """Return the numbers that may be private keys, also in data that is encoded several times."""
    found = {int(run) for run in DECIMAL.findall(text)}
    for data in _decoded(unquote(text)) if layers else ():
        written = data.decode("utf-8", "replace")
        if written.isprintable() or ("\ufffd" not in written and len(data) > SIZE):
            found |= _numbers(written, layers - 1)
        elif len(data) <= LONGEST:
            found |= {int.from_bytes(data[at : at + SIZE]) for at in range(len(data) - SIZE + 1)}
        else:
            found |= {int.from_bytes(key) for key in IN_PKCS8.findall(data)}
    return {number for number in found if 0 < number < ORDER}


def _decoded(text: str) -> Iterator[bytes]:
    if len(text) <= LONGEST and not text.isascii() and max(text) < "\u0100":  # one character for each byte
        yield text.encode("latin-1")
    for run in HEX.findall(text):
        yield bytes.fromhex(run[: len(run) // 2 * 2])
    for run in {*BASE64.findall(text), *(BASE64.findall(LINE_END.sub("", text)) if "PRIVATE KEY" in text else ())}:
        for begin in range(4):
            cut = run[begin:].translate(str.maketrans("+/", "-_"))
            yield urlsafe_b64decode(cut[: len(cut) - (len(cut) % 4 == 1)] + "=" * (-len(cut) % 4))
    for run in NUMBERS.findall(INDEX.sub("", text)):
        numbers = [int(number) for number in run.split(",")]
        yield bytes(number for number in numbers if number < 256)


@lru_cache(maxsize=2**16)
def _thumbprint(number: int) -> str:
    """Return the thumbprint of the public key that belongs to a private key."""
    public = ec.derive_private_key(number, ec.SECP256R1()).public_key().public_numbers()
    x, y = (b64(number.to_bytes(SIZE)) for number in (public.x, public.y))
    return thumbprint({"kty": "EC", "crv": "P-256", "x": x, "y": y})
