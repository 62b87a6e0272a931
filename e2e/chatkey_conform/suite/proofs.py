"""Proofs: the table of faulty and unusual proofs, and cases about keys, nonces and repeated use."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric import ec

from chatkey_conform.case import Case, Family
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.making.proof_making import Handshake
from chatkey_conform.making.proof_verdicts import ACCEPTED, REFUSED, Honest, Verdict
from chatkey_conform.subject.peer import Peer
from chatkey_conform.subject.shop import Shop
from chatkey_conform.subject.subject import Subject
from chatkey_peer.key import REMOVED, BrowserKey, b64, merged, unb64

PAGE: Final = "socket.md#opening"
FAMILY = Family("proofs", "Proofs", PAGE)
FORBIDDEN, NONCE, BAD_FRAME = 4403, 4440, 4400

OF_CODES: Final[dict[str, tuple[str, ...]]] = {
    "proof_nonce": ("D-10/nonce", "4.9/one-time"),
    "proof_jwk": ("D-10/proof", "D-04/one-spelling"),
    "proof_signature": ("D-10/proof", "5.5/proof-matches"),
}


def _handshake(subject: Subject, shop: Shop, peer: Peer) -> Handshake:
    return Handshake(shop.key, shop.token(), peer.nonce, subject.world.socket_uri, subject.now())


def _refuse(row: Verdict, subject: Subject) -> None:
    shop = subject.shop()
    with subject.socket() as peer:
        handshake = _handshake(subject, shop, peer)
        proof = row.make(handshake)
        subject.within(len(proof) + len(handshake.token) + 100, "frame_bytes")
        ended = peer.connect(handshake.token, proof)
    ended.refused(row.code, NONCE if row.code == "proof_nonce" else FORBIDDEN)


def _accept(row: Honest, subject: Subject) -> None:
    shop = subject.shop()
    with subject.socket() as peer:
        handshake = _handshake(subject, shop, peer)
        ended = peer.connect(handshake.token, row.make(handshake))
    expect_that(ended.granted, f"An unusual but valid proof is refused ({_code(ended.frames)})")


def _code(frames: tuple[dict[str, object], ...]) -> object:
    return frames[-1].get("code") if frames else "closed without an error frame"


EDGES_SHOWN: Final = frozenset({"0", "1", "n", "all-ones"})


def is_shown(row: Verdict | Honest) -> bool:
    """Return false for most of the extreme values of r and s.

    They would take long on a slow network, and show nothing new.
    """
    _, _, edges = row.id.partition("PRF-033-r=")
    return not edges or set(edges.split("-s=")) <= EDGES_SHOWN


ROWS: Final[tuple[Verdict | Honest, ...]] = (*REFUSED, *ACCEPTED)

for _row in filter(is_shown, ROWS):
    _wrong = isinstance(_row, Verdict)
    FAMILY.add(
        Case(
            id=f"proofs/{'' if _wrong else 'accepted-'}{_row.id}",
            title=f"refused as {_row.code}" if isinstance(_row, Verdict) else "accepted",
            sentences=OF_CODES.get(_row.code, ("D-10/proof", "D-10/checks"))
            if isinstance(_row, Verdict)
            else ("D-10/proof", "4.9/proof"),
            page=PAGE,
            group=FAMILY.title,
            run=partial(_refuse, _row) if isinstance(_row, Verdict) else partial(_accept, _row),
        )
    )


# the form


@FAMILY.judges(
    "D-10/frame-schema",
    "4.9/proof",
    each={
        "PRF-001": (REMOVED,),
        "PRF-003-json-object": ({"payload": "e30", "signatures": []},),
        "PRF-004-null": (None,),
        "PRF-004-number": (7,),
        "PRF-004-object": ({},),
        "PRF-004-list": ([],),
    },
)
def a_frame_whose_proof_is_no_text_is_refused(subject: Subject, proof: object) -> None:
    """A `connect` without a proof, or with a proof that is not a string, is refused with `frame_invalid`."""
    shop = subject.shop()
    with subject.socket() as peer:
        peer.say(merged({"type": "connect", "token": shop.token()}, {"proof": proof}))
        peer.end().refused("frame_invalid", BAD_FRAME)


@FAMILY.judges(
    "D-10/frame-schema",
    each={"missing": (REMOVED,), "null": (None,), "number": (7,), "list": (["a.b.c"],), "object": ({},)},
)
def a_frame_whose_token_is_no_text_is_refused(subject: Subject, token: object) -> None:
    """A `connect` without a token, or with a token that is not a string, is refused with `frame_invalid`."""
    shop = subject.shop()
    with subject.socket() as peer:
        peer.say(merged({"type": "connect", "proof": peer.prove(shop.key, shop.token())}, {"token": token}))
        peer.end().refused("frame_invalid", BAD_FRAME)


@FAMILY.judges("D-10/proof", rows=["PRF-107"])
def the_token_itself_is_no_proof(subject: Subject) -> None:
    """A token that is also sent as the proof is refused."""
    token = subject.shop().token()
    with subject.socket() as peer:
        peer.connect(token, token).refused("proof_typ", FORBIDDEN)


# the claims


@FAMILY.judges(
    "D-10/proof", each={"PRF-071-past": -10, "PRF-071-future": 10, "an-hour-back": -3600, "an-hour-ahead": 3600}
)
def iat_only_measures_how_far_the_clock_is_off(subject: Subject, seconds: int) -> None:
    """A proof with a wrong `iat` is accepted."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as peer:
        ended = peer.connect(token, peer.prove(shop.key, token, iat=int(subject.now()) + seconds))

    expect_that(ended.granted, f"A proof is refused because its iat is {seconds} s off")


