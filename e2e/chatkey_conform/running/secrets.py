"""Finds a wrong `secret_key` before the smoke cases run."""

from __future__ import annotations

import json
from binascii import Error as NotBase64
from hmac import compare_digest

from chatkey_conform.judging.verdict import Broken
from chatkey_conform.making.honest import Maker
from chatkey_conform.subject.shop import Shop
from chatkey_conform.subject.subject import Subject
from chatkey_conform.subject.world import World
from chatkey_conform.target import TargetError
from chatkey_peer.key import unb64


def check_secrets(world: World) -> None:
    """Raise `TargetError` if a secret signs neither the visitor tokens of its business nor a member's token.

    A service with a mistake in only one of the two is judged by the cases.
    """
    for number in range(max(1, len(world.businesses.prepared()))):
        subject = Subject(world)
        try:
            shop = Shop(world.shared(number), get=subject.get, now=subject.now)
            is_wrong = not _signs_visitors(shop) and _is_refused(subject, shop)
        except (Broken, RecursionError):
            continue  # the service answers wrongly: the smoke cases report it
        finally:
            subject.close()
        if is_wrong:
            raise TargetError(_message(world, number, shop.id))


def _signs_visitors(shop: Shop) -> bool:
    token = shop.visitor_token()
    signed, _, mac = token.rpartition(".")
    try:
        at = json.loads(unb64(signed.partition(".")[2]))["iat"]
        return compare_digest(unb64(mac), Maker().mac(signed, Maker().minute_key(shop.secret, at)))
    except (NotBase64, ValueError, KeyError, TypeError, OverflowError):
        return False


def _is_refused(subject: Subject, shop: Shop) -> bool:
    frames = subject.try_token(shop.token(), shop.key).frames
    return bool(frames) and frames[-1].get("code") == "token_signature"


def _message(world: World, number: int, business: str) -> str:
    given = world.target.document.businesses
    origin = given.prepared[number].secret_key_env if given.prepared else f"the answer of the {given.grade}"
    return (
        f"The secret_key of {business!r} from {origin} is not the secret of the service: neither a visitor token nor a "
        "member's token verifies with it. Correct the secret. If the secret is correct, check that the service uses it "
        "as text, in UTF-8"
    )
