"""Tokens: the table of faulty and unusual tokens, which are sent on the socket and as `auth` in the exchange."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, Final

from chatkey_conform.case import Case, Family
from chatkey_conform.data import contract
from chatkey_conform.judging.verdict import OtherLimit, expect, expect_that
from chatkey_conform.making.token_verdicts import ACCEPTED, REFUSED, Honest, Verdict
from chatkey_conform.subject.shop import Shop
from chatkey_conform.subject.subject import Subject
from chatkey_peer.key import REMOVED, BrowserKey, Json

PAGE: Final = "protocol.md#how-a-token-is-read"
FAMILY = Family("tokens", "Tokens", PAGE)

CLOSES: Final = {"proof_binding_missing": 4403, "token_expired": 4419}
TOO_LARGE: Final = "token_too_large"


class SocketDoor:
    """The socket, which accepts tokens of custom logins."""

    kind: ClassVar[str] = "socket"

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self.shop: Shop = subject.shop()

    def claims(self, **changes: Any) -> Json:
        return self.shop.claims(**changes)

    def room(self, token: str) -> None:
        """Raise `OtherLimit` if a frame with this token would exceed the target's limit."""
        self._subject.within(len(token) + 4200, "frame_bytes")

    def accept(self, token: str) -> None:
        with self._subject.socket() as peer:
            peer.join(token, self.shop.key)

    def refuse(self, token: str, code: str) -> None:
        self._subject.try_token(token, self.shop.key).refused(code, CLOSES.get(code, 4401))


class AuthDoor(SocketDoor):
    """The member token endpoint, which accepts an identity token as `auth`."""

    kind: ClassVar[str] = "identity"

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject)
        _ = self.shop.social  # raises NotApplicable: without a social login there is no such token

    def claims(self, **changes: Any) -> Json:
        return self.shop.identity_claims(**changes)

    def room(self, token: str) -> None:
        """Raise `OtherLimit` if a query with this token would exceed the target's limit."""
        self._subject.within(len(token) + 100, "query_bytes")

    def accept(self, token: str) -> None:
        self.shop.exchange(token).data()

    def refuse(self, token: str, code: str) -> None:
        self.shop.exchange(token).refused(401, code)


DOORS: Final = {door.kind: door for door in (SocketDoor, AuthDoor)}


def _refuse(row: Verdict, kind: str, subject: Subject) -> None:
    if row.id.startswith("social-"):
        _ = subject.shop().social
    door = DOORS[kind](subject)
    token, most = row.make(door), subject.limits.token_bytes
    door.room(token)
    if (len(token) > most) is not (row.code == TOO_LARGE):
        raise OtherLimit(f"not tested with token_bytes = {most}: the token has {len(token)} characters")
    door.refuse(token, row.code)


def _accept(row: Honest, kind: str, subject: Subject) -> None:
    door = DOORS[kind](subject)
    token = row.make(door)
    door.room(token)
    subject.within(len(token), "token_bytes")
    door.accept(token)


# the contract sentences of each row

OF_CODES: Final[dict[str, tuple[str, ...]]] = {
    "token_malformed": ("D-05/strict-reading",),
    "token_header": ("D-05/strict-reading",),
    TOO_LARGE: ("D-20/limits",),
    "token_not_yet_valid": ("2.4/iat",),
    "token_type": ("D-05/kinds-apart",),
    "proof_binding_missing": ("2.4/cnf.jkt", "7/binding-missing"),
}
SIGNED: Final = {"socket": "2.4/hs256", "identity": "2.5/hs256"}
AS_AUTH: Final = ("4.3/verifies", "7/auth-401")


def _sentences(row: Verdict, kind: str) -> tuple[str, ...]:
    found = [*OF_CODES.get(row.code, ())]
    if row.code in {"token_alg", "token_signature"}:
        found.append(SIGNED[kind])
    if row.code in {"token_claims", "token_expired", "token_type"}:
        found += list(_of_claim(row, kind))
    return tuple(dict.fromkeys([*found, *(AS_AUTH if kind == "identity" else ())]))


def _of_claim(row: Verdict, kind: str) -> Iterator[str]:
    member = row.member or ""
    if kind == "socket":
        yield from (name for name in ("2.4/claims", f"2.4/{member}") if name in contract())
    elif member in {"uid", "exp"}:
        yield {"uid": "2.5/uid-form", "exp": "2.5/24h"}[member]
    if row.id.startswith("JWT-111") and kind == "socket":
        yield "D-05/custom"
    if "visitor" in row.id:
        yield "D-05/visitor"
    if "social" in row.id:
        yield "D-05/social"
    if row.id.startswith("JWT-151"):
        yield "4.3/not-custom"