@FAMILY.judges("D-10/nonce", alone=True, needs=["clock"], rows=["PRF-066", "PRF-083"])
def a_proof_is_no_better_later(subject: Subject) -> None:
    """A proof with an old nonce and an `iat` in the future is refused, even when the time in `iat` has come."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as first:
        proof = first.prove(shop.key, token, iat=int(subject.now()) + 55)
        expect_that(first.connect(token, proof).granted, "A proof is refused because its iat is 55 s off")
    subject.advance(60)
    with subject.socket() as second:
        expect_that(second.nonce != first.nonce, "Two connections have one nonce")
        second.connect(token, proof).refused("proof_nonce", NONCE)


@FAMILY.judges("D-10/proof", rows=["PRF-042"])
def the_path_of_a_sockets_address_has_its_letter_case(subject: Subject) -> None:
    """The path of `htu` is case-sensitive."""
    shop = subject.shop()
    token, uri = shop.token(), urlsplit(subject.world.socket_uri)
    bent = uri._replace(path=uri.path.swapcase()).geturl()
    if bent == subject.world.socket_uri:
        raise OtherLimit("the path of the socket's address has no letters")
    with subject.socket() as peer:
        peer.connect(token, peer.prove(shop.key, token, htu=bent)).refused("proof_htu", FORBIDDEN)


@FAMILY.judges("D-10/proof", rows=["PRF-042"])
def a_default_port_may_be_written_or_left_out(subject: Subject) -> None:
    """An `htu` with the default port is accepted, and an `htu` with another port is refused."""
    shop = subject.shop()
    token, uri = shop.token(), urlsplit(subject.world.socket_uri)
    if uri.port:
        raise OtherLimit("the socket's address has an explicit port")
    for port, granted in (({"wss": 443, "ws": 80}[uri.scheme], True), (8443, False)):
        with subject.socket() as peer:
            htu = uri._replace(netloc=f"{uri.netloc}:{port}").geturl()
            ended = peer.connect(token, peer.prove(shop.key, token, htu=htu))
        expect(ended.granted, granted, f"Whether a proof with port {port} in htu is accepted")


TWICE_WRONG: Final[dict[str, tuple[dict[str, Any], bool, str, int]]] = {
    "claims-before-key": ({"jti": 5}, True, "proof_claims", FORBIDDEN),
    "key-before-nonce": ({"nonce": "of-nobody"}, True, "proof_key_mismatch", FORBIDDEN),
    "nonce-before-htm": ({"nonce": "of-nobody", "htm": "POST"}, False, "proof_nonce", NONCE),
    "htm-before-htu": ({"htm": "POST", "htu": "ws://a.example/"}, False, "proof_htm", FORBIDDEN),
    "htu-before-ath": ({"htu": "ws://a.example/", "ath": "x"}, False, "proof_htu", FORBIDDEN),
}


@FAMILY.judges("D-10/checks", each=TWICE_WRONG, page="socket.md#order-of-checks")
def of_two_things_that_are_wrong_the_first_is_told(
    subject: Subject, changes: dict[str, Any], stolen: bool, code: str, close: int
) -> None:
    """Checks run in the order claims, key, nonce, `htm`, `htu`, `ath`, and the first failure is reported."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as peer:
        key = BrowserKey() if stolen else shop.key
        peer.connect(token, peer.prove(key, token, **changes)).refused(code, close)


