"""Tests of edge cases of P-256 signatures. The server must accept exactly what the standard accepts.

For a message, a point R and a number s there is one key for which (R.x mod n, s) is a valid signature. This allows a
valid and an invalid signature for each edge case. A careless implementation would refuse the valid one. Malformed
signatures and other formats are rows of `e2e/chatkey_conform/making/proof_verdicts.py`.
"""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest

from chatkey_conform.making.proof_verdicts import EDGES
from chatkey_server.identity import keys

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
MESSAGE = b"header.payload"
E = int.from_bytes(hashlib.sha256(MESSAGE).digest())
MOST = 2**256 - 1

Point = tuple[int, int]


# textbook arithmetic on the curve


def add(left: Point | None, right: Point | None) -> Point | None:
    """Add two points of the curve. None is the point at infinity."""
    if left is None or right is None:
        return left or right
    (x1, y1), (x2, y2) = left, right
    if x1 == x2 and (y1 + y2) % P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, P) if left == right else (y2 - y1) * pow(x2 - x1, -1, P)
    x = (slope * slope - x1 - x2) % P
    return x, (slope * (x1 - x) - y1) % P


def times(number: int, point: Point | None) -> Point | None:
    result = None
    for bit in f"{number % N:b}":
        result = add(result, result)
        if bit == "1":
            result = add(result, point)
    return result


def point_from(x: int) -> Point:
    """Return the point with the lowest x coordinate that is at least `x`."""
    while True:
        square = (x**3 - 3 * x + B) % P
        y = pow(square, (P + 1) // 4, P)
        if y * y % P == square:
            return x, y
        x += 1


@cache
def key_for(r_point: Point, s: int) -> Point:
    """Return the public key for which (r_point.x mod n, s) signs the message."""
    r = r_point[0] % N
    minus = times(-E * pow(s, -1, N), G)
    found = times(s * pow(r, -1, N), add(r_point, minus))
    assert found is not None
    return found


def read(point: Point) -> keys.PublicKey:
    x, y = (urlsafe_b64encode(number.to_bytes(32, "big")).rstrip(b"=").decode() for number in point)
    return keys.read_jwk({"kty": "EC", "crv": "P-256", "x": x, "y": y})


def raw(r: int, s: int) -> bytes:
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def holds(key: Point, r: int, s: int) -> bool:
    return read(key).verify(raw(r, s), MESSAGE)


SMALL = point_from(1)
"""A point whose x is so small that x + n also fits into 32 bytes."""
LARGE = point_from(N + 1)
"""A point whose x is above n, so that r is x - n."""
ORDINARY = times(0xC0FFEE, G) or G


# valid signatures


@pytest.mark.parametrize(
    ("r_point", "s"),
    [
        pytest.param(point, s, id=f"{name}-{s.bit_length()}-bits-{s % 1000}")
        for (name, point), s in product(
            {"ordinary": ORDINARY, "r-small": SMALL, "x-above-n": LARGE, "r-of-g": G}.items(),
            (1, 2, 255, 2**128, 2**248 - 1, 2**255, N // 2, N // 2 + 1, N - 2, N - 1),
        )
    ],
)
def test_signatures_of_any_size_are_valid_and_their_second_spellings_are_not(r_point: Point, s: int) -> None:
    key, r = key_for(r_point, s), r_point[0] % N

    assert holds(key, r, s)
    assert holds(key, r, N - s)  # also valid: single use depends on the nonce, not on these bytes
    for wrong_r, wrong_s in second_spellings(r, s, r_point[0]):
        assert not holds(key, wrong_r, wrong_s)


def second_spellings(r: int, s: int, x: int) -> Iterator[tuple[int, int]]:
    """Yield other encodings of the signature: the same numbers modulo n, and common mix-ups. All fit into 32 bytes."""
    spelled = [(r + N, s), (r, s + N), (N - r, s), (s, r), (r, 0), (0, s), (r, N), (N, s), (r ^ 1, s), (r, s ^ 1)]
    if x != r:
        spelled.append((x, s))
    for wrong in spelled:
        if max(wrong) <= MOST and wrong not in {(r, s), (r, N - s)}:
            yield wrong


@pytest.mark.parametrize("key", [G, times(-1, G), times(2, G), point_from(0), SMALL, LARGE, point_from(P - 50)])
def test_a_key_at_the_edge_of_the_curve_is_accepted(key: Point) -> None:
    assert read(key).jkt
    assert not holds(key, 1, 1)


def test_the_sum_within_a_verification_may_be_a_doubling() -> None:
    s = 0x5EED
    half = times(E * pow(s, -1, N), G)  # u1·G; the key is chosen so that u2·Q equals it
    r_point = add(half, half)
    assert r_point is not None
    r = r_point[0] % N
    key = times(s * pow(r, -1, N), half)
    assert key is not None

    assert holds(key, r, s)


# invalid signatures


@pytest.mark.parametrize("edge", EDGES.values(), ids=EDGES)
def test_a_signature_with_r_or_s_at_the_edge_is_refused(edge: int) -> None:
    key, r = key_for(ORDINARY, 77), ORDINARY[0] % N

    assert holds(key, r, 77)
    assert not holds(key, r, edge)
    assert not holds(key, edge, 77)


@pytest.mark.parametrize("s", [1, 0x5EED, N - 1])
def test_a_sum_at_infinity_is_refused(s: int) -> None:
    r = 12345
    key = times(-E * pow(r, -1, N), G)  # u1·G + u2·Q is the point at infinity for every s
    assert key is not None

    assert not holds(key, r, s)


@pytest.mark.parametrize(
    "message", [b"", MESSAGE[:-1], MESSAGE + b"\0", MESSAGE.upper(), hashlib.sha256(MESSAGE).digest()]
)
def test_a_signature_of_another_message_is_refused(message: bytes) -> None:
    assert not read(key_for(ORDINARY, 77)).verify(raw(ORDINARY[0] % N, 77), message)
