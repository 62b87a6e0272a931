"""Functions for the rows of `token_verdicts.py`. Each function makes a token from valid parts, with one change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from chatkey_conform.making.damage import LETTERS, Damage, Jws
from chatkey_conform.making.honest import Maker
from chatkey_conform.making.place import Place
from chatkey_peer.key import Json, b64, dumps, unb64

Make = Callable[[Place], str]
Spoil = Callable[[bytes], bytes]

HOUR: Final = 3600
HEADER: Final = {"alg": "HS256", "typ": "JWT"}


def claims(**changes: object) -> Make:
    """Change claims of a valid token. A callable value is called with the place."""
    return lambda place: place.shop.sign(place.claims(**filled(changes, place)))


def filled(changes: Mapping[str, Any], place: Place) -> Json:
    """Call each callable value with the place."""
    return {name: value(place) if callable(value) else value for name, value in changes.items()}


def header(**changes: object) -> Make:
    """Change members of a valid header."""
    return lambda place: place.shop.sign(place.claims(), header={**HEADER, **changes})


def raw_header(raw: bytes) -> Make:
    """Use these bytes as the header."""
    return lambda place: place.shop.sign(place.claims(), header=raw)


def payload(spoil: Spoil) -> Make:
    """Change the JSON of the claims before it is signed."""
    return lambda place: place.shop.sign(spoil(dumps(place.claims())))


def added(text: str) -> Make:
    """Add this raw JSON member to the claims."""
    return payload(lambda honest: honest[:-1] + b"," + text.encode() + b"}")


def signed_with(key: Callable[[bytes], bytes], **changes: object) -> Make:
    """Sign a valid token with these changes to the header. `key` derives the signing key from the secret."""
    return lambda place: place.shop.sign(place.claims(), header={**HEADER, **changes}, key=key(place.shop.secret))


def sized(size: int) -> Make:
    """Pad a valid token to exactly this number of characters."""

    def make(place: Place) -> str:
        start = len(place.shop.sign(place.claims(filler="")))
        pads = ((size - start) * 3 // 4 + more for more in range(-3, 4))
        filled = (place.shop.sign(place.claims(filler="x" * pad)) for pad in pads)
        return next(token for token in filled if len(token) == size)

    return make


def mac(change: Callable[[bytes], bytes]) -> Make:
    """Change the bytes of the MAC."""

    def make(place: Place) -> str:
        signed, _, signature = place.shop.sign(place.claims()).rpartition(".")
        return f"{signed}.{b64(change(unb64(signature)))}"

    return make


def mac_of(signed: Callable[[str, str], bytes]) -> Make:
    """Compute the MAC over the bytes that `signed` returns in place of the header and payload."""

    def make(place: Place) -> str:
        head, body, _ = place.shop.sign(place.claims()).split(".")
        return f"{head}.{body}.{b64(Maker().mac(signed(head, body), place.shop.secret))}"

    return make


def flipped(at: int) -> Callable[[bytes], bytes]:
    """Flip one bit of the byte at this index."""
    return lambda raw: raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]


def cut(length: int) -> Callable[[bytes], bytes]:
    """Keep only the first `length` bytes."""
    return lambda raw: raw[:length]


def another_mac(alg: str) -> Make:
    """Sign with the hash that `alg` names, using the provider's secret."""

    def make(place: Place) -> str:
        signed = f"{b64(dumps({**HEADER, 'alg': alg}))}.{b64(dumps(place.claims()))}"
        return f"{signed}.{b64(Maker().mac(signed, place.shop.secret, digest=f'sha{alg[2:]}'))}"

    return make


def not_encoded(place: Place) -> str:
    """Sign a payload that is not base64url-encoded (RFC 7797)."""
    signed = f"{b64(dumps({**HEADER, 'b64': False, 'crit': ['b64']}))}.{dumps(place.claims(exp=9)).decode()}"
    return f"{signed}.{b64(Maker().mac(signed, place.shop.secret))}"


def unsigned(place: Place) -> str:
    """Set `alg` to none, and leave the signature empty."""
    return place.shop.sign(place.claims(), header={**HEADER, "alg": "none"}).rpartition(".")[0] + "."


def decoded_loosely(secret: bytes) -> bytes:
    """Decode the secret as base64url like Node and PHP do: ignore other characters, and an incomplete end."""
    text = "".join(letter for letter in secret.decode() if letter in LETTERS)
    return unb64(text[:-1] if len(text) % 4 == 1 else text)


def by_the_providers_id(place: Place) -> str:
    """Sign with the provider's id instead of its secret."""
    return place.shop.sign(place.claims(), key=place.shop.id.encode())


def another_payload(place: Place) -> str:
    """Replace the claims, and keep the signature."""
    protected, _, signature = place.shop.sign(place.claims()).split(".")
    return f"{protected}.{b64(dumps(place.claims(name='Mallory')))}.{signature}"


def another_header(place: Place) -> str:
    """Replace the header, and keep the signature."""
    _, body, signature = place.shop.sign(place.claims()).split(".")
    return f"{b64(dumps({'alg': 'HS256'}))}.{body}.{signature}"


def nested(place: Place) -> str:
    """Sign a token as the payload of another token."""
    return place.shop.sign(place.shop.sign(place.claims()).encode(), header={**HEADER, "cty": "JWT"})


def written(claim: str, literal: str) -> Make:
    """Write a time claim as this JSON text. `{exp}` stands for a valid `exp`."""

    def make(place: Place) -> str:
        whole = dumps(place.claims(**{claim: 0})).decode()
        value = literal.replace("{exp}", str(place.shop.now + HOUR))
        return place.shop.sign(whole.replace(f'"{claim}":0', f'"{claim}":{value}').encode())

    return make


def visitor(**changes: object) -> Make:
    """Make a visitor token as the service does, with changed claims. A callable value is called with the place."""

    def make(place: Place) -> str:
        shop = place.shop
        made = shop.visitor_claims(**filled(changes, place))
        return shop.sign(made, key=Maker().minute_key(shop.secret, made["iat"]))

    return make


def in_a_minute(place: Place) -> str:
    """Make a visitor token for the next minute."""
    return visitor(iat=now(60), exp=now(120))(place)


def now(seconds: int) -> Callable[[Place], int]:
    """Return the service's time plus this number of seconds."""
    return lambda place: place.shop.now + seconds


def jkt(place: Place) -> str:
    """Return the thumbprint of the browser's key."""
    return place.shop.key.jkt


def damaged(damage: Damage) -> Make:
    """Corrupt a valid token. The corrupted text may be signed again with the same secret."""

    def make(place: Place) -> str:
        sign = partial(Maker().mac, key=place.shop.secret)
        return damage.make(Jws(place.shop.sign(place.claims()), sign))

    return make