def _add(row: Verdict | Honest, kind: str) -> None:
    wrong = isinstance(row, Verdict)
    where = "on the socket" if kind == "socket" else "as `auth`"
    FAMILY.add(
        Case(
            id=f"tokens/{kind}-{'' if wrong else 'accepted-'}{row.id}",
            title=f"{where}: refused as {row.code}" if isinstance(row, Verdict) else f"{where}: accepted",
            sentences=_sentences(row, kind) if isinstance(row, Verdict) else ("D-20/passed-over",),
            page=PAGE,
            group=FAMILY.title,
            run=partial(_refuse, row, kind) if isinstance(row, Verdict) else partial(_accept, row, kind),
        )
    )


ROWS: Final[tuple[Verdict | Honest, ...]] = (*REFUSED, *ACCEPTED)

for _row in ROWS:
    for _kind in _row.kinds:
        _add(_row, _kind)


# cases outside the table


@FAMILY.judges("2.4/claims", "7/missing-400", rows=["JWT-001"])
def an_empty_token_is_no_token(subject: Subject) -> None:
    """An empty token is malformed on the socket. An empty `auth` counts as a missing parameter."""
    shop = subject.shop()
    _ = shop.social

    subject.try_token("", shop.key).refused("token_malformed", 4401)
    shop.exchange("").refused(400, "parameter_missing")