@FAMILY.judges("D-10/proof", "5.5/proof-matches")
def the_hash_of_another_token_is_refused(subject: Subject) -> None:
    """A proof for one token is refused with another token."""
    shop = subject.shop()
    with subject.socket() as peer:
        proof = peer.prove(shop.key, shop.token(uid="another"))
        peer.connect(shop.token(), proof).refused("proof_ath", FORBIDDEN)


@FAMILY.judges("D-10/proof", rows=["PRF-093"])
def a_visitors_proof_needs_the_tokens_hash_as_well(subject: Subject) -> None:
    """A visitor's proof without `ath` is refused."""
    shop = subject.shop()
    token = shop.visitor_token()
    with subject.socket() as peer:
        peer.connect(token, peer.prove(shop.key, token, ath=REMOVED)).refused("proof_claims", FORBIDDEN)


# the nonce, and single use


@FAMILY.judges("D-10/nonce", "4.9/one-time", rows=["PRF-081"])
def the_nonce_of_another_connection_is_refused(subject: Subject) -> None:
    """A proof with another connection's nonce is refused, and the other connection can still use the nonce."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as other, subject.socket() as mine:
        mine.connect(token, mine.prove(shop.key, token, nonce=other.nonce)).refused("proof_nonce", NONCE)
        other.join(token, shop.key)


@FAMILY.judges("D-10/nonce", "4.9/one-time", rows=["PRF-082"])
def the_nonce_of_a_connection_to_another_business_is_refused(subject: Subject) -> None:
    """A proof is refused if its nonce belongs to a connection to another business."""
    shop, elsewhere = subject.shop(), subject.another_shop()
    token = shop.token()
    with subject.joined(elsewhere) as other, subject.socket() as mine:
        mine.connect(token, mine.prove(shop.key, token, nonce=other.nonce)).refused("proof_nonce", NONCE)


@FAMILY.judges("D-10/nonce", rows=["PRF-067"])
def a_jti_in_somebody_elses_bad_proof_is_not_used_up(subject: Subject) -> None:
    """The `jti` of a proof that was refused can be used by another person."""
    shop = subject.shop()
    token = shop.token()
    for key, granted in ((BrowserKey(), False), (shop.key, True)):
        with subject.socket() as peer:
            ended = peer.connect(token, peer.prove(key, token, jti="of-the-owner"))
        expect(ended.granted, granted, "Whether the proof is accepted")


@FAMILY.judges("D-10/nonce", "4.9/one-time", rows=["PRF-062"])
def a_proof_opens_one_socket_and_a_jti_is_not_remembered(subject: Subject) -> None:
    """A used proof is refused on another socket, but a new proof may have the same `jti`."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as first, subject.socket() as second, subject.socket() as third:
        proof = first.prove(shop.key, token, jti="the-same")
        expect_that(first.connect(token, proof).granted, "A valid proof is refused")
        second.connect(token, proof).refused("proof_nonce", NONCE)
        first.granted({"type": "ping"}, "pong")
        again = third.connect(token, third.prove(shop.key, token, jti="the-same"))
    expect_that(again.granted, "A valid proof is refused because its jti was used before")


@FAMILY.judges("D-10/nonce", "4.9/one-time")
def after_a_proof_was_used_its_nonce_is_not_given_again(subject: Subject) -> None:
    """Every connection has a different nonce."""
    with subject.socket() as one, subject.socket() as two, subject.socket() as three:
        nonces = {one.nonce, two.nonce, three.nonce}

    expect(len(nonces - {""}), 3, "The number of different nonces of three connections")


# whose key


@FAMILY.judges("5.5/stolen-token", "7/proof-mismatch", rows=["PRF-100", "PRF-101"])
def a_token_with_the_key_of_somebody_else_is_refused(subject: Subject) -> None:
    """A stolen token is refused without its key, and the owner of the token can still connect."""
    shop = subject.shop()
    stolen = shop.token()

    subject.try_token(stolen, BrowserKey()).refused("proof_key_mismatch", FORBIDDEN)
    with subject.socket() as peer:
        peer.join(stolen, shop.key)


@FAMILY.judges("5.5/stolen-uid", "4.2/no-binding", rows=["PRF-103", "PRF-104"])
def a_visitors_token_needs_the_key_that_its_uid_is_made_of(subject: Subject) -> None:
    """A visitor's token is refused with another key."""
    shop = subject.shop()
    token = shop.visitor_token()

    subject.try_token(token, BrowserKey()).refused("proof_key_mismatch", FORBIDDEN)