BEYOND_THE_FRAME: Final[dict[str, Callable[[int], tuple[str, str]]]] = {
    "JWT-021": lambda most: ("a" * most, ""),
    "JWT-098": lambda most: (f'{{"x":{"[" * most}{"]" * most}}}', ""),
    "JWT-099": lambda most: (",".join(f'"x{number}":1' for number in range(most // 4)), ""),
    "PRF-061": lambda most: ("", "j" * most),
}


@FAMILY.judges("D-20/limits", each=BEYOND_THE_FRAME, page="limits.md#limits")
def a_token_or_proof_beyond_the_frame_is_not_read(subject: Subject, make: Callable[[int], tuple[str, str]]) -> None:
    """A `connect` above the size limit of a frame ends the connection with 1009, regardless of its content."""
    token, proof = make(subject.limits.frame_bytes)
    with subject.socket() as peer:
        peer.say({"type": "connect", "token": token, "proof": proof})
        peer.end().closed(1009)


@FAMILY.judges("4.3/verifies", rows=["JWT-016"])
def a_token_is_decoded_once(subject: Subject) -> None:
    """A percent-encoded `auth` is decoded once, and a twice-encoded one is refused."""
    shop = subject.shop()
    once = shop.identity_token().replace(".", "%2E")
    for auth, status in ((once, 200), (once.replace("%", "%25"), 401)):
        answer = subject.request("GET", f"{shop.path}/member/token", query=f"auth={auth}&jkt={shop.key.jkt}")
        expect(answer.status, status, f"The status of {answer.asked}")


@FAMILY.judges("D-05/kinds-apart", "4.3/verifies", rows=["JWT-155"])
def a_proof_is_no_token(subject: Subject) -> None:
    """A proof that is sent instead of a token is refused: in the `connect` frame, and as `auth` of a social login."""
    shop = subject.shop()
    _ = shop.social
    with subject.socket() as peer:
        proof = peer.prove(shop.key, shop.token())

    subject.try_token(proof, shop.key).refused("token_alg", 4401)
    shop.exchange(proof).refused(401, "token_alg")


@FAMILY.judges("D-10/ready", "D-20/passed-over", rows=["JWT-140"])
def nobody_becomes_an_agent_by_a_claim(subject: Subject) -> None:
    """Claims such as `role` and `admin` give no rights, and `ready` still says `member`."""
    shop = subject.shop()
    with subject.socket() as peer:
        ready = peer.join(shop.token(role="agent", admin=True, is_agent=True), shop.key)

    expect((ready["identity"], ready["uid"]), ("member", shop.member), "identity and uid of ready")


@FAMILY.judges("2.4/pid", "D-10/checks", page="socket.md#order-of-checks")
def a_tokens_form_comes_before_its_provider_and_that_before_its_mac(subject: Subject) -> None:
    """On the socket, the form of a token is checked first, then its business, then its MAC."""
    shop = subject.shop()
    foreign = shop.claims(pid="prov_nobody_has_this")

    subject.try_token(shop.sign(foreign, header={"alg": "none"}), shop.key).refused("token_alg", 4401)
    subject.try_token(shop.sign({**foreign, "pid": ""}), shop.key).refused("token_claims", 4401)
    subject.try_token(shop.sign(foreign, key=b"x" * 40), shop.key).refused("provider_unknown", 4403)
    subject.try_token(shop.sign(shop.claims(exp=1), key=b"x" * 40), shop.key).refused("token_signature", 4401)


TWICE_WRONG: Final[dict[str, tuple[dict[str, Any], bool, str, int]]] = {
    "mac-before-exp": ({"exp": 1}, True, "token_signature", 4401),
    "claims-before-type": ({"type": "other", "name": 5}, False, "token_claims", 4401),
    "type-before-exp": ({"type": "other", "exp": 1}, False, "token_type", 4401),
    "exp-before-binding": ({"exp": 1, "cnf": {"jkt": "short"}}, False, "token_expired", 4419),
    "size-of-iat-before-its-time": ({"iat": 1_800_000_000_000}, False, "token_claims", 4401),
    "nbf-before-binding": ({"nbf": 9_000_000_000, "cnf": {"jkt": "short"}}, False, "token_not_yet_valid", 4401),
}


@FAMILY.judges("D-10/checks", "D-05/strict-reading", each=TWICE_WRONG, page="socket.md#order-of-checks")
def of_two_things_that_are_wrong_the_first_is_told(
    subject: Subject, changes: dict[str, Any], forged: bool, code: str, close: int
) -> None:
    """Checks run in the order MAC, claims, kind, times, binding, proof, and the first failure is reported."""
    shop = subject.shop()
    token = shop.sign(shop.claims(**changes), key=b"k" * 40 if forged else None)
    with subject.socket() as peer:
        peer.connect(token, peer.prove(BrowserKey(), token, nonce="of-nobody")).refused(code, close)


@FAMILY.judges("D-02/no-secret-in-errors", page="socket.md#refusals", each=("forged", "ended", "unbound"))
def a_refusal_on_the_socket_repeats_no_token(subject: Subject, what: str) -> None:
    """The refusal of a token contains no part of the token and no secret."""
    shop = subject.shop()
    changed: dict[str, dict[str, Any]] = {"forged": {}, "ended": {"exp": 1}, "unbound": {"cnf": REMOVED}}
    token = shop.sign(shop.claims(**changed[what]), key=b"k" * 40 if what == "forged" else None)
    told = json.dumps(subject.try_token(token, shop.key).frames)

    for part in (*token.split("."), shop.secret.decode()):
        expect_that(part not in told, "The refusal contains a part of the token, or a secret")


@FAMILY.judges("2.4/pid", "2.1/id", rows=["JWT-121"])
def a_pid_is_compared_byte_by_byte(subject: Subject) -> None:
    """A `pid` that differs in letter case or in a trailing space names another business."""
    shop = subject.shop()
    for bent in {shop.id.swapcase(), f"{shop.id} "} - {shop.id}:
        subject.try_token(shop.token(pid=bent), shop.key).refused("provider_unknown", 4403)


@FAMILY.judges("2.4/pid", "2.4/hs256", rows=["JWT-073", "JWT-120", "JWT-041", "F102"])
def the_secret_of_another_business_signs_nothing_here(subject: Subject) -> None:
    """A token is refused if it is signed with another business's secret, or issued for another business."""
    shop, other = subject.shop(), subject.another_shop()

    subject.try_token(shop.sign(shop.claims(), key=other.secret), shop.key).refused("token_signature", 4401)
    subject.try_token(shop.sign(shop.claims(pid=other.id)), shop.key).refused("token_signature", 4401)
    named = {**shop.header, "kid": other.id}
    subject.try_token(shop.sign(shop.claims(), header=named, key=other.secret), shop.key).refused(
        "token_signature", 4401
    )


@FAMILY.judges("2.5/hs256", "4.3/verifies", "7/auth-401", rows=["JWT-159"])
def an_identity_token_counts_at_its_own_business(subject: Subject) -> None:
    """An identity token of another business is refused with 401."""
    shop, other = subject.shop(), subject.another_shop()

    other.exchange(shop.identity_token(), shop.key.jkt).refused(401, "token_signature")
    foreign = other.sign({**shop.identity_claims(), "pid": shop.id})
    other.exchange(foreign, shop.key.jkt).refused(401, "token_provider")


@FAMILY.judges("4.3/verifies", "7/auth-401", rows=["JWT-121"])
def the_pid_of_an_identity_token_is_compared_byte_by_byte(subject: Subject) -> None:
    """An identity token with another `pid`, even if only the letter case differs, is refused."""
    shop = subject.shop()
    for bent in {f"{shop.id}b", shop.id[:-1], shop.id.swapcase(), f"{shop.id} "} - {shop.id}:
        shop.exchange(shop.sign({**shop.identity_claims(), "pid": bent})).refused(401, "token_provider")


@FAMILY.judges("D-20/passed-over", each={"text": "x", "number": 5, "list": ([],), "provider": ({"auth_provider": 5},)})
def data_of_another_form_is_refused(subject: Subject, data: object) -> None:
    """A custom token whose `data` has a wrong type is refused."""
    shop = subject.shop()

    subject.try_token(shop.token(data=data), shop.key).refused("token_claims", 4401)


@FAMILY.judges(
    "D-20/passed-over",
    each={
        "null": (None,),
        "empty": ({},),
        "more": ({"more": 1},),
        "not-this-uid": ({"auth_provider": "google"},),
    },
)
def data_that_says_nothing_is_passed_over(subject: Subject, data: object) -> None:
    """A custom token may contain `data` that the service does not use."""
    shop = subject.shop()
    with subject.socket() as peer:
        peer.join(shop.token(data=data), shop.key)


@FAMILY.judges("D-11/custom-not-social", "D-11/keyed", page="protocol.md#tokens")
def a_custom_member_with_a_social_members_uid_is_somebody_else(subject: Subject) -> None:
    """A custom member with a social member's `uid` has a separate conversation."""
    shop = subject.shop()
    social = shop.social_token(data={"auth_provider": shop.social})
    with subject.joined(shop, social) as peer:
        peer.granted({"type": "message", "id": "m-1", "body": "by a social login"}, "ack")
    with subject.joined(shop, shop.token(uid=f"{shop.social}:{shop.member}")) as peer:
        found = peer.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect(found, [], "The history of a custom member with a social member's uid")


@FAMILY.judges("D-11/keyed", "2.4/pid", page="protocol.md#tokens")
def the_same_uid_at_another_business_is_somebody_else(subject: Subject) -> None:
    """A member with the same `uid` at another business has a separate conversation."""
    shop, other = subject.shop(), subject.another_shop()
    with subject.joined(shop) as peer:
        peer.granted({"type": "message", "id": "m-1", "body": "here"}, "ack")
    with subject.joined(other, other.token(uid=shop.member)) as peer:
        found = peer.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect(found, [], "The history of the same uid at another business")


@FAMILY.judges("D-11/keyed", page="protocol.md#tokens")
def a_member_is_the_same_in_another_browser(subject: Subject) -> None:
    """A member sees the same conversation in another browser, with another key."""
    shop, browser = subject.shop(), BrowserKey()
    with subject.joined(shop) as peer:
        peer.granted({"type": "message", "id": "m-1", "body": "at home"}, "ack")
    with subject.socket() as peer:
        peer.join(shop.token(cnf={"jkt": browser.jkt}), browser)
        found = peer.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect([message["body"] for message in found], ["at home"], "The member's history in another browser")


@FAMILY.judges("D-11/custom-not-social", "D-05/login", page="protocol.md#tokens")
def a_custom_uid_that_looks_like_a_social_one_is_a_custom_members(subject: Subject) -> None:
    """A custom member whose `uid` looks like the uid of a social login can connect."""
    shop = subject.shop()
    with subject.socket() as peer:
        ready = peer.join(shop.token(uid=f"google:{shop.member}"), shop.key)

    expect_that(
        ready["expires_at"] - subject.now() > 3000,
        "expires_at of ready is less than 50 minutes ahead; the token is valid for an hour",
    )


@FAMILY.judges(
    "2.4/uid",
    "D-11/keyed",
    each={
        "accents": ("caf\u00e9", "cafe\u0301"),
        "case": ("Ada", "ada"),
        "space": ("ada", "ada "),
        "homoglyph": ("ada", "\u0430d\u0430"),
    },
    rows=["JWT-125"],
)
def uids_that_look_alike_are_two_people(subject: Subject, one: str, other: str) -> None:
    """Uids are compared byte by byte, so two similar uids are different members."""
    shop = subject.shop()
    with subject.joined(shop, shop.token(uid=f"{shop.member}-{one}")) as peer:
        peer.granted({"type": "message", "id": "m-1", "body": "mine"}, "ack")
    with subject.joined(shop, shop.token(uid=f"{shop.member}-{other}")) as peer:
        found = peer.granted({"type": "history", "id": "h-1"}, "history")["messages"]
    with subject.joined(shop, shop.token(uid=f"{shop.member}-{one}")) as peer:
        kept = peer.granted({"type": "history", "id": "h-1"}, "history")["messages"]

    expect_that(not found, "A member with a similar uid sees the other member's conversation")
    expect([message["body"] for message in kept], ["mine"], "What the first member sees")