THUMBPRINTS: Final = {
    "PRF-102-extra-member": ('{"crv":"P-256","kty":"EC","use":"sig","x":"%(x)s","y":"%(y)s"}', "sha256"),
    "PRF-102-order": ('{"kty":"EC","crv":"P-256","x":"%(x)s","y":"%(y)s"}', "sha256"),
    "PRF-102-white-space": ('{"crv": "P-256", "kty": "EC", "x": "%(x)s", "y": "%(y)s"}', "sha256"),
    "PRF-102-sha-1": ('{"crv":"P-256","kty":"EC","x":"%(x)s","y":"%(y)s"}', "sha1"),
    "PRF-102-sha-512": ('{"crv":"P-256","kty":"EC","x":"%(x)s","y":"%(y)s"}', "sha512"),
}


@FAMILY.judges("D-04/jkt", each=THUMBPRINTS)
def a_thumbprint_made_otherwise_is_another_key(subject: Subject, text: str, digest: str) -> None:
    """A `jkt` that was not computed according to RFC 7638 is refused."""
    shop = subject.shop()
    made = b64(hashlib.new(digest, (text % shop.key.jwk).encode()).digest())
    code = "proof_key_mismatch" if digest == "sha256" else "proof_binding_missing"

    subject.try_token(shop.token(cnf={"jkt": made}), shop.key).refused(code, FORBIDDEN)


@FAMILY.judges("D-10/proof", rows=["WSK-027"])
def a_uid_beside_the_token_has_no_say(subject: Subject) -> None:
    """Unknown members of `connect`, such as `uid`, are ignored."""
    shop = subject.shop()
    token = shop.token()
    with subject.socket() as peer:
        frame = {"type": "connect", "token": token, "proof": peer.prove(shop.key, token), "uid": "root", "version": 2}
        ready = peer.granted(frame, "ready")

    expect(ready["uid"], shop.member, "uid of ready")


@FAMILY.judges("D-10/proof", "D-02/no-secret-in-errors", rows=["PRF-015"])
def a_private_key_in_the_header_is_refused_and_not_repeated(subject: Subject) -> None:
    """A private key in the header of a proof is refused, and the answer does not contain the key."""
    shop = subject.shop()
    token = shop.token()
    d = b64(shop.key.private.private_numbers().private_value.to_bytes(32, "big"))
    with subject.socket() as peer:
        ended = peer.connect(token, peer.prove(shop.key, token, header={"jwk": {**shop.key.jwk, "d": d}}))

    ended.refused("proof_jwk", FORBIDDEN)
    expect_that(d not in json.dumps(ended.frames), "The refusal contains the private key")


@FAMILY.judges("D-10/proof", "D-04/one-spelling", each=("x", "y"), rows=["PRF-024"])
def a_coordinate_is_always_32_bytes_long(subject: Subject, member: str) -> None:
    """A coordinate that begins with a zero byte is accepted.

    It is refused without this byte, or with one more zero byte.
    """
    shop, key = subject.shop(), _key_with_a_short(member)
    token, full = shop.token(cnf={"jkt": key.jkt}), unb64(key.jwk[member])
    with subject.socket() as peer:
        peer.join(token, key)
    for wrong in (full[1:], b"\0" + full):
        with subject.socket() as peer:
            proof = peer.prove(key, token, header={"jwk": {**key.jwk, member: b64(wrong)}})
            peer.connect(token, proof).refused("proof_jwk", FORBIDDEN)


def _key_with_a_short(member: str) -> BrowserKey:
    keys = (BrowserKey(ec.derive_private_key(secret, ec.SECP256R1())) for secret in range(1, 10_000))
    return next(key for key in keys if unb64(key.jwk[member])[0] == 0)


@FAMILY.judges("D-10/proof", rows=["PRF-034"])
def the_other_signature_of_the_same_key_holds(subject: Subject) -> None:
    """A proof is accepted with either of the two valid ECDSA signatures, which contain s and n - s."""
    shop = subject.shop()
    token = shop.token()
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    with subject.socket() as peer:
        signed, _, signature = peer.prove(shop.key, token).rpartition(".")
        raw = unb64(signature)
        twin = raw[:32] + (order - int.from_bytes(raw[32:], "big")).to_bytes(32, "big")
        ended = peer.connect(token, f"{signed}.{b64(twin)}")

    expect_that(ended.granted, "A valid ECDSA signature is refused")


@FAMILY.judges("5.5/proof-matches", rows=["PRF-108"])
def an_honest_user_connects_after_rejected_proofs(subject: Subject) -> None:
    """A person can still connect after another person's proofs for the same token were refused."""
    shop = subject.shop()
    token, thief = shop.token(), BrowserKey()
    for _ in range(5):
        subject.try_token(token, thief).refused("proof_key_mismatch", FORBIDDEN)
    with subject.socket() as peer:
        peer.join(token, shop.key)
